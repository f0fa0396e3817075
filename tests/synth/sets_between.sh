#!/usr/bin/env bash
# A set of devices between two slow ones has no look: more of the slow machines than 24 devices of
# hap-paper, fewer than all. Sets that lie between no others have one, and the plan is on one machine.
set -u
ranks=$("$HAP_BUILD/bin/hapc" examples/vgg19/graph.json clusters/hap-paper.yaml -q -v 2>&1 |
    sed -nE 's/.*: auto on .* of ([0-9]+) ranks: .*/\1/p' | sort -nu | tr '\n' ' ')
for n in 8 16 24 64; do
    [[ " $ranks" == *" $n "* ]] || { echo "FAIL: no plan on $n devices, but on $ranks"; exit 1; }
done
for n in 40 48; do
    [[ " $ranks" != *" $n "* ]] || { echo "FAIL: plans on $n devices, between 24 and 64"; exit 1; }
done
echo ok
