#!/usr/bin/env bash
# hapc run under failure: a rank that dies, one that stops, Ctrl-C. Each time every process is gone
# within the time that docs/formats.md promises, and exactly one message says where it was.
set -u
hapc=$HAP_BUILD/bin/hapc
work=$(mktemp -d)
export TMPDIR=$work # heartbeats of other runs on this machine are none of ours
run_pid=
cleanup() {
    [ -n "$run_pid" ] && kill -TERM "$run_pid" 2>/dev/null && wait "$run_pid" 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT
fails=0
fail() {
    echo "FAIL: $*"
    fails=$((fails + 1))
}

"$hapc" examples/mlp/graph.json clusters/laptop3.yaml -q -o "$work/mlp" || exit 1
"$hapc" run "$work/mlp" --steps 1 >"$work/out" 2>"$work/err"
[ $? = 1 ] || fail "a run without its inputs does not exit 1"
[ "$(grep -vc '^[A-Z_]*=.*mpirun' "$work/err")" = 1 ] || fail "not one message: $(cat "$work/err")"
grep -q '^error: ' "$work/err" || fail "no error line: $(cat "$work/err")"

# Inputs: 64 rows of zeros and labels (npy headers of 128 bytes).
npy() { # NAME DESCR SHAPE BYTES
    printf "\x93NUMPY\x01\x00\x76\x00%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" >"$work/$1"
    head -c "$4" /dev/zero >>"$work/$1"
}
npy image.npy '<f4' '(64, 784)' $((64 * 784 * 4))
npy label.npy '<i8' '(64,)' $((64 * 8))
inputs=(--input "image=$work/image.npy" --input "label=$work/label.npy")

"$hapc" run "$work/mlp" --steps 3 --json "${inputs[@]}" >"$work/out" 2>"$work/err" || fail "a good run fails: $(cat "$work/err")"
[ "$(grep -c '^{"step":[0-2],"loss":[0-9.]*,"ms":[0-9.]*}$' "$work/out")" = 3 ] || fail "not three lines of json: $(cat "$work/out")"

binary=$(ls "$work"/mlp/build/*/program | head -n 1)
ranks() { # pids of the ranks, in order
    local exe pid
    for exe in /proc/[0-9]*/exe; do
        pid=${exe#/proc/}
        pid=${pid%/exe}
        [ "$(readlink "$exe" 2>/dev/null)" = "$binary" ] && echo "$pid"
    done | sort -n
}
start() { # a run of many steps, until its first step is printed
    : >"$work/out"
    "$hapc" run "$work/mlp" --steps 100000000 "${inputs[@]}" >"$work/out" 2>"$work/err" &
    run_pid=$!
    for _ in $(seq 300); do
        grep -q '^step 1 ' "$work/out" && return
        sleep 0.1
    done
    fail "the run does not start: $(cat "$work/err")"
}
finish() { # CODE SECONDS WHAT: waits for the end of the run
    local begin=$SECONDS code
    wait "$run_pid"
    code=$?
    run_pid=
    [ $code = "$1" ] || fail "$3: exit $code, wanted $1: $(cat "$work/err")"
    [ $((SECONDS - begin)) -le "$2" ] || fail "$3: took $((SECONDS - begin)) s"
    [ -z "$(ranks)" ] || fail "$3: ranks are left: $(ranks)"
    [ "$(grep -vc '^[A-Z_]*=.*mpirun' "$work/err")" = 1 ] || fail "$3: not exactly one message: $(cat "$work/err")"
    [ -z "$(ls -d "$work"/hapc-?????? 2>/dev/null)" ] || fail "$3: heartbeats are left"
}

start
victim=$(ranks | sed -n 2p)
rank=$(grep -l "^$victim " "$work"/hapc-??????/rank.* | sed 's/.*rank\.//')
kill -9 "$victim"
finish 5 15 "killed rank"
grep -q "^rank $rank host .* device cpu[0-9] step [0-9]* program.c:[0-9]*: .*died" "$work/err" || fail "killed rank $rank: $(cat "$work/err")"

start
victim=$(ranks | sed -n 3p)
rank=$(grep -l "^$victim " "$work"/hapc-??????/rank.* | sed 's/.*rank\.//')
kill -STOP "$victim"
finish 5 30 "stopped rank"
grep -q "^rank $rank host .* device cpu[0-9] step [0-9]* program.c:[0-9]*: .*stopped" "$work/err" || fail "stopped rank $rank: $(cat "$work/err")"

start
kill -TERM "$run_pid"
finish 130 15 "SIGTERM"

start # Ctrl-C: a background job of a shell ignores SIGINT, hapc must not
kill -INT "$run_pid"
finish 130 15 "Ctrl-C"

[ $fails = 0 ] && echo ok
exit $((fails > 0))
