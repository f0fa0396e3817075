#!/usr/bin/env bash
# A variant of a step that has a plan is not planned a second time in one order, though turns of work
# end before all variants are planned.
set -u
graph=examples/gpt2-8k/graph.json cluster=clusters/a100x2-v100x2.yaml
lines=$("$HAP_BUILD/bin/hapc" "$graph" "$cluster" -q -v 2>&1 |
    sed -nE 's/^([0-9]+ micro-batches, [0-9]+ blocks computed again(, memory first)?): .*/\1/p')
[ "$(echo "$lines" | wc -l)" -gt 4 ] || { echo "FAIL: few variants: $lines"; exit 1; }
twice=$(echo "$lines" | sort | uniq -d)
[ -z "$twice" ] || { echo "FAIL: planned twice: $twice"; exit 1; }
echo ok
