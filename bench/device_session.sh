#!/bin/bash
# What docs/benchmarks.md says of GPUs, measured again: calls of at most ten minutes on a machine that
# was just started, from what bench/device_pack.sh packed. Usage: bench/device_session.sh CALL [STEP…]
#   one     1 GPU, 400 s: tests, sanitizers, speed beside PyTorch, 50 losses, failures
#   tests   4 GPUs, 420 s: pushes, pairs, collectives and tiny models right, ranks killed
#   speed   4 GPUs, 540 s: hapc profile, pairs, end to end, predicted and measured, rehearsed steps right
#   rest    4 GPUs, 560 s: PyTorch's DDP, unequal devices, pushes beside NCCL, uneven pairs
# Steps named behind the call run alone. Prints the end of what each step prints, leaves all of it in
# $OUT/run.txt and ends what a step that was cut off left on the devices: a second program on a GPU takes
# turns of 2 ms with the one that is measured.
# HAP_SESSION_SECONDS: of the call; a step that has not enough of them left is said to be not run.
set -u
cd "$(dirname "$0")/.."
total=${HAP_SESSION_SECONDS:-575}
out=${OUT:-/tmp/device/session}
mkdir -p "$out"
steps=${*:2}

step() # SECONDS LINES NAME COMMAND…
{
    local limit=$1 lines=$2 name=$3 left=$((total - SECONDS)) code start=$SECONDS log=/tmp/step.log last
    shift 3
    [[ -z $steps || " $steps " = *" $name "* ]] || return
    [ "$left" -ge $((limit / 2)) ] || { echo "== $name: NOT RUN, $left s left" | tee -a "$out/run.txt"; return; }
    setsid timeout -k 5 $((limit < left ? limit : left)) "$@" >$log 2>&1 &
    wait $!
    code=$?
    end_session $!
    [ $code = 0 ] || { last=$(ls -t /tmp/device/*.log 2>/dev/null | head -n 1) && echo "--- so far: $last" && tail -n 30 "$last"; } >>$log
    { echo "## $name: $*"; cat $log; echo "== $name: exit $code, $((SECONDS - start)) s, at $SECONDS s"; } >>"$out/run.txt"
    tail -n 1 "$out/run.txt"
    tail -n "$lines" $log | cut -c1-220
}

# Ends all processes of the session; names who else is on a device 5 s later.
end_session()
{
    local name tries
    pkill -KILL -s "$1"
    for name in hapc mpirun program; do pkill -KILL -x $name; done
    pkill -KILL -f '\.device/(tests|bin)/'
    for tries in 1 2 3 4 5; do
        sleep 1
        nvidia-smi --query-compute-apps=pid --format=csv,noheader | grep -q . || return
    done
    echo "note: devices are still in use: $(nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv,noheader | tr '\n' ';')" | tee -a "$out/run.txt"
    ps -eo pid,sid,stat,args | grep -vE 'ps -eo|\]$' | tail -n 20 >>"$out/run.txt"
}

pushes() # what bench/device.sh push does in less time, and both ways that the litmus can end
{
    . bench/device.sh
    stress() { part "$1" env HAP_TEST_OPTIONS="$3" timeout 60 mpirun --oversubscribe --bind-to none -n 4 "$pack/tests/push_stress_cuda" "$2" 8 1 300; }
    stress push.on 16 '--cuda graph=on'
    stress push.list 16 '--cuda graph=list'
    stress push.off 16 '--cuda graph=off'
    stress push.auto 6 '-v --cuda graph=auto'
    stress push.fail 4 '-v --cuda litmus=fail,graph=on'
    stress push.nolitmus 4 '--cuda litmus=off,graph=on'
    echo "hashes: $(cat "$out"/push.{on,list,off}.log | sed -n 's/.*hash \([0-9a-f ]*\),.*/\1/p' | sort | uniq -c | tr '\n' ' ')"
    sed -n 's/^rank [0-9]* step as one.*: \(.*trial.*\)/\1/p' "$out"/push.{auto,fail}.log | sort | uniq -c
    HAP_TEST_CREDITS=0 timeout 30 mpirun --oversubscribe --bind-to none -n 4 "$pack/tests/push_stress_cuda" 12 4 3 300 >"$out/push.nocredit.log" 2>&1
    echo "without credits: exit $? (1: noticed)"
    part pairs.10000 timeout 90 mpirun --oversubscribe --bind-to none -n 4 "$pack/tests/pair_cuda_test" 5 1 200 2000
}

colls()
{
    . bench/device.sh
    part coll timeout 90 mpirun --oversubscribe --bind-to none -n 4 "$pack/tests/coll_cuda_test" 6 &
    part fail-pushes timeout 100 tests/cli/cli_run_test.sh cuda pushes
    wait
    cat "$out/parts"
}

four() # GPT-2 and BERT on all GPUs, planned from the data sheet
{
    local model
    . bench/device.sh
    for model in $models; do
        ids "$model"
        plan "$model" "$gpus" --precision bf16 -o "/tmp/four.$model" || continue
        go "$model" "/tmp/four.$model" "four.$model" --steps 40
        echo "hapc $model $gpus GPUs: $(median "$out/four.$model.jsonl") ms/step, losses $(some_losses "four.$model"); $(grep -h rehearsed "$out/four.$model.err" | head -n 1)"
    done
}

case ${1:-} in
one)
    step 180 34 tests bash bench/device.sh 'ops&' 'train&' 'sanitize&' nan
    HAP_WAYS=on,on step 60 30 speed bash bench/device.sh speed
    step 110 4 torch bash bench/device.sh torch
    step 110 6 losses bash bench/device.sh losses
    step 60 5 fail bash bench/device.sh fail
    ;;
tests)
    step 140 40 pushes bash bench/device_session.sh pushes
    step 110 12 colls bash bench/device_session.sh colls
    HAP_TRAIN_PARTS=torch HAP_TRAIN_RANKS=several step 260 12 train bash bench/device.sh train
    ;;
speed)
    step 80 12 profile bash bench/device_overlap.sh profile
    step 130 64 pairs bash bench/device_overlap.sh pairs
    step 140 9 e2e bash bench/device_overlap.sh e2e
    step 170 30 predicted bash bench/device_session.sh predicted
    HAP_TRAIN_PARTS=rehearsed HAP_TRAIN_RANKS=several step 150 12 rehearsed bash bench/device.sh train
    ;;
rest)
    step 40 4 four bash bench/device_session.sh four
    HAP_TORCH_ON=all step 140 4 ddp bash bench/device.sh torch
    step 100 24 uneven-profile bash bench/device_overlap.sh profile-mixed
    HAP_MIXED=/tmp/device/mixed.yaml step 60 50 uneven bash bench/device_overlap.sh uneven
    step 50 34 push-speed env HAP_RANKS=4 bash bench/device.sh push-speed
    export HAP_MODELS=gpt2
    HAP_LINKS=nvlink HAP_PLANS='auto dp-even dp-prop' step 50 9 unequal bash bench/device.sh unequal
    HAP_LINKS=sockets HAP_PLANS=auto,bf16 step 30 4 sockets bash bench/device.sh unequal
    HAP_LINKS='nvlink sockets' step 200 8 unequal-torch bash bench/device.sh unequal-torch
    ;;
pushes | colls | four) "$1" ;; # steps of these
predicted) . bench/device.sh && predict ;;
*)
    echo "usage: bench/device_session.sh one|tests|speed|rest" >&2
    exit 2
    ;;
esac
