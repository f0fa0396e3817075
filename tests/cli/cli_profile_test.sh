#!/usr/bin/env bash
# hapc profile on two CPU ranks: measures a few small sizes, writes a cluster that hapc plans with, and
# says what is wrong with what it is asked. Usage: tests/cli/cli_profile_test.sh
set -u
hapc=$HAP_BUILD/bin/hapc
work=$(mktemp -d)
export TMPDIR=$work
trap 'rm -rf "$work"' EXIT
fails=0
fail() {
    echo "FAIL: $*"
    fails=$((fails + 1))
}
wanted() { # CODE MESSAGE OPTION…
    local code=$1 message=$2 got
    shift 2
    "$hapc" profile "$@" >"$work/out" 2>"$work/err"
    got=$?
    [ $got = "$code" ] || fail "profile $*: exit $got, wanted $code: $(cat "$work/err")"
    grep -q -- "$message" "$work/out" "$work/err" || fail "profile $*: no '$message': $(cat "$work/out" "$work/err")"
}

wanted 0 'Plan with it: hapc GRAPH.json' --backend cpu -n 2 --quick -o "$work/lab.yaml"
cp "$work/out" "$work/first"
[ -z "$(ls -A "$work" | grep -v -E '^(lab.yaml|lab.curves.json|out|err|first)$')" ] || fail "files are left: $(ls "$work")"
"$hapc" examples/gpt2-tiny/graph.json "$work/lab.yaml" --strategy dp-even -o "$work/plan" >"$work/report" 2>&1 ||
    fail "no plan: $(cat "$work/report")"
grep -Eq '"put":[0-9.]+e-[0-9]+,"pack":[0-9.]+e-[0-9]+}' "$work/lab.curves.json" ||
    fail "stretches of memory: $(sed -n '/"runs"/,$p' "$work/lab.curves.json")"
grep -Eq '"library":(0\.0|[1-9])[0-9.e-]*,"put":(0\.0|[1-9])[0-9.e-]*}' "$work/lab.curves.json" ||
    fail "launch overheads: $(sed -n '/"launch_overheads"/,$p' "$work/lab.curves.json")"
grep -Eq '"form":"put",.*"fresh":[1-3]' "$work/lab.curves.json" ||
    fail "puts of fresh rows: $(sed -n '/"contention"/,/"pairs"/p' "$work/lab.curves.json")"
# What was measured is printed, here and of the plan's cluster.
"$hapc" -d c examples/mlp/graph.json "$work/lab.yaml" --strategy dp-even >"$work/dump" 2>&1
for figure in 'launch overhead of a collective [0-9.e-]* us' 'launch overhead of a one-sided put [0-9.e-]* us' \
    'contention with a collective: computing [0-9.]* x' 'a one-sided put of rows just made: [0-9.]* x'; do
    grep -q "^  $figure" "$work/first" || fail "profile does not print: $figure: $(cat "$work/first")"
    grep -q "^  $figure" "$work/dump" || fail "-d c does not print: $figure"
done
grep -q 'Times are simulated from measured curves' "$work/report" || fail "$(grep Times "$work/report")"
[ -s "$work/plan/cluster.yaml" ] || fail "no copy of the cluster in the plan folder"
"$hapc" check "$work/plan" >"$work/out" 2>&1 || fail "check: $(cat "$work/out")"
"$hapc" examples/gpt2-tiny/graph.json "$work/lab.yaml" --strategy dp-even --precision bf16 >"$work/report" 2>&1
grep -q 'but for datasheet estimates of.*linear' "$work/report" || fail "bf16: $(grep Times "$work/report")"

# The same machines again, from the file that was written; what it wrote may be overwritten.
wanted 0 '2 ranks on 1 machine' "$work/lab.yaml" --backend cpu --quick -o "$work/again.yaml"
wanted 0 'Plan with it' --backend cpu -n 1 --quick -o "$work/again.yaml"
grep -q 'link:' "$work/again.yaml" && fail "a link of one rank"

# Ranks of two classes: both are measured, and neither is taken for the other.
cat >"$work/two.yaml" <<'Y'
name: two
machines:
  - name: here
    devices:
      - {name: one, kind: cpu, f32: 80 GFLOP/s, memory: 4 GiB, memory_bandwidth: 16 GB/s, threads: 1, count: 2}
      - {name: both, kind: cpu, f32: 160 GFLOP/s, memory: 4 GiB, memory_bandwidth: 16 GB/s, threads: 2, count: 2}
    link: {bandwidth: 4 GB/s, latency: 10 us}
