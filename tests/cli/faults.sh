#!/usr/bin/env bash
# Random faults in running jobs of three CPU ranks, or of one or more on CUDA devices: each time the job ends
# with one message, no process is left, the newest checkpoint is whole and none that was written is
# lost. Ends after more than 15 s are counted, those after more than 75 s (ranks that start have 60)
# are hangs.
#
#   tests/cli/faults.sh [N [SEED [cpu|cuda [DEVICES]]]]
#
# N faults (10; 250 at night, a fifth of them in saves), drawn from SEED, which also says the kind to
# begin with: a rank is killed, crashes, stops; the launcher is killed; hapc is killed; a rank is
# killed while a checkpoint is written; the disk of checkpoints is full (as root alone, who may make
# one). They come at random times, from before the first call on; on devices, which take seconds to
# start, within 7 s. Checkpoints are read again by CPU ranks.
set -u
. tests/cli/one_message.sh
hapc=${HAP_BUILD:?}/bin/hapc
n=${1:-${HAP_NIGHTLY:+250}} n=${n:-10}
seed=${2:-$(date +%s)}
backend=${3:-cpu}
devices=${4:-}
RANDOM=$seed
work=$(mktemp -d)
run_pid=
disk=
cleanup() {
    [ -n "$run_pid" ] && kill -TERM "$run_pid" 2>/dev/null && wait "$run_pid" 2>/dev/null
    [ -z "$disk" ] || umount "$work/saves"
    rm -rf "$work"
}
trap cleanup EXIT
export TMPDIR=$work/tmp FAULTS=$work HAPC_CACHE=$work/cache
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0 # a crash is a crash
mkdir "$TMPDIR" "$work/saves"
mount -t tmpfs -o size=64m faults "$work/saves" 2>/dev/null && disk=1
hangs=0 late=0 orphans=0 lost=0 fails=0 worst=0
fail() {
    echo "FAIL: fault $i ($kind, seed $seed): $*"
    fails=$((fails + 1))
}
npy() { # NAME DESCR SHAPE BYTES
    printf "\x93NUMPY\x01\x00\x76\x00%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" >"$work/$1"
    head -c "$4" /dev/zero >>"$work/$1"
}
npy image.npy '<f4' '(64, 784)' $((64 * 784 * 4))
npy label.npy '<i8' '(64,)' $((64 * 8))
cluster=clusters/laptop3.yaml
if [ "$backend" = cuda ] || [ -n "$devices" ]; then # GPUs, which CPU ranks stand in for where cpu is asked
    cluster=$work/gpu.yaml
    cat >"$cluster" <<Y
name: gpu
machines:
  - name: host
    devices: [{model: H200, count: ${devices:-1}}]
    link: {bandwidth: 370 GB/s, latency: 3 us}
source: datasheet
Y
fi
on=(--backend "$backend")
run=("$hapc" run "$work/plan" --json --input "image=$work/image.npy" --input "label=$work/label.npy" --save "$work/saves" --keep 3)
"$hapc" examples/mlp/graph.json "$cluster" --strategy dp-prop -q -o "$work/plan" || exit 1
"${run[@]}" "${on[@]}" --steps 1 >"$work/out" 2>"$work/err" || { cat "$work/err"; exit 1; }

all() { # pids of the job: hapc, mpirun, ranks
    grep -lsz "^FAULTS=$work" /proc/[0-9]*/environ | cut -d/ -f3
}
named() { # PATTERN: of them those whose program is so
    local p
    for p in $(all); do
        # shellcheck disable=SC2053
        [[ "$(readlink "/proc/$p/exe" 2>/dev/null)" = $1 ]] && echo "$p"
    done
}
program="$HAPC_CACHE/*/program" launcher='*/@(orterun|prterun|mpirun)'
pick() { # one of the lines of stdin
    local all
    mapfile -t all
    [ ${#all[@]} -gt 0 ] && echo "${all[RANDOM % ${#all[@]}]}"
}
newest() {
    ls "$work/saves" | sed -n 's/^step-//p' | sort -n | tail -n 1
}
seconds() { # since $1, in tenths
    echo $((($(date +%s%N) - $1) / 100000000))
}

inject() { # what it hits goes to $hit
    local until
    case $kind in
    kill | segv | stop)
        hit=$(named "$program" | pick)
        [ -n "$hit" ] && kill "-${kind^^}" "$hit" 2>/dev/null
        ;;
    launcher)
        hit=$(named "$launcher" | pick)
        [ -n "$hit" ] && kill -KILL "$hit" 2>/dev/null
        ;;
    hapc) hit=$run_pid && kill -KILL "$run_pid" ;;
    save)
        until=$((SECONDS + 10))
        hit=$(named "$program" | pick)
        until compgen -G "$work/saves/.step-*.tmp-*" >/dev/null || [ $SECONDS -ge $until ]; do :; done
        [ -n "$hit" ] && kill -KILL "$hit" 2>/dev/null
        ;;
    full) hit=$run_pid ;;
    esac
    [ -n "$hit" ]
}

