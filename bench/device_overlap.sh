#!/bin/bash
# On a machine with several GPUs, from what bench/device_pack.sh packed: pairs of a product and a
# collective, on the shapes of bench/shapes.txt. Usage: bench/device_overlap.sh PART…
#   profile   hapc profile: the cluster file that the planner's groups are chosen by
#   profile-mixed   the same of $HAP_MIXED's devices on their SMs, for `uneven` behind it: 82 s on 4 GPUs
#   pairs     programs of hapc, bare cuBLASLt with NCCL and pushes, and torch's fused operators; one table. The three
#             are processes one after the other; in each, methods go in turns, a sample of 4 ms behind a pause of 1 ms,
#             so that GPUs that power binds are as warm for one as for another: about 80 s of 24 shapes on 4 GPUs
#   uneven    the same of hapc and torch-free baselines with 132,132,64,64 SMs (emulated: green contexts; memory,
#             links and NCCL keep their speed) and cuts in proportion, NCCL as usual and on at most 8 CTAs
#   e2e       GPT-2 XL and blocks of 8192: plans with pairs on and off, predicted and measured ms
#   e2e-trace where a step of GPT-2 XL goes, pairs off: ms by class of instruction, predicted and measured, of two plans:
#             `heads`, as planned, and `short`, of 2026-11-21, whose all-to-alls are pushes of stretches of 32 bytes
#             (planned as if stretches cost nothing); at most a minute
#   quick     two shapes at a fourth of their size: whether anything runs
# HAP_CLUSTER names a cluster file measured before, HAP_MIXED that of `uneven` (clusters/h200x4-mixed.yaml, a data
# sheet; one that profile-mixed wrote), HAP_SECONDS what each program of `pairs` may take, HAP_UNEVEN_SECONDS of `uneven`
# (6), HAP_LISTS how many groupings are tried, HAP_ALSO a file of further ones (lines as pair_groups writes them),
# HAP_UNEVEN a regular expression of the shapes of `uneven`, HAP_CTAS what it limits NCCL to in turn (0: no limit),
# HAP_TURNS of `e2e`.
set -u
. bench/device.sh # paths; no parts
cluster_file=${HAP_CLUSTER:-$out/profiled.yaml}
mixed_file=${HAP_MIXED:-clusters/h200x4-mixed.yaml}
seconds=${HAP_SECONDS:-28}
unset CK_FORK
ranks() { timeout -k 3 "$1" mpirun --oversubscribe --bind-to none -n "$gpus" "${@:2}"; }
kept() { [ -z "${OUT:-}" ] || cp "$@" "$OUT/" 2>/dev/null; }

measured() # NAME TO-MEASURE…: hapc profile into $out/NAME.yaml
{
    local name=$1 start=$SECONDS
    timeout 170 "$pack/bin/hapc" profile --backend cuda "${@:2}" -o "$out/$name.yaml" >"$out/$name.log" 2>&1
    local code=$?
    tail -n 8 "$out/$name.log" | cut -c1-300
    echo "hapc profile ${*:2}: exit $code, $((SECONDS - start)) s"
    kept "$out/$name.yaml" "$out/$name.curves.json"
    [ $code = 0 ] && sed -n '/"contention"/,$p' "$out/$name.curves.json"
}

profile() { measured profiled -n "$gpus"; }

profile_mixed() { measured mixed "$mixed_file" && mixed_file=$out/mixed.yaml; }

groups_of() # CLUSTER FILE OPTION…: the planner's
{
    [ -s "$1" ] && HAPC_DEVICES=clusters/devices.yaml "$pack/bin/pair_groups" "$1" bench/shapes.txt "${@:3}" >"$2"
    cat "$2"
}

quick()
{
    grep -E '70b-(square|o)$' bench/shapes.txt >"$out/two.txt"
    ranks 40 "$pack/bin/overlap-bench-cuda" "$out/two.txt" --scale 4 --turns 4 --lists 3 >"$out/quick.log" 2>&1
    local code=$?
    echo "quick: exit $code"
    tail -n 26 "$out/quick.log" | cut -c1-330
    return $code
}

