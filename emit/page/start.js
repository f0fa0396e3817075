// The page, in reading order.
showHead();
showAlternatives();
showCluster();
showDevices();
showTimeline();
if (M) showMeasured();
showModel();
showSending();
showMemory();
showEnd();
document.body.append(tip);
theme();
window.hapcReady = performance.now();
