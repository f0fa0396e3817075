#!/usr/bin/env bash
# What a plan counts beside the arena of a GPU: the bytes that the CUDA runtime took on an H200
# (bench/results/2026-11-21-memory-h200.txt), none on CPUs, and plans that leave room for it.
set -u
hapc=$HAP_BUILD/bin/hapc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fails=0
fail() {
    echo "FAIL: $*"
    fails=$((fails + 1))
}
cluster() { # MEMORY
    printf 'name: one\nmachines:\n  - name: host\n    devices: [{model: H200, count: 1, memory: %s, reserve: 4 GiB}]\nsource: datasheet\n' "$1" >"$work/one.yaml"
}
of() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$work/plan/plan.json" | head -n 1; }
plan() { "$hapc" "$@" -q -o "$work/plan" >"$work/out" 2>&1; }

cluster '141 GB'
plan examples/bert/graph.json "$work/one.yaml" --batch 64 --precision bf16 || fail "$(cat "$work/out")"
# Logits and their gradient, 8192 rows of 30522 columns made 30528; the gradient of the head's
# weight, its 30522 rows of 768 made 30528, in f32.
[ "$(of padded_bytes)" = $((2 * 8192 * 30528 * 2)) ] || fail "padded copies: $(of padded_bytes)"
[ "$(of work_bytes)" = $((30528 * 768 * 4)) ] || fail "workspace: $(of work_bytes)"
need=$(($(of peak_bytes) + $(of padded_bytes) + $(of work_bytes)))
grep -q '^  memory of H200: arena .* + padded copies 954 MiB + workspace 89.4 MiB + reserve 4.00 GiB of 131 GiB$' "$work/plan/report.txt" ||
    fail "report: $(grep 'memory of' "$work/plan/report.txt")"

# Room for the arena, not for what is beside it.
cluster "$((need / 1048576 + 4096 - 400)) MiB"
if plan examples/bert/graph.json "$work/one.yaml" --batch 64 --precision bf16; then
    [ $(($(of peak_bytes) + $(of padded_bytes) + $(of work_bytes))) -le "$(of capacity_bytes)" ] || fail "a plan beyond its memory"
    [ "$(of peak_bytes)" -gt 0 ] || fail "no plan.json"
else
    grep -q 'of them beside the arena' "$work/out" || fail "no plan: $(cat "$work/out")"
fi

# Attention of 131072 tokens: f32 gradients of 4 heads' queries (16 wide) and their statistics, of the
# longest of eight parts; or of all queries of a head on each of four. Scores would be 32 GiB a head.
sed 's/\b32\b/131072/g; s/\b33\b/131073/g' examples/gpt2-tiny/graph.json >"$work/long.json"
long() { # DEVICES STATE
    cluster '80 GB'
    sed -i "s/model: H200, count: 1/model: H200, count: $1/; s/^source/    link: {bandwidth: 370 GB\/s, latency: 8 us}\n&/" "$work/one.yaml"
    plan "$work/long.json" "$work/one.yaml" --batch 1 --precision bf16 --pin "*.attn.sdpa=$2" || fail "$*: $(cat "$work/out")"
}
long 8 'S(2)'
queries=$(sed -n 's/.*"from": *"[a-z]* area"[^[]*\[\([0-9]*\),.*/\1/p' "$work/plan/plan.json" | head -n 1)
[ "${queries:-0}" -gt 40000 ] || fail "no cut by area: ${queries:-none}"
[ "$(of work_bytes)" = $((queries * 4 * (16 + 1) * 4 + 256)) ] || fail "128k tokens by positions: $(of work_bytes)"
long 4 'S(1)'
[ "$(of work_bytes)" = $((131072 * (16 + 1) * 4 + 256)) ] || fail "128k tokens by heads: $(of work_bytes)"

# Sums of 8 x 520 x 520 scores over the batch add in turn: no parts of them.
cluster '141 GB'
python3 tests/graphs/make_scores.py 520 8 "$work/scores.json" "$work/rows.npy" || fail "make_scores.py"
plan "$work/scores.json" "$work/one.yaml" --precision bf16 || fail "$(cat "$work/out")"
[ "$(of work_bytes)" -lt 1048576 ] || fail "sums in turn: $(of work_bytes)"

plan examples/bert/graph.json clusters/laptop.yaml --batch 8 || fail "$(cat "$work/out")"
[ "$(of padded_bytes),$(of work_bytes)" = 0,0 ] || fail "on CPUs: $(of padded_bytes),$(of work_bytes)"

[ $fails = 0 ] && echo ok
exit $((fails > 0))