pairs()
{
    groups_of "$cluster_file" "$out/groups.txt"
    ranks $((seconds + 45)) "$pack/bin/overlap-bench-cuda" bench/shapes.txt --groups "$out/groups.txt" ${HAP_ALSO:+--also "$HAP_ALSO"} --seconds "$seconds" --lists ${HAP_LISTS:-3} \
        >"$out/pairs.hapc.jsonl" 2>"$out/pairs.hapc.err" || tail -n 6 "$out/pairs.hapc.err" | cut -c1-400
    CUDA_DEVICE_MAX_CONNECTIONS=32 ranks $((seconds + 20)) "$pack/bin/overlap-base" bench/shapes.txt "$seconds" \
        >"$out/pairs.bare.jsonl" 2>"$out/pairs.bare.err" || tail -n 6 "$out/pairs.bare.err" | cut -c1-400
    [ "${HAP_TORCH:-1}" = 0 ] || (unset LD_LIBRARY_PATH
        timeout -k 3 $((seconds + 30)) torchrun --nproc-per-node "$gpus" bench/overlap/overlap_torch.py bench/shapes.txt "$seconds" \
            >"$out/pairs.torch.jsonl" 2>"$out/pairs.torch.err" || tail -n 6 "$out/pairs.torch.err" | cut -c1-400)
    cat "$out"/pairs.*.jsonl >"$out/overlap.x$gpus.jsonl"
    kept "$out/overlap.x$gpus.jsonl" "$out/groups.txt"
    python3 bench/overlap/overlap_report.py "$out/overlap.x$gpus.jsonl" --lines >"$out/tried.txt"
    groups_of "$cluster_file" "$out/prices.txt" --price "$out/tried.txt" >/dev/null
    python3 bench/overlap/overlap_report.py "$out/overlap.x$gpus.jsonl" "$out/prices.txt"
}

uneven()
{
    local sms=132,132,64,64 ctas
    groups_of "$mixed_file" "$out/groups.uneven.txt" --cut >/dev/null
    grep -E "${HAP_UNEVEN:-70b-(square|qkv|o)$|8b-gate-up$|8b-down-columns|gpt3-o}" bench/shapes.txt >"$out/shapes.uneven.txt"
    echo "groups and prices by $mixed_file"
    for ctas in ${HAP_CTAS:-0 8}; do
        [ $ctas = 0 ] && unset NCCL_MAX_CTAS || export NCCL_MAX_CTAS=$ctas
        ranks $((${HAP_UNEVEN_SECONDS:-6} + 39)) "$pack/bin/overlap-bench-cuda" "$out/shapes.uneven.txt" --groups "$out/groups.uneven.txt" --seconds ${HAP_UNEVEN_SECONDS:-6} \
            --sms $sms --cut $sms ${HAP_ALSO:+--also "$HAP_ALSO"} --lists 2 --turns 10 >"$out/uneven.$ctas.jsonl" 2>"$out/uneven.err" || tail -n 6 "$out/uneven.err" | cut -c1-400
        echo "SMs $sms, cuts in proportion, NCCL_MAX_CTAS ${NCCL_MAX_CTAS:-default}"
        python3 bench/overlap/overlap_report.py "$out/uneven.$ctas.jsonl" --lines >"$out/tried.txt"
        groups_of "$mixed_file" "$out/prices.txt" --cut --price "$out/tried.txt" >/dev/null
        python3 bench/overlap/overlap_report.py "$out/uneven.$ctas.jsonl" "$out/prices.txt"
        kept "$out/uneven.$ctas.jsonl" "$out/groups.uneven.txt"
    done
    unset NCCL_MAX_CTAS
}

