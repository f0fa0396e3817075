#!/usr/bin/env bash
# A variant of a step that has a plan is not planned a second time in one order, though turns of work
# end before all variants are planned. Where all that was simulated fits none but the step is planned.
set -u
variants() { # GRAPH CLUSTER: those that were planned
    "$HAP_BUILD/bin/hapc" "examples/$1/graph.json" "clusters/$2.yaml" -q -v 2>&1 |
        sed -nE 's/^([0-9]+ micro-batches, [0-9]+ blocks computed again(, memory first)?): .*/\1/p'
}
lines=$(variants gpt2-8k a100x2-v100x2)
[ "$(echo "$lines" | wc -l)" -gt 4 ] || { echo "FAIL: few variants: $lines"; exit 1; }
twice=$(echo "$lines" | sort | uniq -d)
[ -z "$twice" ] || { echo "FAIL: planned twice: $twice"; exit 1; }
for cluster in laptop hap-paper; do
    lines=$(variants vgg19 $cluster)
    [ "$lines" = "1 micro-batches, 0 blocks computed again" ] ||
        { echo "FAIL: vgg19 on $cluster, where memory is free, planned: $lines"; exit 1; }
done
echo ok
