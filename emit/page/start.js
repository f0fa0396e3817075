// The page, in reading order.
showHead();
showAlternatives();
showCluster();
showDevices();
showTimeline();
showModel();
showSending();
showMemory();
showEnd();
document.body.append(tip);
theme();
window.hapcReady = performance.now();
