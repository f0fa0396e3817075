#!/bin/bash
# A plan folder that was changed after it was proved: what `hapc check` says, what `hapc run` runs.
set -u
. tests/cli/commands_run.sh

plan()
{
    rm -rf "$work/plan"
    "$hapc" "$@" -o "$work/plan" -q || exit 1
    (cd "$work/plan" && sha256sum --quiet -c SHA256SUMS) || wrong "sha256sum of $1"
}
p=$work/plan

# An edit that changes nothing is proved, and run once it is taken in.
plan examples/mlp/graph.json clusters/laptop3.yaml
code 0 '^proved: ' check "$p"
grep -q changed "$work/out" && wrong "a change of nothing"
echo '// a remark' >>"$p/program.c"
code 0 'program.c, edited, computes' check "$p"
code 0 'changed since: program.c \(edited\)' check "$p"
code 0 '"edited":true,"changed":\["program.c"\],"accepted":false' check --json "$p"
code 1 'is not what was proved: program.c \(edited\)' run "$p" --dry-run
code 0 'note: not proved: program.c \(edited\)' run "$p" --dry-run --unproved
code 0 '^accepted: program.c \(edited\)' check --accept "$p"
code 0 '^proved: ' check "$p"
grep -q changed "$work/out" && wrong "what was taken in counts as changed"
code 0 'mpirun' run "$p" --dry-run

# One that changes what is computed is not taken in.
sed -i 's/op_relu(r/op_tanh(r/' "$p/program.c"
before=$(cat "$p/SHA256SUMS")
code 1 'program.c:[0-9]+' check --accept "$p"
[ "$before" = "$(cat "$p/SHA256SUMS")" ] || wrong "a wrong program was taken in"
code 1 'is not what was proved' run "$p" --dry-run

# The other files.
plan examples/mlp/graph.json clusters/laptop3.yaml
sed -i 's/AT(\([0-9]*\),/AT(1\1,/' "$p/buffers.h"
code 1 'buffers.h:[0-9]+|program.c:[0-9]+' check --accept "$p"
code 1 'buffers.h \(edited\)' run "$p" --dry-run
plan examples/mlp/graph.json clusters/laptop3.yaml
sed -i 's/"precision":"fp32"/"precision":"tf32"/' "$p/plan.json"
code 1 'hap_math' check --accept "$p"
code 1 'plan.json \(edited\)' run "$p" --dry-run
plan examples/mlp/graph.json clusters/laptop3.yaml
cp examples/gpt2-tiny/graph.json "$p/graph.json"
code 1 'graph' check --accept "$p"
code 1 'graph.json \(edited\)' run "$p" --dry-run
plan examples/mlp/graph.json clusters/laptop3.yaml
echo '# mine' >>"$p/cluster.yaml"
code 0 'changed since: cluster.yaml' check "$p"
code 0 'mpirun' run "$p" --dry-run
rm "$p/SHA256SUMS"
code 1 'there is no SHA256SUMS' run "$p" --dry-run
code 0 'accepted: .*program.c \(new\)' check --accept "$p"
code 0 'mpirun' run "$p" --dry-run
rm "$p/buffers.h"
code 1 'buffers.h: No such file' check "$p"
code 1 'buffers.h \(missing\)' run "$p" --dry-run

# plan.json alone: program.c is not said to be edited.
plan examples/mlp/graph.json clusters/laptop3.yaml
sed -i 's/"producer":"/"producer":"mine /' "$p/plan.json"
code 0 'program.c computes' check "$p"
code 0 'changed since: plan.json \(edited\);' check "$p"
code 0 '"changed":\["plan.json"\]' check --json "$p"

# Kernels are made again from program.c: any line that differs is named, comments may.
plan examples/gpt2-tiny/graph.json clusters/h200x4.yaml
cp "$p/kernels.cu" "$work/kernels.cu"
echo '// mine' >>"$p/kernels.cu"
code 1 'kernels.cu \(edited\)' run "$p" --dry-run
code 0 '^accepted: kernels.cu \(edited\)' check --accept "$p"
for line in $(grep -nv '^ *//' "$work/kernels.cu" | grep -v ':$' | cut -d: -f1 | awk 'NR % 23 == 1'); do
    sed "${line}d" "$work/kernels.cu" >"$p/kernels.cu"
    code 1 'not proved: kernels.cu:[0-9]+: not what hapc makes of ' check --accept "$p"
    at=$(grep -o 'kernels.cu:[0-9]*' "$work/err" | cut -d: -f2)
    [ "$at" -ge "$line" ] && [ "$at" -le $((line + 4)) ] || wrong "line $line, said $at"
done
sed '0,/op::add(t/s//op::sub(t/' "$work/kernels.cu" >"$p/kernels.cu"
code 1 'kernels.cu:[0-9]+: not what hapc makes of program.c:[0-9]+, k[0-9]+' check "$p"
{ printf '// \\\n'; cat "$work/kernels.cu"; } >"$p/kernels.cu"
code 1 'kernels.cu:1: not what' check "$p"
{ printf '// \r#define add sub\n'; cat "$work/kernels.cu"; } >"$p/kernels.cu"
code 1 'kernels.cu:1: not what' check "$p"
{ echo '#define add sub'; cat "$work/kernels.cu"; } >"$p/kernels.cu"
code 1 'kernels.cu:1: not what' check "$p"
rm "$p/kernels.cu"
code 1 'not proved: kernels.cu: No such file' check "$p"
cp "$work/kernels.cu" "$p/kernels.cu"
code 0 '^proved' check "$p"
# Without its fusions program.c has the same calls, and no kernel is theirs.
sed -i '/hap_fuse(r/d; /hap_fused(r/d' "$p/program.c"
code 1 'kernels.cu:1: program.c has no fusion' check "$p"
rm "$p/kernels.cu"
code 0 'accepted: program.c \(edited\), kernels.cu \(missing\)' check --accept "$p"
# Those of stages: equal fusions of two stages are one kernel.
plan examples/gpt2-tiny/graph.json clusters/a100x2-v100x2.yaml --stages 0-1@new,2@old
grep -q '^HAP.*KERNEL(k1,' "$p/kernels.cu" || wrong "no kernels of stages"
[ "$(grep -c 'hap_fuse(r, "k1")' "$p/program.c")" -ge 2 ] || wrong "equal fusions of two stages have two kernels"
cp "$p/kernels.cu" "$work/kernels.cu"
sed '0,/op::add(t/s//op::sub(t/' "$work/kernels.cu" >"$p/kernels.cu"
code 1 'kernels.cu:[0-9]+: not what hapc makes of program.c:[0-9]+, k[0-9]+' check "$p"
cp "$work/kernels.cu" "$p/kernels.cu"
code 0 '^proved' check "$p"
plan examples/mlp/graph.json clusters/laptop3.yaml
touch "$p/kernels.cu"
code 1 'not proved: kernels.cu:1: program.c has no fusion' check --accept "$p"

[ $status = 0 ] && echo "edited: all right"
exit $status