Y
wanted 0 '4 ranks on 1 machine' "$work/two.yaml" --quick -o "$work/mixed.yaml"
[ "$(grep -c '"one".* count: 2' "$work/mixed.yaml"),$(grep -c '"both".* count: 2' "$work/mixed.yaml")" = 1,1 ] || fail "$(cat "$work/mixed.yaml")"
classes=$(sed -n 's/.*{"class":"\([^"]*\)".*/\1/p' "$work/mixed.curves.json" | sort -u)
[ "$(wc -l <<<"$classes")" = 2 ] || fail "not two classes: $classes"
while read -r class; do
    for line in "\"$class\":{" "{\"class\":\"$class\",\"compute\"" "{\"class\":\"$class\",\"form\":\"put\",\"compute\"" \
        "{\"class\":\"$class\",\"gap\"" "{\"class\":\"$class\",\"put\"" \
        "{\"class\":\"$class\",\"library\""; do
        grep -qF "$line" "$work/mixed.curves.json" || fail "no $line in $(cat "$work/mixed.curves.json")"
    done
done <<<"$classes"
"$hapc" examples/gpt2-tiny/graph.json "$work/mixed.yaml" --strategy dp-prop -o "$work/plan" >"$work/report" 2>&1 || fail "no plan: $(cat "$work/report")"
grep -q 'Times are simulated from measured curves' "$work/report" || fail "$(grep Times "$work/report")"

# Kinds that one name does not tell apart are numbered, and the file says their numbers: they keep
# them, and so their curves, when what stands before goes.
cat >"$work/kinds.yaml" <<'Y'
name: kinds
machines:
  - {name: a, devices: [{name: cpu, kind: cpu, f32: 80 GFLOP/s, memory: 4 GiB, memory_bandwidth: 16 GB/s, threads: 1, count: 2}], link: {bandwidth: 4 GB/s, latency: 10 us}}
  - {name: b, devices: [{name: cpu, kind: cpu, f32: 80 GFLOP/s, memory: 4 GiB, memory_bandwidth: 16 GB/s, threads: 1}]}
network: {bandwidth: 1 GB/s, latency: 20 us}
Y
wanted 0 '3 ranks on 2 machines' "$work/kinds.yaml" --quick -o "$work/numbered.yaml"
grep -q '"cpu/1t#2":{' "$work/numbered.curves.json" || fail "no second kind: $(grep -o '"cpu[^"]*":{' "$work/numbered.curves.json")"
[ "$(grep -c curves: "$work/numbered.yaml")" = 1 ] && grep -q 'curves: "cpu/1t#2", count: 1}' "$work/numbered.yaml" || fail "$(cat "$work/numbered.yaml")"
sed '/- name: "a"/,/link:/d' "$work/numbered.yaml" >"$work/alone.yaml"
"$hapc" -d c examples/mlp/graph.json "$work/alone.yaml" --strategy dp-even >"$work/dump" 2>&1
grep -q 'cpu/1t#2' "$work/dump" || fail "another name: $(cat "$work/alone.yaml" "$work/dump")"
sed 's/, count: 3/, count: 3, numbers: [0, 2, 3]/; s/count: 4/count: 3, numbers: [0, 2, 3]/' clusters/h200x4.yaml >"$work/some.yaml"
wanted 1 'not supported: profiling GPUs whose `numbers`' "$work/some.yaml" --backend cuda --quick -o "$work/gpu.yaml"

printf 'name: mine\nsource: datasheet\n' >"$work/mine.yaml"
wanted 1 'was not made by hapc profile' -n 1 --quick -o "$work/mine.yaml"
wanted 1 'cannot be read' "$work/none.yaml"
wanted 2 'did you mean' --quik
wanted 2 'whole number' -n two
wanted 2 'is cpu or cuda' --backend gpu
wanted 2 'exclude each other' "$work/lab.yaml" -n 2
wanted 0 'measure devices and links' --help
# What is measured is what the file names, or nothing.
wanted 1 'h200x4.yaml: H200 is a GPU, which --backend cpu does not measure' clusters/h200x4.yaml --backend cpu --quick -o "$work/gpu.yaml"
wanted 1 'lab.yaml: .* is a CPU, which --backend cuda does not measure' "$work/lab.yaml" --backend cuda --quick -o "$work/gpu.yaml"
if [ ! -e /dev/nvidia0 ]; then
    wanted 5 'there is no \(hap-profile-cuda\|CUDA driver\|CUDA device\)' clusters/h200x4.yaml --quick -o "$work/gpu.yaml"
fi
[ ! -e "$work/gpu.yaml" ] || fail "a cluster file of devices that were not measured"
exit $((fails > 0))
