#!/bin/bash
# Golden plans: program.c and the plan it was printed from, for small graphs on small clusters. Each
# program.c must also compile without a warning, be a fixed point of clang-format, come out the same
# twice, pass `hapc check`, and record exactly the plan. UPDATE_GOLDEN=1 rewrites tests/plans.
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
format=$(command -v clang-format-14 || command -v clang-format)
root=$PWD
ln -s "$root/examples" "$root/clusters" "$work/" # the command line stands in the header of program.c

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
    cp "$out/kernels.cu" "$work/$plan.cu" 2>/dev/null # there are groups where there are GPUs
    if [ -n "${UPDATE_GOLDEN:-}" ]; then
        mkdir -p tests/plans
        [ ! -e "$work/$plan.cu" ] || cp "$work/$plan.cu" tests/plans/
        cp "$work/$plan.c" "$work/$plan.plan" tests/plans/
    fi
    diff -u "tests/plans/$plan.c" "$work/$plan.c" | head -n 40
    cmp -s "tests/plans/$plan.c" "$work/$plan.c" || wrong "$plan: program.c differs from tests/plans"
    [ ! -e "$work/$plan.cu" ] && [ ! -e "tests/plans/$plan.cu" ] || diff -u "tests/plans/$plan.cu" "$work/$plan.cu" ||
        wrong "$plan: kernels.cu differs from tests/plans"
    cmp -s "tests/plans/$plan.plan" "$work/$plan.plan" || wrong "$plan: the plan differs from tests/plans"

    (cd "$work" && "$hapc" "$graph" "$cluster" ${options[@]+"${options[@]}"} -o "$plan" -q) # again, over the old one
    cmp -s "$work/$plan.c" "$out/program.c" || wrong "$plan: not the same twice"
    ${CC:-cc} $warnings -I"$HAP_BUILD/include" -c "$out/program.c" -o "$work/p.o" || wrong "$plan: does not compile"
    if command -v clang-14 >/dev/null; then
        clang-14 $warnings -I"$HAP_BUILD/include" -c "$out/program.c" -o "$work/p.o" || wrong "$plan: clang"
    fi
    if [ -n "$format" ]; then
        cp .clang-format "$out/"
        "$format" --style=file --dry-run -Werror "$out/program.c" || wrong "$plan: layout"
    fi
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
[ -n "$format" ] || echo "no clang-format: layout not looked at"
exit $status
