#!/bin/bash
# Names of the user's that are not C: they reach identifiers, strings and comments of program.c, which
# must still compile, keep its layout, be proved, and run.
set -u
hapc=$HAP_BUILD/bin/hapc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
wrong() {
    echo "FAILED: $*"
    status=1
}
cat >"$work/graph.json" <<'END'
{"format": "hap.graph", "version": 1, "producer": "a test */ \"??/",
 "tensors": {
  "r": {"kind": "input", "dtype": "f32", "shape": ["B", 8], "batch": 0},
  "int": {"kind": "param", "dtype": "f32", "shape": [8, 16], "init": {"normal": 0.1}},
  "a*/b \"quoted\" \\ back": {"kind": "param", "dtype": "f32", "shape": [16], "init": {"const": 0}},
  "1st.größe%s%n": {"kind": "param", "dtype": "f32", "shape": [16, 16], "init": {"normal": 0.1}},
  "op_add": {"kind": "param", "dtype": "f32", "shape": [16], "init": {"const": 0.5}},
  "at_0": {"kind": "param", "dtype": "f32", "shape": [16], "init": {"const": 0.25}},
  "rows": {"kind": "param", "dtype": "f32", "shape": [16], "init": {"const": 0.125}},
  "a.b": {"kind": "param", "dtype": "f32", "shape": [16], "init": {"const": 1}},
  "a_b": {"kind": "param", "dtype": "f32", "shape": [16], "init": {"const": 2}},
  "??/ trigraph\\": {"kind": "param", "dtype": "f32", "shape": [16], "init": {"const": 3}}},
 "batch": {"B": 6},
 "nodes": [
  {"name": "hap_at", "op": "linear", "in": ["r", "int", "a*/b \"quoted\" \\ back"], "out": ["main"]},
  {"name": "line\nbreak // \\", "op": "linear", "in": ["main", "1st.größe%s%n", "op_add"], "out": ["while"]},
  {"name": "/*", "op": "add", "in": ["while", "at_0"], "out": ["NULL"]},
  {"name": "*/", "op": "add", "in": ["NULL", "rows"], "out": ["HAP_F32"]},
  {"name": "printf", "op": "mul", "in": ["HAP_F32", "a.b"], "out": ["b"]},
  {"name": "??/", "op": "add", "in": ["b", "a_b"], "out": ["i"]},
  {"name": "e", "op": "mul", "in": ["i", "??/ trigraph\\"], "out": ["argv"]},
  {"name": "", "op": "mul", "in": ["argv", "argv"], "out": ["a very long name that goes on and on and on so that no line of a hundred columns could ever hold it whole.weight"]},
  {"name": "loss.", "op": "mean", "in": ["a very long name that goes on and on and on so that no line of a hundred columns could ever hold it whole.weight"], "out": ["loss"], "attrs": {"dims": [0, 1]}}],
 "loss": "loss",
 "optimizer": {"name": "sgd", "lr": 0.001}}
END
if ! "$hapc" "$work/graph.json" clusters/laptop3.yaml -q -o "$work/plan" 2>"$work/err"; then
    # A reader that refuses an empty name is right too; nothing else may be wrong with the file.
    sed -i 's/{"name": "", "op"/{"name": "empty", "op"/' "$work/graph.json"
    "$hapc" "$work/graph.json" clusters/laptop3.yaml -q -o "$work/plan" || wrong "no plan"
fi
c=$work/plan/program.c
cc -std=c11 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror -I"$HAP_BUILD/include" -c "$c" -o "$work/p.o" || wrong "does not compile"
[ "$(wc -L <"$c")" -le 100 ] && [ "$(wc -L <"$work/plan/buffers.h")" -le 100 ] || wrong "layout"
"$hapc" check "$work/plan" || wrong "not proved"
"$hapc" explain "$work/plan" 'int' >/dev/null || wrong "explain"
printf "\x93NUMPY\x01\x00\x76\x00%-117s\n" "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 8), }" >"$work/r.npy"
head -c 192 /dev/zero >>"$work/r.npy"
"$hapc" run "$work/plan" --steps 3 --input "r=$work/r.npy" --json --save "$work/weights.safetensors" >"$work/out" 2>"$work/err" || {
    wrong "run"
    cat "$work/err"
}
[ "$(grep -c '"loss"' "$work/out")" = 3 ] || wrong "three losses"
grep -q 'größe' "$work/weights.safetensors" || wrong "the checkpoint does not hold the user's name"
exit $status
