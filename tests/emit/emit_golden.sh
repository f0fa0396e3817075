#!/bin/bash
# Golden plans: program.c with its buffers.h, and the plan they were printed from, for small graphs on
# small clusters. Each program.c must also compile without a warning, keep to 100 columns, begin its
# step within 150 lines, come out the same twice, pass `hapc check`, and record exactly the plan. So
# that it stays readable, GPT-2 must not grow. UPDATE_GOLDEN=1 rewrites tests/plans.
set -u
hapc=$HAP_BUILD/bin/hapc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
wrong() {
    echo "FAILED: $*"
    status=1
}
warnings="-std=c11 -pedantic -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Werror"
root=$PWD
ln -s "$root/examples" "$root/clusters" "$work/" # the command line stands in the header of program.c

layout() { # NAME DIR
    [ "$(wc -L <"$2/program.c")" -le 100 ] && [ "$(wc -L <"$2/buffers.h")" -le 100 ] || wrong "$1: over 100 columns"
    [ "$(grep -n hap_next_step "$2/program.c" | cut -d: -f1)" -le 150 ] || wrong "$1: the step begins late"
    [ "$(grep -c 'at_[0-9]' "$2/program.c" "$2/buffers.h" | grep -vc ':0$')" = 0 ] || wrong "$1: a name is a number"
}

for plan in mlp@laptop3 mlp@laptop1 gpt2-tiny@laptop gpt2-tiny@laptop2 bert-tiny@laptop2 \
    gpt2-tiny@h200x4 gpt2-tiny@laptop-peers gpt2-tiny@laptop-peers-pairs; do
    graph=examples/${plan%@*}/graph.json cluster=${plan#*@} options=()
    case $cluster in *-pairs) options=(--pin 'transformer.h.*.mlp.c_fc=S(2)' --pin 'transformer.h.*.add*=S(0)') ;; esac
    cluster=clusters/${cluster%-pairs}.yaml
    out=$work/$plan
    (cd "$work" && "$hapc" "$graph" "$cluster" ${options[@]+"${options[@]}"} -o "$plan" -q) || { wrong "$plan: no plan"; continue; }
    "$hapc" "$graph" "$cluster" ${options[@]+"${options[@]}"} -q -d p >"$work/$plan.plan" || wrong "$plan: -d p"
    "$hapc" "$graph" "$cluster" ${options[@]+"${options[@]}"} -q -d l >"$work/$plan.record" || wrong "$plan: -d l"
    cp "$out/program.c" "$work/$plan.c"
    cp "$out/buffers.h" "$work/$plan.h"
    cp "$out/kernels.cu" "$work/$plan.cu" 2>/dev/null # there are groups where there are GPUs
    if [ -n "${UPDATE_GOLDEN:-}" ]; then
        mkdir -p tests/plans
        [ ! -e "$work/$plan.cu" ] || cp "$work/$plan.cu" tests/plans/
        cp "$work/$plan.c" "$work/$plan.h" "$work/$plan.plan" tests/plans/
    fi
    for text in c h; do
        diff -u "tests/plans/$plan.$text" "$work/$plan.$text" | head -n 40
        cmp -s "tests/plans/$plan.$text" "$work/$plan.$text" || wrong "$plan.$text differs from tests/plans"
    done
    [ ! -e "$work/$plan.cu" ] && [ ! -e "tests/plans/$plan.cu" ] || diff -u "tests/plans/$plan.cu" "$work/$plan.cu" ||
        wrong "$plan: kernels.cu differs from tests/plans"
    cmp -s "tests/plans/$plan.plan" "$work/$plan.plan" || wrong "$plan: the plan differs from tests/plans"

    (cd "$work" && "$hapc" "$graph" "$cluster" ${options[@]+"${options[@]}"} -o "$plan" -q) # again, over the old one
    cmp -s "$work/$plan.c" "$out/program.c" && cmp -s "$work/$plan.h" "$out/buffers.h" ||
        wrong "$plan: not the same twice"
    ${CC:-cc} $warnings -I"$HAP_BUILD/include" -c "$out/program.c" -o "$work/p.o" || wrong "$plan: does not compile"
    if command -v clang-14 >/dev/null; then
        clang-14 $warnings -I"$HAP_BUILD/include" -c "$out/program.c" -o "$work/p.o" || wrong "$plan: clang"
    fi
    layout "$plan" "$out"
    "$hapc" check "$out" -d l >"$work/$plan.log" || wrong "$plan: check"
    head -n -1 "$work/$plan.log" | diff "$work/$plan.record" - >"$work/diff" || {
        wrong "$plan: record(program.c) is not the plan"
        head -n 20 "$work/diff"
    }
    for json in plan.json trace.json; do
        command -v python3 >/dev/null || continue
        python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$out/$json" || wrong "$plan: $json"
    done
done

for batch in 4 8; do
    "$hapc" examples/gpt2/graph.json clusters/laptop.yaml --batch $batch -q -o "$work/gpt2" || wrong "gpt2: no plan"
    lines=$(cat "$work/gpt2/program.c" "$work/gpt2/buffers.h" | wc -l)
    echo "gpt2@laptop, batch $batch: $lines lines"
    [ "$lines" -le 900 ] || wrong "gpt2@laptop, batch $batch: $lines lines"
    layout "gpt2@laptop, batch $batch" "$work/gpt2"
done
exit $status
