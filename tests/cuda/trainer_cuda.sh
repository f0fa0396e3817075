#!/usr/bin/env bash
# hapc run as a trainer on one CUDA device, named by nothing but the plan: what an evaluation leaves as
# it was, metrics and evaluations beside the CPU's, checkpoints as folders, Ctrl-C. Skipped where there
# is no device. For machines without the CPU's libraries: `trainer_cuda.sh cpu FILE` makes the CPU's
# metrics elsewhere, and HAP_CPU_METRICS=FILE takes them.
set -u
if [ $# = 0 ] && ! nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    echo "skipped: no CUDA device"
    exit 77
fi
. tests/train/train_steps.sh
. tests/train/trainer_steps.sh
torch=tests/torch/gpt2-tiny graph=examples/gpt2-tiny/graph.json
from=(--init $torch/init.safetensors)
ids=(--input "input_ids=$torch/input_ids.npy" --input "labels=$torch/labels.npy")
evals=("${ids[@]/--input/--eval}")
fixed=(--cuda tune=off) # the same algorithms of matmuls in every run
cat >"$work/gpu.yaml" <<'Y'
name: gpu
machines:
  - name: host
    devices: [{model: H200, count: 1}]
    link: {bandwidth: 370 GB/s, latency: 3 us}
source: datasheet
Y

cpu() # METRICS
{
    plan cpu $graph laptop1 &&
        run cpu cpu --steps 9 --json --backend cpu "${from[@]}" "${ids[@]}" "${evals[@]}" --eval-every 4 --metrics "$1"
}
if [ $# -gt 0 ]; then
    cpu "$2"
    finish
fi

plan gpu $graph "$work/gpu.yaml"
plan bf16 $graph "$work/gpu.yaml" --precision bf16
plan gpt2 examples/gpt2/graph.json "$work/gpu.yaml" --precision bf16 --batch 4

title "the backend is the plan's"
run gpu plain --steps 9 --json "${fixed[@]}" "${from[@]}" "${ids[@]}"
grep -q '^rank 0 rehearsed' "$work/plain.err" || fail "it does not run on the GPU" "$work/plain.err"

title "evaluation: the CPU's losses; training goes on as without it"
if [ -n "${HAP_CPU_METRICS:-}" ]; then cp "$HAP_CPU_METRICS" "$work/cpu.jsonl"; else cpu "$work/cpu.jsonl"; fi
run gpu gpu --steps 9 --json "${fixed[@]}" "${from[@]}" "${ids[@]}" "${evals[@]}" --eval-every 4 --metrics "$work/gpu.jsonl"
[ "$(losses plain | wc -l)" = 9 ] && diff <(losses plain) <(losses gpu) >/dev/null || fail "evaluation changes training" "$work/gpu.out"
python3 - "$work" <<'P' || fail "metrics"
import json, sys
cpu, gpu = ([json.loads(line) for line in open(f"{sys.argv[1]}/{name}.jsonl")] for name in ("cpu", "gpu"))
assert [x["step"] for x in cpu] == [x["step"] for x in gpu] and len(gpu) == 12, gpu
for a, b in zip(cpu, gpu):
    assert set(a) == set(b), (a, b)
    for k in ("loss", "eval_loss", "grad_norm", "lr"):
        assert abs(a.get(k, 1) / b.get(k, 1) - 1) < (1e-4 if k == "grad_norm" else 1e-5), (k, a, b)
assert all(x["grad_norm"] > 0 for x in gpu if "loss" in x)
P
for model in bf16 gpt2; do
    rows=("${ids[@]}" "${from[@]}")
    [ $model = gpt2 ] && rows=(--input input_ids=tests/torch/gpt2/input_ids.npy --input labels=tests/torch/gpt2/labels.npy --seed 1)
    tests=()
    for x in "${rows[@]}"; do [ "$x" = --init ] && break; [ "$x" = --seed ] && break; tests+=("${x/--input/--eval}"); done
    run $model without --steps 6 --json "${fixed[@]}" "${rows[@]}"
    run $model with --steps 6 --json "${fixed[@]}" "${rows[@]}" "${tests[@]}" --eval-every 2 --eval-batches 2
    [ "$(losses without | wc -l)" = 6 ] && diff <(losses without) <(losses with) >/dev/null || fail "evaluation changes training of $model" "$work/with.out"
done

title "a folder of checkpoints: a run that goes on makes the same bytes"
run gpu all --steps 6 --json "${fixed[@]}" "${from[@]}" "${ids[@]}" --save "$work/all"
run gpu half --steps 3 --json "${fixed[@]}" "${from[@]}" "${ids[@]}" --save "$work/some"
run gpu rest --steps 3 --json "${fixed[@]}" "${ids[@]}" --init "$work/some" --save "$work/some"
cat "$work/half.out" "$work/rest.out" >"$work/both.out"
diff <(losses all) <(losses both) >/dev/null || fail "losses of both halves" "$work/both.out"
diff -r "$work/all/step-6" "$work/some/step-6" >/dev/null || fail "checkpoints differ"
run bf16 more --steps 2 --json "${ids[@]}" --init "$work/some" && [ "$(losses more | cut -d' ' -f1 | head -n 1)" = 6 ] ||
    fail "another plan does not go on at step 6" "$work/more.out"

title "Ctrl-C: the step ends, what is to be saved is saved"
stops_and_saves gpu
finish
