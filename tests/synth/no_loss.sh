#!/usr/bin/env bash
# auto takes no longer than what it could have been asked for: all blocks computed again, the
# devices without a class, a number of micro-batches.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
sed '/- name: v100/,/link:/d' clusters/gpu1024.yaml >"$tmp/fewer.yaml"
step() { # GRAPH CLUSTER [OPTIONS]: ms
    local graph=examples/$1/graph.json
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
