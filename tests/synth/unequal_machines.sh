#!/usr/bin/env bash
# --mesh machine on machines of 4 and 6 devices: only some devices of both form such a mesh. Where
# none of these plans fits all is searched again, and ends with a message.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
plan() { # MEMORY
    cat >"$tmp/unequal.yaml" <<END
name: unequal
machines:
  - name: a
    devices: [{name: c0, kind: cpu, f32: 80 GFLOP/s, memory: $1, memory_bandwidth: 16 GB/s, count: 4}]
    link: {bandwidth: 10 GB/s, latency: 8 us}
  - name: b
    devices: [{name: c1, kind: cpu, f32: 60 GFLOP/s, memory: $1, memory_bandwidth: 16 GB/s, count: 6}]
    link: {bandwidth: 10 GB/s, latency: 8 us}
network: {bandwidth: 100 Gbit/s, latency: 20 us}
END
    "$HAP_BUILD/bin/hapc" examples/mlp/graph.json "$tmp/unequal.yaml" --mesh machine --json 2>&1
}
said=$(plan 400kB) && { echo "FAIL: a plan where none fits"; exit 1; }
[[ "$said" == *"no plan fits in memory: rank 0-3 (c0) needs"* ]] || { echo "FAIL: $said"; exit 1; }
said=$(plan 4MB) || { echo "FAIL: $said"; exit 1; }
[[ "$said" == *'"predicted_ms"'* ]] || { echo "FAIL: $said"; exit 1; }
echo ok