one() {
    local begin code took step every=$((1 + RANDOM % 3)) delay=$((RANDOM % 25)) try
    [ "$backend" = cpu ] || delay=$((delay * 3))
    [ "$kind" = save ] && every=1 delay=15
    : >"$work/out"
    "${run[@]}" "${on[@]}" --init "$work/saves" --steps 1000000 --save-every $every >"$work/out" 2>"$work/err" &
    run_pid=$!
    sleep "$((delay / 10)).$((delay % 10))"
    for try in $(seq 50); do inject && break; sleep 0.1; done
    begin=$(date +%s%N)
    while kill -0 "$run_pid" 2>/dev/null && [ "$(seconds "$begin")" -le 750 ]; do
        [ "$kind" != full ] || cat /dev/zero >>"$work/saves/full" 2>/dev/null # also what a save just freed
        sleep 0.05
    done
    took=$(seconds "$begin")
    [ "$took" -le $worst ] || worst=$took
    if [ "$took" -gt 150 ]; then
        late=$((late + 1))
        echo "late: fault $i ($kind, seed $seed) after $took tenths: $(cat "$work/err")"
    fi
    if kill -0 "$run_pid" 2>/dev/null; then
        hangs=$((hangs + 1))
        fail "$took tenths of a second until the end: $(cat "$work/err")"
        kill -TERM "$run_pid" 2>/dev/null
    fi
    wait "$run_pid" 2>/dev/null
    code=$?
    run_pid=
    rm -f "$work/saves/full"
    for try in $(seq 50); do [ -z "$(named "$program")$(named "$launcher")" ] && break; sleep 0.1; done
    if [ -n "$(named "$program")$(named "$launcher")" ]; then
        orphans=$((orphans + 1))
        fail "left: $(named "$program") $(named "$launcher")"
        kill -KILL $(named "$program") $(named "$launcher")
    fi
    if [ "$kind" != hapc ]; then
        # A disk that is full before the first step is refused as bad input.
        [ "$kind$code" = full1 ] && grep -q ': No space left on device$' "$work/err" && code=5
        [ $code = 5 ] || fail "exit $code, wanted 5: $(cat "$work/err")"
        one_message "fault $i"
    fi
    checkpoints $every
}

checkpoints() { # EVERY: what was written before the fault is there, and the next run reads it
    local last newest
    last=$(sed -n 's/^{"step":\([0-9]*\),.*/\1/p' "$work/out" | tail -n 1)
    newest=$(newest)
    if [ -n "$last" ] && [ "$newest" -lt $((last / $1 * $1)) ]; then
        lost=$((lost + 1))
        fail "step $last was made, and the newest checkpoint is of step $newest"
    fi
    if ! "${run[@]}" --backend cpu --init "$work/saves" --steps 0 >"$work/out" 2>"$work/err"; then
        lost=$((lost + 1))
        fail "the checkpoint of step $newest: $(cat "$work/err")"
        rm -rf "$work/saves/step-$newest"
    fi
    if compgen -G "$work/saves/.*tmp*" >/dev/null; then fail "left: $(ls -A "$work/saves")"; fi
    if compgen -G "$TMPDIR/hapc-??????" >/dev/null; then fail "heartbeats are left: $(ls "$TMPDIR")"; fi
}

kinds=(kill save segv stop hapc save kill launcher ${disk:+full} kill)
for i in $(seq "$n"); do
    kind=${kinds[(seed + i - 1) % ${#kinds[@]}]}
    one
done
echo "$n faults, seed $seed: $hangs hangs, $late after 15 s (worst $((worst / 10)).$((worst % 10)) s), $orphans orphans, $lost checkpoints lost or torn, $fails wrong"
exit $((fails > 0))
