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
expect 0 emit/a.c '"synth/search/a.h"'
expect 0 synth/passes/a.c '"synth/price/b.h"'
expect 0 synth/certify/a.c '"synth/plan/b.h"'
expect 0 runtime/cuda/step/a.c '"cuda/comm/b.h"'
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
expect 1 costmodel/a.h '"synth/plan/a.h"'
expect 1 synth/price/a.c '"synth/space/b.h"'
expect 1 synth/plan/a.h '"synth/search/b.h"'
expect 1 synth/certify/a.c '"synth/passes/b.h"' # the checker takes nothing from what made the plan
expect 1 synth/a.c '"ir/graph.h"'               # in no room
expect 1 solver/a.c '"ir/graph.h"'
expect 1 emit/a.c '"cli/a.h"'
expect 1 synth/plan/a.c '  "emit/emit.h"'
expect 1 emit/a.c '"runtime/core/a.h"'
expect 1 emit/a.c '"hap/runtime.h"'
expect 1 emit/a.c '"core/rank.h"'
expect 1 runtime/core/a.c '"ir/base/arena.h"'
expect 1 synth/plan/a.c '<glpk.h>'
expect 1 runtime/cpu/a.c '<glpk.h>'
expect 1 clusters/a.c '<yaml.h>'
expect 1 cli/a.c '<mpi.h>'
expect 1 cli/a.c '<cuda_runtime.h>'
expect 1 emit/a.c '<nccl.h>'
expect 1 runtime/core/a.c '<cblas.h>'
expect 1 ir/a.c '"graph.h"'

# A tree of the lines "FILE<TAB>TEXT" on stdin. breach TEXT: layering.sh must refuse it, with TEXT.
tree() {
    rm -rf "${work:?}"/*
    while IFS=$'\t' read -r file text; do
        mkdir -p "$work/$(dirname "$file")"
        printf '%s\n' "$text" >>"$work/$file"
    done
}
breach() {
    if HAP_BUILD=$work/build "$here/layering.sh" "$work" >"$work/out" 2>&1; then
        echo "passes: $1"
        failed=1
    elif ! grep -qF "$1" "$work/out"; then
        echo "refused, but without \"$1\":"
        cat "$work/out"
        failed=1
    fi
}

tree <<<$'ir/same.c\t\nsynth/plan/same.c\t'
breach "two files have this name"
tree <<<$'synth/plan/b.h\t\nsynth/plan/a.h\t\nsynth/plan/a.c\t#include "synth/plan/b.h"'
breach "the first include of synth/plan/a.c is a.h"
tree <<<$'ir/a.h\t#include "ir/b.h"\nir/b.h\t#include "ir/c.h"\nir/c.h\t#include "ir/a.h"'
breach "files in a circle"

# By calls: a.c calls what b.h declares and b.c defines.
build() {
    mkdir -p "$work/build"
    for file in "$@"; do
        object=CMakeFiles/x.dir/$file.o
        mkdir -p "$work/build/$(dirname "$object")"
        "${CC:-cc}" -w -c "$work/$file" -o "$work/build/$object"
        echo "\"command\": \"cc -o $object -c $file\"" >>"$work/build/compile_commands.json"
    done
}
tree <<<$'ir/a.c\tint b(void); int a(void) { return b(); }\nir/b.c\tint a(void); int b(void) { return a(); }'
build ir/a.c ir/b.c
breach "files in a circle"
tree <<<$'synth/plan/a.c\tint b(void); int a(void) { return b(); }\nsynth/search/b.c\tint b(void) { return 1; }'
build synth/plan/a.c synth/search/b.c
breach "synth/plan may not see synth/search (b)"

rm -rf "${work:?}"/*
"$here/layering.sh" "$work" >/dev/null
[ $? -eq 2 ] || { echo "an empty tree passes"; failed=1; }
exit $failed
