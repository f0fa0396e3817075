#!/bin/bash
# On a machine with GPUs, from what bench/device_pack.sh packed: GPU tests and measurements. Goes on
# after failures, prints a summary, leaves the logs in $OUT/logs.tgz. Usage: bench/device.sh PART…; a part with
# & behind its name runs beside the next (nothing to be timed).
#   ops        rows of the op table against the CPU, PyTorch and every cut
#   sanitize   the same, chains and generated kernels under compute-sanitizer, all at once: memcheck; racecheck of each kernel
#              of ours on a few calls (HAP_TEST_FEW: what cuBLAS and cuDNN run is left out)
#   sanitize-slow   of these memcheck of op_values and op_cuts, and generated kernels
#   nan        what --check-nan says
#   short      tiny models in bf16 with cuDNN's attention below its tile, with and without memcheck
#   coll       every collective on 1, 2, 4 ranks; coll-alone: collectives and pairs on all GPUs as if none reached another
#   train      tiny models in fp32 against PyTorch on 1 and 4 GPUs, and each way to run a step
#   speed      GPT-2 124M, 32 x 1024 tokens a GPU, and BERT-base, 64 x 128, bf16, on all GPUs, and the time by op on one
#   predicted  hapc profile, then plans of several strategies made with what it measured: predicted and measured ms
#   bits       GPT-2 on one GPU with fixed algorithms: whether each way to run a step gives the same losses
#   losses     GPT-2, 8 x 1024 tokens of a text, bf16 and fp32, against PyTorch: 50 steps from the same parameters on the same rows
#   groups     fused groups of kernels.cu on and off: the same bits; groups-speed: GPT-2 and BERT timed
#   gemm       the products of the language model's head, odd and padded, by torch
#   torch      compiled PyTorch on the models of `speed`
#   unequal, unequal-torch   bench/device_unequal.sh
#   coll-sockets   every collective on 4 ranks, as two emulated hosts
#   fail       ranks killed and stopped, devices full or hidden: one message each; the same with pushes
#   push       loops of pushes, run each way, and without credits, which is to be noticed; push-speed: pushes and the library on 2 and 4 GPUs, captured
# HAP_TORCH_ON=all leaves `torch` on one GPU out where there are several, HAP_TRAIN_RANKS=several what `train` runs on one rank; HAP_TRAIN_PARTS are train_cuda.sh's.
# HAP_MODELS (gpt2, bert or both) and HAP_WAYS (graph,fuse of --cuda; "on,on on,off off,off") choose what `speed` and `torch` run.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD out=/tmp/device pack=$PWD/.device
mkdir -p "$out"
gpus=$(nvidia-smi -L | wc -l)
site=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
nvidia=$site/nvidia
export LD_LIBRARY_PATH=$pack/libs:$nvidia/cu13/lib:$nvidia/nccl/lib:$nvidia/cudnn/lib:${LD_LIBRARY_PATH:-}
export PATH=$pack/tools:$PATH HAP_BUILD=$pack HAPC_DATA=$root CK_FORK=no
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export NCCL_NVLS_ENABLE=0 OMP_NUM_THREADS=4 TORCHINDUCTOR_CACHE_DIR=${TMPDIR:-/tmp}/inductor

[ -d "$pack/bin" ] || tar -C "$pack" -xJf "$pack/pack.tar.xz"

# The package files say where they were built, and where the libraries lay.
there=$(cat "$pack/built-in")
sed -i -e "s|^prefix=.*|prefix=$pack|; s|^libdir=.*|libdir=$pack/lib|; s|^includedir=.*|includedir=$pack/include|" \
    -e "s|$there|$pack|g; s|[^ ]*/libcublasLt.so.13|$nvidia/cu13/lib/libcublasLt.so.13|" \
    -e "s|-Wl,-rpath,[^ ]*||g; s|[^ ]*/libnccl.so.2|$nvidia/nccl/lib/libnccl.so.2|; s|[^ ]*/libmpi.so|-l:libmpi.so.40|" \
    "$pack"/lib/pkgconfig/*.pc
cudart=$(find /usr/local/cuda*/ "$nvidia" -name libcudart_static.a 2>/dev/null | head -n 1)
sed -i "s|[^ ]*/libcudart_static.a|${cudart:-$nvidia/cu13/lib/libcudart_static.a}|" "$pack"/lib/pkgconfig/haprt-cuda.pc

