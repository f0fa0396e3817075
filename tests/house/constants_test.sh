#!/bin/bash
# tests/house/constants.sh must see each kind of number that was chosen by hand, and let what is
# lawful pass.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect 0|1 FILE LINE
expect() {
    rm -rf "${work:?}"/*
    mkdir -p "$work/$(dirname "$2")"
    printf '%s\n' "$3" >"$work/$2"
    "$here/constants.sh" "$work" >"$work/out" 2>&1
    got=$?
    if [ $got -ne "$1" ]; then
        echo "$2 with $3: exit $got, want $1"
        cat "$work/out"
        failed=1
    fi
}

expect 0 synth/a.c 'enum { FIRST = 0, SECOND = 1, N_KINDS = 2 + SECOND };'
expect 0 synth/a.c 'x = 0.5 * (a + b) / 2; // 1.15 times'
expect 0 synth/a.c 'printf("%.3f ms of 1.15", 1e3 * sec);'
expect 0 synth/a.c 'uint64_t key[24]; h = h >> 29 ^ 0x9e3779b9; at = k / 64;'
expect 0 solver/a.c 'static const int zero = 0;'
expect 0 synth/a.c 'double x = 1e-9 * (double)t.tv_nsec;'
expect 0 costmodel/device_defaults.h '#define COST_X 1.2 // s: what it is [guess]'
expect 1 synth/a.c 'enum { MANY = 700 };'
expect 1 synth/a.c '    MANY = 3, // so many'
expect 1 synth/a.c 'enum { FEW = 1, MANY = 8 };'
expect 1 solver/a.h '#define MANY 700'
expect 1 solver/a.h '#define SLOW (1.5)'
expect 1 costmodel/a.c '    static const double library = 1.4;'
expect 1 costmodel/a.c 'static const double FAR = 2, NEAR = 3;'
expect 1 synth/a/b.c 'if (a > 1.15 * b) return;'
expect 1 synth/a.c 'static const double comm[] = {0.3, 0.1};'
expect 1 synth/a.c 'return kept / 0.6;'
expect 1 synth/a.c 'sec * (1 - 1e-9)'
expect 1 synth/a.c 'for (int i = 0; i < 24; i++)'
expect 1 synth/a.c 'rise < 300 * step'
expect 1 solver/a.c 'double work = 2e6;'
expect 1 costmodel/device_defaults.h '#define COST_X 1.2'
expect 1 costmodel/device_defaults.h '#define COST_X 1.2 // seconds, whoever chose it'
printf '#define X 1 // a [set]\n#define X 2 // b [set]\n' >"$work/costmodel/device_defaults.h"
"$here/constants.sh" "$work" >/dev/null && { echo "a name defined twice passes"; failed=1; }
rm -rf "${work:?}"/*
"$here/constants.sh" "$work" >/dev/null
[ $? -eq 2 ] || { echo "an empty tree passes"; failed=1; }
exit $failed
