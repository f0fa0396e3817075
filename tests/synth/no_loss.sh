#!/usr/bin/env bash
# auto takes no longer than what it could have been asked for: all blocks computed again, or the
# devices without a class. Here no plan fits before blocks are computed again, and turns of numbers
# of micro-batches leave what promises most until most of the work is done.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
sed '/- name: v100/,/link:/d' clusters/gpu1024.yaml >"$tmp/fewer.yaml"
step() { # CLUSTER [OPTIONS]: ms
    "$HAP_BUILD/bin/hapc" examples/gpt3-175b/graph.json "$@" --precision bf16 --batch 512 --json |
        sed -nE 's/.*"predicted_ms": ?([0-9.e+]+).*/\1/p' | head -1
}
auto=$(step clusters/gpu1024.yaml)
all=$(step clusters/gpu1024.yaml --recompute all)
fewer=$(step "$tmp/fewer.yaml")
for other in "$all" "$fewer"; do # what is within 0.3 % on fewer devices is the plan
    awk -v a="$auto" -v b="$other" 'BEGIN { exit !(a > 0 && b > 0 && a <= 1.003 * b) }' ||
        { echo "FAIL: auto $auto ms; all again $all ms; fewer devices $fewer ms"; exit 1; }
done
echo "ok: auto $auto ms; all again $all ms; fewer devices $fewer ms"
