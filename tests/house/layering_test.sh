#!/bin/bash
# tests/house/layering.sh must see each kind of breach, and let what is lawful pass.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect 0|1 FILE INCLUDE
expect() {
    rm -rf "${work:?}"/*
    mkdir -p "$work/$(dirname "$2")" "$work/tests"
    printf '#include %s\n' "$3" >"$work/$2"
    "$here/layering.sh" "$work" >"$work/out" 2>&1
    got=$?
    if [ $got -ne "$1" ]; then
        echo "$2 with #include $3: exit $got, want $1"
        cat "$work/out"
        failed=1
    fi
}

expect 0 ir/base/a.c '"ir/base/a.h"'
expect 0 ir/a.c '"ir/base/a.h"'
expect 0 cli/a.c '"ir/graph.h"'
expect 0 emit/a.c '"synth/plan.h"'
expect 0 ir/a.c '"ops.def"'
expect 0 runtime/cpu/a.c '"hap/runtime.h"'
expect 0 runtime/cpu/a.c '"runtime/core/a.h"'
expect 0 runtime/cpu/a.c '"core/a.h"'
expect 0 runtime/cpu/a.c '<mpi.h>'
expect 0 runtime/cpu/a.c '<cblas.h>'
expect 0 solver/a.c '<glpk.h>'
expect 0 ir/base/a.c '<yaml.h>'
expect 0 solver/a.c '"ir/base/arena.h"'
expect 1 ir/base/a.c '"ir/graph.h"'
expect 1 ir/a.c '"clusters/cluster.h"'
expect 1 costmodel/a.h '"synth/plan.h"'
expect 1 solver/a.c '"ir/graph.h"'
expect 1 emit/a.c '"cli/a.h"'
expect 1 synth/a.c '  "emit/emit.h"'
expect 1 emit/a.c '"runtime/core/a.h"'
expect 1 emit/a.c '"hap/runtime.h"'
expect 1 emit/a.c '"core/rank.h"'
expect 1 runtime/core/a.c '"ir/base/arena.h"'
expect 1 synth/a.c '<glpk.h>'
expect 1 runtime/cpu/a.c '<glpk.h>'
expect 1 clusters/a.c '<yaml.h>'
expect 1 cli/a.c '<mpi.h>'
expect 1 cli/a.c '<cuda_runtime.h>'
expect 1 emit/a.c '<nccl.h>'
expect 1 runtime/core/a.c '<cblas.h>'
expect 1 ir/a.c '"graph.h"'

mkdir -p "$work/ir" "$work/synth"
rm -rf "${work:?}"/*
mkdir -p "$work/ir" "$work/synth"
touch "$work/ir/same.c" "$work/synth/same.c"
"$here/layering.sh" "$work" >/dev/null && { echo "equal file names pass"; failed=1; }
rm -rf "${work:?}"/*
"$here/layering.sh" "$work" >/dev/null
[ $? -eq 2 ] || { echo "an empty tree passes"; failed=1; }
exit $failed
