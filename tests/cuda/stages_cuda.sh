#!/usr/bin/env bash
# Tiny models in two and three stages on CUDA devices, in fp32: losses are those of the same program
# on CPU ranks; called (messages by way of host memory), from the list and in graphs (messages by
# NCCL) a step gives the same bits. A rank that is killed in mid-pipeline ends the run with a message
# and no process. Where there are fewer devices than ranks these take turns. Skipped without devices.
# Usage: stages_cuda.sh [CASE…]: numbers from 1 on (all)
set -u
wanted=" ${*:-1 2 3 4 5} "
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
if [ "$gpus" = 0 ]; then
    echo "skipped: no CUDA device"
    exit 77
fi
. tests/train/train_steps.sh

export HAPC_CACHE=$work/cache # other runs on this machine are none of ours
# Messages by way of host memory are long ones for MPI: they go on while their sender is in MPI alone.
for transport in vader sm; do
    export "OMPI_MCA_btl_${transport}_eager_limit=256" "OMPI_MCA_btl_${transport}_single_copy_mechanism=none"
done
ranks() # pids of the ranks
{
    local exe
    for exe in /proc/[0-9]*/exe; do
        [[ "$(readlink "$exe" 2>/dev/null)" != "$HAPC_CACHE"/*/program ]] || basename "$(dirname "$exe")"
    done | sort -n
}

killed() # MODEL: on the plan `staged`
{
    local run begin code victim=
    : >"$work/killed.out"
    title "$1: a rank is killed in mid-pipeline"
    # shellcheck disable=SC2046
    "$hapc" run "$work/staged" --backend cuda --cuda "share=$share" --steps 1000000 --json $(inputs "$1") >"$work/killed.out" 2>"$work/killed.err" &
    run=$! begin=$SECONDS
    while [ "$(wc -l <"$work/killed.out")" -lt 20 ] && [ $((SECONDS - begin)) -lt 90 ]; do
        sleep 0.2
    done
    victim=$(ranks | tail -n 1)
    [ -n "$victim" ] && kill -9 "$victim" || kill "$run"
    wait "$run"
    code=$?
    [ $code = 5 ] || fail "exit $code, wanted 5" "$work/killed.err"
    grep -q '^rank [0-9]* .*died' "$work/killed.err" || fail "no rank is said to have died" "$work/killed.err"
    [ -z "$(ranks)" ] || fail "ranks are left: $(ranks)"
}

# machines N FILE: so many of one device each, of unequal speed
machines()
{
    local i
    {
        printf 'name: machines\nmachines:\n'
        for ((i = 0; i < $1; i++)); do
            printf '  - name: m%d\n    devices:\n' "$i"
            printf '      - {name: cpu%d, kind: cpu, f32: %d GFLOP/s, memory: 8 GiB, memory_bandwidth: 8 GB/s}\n' "$i" $((40 + 20 * i))
            printf '    link: {bandwidth: 4 GB/s, latency: 5 us}\n'
        done
        printf 'network: {bandwidth: 1 GB/s, latency: 20 us}\nsource: datasheet\n'
    } >"$2"
}
machines 2 "$work/two.yaml"
machines 3 "$work/three.yaml"

number=0
for case in 2,gpt2-tiny,$work/two.yaml,0@m0:1-2@m1,auto 2,bert-tiny,$work/two.yaml,0@m1:1-2@m0,auto \
    3,gpt2-tiny,$work/three.yaml,0@m0:1@m1:2@m2,auto 4,gpt2-tiny,clusters/laptop2x2.yaml,0@left:1-2@right,dp-prop \
    4,bert-tiny,clusters/laptop2x2.yaml,0@right:1-2@left,tp; do
    IFS=, read -r ranks model cluster stages strategy <<<"$case"
    number=$((number + 1))
    [[ $wanted == *" $number "* ]] || continue
    [ "$ranks" -le "$gpus" ] && share=off || share=on
    title "$model in stages $stages, $strategy, $ranks ranks on $gpus devices"
    plan staged "examples/$model/graph.json" "$cluster" --stages "${stages//:/,}" --strategy "$strategy" --micro-batches 4 || continue
    # shellcheck disable=SC2046
    run staged cpu --backend cpu --steps 20 --seed 1 --json $(inputs "$model") || continue
    for graph in off list on; do
        # shellcheck disable=SC2046
        run staged $graph --backend cuda --cuda "tune=off,fuse=exact,graph=$graph,share=$share" --steps 20 --seed 1 --json $(inputs "$model") || break # not a minute more for each way
        sed 's/,"ms.*//' "$work/$graph.out" >"$work/$graph.losses"
    done
    compare losses "$work/on.out" "$work/cpu.out"
    for graph in off list; do
        cmp "$work/$graph.losses" "$work/on.losses" || fail "losses of graph=$graph are not those of graphs" "$work/$graph.err"
    done
done
killed "$model"
finish