keep() { [ -z "${OUT:-}" ] || tar -C "$out" --exclude='*.npy' --exclude=trace.json -czf "$OUT/logs.tgz" . ; }
rm -f "$out/parts"
part() # NAME COMMAND…: runs it, keeps the log, notes how it ended; several may run at once
{
    local name=$1 start=$SECONDS code
    shift
    "$@" >"$out/$name.log" 2>&1
    code=$?
    printf '%-22s %s  %d s\n' "$name" "$([ $code = 0 ] && echo ok || { [ $code = 77 ] && echo skipped || echo "FAILED ($code)"; })" $((SECONDS - start)) >>"$out/parts"
    echo "--- $name"
    grep -E '^[0-9]+%|:[FE]:|WRONG|runs, |all right|wrong value|SUMMARY|off by|makes the first' "$out/$name.log" | cut -c1-300 | tail -n 25
    [ $code = 0 ] || tail -n 12 "$out/$name.log" | cut -c1-300
    keep
}

median() # of "ms" in a run's lines after the first ten
{
    sed -n 's/.*"ms":\([0-9.]*\).*/\1/p' "$1" | tail -n +11 | sort -n | awk '{a[NR]=$1} END {print NR ? a[int((NR+1)/2)] : "none"}'
}

# The cluster: one host of N H200.
cluster()
{
    printf 'name: h200x%d\nmachines:\n  - name: host\n    devices: [{model: H200, count: %d}]\n    link: {bandwidth: 370 GB/s, latency: 3 us}\nsource: datasheet\n' "$1" "$1" >"$out/h200x$1.yaml"
}

models=${HAP_MODELS:-gpt2 bert} ways=${HAP_WAYS:-on,on on,off off,off}
rows_of() { [ "$1" = gpt2 ] && echo 32 || echo 64; } # a GPU
tokens_of() { [ "$1" = gpt2 ] && echo 1024 || echo 128; }
graph_of() { [ "$1" = gpt2 ] && echo "$pack/gpt2-1024.json" || echo "$root/examples/bert/graph.json"; }

ids() # MODEL: rows for four steps of a GPU
{
    [ -s "$out/$1.npy" ] || python3 - "$out/$1.npy" $((4 * $(rows_of "$1"))) "$(tokens_of "$1")" $([ "$1" = gpt2 ] && echo 0 50257 || echo 1 30522) <<'P'
import numpy as np, sys
rows, tokens, low, high = map(int, sys.argv[2:])
np.save(sys.argv[1], np.random.default_rng(0).integers(low, high, (rows, tokens), dtype=np.int64))
P
}

plan() # MODEL RANKS [OPTION...]
{
    local model=$1 n=$2
    shift 2
    cluster "$n"
    "$pack/bin/hapc" "$(graph_of "$model")" "$out/h200x$n.yaml" --batch $(($(rows_of "$model") * n)) "$@" >"$out/plan.$model.$n.log" 2>&1 ||
        { tail -n 5 "$out/plan.$model.$n.log"; return 1; }
}

go() # MODEL PLAN NAME OPTION...: steps to $out/NAME.jsonl
{
    local model=$1 plan=$2 name=$3
    shift 3
    timeout 100 "$pack/bin/hapc" run "$plan" --backend cuda -v --json --seed 1 --input input_ids="$out/$model.npy" \
        --input labels="$out/$model.npy" "$@" >"$out/$name.jsonl" 2>"$out/$name.err" || tail -n 5 "$out/$name.err" | cut -c1-400
}

