# Part of bench/device.sh: fused groups (kernels.cu). `groups` compares steps without them, with those that run by
# themselves and with all, bit for bit: every pointwise row on rows of 13, 64 and 2500 entries, tiny models, dropout; `groups-speed` times GPT-2 124M and BERT-base.

same() # NAME: runs of a plan, groups off, on, and all
{
    local name=$1 on
    for on in on all; do
        if cmp -s "$out/$name.off.l" "$out/$name.$on.l" && cmp -s "$out/$name.off.st" "$out/$name.$on.st"; then
            echo "groups $on $name: the same bits"
        else
            echo "groups $on $name: losses differ by $(paste -d, "$out/$name.off.l" "$out/$name.$on.l" | awk -F, '{d = $1 - $2; d = d < 0 ? -d : d; e = $1 < 0 ? -$1 : $1; if (d / e > m) m = d / e} END {print m + 0}') at most"
        fi
    done
}

both() # NAME PLAN OPTION...
{
    local name=$1 plan=$2 on
    shift 2
    for on in off on all; do
        timeout 100 "$pack/bin/hapc" run "$plan" --backend cuda -v --cuda "tune=off,groups=$on" --json \
            --seed 1 --steps 8 --save "$out/$name.$on.st" "$@" >"$out/$name.$on.jsonl" 2>"$out/$name.$on.err" ||
            tail -n 5 "$out/$name.$on.err" | cut -c1-400
        sed 's/.*"loss":\([-0-9.e]*\).*/\1/' "$out/$name.$on.jsonl" >"$out/$name.$on.l"
        grep -hE 'note|left out' "$out/$name.$on.err" | cut -c1-300 | head -n 3
    done
    same "$name"
}

groups()
{
    local cols prec model inputs
    cluster 1
    for cols in 13 64 2500; do
        python3 tests/graphs/make_groups.py $cols "$out/rows$cols.json" "$out/rows$cols.npy" &&
            "$pack/bin/hapc" "$out/rows$cols.json" "$out/h200x1.yaml" -q -o "/tmp/rows$cols" && both "rows$cols" "/tmp/rows$cols" --input x="$out/rows$cols.npy"
    done
    python3 - "$out" <<'P'
import numpy as np, sys
rng = np.random.default_rng(3)
np.save(sys.argv[1] + "/tiny.npy", rng.integers(1, 190, (32, 32), dtype=np.int64))
P
    for model in gpt2-tiny bert-tiny; do
        for prec in fp32 bf16; do
            "$pack/bin/hapc" examples/$model/graph.json "$out/h200x1.yaml" --precision $prec -q -o "/tmp/$model.$prec" &&
                both "$model.$prec" "/tmp/$model.$prec" --input input_ids="$out/tiny.npy" --input labels="$out/tiny.npy"
        done
    done
    "$pack/bin/hapc" tests/graphs/gpt2-dropout.json "$out/h200x1.yaml" --precision bf16 -q -o /tmp/dropout &&
        both dropout /tmp/dropout --input input_ids="$out/tiny.npy" --input labels="$out/tiny.npy"
}

# Every pointwise row, softmax and layer norm on 20480 rows of 1024 entries: what no join of the runtime's covers.
groups_rows()
{
    local on
    cluster 1
    python3 tests/graphs/make_groups.py 1024 "$out/many.json" "$out/many.npy" &&
        python3 -c 'import numpy as np, sys; np.save(sys.argv[1], np.random.default_rng(0).standard_normal((4096, 5, 1024), dtype=np.float32))' "$out/many.npy" &&
        "$pack/bin/hapc" "$out/many.json" "$out/h200x1.yaml" --batch 4096 -o /tmp/many 2>&1 | grep -E "predicted|ms a step" | head -n 2
    for on in off on all off on all; do
        timeout 60 "$pack/bin/hapc" run /tmp/many --backend cuda -v --cuda "groups=$on" --json --seed 1 --steps 40 --input x="$out/many.npy" >"$out/many.jsonl" 2>"$out/many.err"
        echo "groups $on rows: $(median "$out/many.jsonl") ms/step $(grep -hE 'note|left out' "$out/many.err" | cut -c1-200 | head -n 2)"
    done
}

groups_speed()
{
    local model on log
    groups_rows
    for model in $models; do
        ids "$model"
        plan "$model" 1 --precision bf16 -o "/tmp/groups.$model" || continue
        for on in off on all off on all; do
            log=groups.$model.$on
            go "$model" "/tmp/groups.$model" "$log" --steps 40 --cuda "groups=$on"
            echo "groups $on $model: $(median "$out/$log.jsonl") ms/step, losses of steps 0 4 26 39 $(some_losses "$log")"
            grep -hE 'note|left out' "$out/$log.err" | cut -c1-300 | head -n 3
        done
        for on in off all; do
            timeout 120 "$pack/bin/hapc" run "/tmp/groups.$model" --backend cuda --cuda "groups=$on" --steps 3 --trace "$out/trace.json" --seed 1 \
                --input input_ids="$out/$model.npy" --input labels="$out/$model.npy" >"$out/trace.$model.log" 2>&1
            python3 bench/device_trace.py "$out/trace.json" "$out/groups.trace.$model.$on.tsv" 2>&1 | head -n 24
            rm -f "$out/trace.json"
        done
    done
}
