// The page, in reading order.
showHead();
showAlternatives();
if (D.stages) showStages();
showCluster();
showDevices();
showTimeline();
if (M) showMeasured();
showModel();
showSending();
if (C[0].curve.length) showMemory();
showEnd();
document.body.append(tip);
theme();
window.hapcReady = performance.now();