some_losses() { sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' "$out/$1.jsonl" | sed -n '1p;5p;27p;$p' | tr '\n' ' '; }

speed()
{
    local model n way log
    for model in $models; do
        ids "$model"
        for n in 1 $([ "$gpus" -gt 1 ] && echo "$gpus"); do
            plan "$model" "$n" --precision bf16 -o "/tmp/plan.$model.$n" ${HAPC_PLAN_OPTIONS:-} || continue
            grep -E 'predicted|ms a step|peak' "$out/plan.$model.$n.log" | head -n 4
            for way in $ways; do
                log=run.$model.$n.$way
                go "$model" "/tmp/plan.$model.$n" "$log" --steps 40 --cuda "graph=${way%,*},fuse=${way#*,}"
                echo "hapc $model $n GPU, $(($(rows_of "$model") * n)) x $(tokens_of "$model") tokens, graph,fuse $way: $(median "$out/$log.jsonl") ms/step," \
                    "losses of steps 0 4 26 39 $(some_losses "$log")"
            done
            grep -hE 'workspace|segments|device 0|left out' "$out/$log.err" | head -n 4
        done
        timeout 120 "$pack/bin/hapc" run "/tmp/plan.$model.1" --backend cuda --steps 3 --trace "$out/trace.json" --seed 1 \
            --input input_ids="$out/$model.npy" --input labels="$out/$model.npy" >"$out/trace.$model.log" 2>&1
        python3 bench/device_trace.py "$out/trace.json" "$out/trace.$model.tsv"
        rm -f "$out/trace.json"
    done
}

# hapc profile on all GPUs, then plans made with what it measured against their runs, on all and on one.
predicted()
{
    local start=$SECONDS
    timeout 170 "$pack/bin/hapc" profile --backend cuda -n "$gpus" -o "$out/profiled.yaml" 2>&1 | tail -n 8 | cut -c1-400
    echo "hapc profile -n $gpus: $((SECONDS - start)) s"
    keep
    predict
}

predict()
{
    local n model
    sed 's/count: [0-9]*/count: 1/; /link:/d' "$out/profiled.yaml" >"$out/profiled1.yaml"
    for n in $([ "$gpus" -gt 1 ] && echo "$gpus") 1; do
        for model in $models; do
            ids "$model"
            timeout 300 python3 bench/predicted.py "$pack/bin/hapc" "$(graph_of "$model")" "$out/profiled$([ "$n" = 1 ] && echo 1).yaml" \
                --strategies "$([ "$n" = 1 ] && echo auto || echo "${HAP_STRATEGIES:-auto,dp-even,dp-prop,zero,tp}")" --backend cuda \
                --plan=--batch=$(($(rows_of "$model") * n)) --plan=--precision=bf16 --timeout 60 \
                --run=--input=input_ids="$out/$model.npy" --run=--input=labels="$out/$model.npy" 2>&1 | tee -a "$out/predicted.txt"
        done
    done
}

bits()
{
    local way name
    ids gpt2
    plan gpt2 1 --precision bf16 -o /tmp/plan1 || return
    for way in off,off on,off list,on on,on again,off,off; do
        name=bits.$way
        way=${way#again,}
        go gpt2 /tmp/plan1 "$name" --steps 40 --cuda "tune=off,graph=${way%,*},fuse=${way#*,}"
        sed 's/,"ms.*//' "$out/$name.jsonl" >"$out/$name.losses"
        echo "$name: $(wc -l <"$out/$name.losses") losses, the first that differs from off,off: $(cmp "$out/bits.off,off.losses" "$out/$name.losses" |
            sed "s/.*line/line/")"
    done
}

losses()
{
    local p
    cluster 1
    cat docs/*.md README.md runtime/*/*.c runtime/*/*.cu synth/*.c ir/*.c >"$out/text"
    cc -O2 -o "$out/tokens" examples/tokens.c && "$out/tokens" "$out/text" 1024 "$out/gpt2.npy"
    python3 -c 'import json, sys; g = json.load(open(sys.argv[1])); g["optimizer"]["schedule"] = {"warmup": 20}; json.dump(g, open(sys.argv[2], "w"))' \
        "$(graph_of gpt2)" "$out/warm.json"
    for p in fp32 bf16; do
        "$pack/bin/hapc" "$out/warm.json" "$out/h200x1.yaml" --batch 8 --precision $p -q -o "/tmp/warm.$p" || return 1
        [ $p = bf16 ] || go gpt2 /tmp/warm.fp32 start --steps 0 --save "$out/start.safetensors"
        go gpt2 "/tmp/warm.$p" "hapc.$p" --cuda tune=off --steps 50 --init "$out/start.safetensors"
    done
    timeout 100 python3 bench/device_losses.py "$out" 2>&1 | tail -n 60
    rm -f "$out/start.safetensors" "$out/text" "$out/gpt2.npy"
}

racecheck() # COMMAND…: fails on any hazard
{
    HAP_TEST_FEW=1 HAP_TEST_OPTIONS="--cuda attention=own,tune=off" timeout ${HAP_RACE_SECONDS:-100} \
        compute-sanitizer --tool racecheck --error-exitcode 9 "$@"
}

memcheck() { HAP_TEST_OPTIONS="--cuda tune=off" timeout 120 compute-sanitizer --tool memcheck --error-exitcode 9 "$@"; }

sanitize()
{
    local t both=$1 slow=$2 rows=/tmp/sanitize.rows generated
    cluster 1
    python3 tests/graphs/make_groups.py 64 "$out/rows.json" "$out/rows.npy" && "$pack/bin/hapc" "$out/rows.json" "$out/h200x1.yaml" -q -o $rows &&
        generated=("$pack/bin/hapc" run $rows --backend cuda --steps 4 --seed 1 --input x="$out/rows.npy") &&
        "${generated[@]}" --cuda groups=all >"$out/generated.out" 2>&1 # builds it; below hapc does not watch: NVRTC takes long
    generated=$("${generated[@]}" --cuda groups=all,attention=own,tune=off --dry-run | tail -n 1)
    for t in $both; do part "racecheck.$t" racecheck "$pack/tests/${t}_cuda_test" & done
    for t in $both $slow; do part "memcheck.$t" memcheck "$pack/tests/${t}_cuda_test" & done
    for t in memcheck racecheck; do
        part $t.generated $t --target-processes all bash -c "$generated" &
    done
    wait
}

# A fault of tiny bf16 models was seen once where cuDNN takes fewer queries than its tile.
short()
{
    local model way options
    cluster 1
    for model in gpt2-tiny bert-tiny; do
        python3 -c 'import numpy as np, sys; np.save(sys.argv[1], np.random.default_rng(3).integers(1, 190, (32, 32), dtype=np.int64))' "$out/$model.npy"
        "$pack/bin/hapc" examples/$model/graph.json "$out/h200x1.yaml" --precision bf16 -q -o "/tmp/short.$model"
        for way in off,off on,on; do
            options=(--cuda "graph=${way%,*},fuse=${way#*,},attention=short,tune=off")
            go "$model" "/tmp/short.$model" "short.$model.$way" --steps 20 "${options[@]}"
            echo "short $model graph,fuse $way: $(grep -c loss "$out/short.$model.$way.jsonl") of 20 steps, $(tail -n 1 "$out/short.$model.$way.err" | cut -c1-200)"
            part "short.memcheck.$model.$way" memcheck --target-processes all --print-limit 20 \
                "$pack/bin/hapc" run "/tmp/short.$model" --backend cuda "${options[@]}" --steps 3 --seed 1 --input input_ids="$out/$model.npy" --input labels="$out/$model.npy" &
        done
    done
    wait
}

# The same programs called, listed, captured with pushes live and with all of them, and where the trial of that is made to
# fail: the same bits; then many steps.
push()
{
    local n way code
    for n in ${HAP_RANKS:-1 2 4}; do
        [ $n -le "$gpus" ] || continue
        for way in on,on on,off list,on off,on; do
            part push.np$n.$way env HAP_TEST_OPTIONS="-v --cuda graph=${way%,*},litmus=${way#*,}" timeout 60 mpirun --oversubscribe --bind-to none -n $n "$pack/tests/push_stress_cuda" 60 8 1 300
        done
        echo "$n ranks, hashes captured, captured with pushes live, listed, called: $(cat "$out"/push.np$n.{on,off,list}\,*.log | sed -n 's/.*hash \([0-9a-f ]*\),.*/\1/p' | sort | uniq -c | tr '\n' ' ')"
        for way in fail off; do
            part push.np$n.litmus-$way env HAP_TEST_OPTIONS="-v --cuda graph=on,litmus=$way" timeout 100 mpirun --oversubscribe --bind-to none -n $n "$pack/tests/push_stress_cuda" 12 6 5 300
        done
        echo "$n ranks, hashes after a trial that failed, without one: $(cat "$out"/push.np$n.litmus-{fail,off}.log | sed -n 's/.*hash \([0-9a-f ]*\),.*/\1/p' | sort | uniq -c | tr '\n' ' ')"
        grep -hoE 'every trial ended|a trial did not end' "$out"/push.np$n.*.log | sort | uniq -c
    done
    n=$((gpus < 4 ? gpus : 4))
    [ $n = 1 ] || { # no part: it is to fail
        HAP_TEST_CREDITS=0 timeout 30 mpirun --oversubscribe --bind-to none -n $n "$pack/tests/push_stress_cuda" 12 4 3 300 >"$out/push.nocredit.log" 2>&1
        code=$?
        echo "without credits: exit $code, $([ $code = 1 ] && grep -q 'is .* not' "$out/push.nocredit.log" && echo noticed || echo 'NOT NOTICED')"
    }
    [ "$gpus" -lt 4 ] || part push.long timeout 100 mpirun --oversubscribe --bind-to none -n 4 "$pack/tests/push_stress_cuda" "${HAP_PUSH_PROGRAMS:-300}" 36 2 300
}

push_speed()
{
    local n
    for n in ${HAP_RANKS:-2 4}; do
        [ $n -gt "$gpus" ] || part push-speed.np$n timeout 90 mpirun --oversubscribe --bind-to none -n $n \
            "$pack/bin/push-bench-cuda" --graph "${HAP_GRAPH:-on}" --seconds "${HAP_SECONDS:-30}" ${HAP_MIB:+--mib $HAP_MIB} ${HAP_KINDS:+--kinds $HAP_KINDS}
        [ ! -s "$out/push-speed.np$n.log" ] || python3 bench/overlap/push_report.py "$out/push-speed.np$n.log"
    done
}

. bench/device_unequal.sh
. bench/device_groups.sh

[ "${BASH_SOURCE[0]}" = "$0" ] || return 0 # bench/device_overlap.sh

one_part() # as named above
{
    local t n model
    case $1 in
    unequal) unequal ;;
    unequal-torch) unequal_torch ;;
    coll-sockets)
        part coll-sockets timeout 120 mpirun --oversubscribe --bind-to none -n 4 bash -c \
            'export NCCL_HOSTID=h$((OMPI_COMM_WORLD_RANK / 2)) NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo; exec "$0" 6' "$pack/tests/coll_cuda_test" ;;
    fail)
        part fail timeout 300 tests/cli/cli_run_test.sh cuda
        part fail-pushes timeout 100 tests/cli/cli_run_test.sh cuda pushes ;;
    push) push ;;
    push-speed) push_speed ;;
    ops) for t in chains ops_bf16 op_blocks op_values op_cuts; do part "$t" timeout 200 "$pack/tests/${t}_cuda_test"; done ;;
    sanitize) sanitize "chains ops_bf16 op_blocks op_values op_cuts" "" ;;
    sanitize-slow) sanitize "" "op_values op_cuts" ;;
    nan) part nan timeout 60 tests/cli/cli_run_test.sh cuda nan ;;
    short) short ;;
    coll)
        for n in 1 2 4; do
            [ $n -gt "$gpus" ] || part coll.np$n timeout 200 mpirun --oversubscribe --bind-to none -n $n "$pack/tests/coll_cuda_test" 6
        done ;;
    coll-alone)
        HAP_TEST_OPTIONS="--cuda peers=off" part coll-alone timeout 100 mpirun --oversubscribe --bind-to none -n "$gpus" "$pack/tests/coll_cuda_test" 6
        HAP_TEST_OPTIONS="--cuda peers=off" part pair-alone timeout 100 mpirun --oversubscribe --bind-to none -n "$gpus" "$pack/tests/pair_cuda_test" 2 1 200 200 ;;
    train) part train timeout 600 tests/cuda/train_cuda.sh ${HAP_TRAIN_PARTS:-} ;;
    speed) speed ;;
    predicted) predicted ;;
    groups) groups ;;
    groups-speed) groups_speed ;;
    bits) bits ;;
    losses) losses ;;
    gemm) timeout 60 python3 bench/device_gemm.py 2>&1 | tail -n 12 ;;
    torch)
        for model in $models; do
            [ "${HAP_TORCH_ON:-}" = all ] || timeout 200 python3 bench/device_torch.py "$model" "$(rows_of "$model")" 2>&1 | grep -E 'ms/step|Error' | tail -n 3
            [ "$gpus" = 1 ] || timeout 240 torchrun --nproc-per-node "$gpus" bench/device_torch.py "$model" $(($(rows_of "$model") * gpus)) 2>&1 |
                grep -E 'ms/step|Error' | tail -n 3
        done ;;
    *) echo "no part '$1'" ;;
    esac
}
for name in "$@"; do
    if [ "$name" = "${name%&}" ]; then one_part "$name"; else one_part "${name%&}" & fi
done
wait
printf '%s\n' "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1), $gpus GPUs" "$(cat "$out/parts" 2>/dev/null)" | tee "$out/summary"
keep
