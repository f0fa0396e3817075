#!/usr/bin/env bash
# auto takes no longer than what it could have been asked for: all blocks computed again, the
# devices without a class, a number of micro-batches, a mesh; and no longer with faster links.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
sed '/- name: v100/,/link:/d' clusters/gpu1024.yaml >"$tmp/fewer.yaml"
step() { # GRAPH CLUSTER [OPTIONS]: ms
    local graph=examples/$1/graph.json
    [ -f "$graph" ] || graph=$tmp/$1.json
    [ -f "$graph" ] || python3 bench/planner/case_graphs.py "$1" >"$graph"
    shift
    "$HAP_BUILD/bin/hapc" "$graph" "$@" --json |
        sed -nE 's/.*"predicted_ms": ?([0-9.e+]+).*/\1/p' | head -1
}
no_slower() { # WHAT AUTO OTHER: what is within 0.3 % on fewer devices is the plan
    awk -v a="$2" -v b="$3" 'BEGIN { exit !(a > 0 && b > 0 && a <= 1.003 * b) }' ||
        { echo "FAIL: $1: auto $2 ms, $3 ms if asked for"; exit 1; }
    echo "ok: $1: auto $2 ms, $3 ms if asked for"
}
# Here no plan fits before blocks are computed again, and turns of numbers of micro-batches leave
# what promises most until most of the work is done.
gpt3() { step gpt3-175b "$@" --precision bf16 --batch 512; }
auto=$(gpt3 clusters/gpu1024.yaml)
no_slower "all computed again" "$auto" "$(gpt3 clusters/gpu1024.yaml --recompute all)"
no_slower "fewer devices" "$auto" "$(gpt3 "$tmp/fewer.yaml")"
# Here 2 and 4 micro-batches do not fit with nothing computed again; 8 do.
auto=$(step gpt2-xl clusters/laptop2x2.yaml)
no_slower "micro-batches" "$auto" "$(step gpt2-xl clusters/laptop2x2.yaml --micro-batches 16)"
# Here the plan of 16 micro-batches leads among few layers by its pairs alone.
sed -E 's/V100-16GB/&, memory: 25.6 GB/; s/P100,/P100, memory: 25.6 GB,/' clusters/hap-paper.yaml \
    >"$tmp/roomy.yaml"
auto=$(step llama32 "$tmp/roomy.yaml")
no_slower "micro-batches of deep layers" "$auto" "$(step llama32 "$tmp/roomy.yaml" --micro-batches 16)"
# Here few layers promise most on all 26 devices, and all layers take least on 24 of them.
cat >"$tmp/nine.yaml" <<'YAML'
name: nine
machines:
  - name: a
    devices: [{model: H100, count: 8}]
    link: {bandwidth: 370 GB/s, latency: 8 us}
  - name: b
    count: 2
    devices: [{model: A100-40GB, count: 9}]
    link: {bandwidth: 240 GB/s, latency: 8 us}
network: {bandwidth: 200 Gbit/s, latency: 12 us}
source: datasheet
YAML
sed 's/count: 9/count: 8/' "$tmp/nine.yaml" >"$tmp/eight.yaml"
auto=$(step bert24 "$tmp/nine.yaml")
no_slower "a mesh of deep layers" "$auto" "$(step bert24 "$tmp/nine.yaml" --mesh machine)"
no_slower "a device less in two machines" "$(step gpt12w "$tmp/nine.yaml")" "$(step gpt12w "$tmp/eight.yaml")"
# Here the first price on memory is far above the least that makes the plan fit.
sed -E 's/(link: .bandwidth: )300/\1450/; s/(link: .bandwidth: )150/\1225/' clusters/a100x2-v100x2.yaml \
    >"$tmp/faster.yaml"
no_slower "slower links" "$(step gpt64 "$tmp/faster.yaml")" "$(step gpt64 clusters/a100x2-v100x2.yaml)"
