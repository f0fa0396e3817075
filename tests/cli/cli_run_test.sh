#!/usr/bin/env bash
# hapc run under failure: a rank that dies, one that stops, Ctrl-C, a library or a device that is not
# there, a device that is full. Each time every process is gone within the time that docs/formats.md
# promises, and exactly one message says where it was. Usage:
# tests/cli/cli_run_test.sh [cpu | cuda [nan | pushes | tiles]]; with nan only what --check-nan says; with
# pushes only a rank that dies and one that stops, of a plan with collectives by push; with tiles of one
# whose pairs run as lists of tiles, whose kernels then wait for the lost rank. HAP_TEST_GPUS: so many
# devices (all).
set -u
. tests/cli/one_message.sh
backend=${1:-cpu} n=3
[ "${2:-}" = pushes ] && pushes=1 n=4 || pushes=
[ "${2:-}" = tiles ] && tiles=1 || tiles=
if [ "$backend" = cuda ]; then
    n=${HAP_TEST_GPUS:-$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')}
    [ "$n" -le 3 ] || n=$((pushes ? 4 : 3))
    if [ "$pushes" ] && [ "$n" -lt 4 ]; then
        echo "skipped: $n CUDA devices for 4 ranks"
        exit 77
    fi
    if [ "$tiles" ] && [ "$n" -lt 2 ]; then
        echo "skipped: $n CUDA devices for 2 ranks"
        exit 77
    fi
fi
hapc=$HAP_BUILD/bin/hapc
work=$(mktemp -d)
export TMPDIR=$work HAPC_CACHE=$work/cache # other runs on this machine are none of ours
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

run=("$hapc" run "$work/mlp" --backend "$backend")
ranks() { # pids of the ranks, in order
    local exe pid
    for exe in /proc/[0-9]*/exe; do
        pid=${exe#/proc/}
        pid=${pid%/exe}
        [[ "$(readlink "$exe" 2>/dev/null)" = "$work"/cache/*/program ]] && echo "$pid"
    done | sort -n
}
broken() { # WHAT MESSAGE [VARIABLE=VALUE…]: a run that cannot start
    local what=$1 message=$2 begin=$SECONDS code
    shift 2
    env "$@" "${run[@]}" --steps 1000000 "${inputs[@]}" >"$work/out" 2>"$work/err"
    code=$?
    [ $code = 5 ] || fail "$what: exit $code, wanted 5: $(cat "$work/err")"
    [ $((SECONDS - begin)) -le 40 ] || fail "$what: took $((SECONDS - begin)) s"
    [ -z "$(ranks)" ] || fail "$what: ranks are left: $(ranks)"
    one_message "$what"
    grep -q "$message" "$work/err" || fail "$what: $(cat "$work/err")"
}
if [ "$tiles" ]; then
    sed "s/count: 4/count: $n/" clusters/h200x4.yaml >"$work/cluster.yaml"
    "$hapc" examples/gpt2-8k/graph.json "$work/cluster.yaml" --batch $((4 * n)) --precision bf16 -q -o "$work/mlp" \
        --pin 'transformer.h.*.mlp.c_fc=S(2)' --pin 'transformer.h.*.add*=S(0)' || exit 1
    grep -q 'hap_tiles(' "$work/mlp/program.c" || fail "no lists of tiles in the program"
    run+=(--cuda tiles=all)
elif [ "$pushes" ]; then
    "$hapc" examples/mlp/graph.json clusters/laptop-peers.yaml --strategy tp -q -o "$work/mlp" || exit 1
    grep -q 'AXIS(0), FORM_PUT' "$work/mlp/program.c" || fail "no pushes in the program"
else
    "$hapc" examples/mlp/graph.json clusters/laptop$((n ? n : 2)).yaml --strategy dp-even -q -o "$work/mlp" || exit 1
fi
# Inputs: 64 rows of zeros and labels (npy headers of 128 bytes).
npy() { # NAME DESCR SHAPE BYTES
    printf "\x93NUMPY\x01\x00\x76\x00%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" >"$work/$1"
    head -c "$4" /dev/zero >>"$work/$1"
}
npy image.npy '<f4' '(64, 784)' $((64 * 784 * 4))
npy label.npy '<i8' '(64,)' $((64 * 8))
inputs=(--input "image=$work/image.npy" --input "label=$work/label.npy")
if [ "$tiles" ]; then
    npy tokens.npy '<i8' "($((4 * n)), 2048)" $((4 * n * 2048 * 8))
    inputs=(--input "input_ids=$work/tokens.npy" --input "labels=$work/tokens.npy")
fi

old_driver() { # one that supports less than what the runtime was built with
    mkdir "$work/driver"
    cc -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$work/driver/libcuda.so.1" tests/support/old_driver.c || exit 1
    broken "old driver" 'the CUDA driver is too old: it supports CUDA 11\.2, this runtime is [0-9.]*$' \
        LD_LIBRARY_PATH="$work/driver:${LD_LIBRARY_PATH:-}"
}
too_old() { # a plan for GPUs that CUDA 13 builds nothing for: said by the plan and at the start
    sed 's/H200/V100-16GB/' clusters/h200x4.yaml >"$work/old.yaml"
    "$hapc" examples/mlp/graph.json "$work/old.yaml" --precision bf16 -o "$work/old" >"$work/out" || exit 1
    grep -q '^Run      Not here: CUDA 13 builds for sm_75 and newer, a V100-16GB is sm_70\.$' "$work/out" || fail "$(cat "$work/out")"
    tr '\n' ' ' <"$work/out" | tr -s ' ' | grep -q 'A V100-16GB has no bf16: it computes at the rate of f32\.' || fail "$(cat "$work/out")"
    "$hapc" run "$work/old" "${inputs[@]}" >"$work/out" 2>"$work/err"
    [ $? = 1 ] || fail "an old GPU's plan does not exit 1"
    grep -q '^hapc: error: not supported: V100-16GB: CUDA 13 builds for sm_75 and newer$' "$work/err" || fail "$(cat "$work/err")"
}
too_old
if [ "$n" = 0 ]; then
    old_driver
    broken "no device" 'there is no CUDA d[a-z]* on this host$'
    [ $fails = 0 ] || exit 1
    echo "skipped: no CUDA device"
    exit 77
fi
"${run[@]}" --steps 1 >"$work/out" 2>"$work/err"
[ $? = 1 ] || fail "a run without its inputs does not exit 1"
one_message "a run without its inputs"
grep -q '^error: ' "$work/err" || fail "no error line: $(cat "$work/err")"

"${run[@]}" --steps 3 --json "${inputs[@]}" >"$work/out" 2>"$work/err" || fail "a good run fails: $(cat "$work/err")"
[ "$(grep -c '^{"step":[0-2],"loss":[-0-9.e]*,"ms":[0-9.]*}$' "$work/out")" = 3 ] || fail "not three lines of json: $(cat "$work/out")"

not_numbers() { # what --check-nan says of good rows and of infinite ones
    local good=("${inputs[@]}")
    "${run[@]}" --steps 3 --check-nan "${inputs[@]}" >"$work/out" 2>"$work/err" || fail "a good run under --check-nan fails: $(cat "$work/err")"
    { head -c 128 "$work/image.npy"; for _ in $(seq $((64 * 784))); do printf '\0\0\200\177'; done; } >"$work/infinite.npy"
    inputs=(--input "image=$work/infinite.npy" --input "label=$work/label.npy")
    run+=(--check-nan)
    broken "infinite rows" 'linear: makes the first NaN (output 0, element 0 of [0-9]* here); operand 0 holds an infinity$'
    inputs=("${good[@]}")
    unset "run[-1]"
}
if [ "${2:-}" = nan ]; then
    not_numbers
    cat "$work/err"
    [ $fails = 0 ] && echo ok
    exit $((fails > 0))
fi

# Ranks that start slowly, and the last one later than others, are not taken for ranks that hang or
# died; what Open MPI says by itself is not shown of a run that ends well, and is the reason of one
# that nothing else explains.
cat >"$work/slow_mpirun" <<S
#!/bin/sh
[ "\$1" = --version ] && exec ${HAPC_MPIRUN:-mpirun} --version
sleep 11
echo '[a][[10540,1],2][../btl_tcp_frag.c:135:mca_btl_tcp_frag_send] mca_btl_tcp_frag_send: writev failed' >&2
exec ${HAPC_MPIRUN:-mpirun} "\$@"
S
sed -e '/^sleep/d' -e 's/^exec.*\$@.*/exit 1/' "$work/slow_mpirun" >"$work/lost_mpirun"
printf '#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" != 2 ] || sleep 2\nexec "$@"\n' >"$work/late_rank"
chmod +x "$work/slow_mpirun" "$work/lost_mpirun" "$work/late_rank"
if [ ! "$pushes$tiles" ] && [ "$backend" = cpu ]; then
    OMPI_MCA_orte_fork_agent=$work/late_rank HAPC_MPIRUN=$work/slow_mpirun "${run[@]}" --steps 1 "${inputs[@]}" >"$work/out" 2>"$work/err" || fail "a slow start: $(cat "$work/err")"
    grep -q btl_tcp "$work/err" && fail "Open MPI's own words are shown: $(cat "$work/err")"
    broken "a lost connection" '^hapc: error: .*: mca_btl_tcp_frag_send: writev failed$' HAPC_MPIRUN="$work/lost_mpirun"
fi

start() { # a run of many steps, until its first step is printed
    : >"$work/out"
    "${run[@]}" --steps 100000000 "${inputs[@]}" >"$work/out" 2>"$work/err" &
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
    one_message "$3"
    [ -z "$(ls -d "$work"/hapc-?????? 2>/dev/null)" ] || fail "$3: heartbeats are left"
}

start
victim=$(ranks | sed -n $((n > 1 ? 2 : 1))p)
rank=$(grep -l "^$victim " "$work"/hapc-??????/rank.* | sed 's/.*rank\.//')
kill -9 "$victim"
finish 5 15 "killed rank"
grep -q "^rank $rank host .* device [A-Za-z0-9]* step [0-9]*\( program.c:[0-9]*\)*: .*died" "$work/err" || fail "killed rank $rank: $(cat "$work/err")"

start
victim=$(ranks | tail -n 1)
rank=$(grep -l "^$victim " "$work"/hapc-??????/rank.* | sed 's/.*rank\.//')
kill -STOP "$victim"
finish 5 30 "stopped rank"
grep -q "^rank $rank host .* device [A-Za-z0-9]* step [0-9]*\( program.c:[0-9]*\)*: .*stopped" "$work/err" || fail "stopped rank $rank: $(cat "$work/err")"

if [ "$pushes$tiles" ]; then
    [ $fails = 0 ] && echo ok
    exit $((fails > 0))
fi

start
kill -TERM "$run_pid"
finish 130 15 "SIGTERM"

start # Ctrl-C: a background job of a shell ignores SIGINT, hapc must not
kill -INT "$run_pid"
finish 130 15 "Ctrl-C"

not_numbers

# A library that is there when the program is built and gone when it runs.
echo 'int gone;' >"$work/gone.c"
cc -shared -fPIC -o "$work/libgone.so" "$work/gone.c" || exit 1
export CC="cc -Wl,--no-as-needed -L$work -lgone"
LD_LIBRARY_PATH=$work:${LD_LIBRARY_PATH:-} "${run[@]}" --steps 1 "${inputs[@]}" >"$work/out" 2>"$work/err" ||
    fail "with the library: $(cat "$work/err")"
rm "$work/libgone.so"
broken "missing library" '^hapc: error: the program does not start: libgone.so: cannot open'
unset CC

# A rank that is stopped before its first call, which others wait for.
cat >"$work/early.c" <<'S'
#include <signal.h>
#include <stdlib.h>
__attribute__((constructor)) static void early(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    if (rank && atoi(rank) == 1) raise(SIGSTOP);
}
S
cc -c -o "$work/early.o" "$work/early.c" || exit 1
[ "$n" = 1 ] || broken "stopped early" '^rank 1 host .* before its first call: stopped (suspended process) for [12]' CC="cc $work/early.o"
# The same of one that is gone, which its launcher has not seen: another program has its place.
sed 's/raise(SIGSTOP)/execl("\/bin\/sleep", "sleep", "100", (char *)NULL)/; s/<signal.h>/<unistd.h>/' "$work/early.c" >"$work/gone_early.c"
cc -c -o "$work/gone_early.o" "$work/gone_early.c" || exit 1
[ "$n" = 1 ] || broken "gone early" '^rank 1 host .* before its first call: the process died$' CC="cc $work/gone_early.o"
# A rank that loses another one by its network speaks before mpirun says who died: both are said.
cat >"$work/loses.c" <<S
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *speak(void *none)
{
    while (access("$work/lost", F_OK) != 0)
        usleep(1000);
    fprintf(stderr, "rank 0 host here step 1: the connection is closed by its peer\\n");
    return none;
}
__attribute__((constructor)) static void begin(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    pthread_t t;
    if (rank && atoi(rank) == 0) pthread_create(&t, NULL, speak, NULL);
}
S
cc -c -o "$work/loses.o" "$work/loses.c" || exit 1
if [ "$n" -gt 1 ]; then
    export CC="cc -pthread $work/loses.o"
    start
    unset CC
    victim=$(ranks | tail -n 1)
    rank=$(grep -l "^$victim " "$work"/hapc-??????/rank.* | sed 's/.*rank\.//')
    touch "$work/lost"
    for _ in $(seq 100); do grep -q 'closed by its peer' "$work/err" && break; sleep 0.1; done
    kill -9 "$victim"
    wait "$run_pid"
    code=$?
    run_pid=
    [ $code = 5 ] && grep -q '^rank 0 host here step 1: the connection is closed by its peer$' "$work/err" &&
        grep -q "^rank $rank host .*: the process died (signal 9, Killed)$" "$work/err" ||
        fail "lost by another: exit $code: $(cat "$work/err")"
fi
# hapc itself is killed while it compiles: the compiler ends with it.
if [ "$backend" = cpu ]; then
    printf '#!/bin/sh\n[ "$1" = --version ] && exec cc --version\necho $$ >"%s/compiles"\nexec sleep 100\n' "$work" >"$work/slow_cc"
    chmod +x "$work/slow_cc"
    CC=$work/slow_cc "${run[@]}" --steps 1 "${inputs[@]}" >"$work/out" 2>"$work/err" &
    pid=$!
    for _ in $(seq 100); do [ -s "$work/compiles" ] && break; sleep 0.1; done
    kill -9 $pid
    wait $pid 2>/dev/null
    for _ in $(seq 20); do [ -d "/proc/$(cat "$work/compiles")" ] || break; sleep 0.1; done
    [ -s "$work/compiles" ] && [ ! -d "/proc/$(cat "$work/compiles")" ] || fail "the compiler is left: $(cat "$work/compiles")"
fi

# All are gone, and the launcher hangs.
sed 's/if (rank.*) exec/sleep(3);\n    if (rank) exec/' "$work/gone_early.c" >"$work/all_gone.c"
cc -c -o "$work/all_gone.o" "$work/all_gone.c" || exit 1
broken "all gone early" '^hapc: error: the ranks are gone before their first call, and mpirun goes on' CC="cc $work/all_gone.o"

if [ "$backend" = cuda ]; then
    old_driver
    [ "$n" = 1 ] || broken "one device for all" 'this rank and another of its host are both for the CUDA device' CUDA_VISIBLE_DEVICES=0
    broken "hidden devices" 'there is no CUDA device on this host$' CUDA_VISIBLE_DEVICES=
    if python3 -c 'import torch' 2>/dev/null; then # fills the last device
        mkfifo "$work/hold"
        python3 -c "
import sys, torch
rest = 24 << 20
keep, device = [], 'cuda:$((n - 1))'
torch.zeros(1, device=device)
while torch.cuda.mem_get_info(device)[0] > rest:
    keep.append(torch.empty(max(2 << 20, torch.cuda.mem_get_info(device)[0] - rest), dtype=torch.uint8, device=device))
print('full', flush=True)
sys.stdin.read()" <"$work/hold" >"$work/full" 2>&1 &
        exec 9>"$work/hold"
        for _ in $(seq 300); do grep -q full "$work/full" && break; sleep 0.1; done
        broken "full device" '^rank [0-9]* host .*: .*\(memory\|NCCL\|cuda\)'
        exec 9>&-
        wait $!
    fi
fi

[ $fails = 0 ] && echo ok
exit $((fails > 0))
