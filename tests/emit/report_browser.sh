#!/bin/bash
# report.html in Chromium: hover, drag, wheel, keys, search, details, colours; on a desktop and on a
# phone's 390 pixels; nothing on the console, no request, names that are markup do nothing. Times are
# printed, not asserted.
set -u
hapc=$HAP_BUILD/bin/hapc
for browser in chromium chromium-browser google-chrome; do
    command -v $browser >/dev/null && break
    browser=
done
[ -n "$browser" ] || {
    echo "skipped: no Chromium"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# use NAME WIDTH: the page in a frame of so many pixels
use() {
    echo "<body><pre id=result></pre><iframe src=$1.html style='border:0;width:$2px;height:3000px'></iframe>
<script>addEventListener('message', e => result.textContent = e.data)</script>" >"$work/frame.html"
    "$browser" --headless=new --no-sandbox --disable-gpu --user-data-dir="$work/profile" --virtual-time-budget=20000 \
        --window-size=1300,3000 --enable-logging=stderr --dump-dom "file://$work/frame.html" >"$work/dom" 2>"$work/log"
    result=$(sed -n 's|.*<pre id="result">||p' "$work/dom" | sed 's|</pre>.*||' | head -n 1)
    echo "$1, $2 pixels: $result"
    [[ $result == OK* ]] || status=1
    if grep 'CONSOLE' "$work/log"; then status=1; fi
}

# page NAME ARGS…: plans and uses
page() {
    local name=$1
    shift
    "$hapc" "$@" -q -o "$work/plan" || status=1
    if [ "$name" = measured ]; then # a run in which gelu takes longer
        sed -E 's/("name":"op_gelu:[^}]*"dur":)/\19/' "$work/plan/trace.json" >"$work/$name.json"
        "$hapc" compare "$work/plan" "$work/$name.json" >"$work/out" || status=1
    fi
    sed '$d' "$work/plan/report.html" >"$work/$name.html" # the line that closes the last script
    { echo; cat tests/emit/report_browser.js; echo '</script></body></html>'; } >>"$work/$name.html"
    use "$name" 1200
    use "$name" 390
}

page unequal examples/gpt2/graph.json clusters/a100x2-v100x2.yaml
page measured examples/gpt2-tiny/graph.json clusters/laptop3.yaml
page moe examples/bert-moe/graph.json clusters/hap-paper.yaml
page two-axes examples/gpt2-tiny/graph.json clusters/laptop2x2.yaml --mesh machine
page pairs examples/gpt2-tiny/graph.json clusters/laptop-peers.yaml --pin 'transformer.h.*.mlp.c_fc=S(2)' \
    --pin 'transformer.h.*.add*=S(0)'
page stages examples/gpt2-tiny/graph.json clusters/laptop2x2.yaml --stages 0@left,1-2@right --micro-batches 4
sed 's|fc1|fc1</script><img src=x onerror=obeyed=1>\\u202e\\u001b[31m\\"\&|g' examples/mlp/graph.json >"$work/hostile.json"
sed 's|name: laptop|name: "l\\u202e</script><img src=x onerror=obeyed=1>"|; s|cpu4|"<img src=x onerror=obeyed=1>"|' clusters/laptop.yaml >"$work/c.yaml"
page hostile "$work/hostile.json" "$work/c.yaml"
exit $status