# MODEL,STRATEGY: plans with pairs off and on, run in turns. sp: tensor parallel with activations cut by rows between the
# blocks (pins; by which factor attention is cut is left to the planner).
e2e()
{
    local what model strategy pairs turn name batch length options
    for what in ${HAP_E2E:-gpt2-8k,auto gpt2-xl,sp}; do
        model=${what%,*} strategy=${what#*,}
        [ "$model" = gpt2-xl ] && batch=16 length=1024 || { batch=4 length=2048; }
        options=(--strategy "$strategy")
        [ "$strategy" = sp ] && options=(--pin 'transformer.h.*.mlp.c_fc=S(2)' --pin 'transformer.h.*.attn.c_attn=S(2)' --pin 'transformer.h.*.add*=S(0)')
        python3 -c "import numpy as np, sys; np.save(sys.argv[1], np.random.default_rng(0).integers(0, 50257, ($batch * 2, $length), dtype=np.int64))" "$out/$model.npy"
        for turn in $(seq ${HAP_TURNS:-2}); do
            for pairs in off auto; do
                name=e2e.$model.$strategy.$pairs
                [ $turn = 2 ] || "$pack/bin/hapc" "examples/$model/graph.json" "$cluster_file" --batch $batch --precision bf16 "${options[@]}" \
                    --pairs $pairs -o "/tmp/$name" >"$out/$name.plan" 2>&1 || { tail -n 3 "$out/$name.plan"; continue; }
                timeout 40 "$pack/bin/hapc" run "/tmp/$name" --backend cuda --json --steps "${HAP_STEPS:-18}" --seed 1 --input input_ids="$out/$model.npy" \
                    --input labels="$out/$model.npy" >"$out/$name.jsonl" 2>"$out/$name.err" || tail -n 4 "$out/$name.err" | cut -c1-300
                echo "$model $strategy, pairs $pairs: measured $(sed -n 's/.*"ms":\([0-9.]*\).*/\1/p' "$out/$name.jsonl" | tail -n +10 | sort -n |
                    awk '{a[NR]=$1} END {print NR ? a[int((NR+1)/2)] : "none"}') ms/step, $(grep -m1 -E '^Predicted' "$out/$name.plan")," \
                    "$(grep -c 'hap_overlap(' "/tmp/$name/program.c") pairs in program.c, losses" \
                    $(sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' "$out/$name.jsonl" | sed -n '1p;5p;$p')
            done
        done
        grep -A 12 '^Pairs' "$out/e2e.$model.$strategy.auto.plan" | cut -c1-200
        kept "$out/e2e.$model.$strategy.auto.plan"
        rm -f "$out/$model.npy"
    done
}

e2e_trace()
{
    local what pins free=$out/free.yaml name=e2e.trace data=$out/trace.npy start=$SECONDS
    sed 's/^measured:.*/measured: "free.curves.json"/' "$cluster_file" >"$free"
    python3 - "$(dirname "$cluster_file")/$(sed -n 's/^measured: *"\?\([^"]*\)"\?$/\1/p' "$cluster_file")" "$out/free.curves.json" <<'P'
import json, sys
curves = json.load(open(sys.argv[1]))
curves["runs"] = [{"class": c, "push": 1e-13, "pack": 0} for c in curves["classes"]]
json.dump(curves, open(sys.argv[2], "w"))
P
    python3 -c "import numpy as np, sys; np.save(sys.argv[1], np.random.default_rng(0).integers(0, 50257, (32, 1024), dtype=np.int64))" "$data"
    for what in ${HAP_TRACES:-short heads}; do
        [ $what = short ] && set -- "$free" e || set -- "$cluster_file" h
        "$pack/bin/hapc" examples/gpt2-xl/graph.json "$1" --batch 16 --precision bf16 --pairs off --pin 'transformer.h.*.mlp.c_fc=S(2)' \
            --pin "transformer.h.*.attn.c_attn=S($2)" --pin 'transformer.h.*.add*=S(0)' -o "/tmp/$name.$what" >"$out/$name.$what.plan" 2>&1 ||
            { tail -n 3 "$out/$name.$what.plan"; continue; }
        set -- --backend cuda --json --seed 1 --input input_ids="$data" --input labels="$data"
        timeout 30 "$pack/bin/hapc" run "/tmp/$name.$what" "$@" --steps 14 >"$out/$name.$what.jsonl" 2>"$out/$name.err" || tail -n 4 "$out/$name.err" | cut -c1-300
        echo "gpt2-xl, $what: measured $(sed -n 's/.*"ms":\([0-9.]*\).*/\1/p' "$out/$name.$what.jsonl" | tail -n +10 | sort -n | sed -n 3p) ms/step," \
            "$(grep -m1 -E '^Predicted' "$out/$name.$what.plan") (at $((SECONDS - start)) s)"
        timeout 30 "$pack/bin/hapc" run "/tmp/$name.$what" "$@" --steps 4 --trace "$out/trace.json" >/dev/null 2>"$out/$name.err" ||
            tail -n 4 "$out/$name.err" | cut -c1-300
        python3 bench/plan_classes.py "/tmp/$name.$what" "$out/trace.json" 4 | tee "$out/$name.$what.txt" | cut -c1-190
        rm -f "$out/trace.json"
        kept "$out/$name.$what.plan" "$out/$name.$what.txt"
    done
    rm -f "$data"
    echo "e2e-trace: $((SECONDS - start)) s"
}

for name in "$@"; do
    case $name in
    e2e-trace) e2e_trace ;;
    profile-mixed) profile_mixed ;;
    profile | pairs | uneven | e2e) $name ;;
    quick) quick || exit ;;
    *) echo "no part '$name'" ;;
    esac
done
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1
