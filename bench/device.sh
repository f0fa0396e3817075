#!/bin/bash
# On a machine with GPUs, from what bench/device_pack.sh packed: GPU tests and measurements. Goes on
# after failures, prints a summary, leaves the logs in $OUT/logs.tgz. Usage: bench/device.sh PART…
#   ops        rows of the op table against the CPU, PyTorch and every cut
#   sanitize   the same under compute-sanitizer (bf16 rows: memcheck and racecheck)
#   coll       every collective on 1, 2, 4 ranks
#   train      tiny models in fp32 against PyTorch on 1 and 4 GPUs
#   speed      GPT-2 124M, 32 x 1024 tokens a GPU, bf16, on all GPUs, and its time by op on one
#   gemm       the products of the language model's head, odd and padded, by torch
#   torch      compiled PyTorch on the same
set -u
cd "$(dirname "$0")/.."
root=$PWD out=/tmp/device pack=$PWD/.device
mkdir -p "$out"
gpus=$(nvidia-smi -L | wc -l)
site=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
nvidia=$site/nvidia
export LD_LIBRARY_PATH=$pack/libs:$nvidia/cu13/lib:$nvidia/nccl/lib:$nvidia/cudnn/lib:${LD_LIBRARY_PATH:-}
export PATH=$pack/tools:$PATH HAP_BUILD=$pack HAPC_DATA=$root CK_FORK=no
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export NCCL_NVLS_ENABLE=0 OMP_NUM_THREADS=4 TORCHINDUCTOR_CACHE_DIR=${TMPDIR:-/tmp}/inductor

# The package files say where they were built, and where the libraries lay.
there=$(cat "$pack/built-in")
sed -i -e "s|^prefix=.*|prefix=$pack|; s|^libdir=.*|libdir=$pack/lib|; s|^includedir=.*|includedir=$root/runtime|" \
    -e "s|$there|$pack|g; s|[^ ]*/libcublasLt.so.13|$nvidia/cu13/lib/libcublasLt.so.13|" \
    -e "s|-Wl,-rpath,[^ ]*||g; s|[^ ]*/libnccl.so.2|$nvidia/nccl/lib/libnccl.so.2|; s|[^ ]*/libmpi.so|-l:libmpi.so.40|" \
    "$pack"/lib/pkgconfig/*.pc
cudart=$(find /usr/local/cuda*/ "$nvidia" -name libcudart_static.a 2>/dev/null | head -n 1)
sed -i "s|[^ ]*/libcudart_static.a|${cudart:-$nvidia/cu13/lib/libcudart_static.a}|" "$pack"/lib/pkgconfig/haprt-cuda.pc

keep() { [ -z "${OUT:-}" ] || tar -C "$out" --exclude='*.npy' --exclude=trace.json -czf "$OUT/logs.tgz" . ; }
summary=()
part() # NAME COMMAND…: runs it, keeps the log, notes how it ended
{
    local name=$1 start=$SECONDS code
    shift
    "$@" >"$out/$name.log" 2>&1
    code=$?
    summary+=("$(printf '%-22s %s  %d s' "$name" "$([ $code = 0 ] && echo ok || { [ $code = 77 ] && echo skipped || echo "FAILED ($code)"; })" $((SECONDS - start)))")
    grep -E '^[0-9]+%|:[FE]:|WRONG|runs, |all right|wrong value|ERROR SUMMARY|off by' "$out/$name.log" | cut -c1-300 | tail -n 25
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
    printf 'name: h200x%d\nmachines:\n  - name: host\n    devices: [{model: H200, count: %d}]\n    link: {bandwidth: 370 GB/s, latency: 8 us}\nsource: datasheet\n' "$1" "$1" >"$out/h200x$1.yaml"
}

speed()
{
    local n rows plan graph fuse
    python3 - "$out" <<'P'
import numpy as np, sys
ids = np.random.default_rng(0).integers(0, 50257, (128, 1024), dtype=np.int64)
np.save(sys.argv[1] + "/ids.npy", ids)
P
    for n in 1 $([ "$gpus" -gt 1 ] && echo "$gpus"); do
        rows=$((32 * n)) plan=/tmp/plan$n
        cluster "$n"
        "$pack/bin/hapc" "$pack/gpt2-1024.json" "$out/h200x$n.yaml" --precision bf16 --batch $rows -o "$plan" \
            ${HAPC_PLAN_OPTIONS:-} >"$out/plan$n.log" 2>&1 || { tail -n 5 "$out/plan$n.log"; continue; }
        grep -E 'predicted|ms a step|peak' "$out/plan$n.log" | head -n 4
        for graph in 1 plain 0; do
            fuse=1
            [ $graph = plain ] && fuse=0
            HAP_VERBOSE=1 HAP_CUDA_FUSE=$fuse HAP_CUDA_GRAPH=$graph timeout 100 "$pack/bin/hapc" run "$plan" --backend cuda --steps 40 --json --seed 1 \
                --input input_ids="$out/ids.npy" --input labels="$out/ids.npy" >"$out/run$n.$graph.jsonl" 2>"$out/run$n.$graph.err" ||
                tail -n 5 "$out/run$n.$graph.err" | cut -c1-400
            echo "hapc $n GPU, $rows x 1024 tokens, graph $graph: $(median "$out/run$n.$graph.jsonl") ms/step," \
                "losses $(sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' "$out/run$n.$graph.jsonl" | sed -n '1p;5p;$p' | tr '\n' ' ')"
        done
        grep -hE 'workspace|segments|device 0|left out' "$out/run$n.1.err" | head -n 4
    done
    timeout 120 "$pack/bin/hapc" run /tmp/plan1 --backend cuda --steps 3 --trace "$out/trace.json" --seed 1 \
        --input input_ids="$out/ids.npy" --input labels="$out/ids.npy" >"$out/trace.log" 2>&1
    python3 bench/device_trace.py "$out/trace.json" "$out/trace.tsv"
    rm -f "$out/ids.npy" "$out/trace.json"
}

for name in "$@"; do
    case $name in
    ops) for t in ops_bf16 op_blocks op_values op_cuts; do part "$t" timeout 200 "$pack/tests/${t}_cuda_test"; done ;;
    sanitize)
        for tool in memcheck racecheck; do
            part "$tool" timeout 280 compute-sanitizer --tool $tool --error-exitcode 9 "$pack/tests/ops_bf16_cuda_test"
        done ;;
    coll)
        for n in 1 2 4; do
            [ $n -gt "$gpus" ] || part coll.np$n timeout 200 mpirun --oversubscribe --bind-to none -n $n "$pack/tests/coll_cuda_test" 6
        done ;;
    train) part train timeout 400 tests/train_cuda.sh ;;
    speed) speed ;;
    gemm) timeout 60 python3 bench/device_gemm.py 2>&1 | tail -n 12 ;;
    torch)
        timeout 200 python3 bench/device_torch.py 32 2>&1 | grep -E 'ms/step|Error' | tail -n 3
        [ "$gpus" = 1 ] || timeout 240 torchrun --nproc-per-node "$gpus" bench/device_torch.py $((32 * gpus)) 2>&1 | grep -E 'ms/step|Error' | tail -n 3 ;;
    *) echo "no part '$name'" ;;
    esac
done
printf '%s\n' "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1), $gpus GPUs" "${summary[@]+"${summary[@]}"}" | tee "$out/summary"
keep
