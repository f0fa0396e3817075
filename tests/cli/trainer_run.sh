#!/usr/bin/env bash
# hapc run as a trainer: data from several files and streams, epochs, evaluation, metrics, the backend
# of the plan, Ctrl-C. What belongs to one rank is checked on one and compared with four unequal ones.
set -u
. tests/train/train_steps.sh
. tests/train/trainer_steps.sh
torch=tests/torch/gpt2-tiny graph=examples/gpt2-tiny/graph.json
from=(--init $torch/init.safetensors)
ids=(--input "input_ids=$torch/input_ids.npy" --input "labels=$torch/labels.npy")
evals=("${ids[@]/--input/--eval}")

# refused CODE PATTERN OPTIONS…: of the plan `one`
refused()
{
    local code
    "$hapc" run "$work/one" "${@:3}" >"$work/out" 2>"$work/err"
    code=$?
    [ $code = "$1" ] && grep -Eq -- "$2" "$work/err" || fail "${*:3}: exit $code" "$work/err"
}

plan one $graph laptop1
plan auto $graph laptop
plan zero $graph laptop2x2 --strategy zero
plan tp $graph laptop-peers --strategy tp
plan parts $graph laptop --micro-batches 2 --recompute all
plan stages $graph laptop2x2 --stages 0@left,1-2@right --micro-batches 4
plan bf16 $graph laptop2 --precision bf16

title "rows as tokens: one stream, two streams, patterns, u16, u8"
python3 - "$work" $torch <<'P' || exit 1
import struct, sys
work, torch = sys.argv[1:]
raw = open(f"{torch}/input_ids.npy", "rb").read()
head = 10 + int.from_bytes(raw[8:10], "little")
n = (len(raw) - head) // 8
ids = struct.unpack(f"<{n}q", raw[head:])
for name, kind, part in (("all.bin", "H", ids), ("part1.bin", "H", ids[:n // 2]), ("part2.bin", "H", ids[n // 2:]),
                         ("all.bytes.bin", "B", ids), ("next.bin", "H", ids[1:] + ids[:1])):
    open(f"{work}/{name}", "wb").write(struct.pack(f"<{len(part)}{kind}", *part))
shape = str(n)
for name, kind, descr in (("u2.npy", "H", "<u2"), ("i4.npy", "i", "<i4")):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }" % (descr, n)
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    open(f"{work}/{name}", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack(f"<{n}{kind}", *ids))
P
run one rows --steps 7 --json "${from[@]}" "${ids[@]}"
train=(--steps 7 --json "${from[@]}" --input "labels=$torch/labels.npy")
for file in all.bin 'part?.bin' u2.npy i4.npy; do
    run one stream "${train[@]}" --input "input_ids=$work/$file" --tokens u16 && diff <(losses rows) <(losses stream) >/dev/null ||
        fail "losses of $file"
done
run one stream "${train[@]}" --input "input_ids=$work/part1.bin" --input "input_ids=$work/part2.bin" &&
    diff <(losses rows) <(losses stream) >/dev/null || fail "losses of two files"
run one stream "${train[@]}" --input "input_ids=$work/all.bytes.bin" --tokens u8 && diff <(losses rows) <(losses stream) >/dev/null ||
    fail "losses of bytes"
train=(--steps 4 --json "${from[@]}" --input "input_ids=$work/all.bin")
run one next "${train[@]}" --input "labels=$work/all.bin+1" && run one other "${train[@]}" --input "labels=$work/next.bin+0" &&
    diff <(losses next) <(losses other) >/dev/null || fail "a stream begun one later is not the next tokens"
run auto four "${train[@]}" --input "labels=$work/all.bin+1" && compare losses "$work/four.out" "$work/next.out"

title "refused: rows that differ, rows that are no row, names given twice"
head -c $((16 * 32 * 2)) "$work/all.bin" >"$work/short.bin"
head -c 3 "$work/all.bin" >"$work/odd.bin"
head -c 62 "$work/all.bin" >"$work/less.bin"
refused 1 "short.bin: input '(labels|input_ids)' has 16 samples, '(labels|input_ids)' has 40" "${ids[@]:0:2}" --input "labels=$work/short.bin"
refused 1 'odd.bin: 3 bytes are no whole number of u16 tokens' "${ids[@]:0:2}" --input "labels=$work/odd.bin"
refused 1 "less.bin: input 'labels' has no row: 31 tokens are less than one of 32" "${ids[@]:0:2}" --input "labels=$work/less.bin"
refused 1 'nothing\*.bin: there is no such file' "${ids[@]:0:2}" --input "labels=$work/nothing*.bin"
refused 1 'labels.npy\+1: only a stream of tokens can begin later' "${ids[@]:0:2}" --input "labels=$torch/labels.npy+1"
refused 2 'labels.npy is given twice' "${ids[@]}" "${ids[@]:2:2}"
refused 2 '--epochs and --steps both say' "${ids[@]}" --epochs 1 --steps 2
refused 2 '--eval-every without --eval' "${ids[@]}" --eval-every 2
refused 2 "--tokens wants u8, u16, i32 or i64, not 'f32'" "${ids[@]}" --tokens f32
refused 1 "no file for input 'labels' .*--eval labels=FILE" "${ids[@]}" --eval "input_ids=$torch/input_ids.npy"

title "epochs: 40 rows are 5 steps of 8; a run that goes on makes those that are left"
run one epochs --epochs 2 --json "${from[@]}" "${ids[@]}" --shuffle --seed 4
[ "$(losses epochs | wc -l)" = 10 ] || fail "two epochs are not 10 steps" "$work/epochs.out"
run one some --steps 3 --json "${from[@]}" "${ids[@]}" --shuffle --seed 4 --save "$work/some"
run auto rest --epochs 2 --json "${ids[@]}" --init "$work/some"
cat "$work/some.out" "$work/rest.out" >"$work/both.out"
compare losses "$work/both.out" "$work/epochs.out"

title "evaluation: PyTorch's losses, the same under every plan; training goes on as without it"
cp "$work/rows.out" "$work/plain.out"
run one evals --steps 7 --json "${from[@]}" "${ids[@]}" "${evals[@]}" --eval-every 3 --metrics "$work/one.jsonl"
diff <(losses plain) <(losses evals) >/dev/null || fail "evaluation changes training" "$work/evals.out"
[ "$(sed -n 's/.*"step":\([0-9]*\),"eval_loss".*/\1/p' "$work/evals.out" | tr '\n' ' ')" = '3 6 7 ' ] || fail "not evaluated at 3, 6, 7" "$work/evals.out"
# The batch of step s is evaluated before it: the loss is that of the step itself.
run one first --steps 0 --json "${from[@]}" "${ids[@]}" "${evals[@]}" --eval-batches 1
# first_loss RUN: that of its first line, trained or evaluated
first_loss() { sed -n '1s/.*loss":\([0-9.]*\),.*/\1/p' "$work/$1.out"; }
[ "$(first_loss plain)" = "$(first_loss first)" ] || fail "evaluation of a batch is not its loss" "$work/first.out"
as_losses() # RUN: its evaluations, as steps 0, 1, 2
{
    sed -n 's/.*"eval_loss":\([0-9.]*\).*/\1/p' "$work/$1.out" | awk '{ printf "{\"step\":%d,\"loss\":%s,\"ms\":1}\n", NR - 1, $1 }' >"$work/$1-eval.out"
}
as_losses evals
for way in auto zero tp parts stages; do
    run $way $way --steps 7 --json "${from[@]}" "${ids[@]}" "${evals[@]}" --eval-every 3 --rehearse $((RANDOM % 2))
    as_losses $way
    compare losses "$work/$way-eval.out" "$work/evals-eval.out"
    sed -i '/eval_loss/d' "$work/$way.out"
    compare losses "$work/$way.out" "$work/plain.out"
done
run bf16 bf16 --steps 7 --json "${from[@]}" "${ids[@]}" "${evals[@]}" --eval-every 3 || fail "bf16"

title "... without dropout, whose masks stay what they were"
plan drops tests/graphs/gpt2-dropout.json laptop
sed -E 's/"(p|dropout)": 0\.1/"\1": 0.0/' tests/graphs/gpt2-dropout.json >"$work/without.json"
plan without "$work/without.json" laptop && run without without --steps 1 --json "${from[@]}" "${ids[@]}"
run drops with --steps 4 --json "${from[@]}" "${ids[@]}" --seed 5
run drops drops --steps 4 --json "${from[@]}" "${ids[@]}" --seed 5 "${evals[@]}" --eval-every 2
diff <(losses with) <(losses drops) >/dev/null || fail "evaluation changes masks"
run drops first --steps 0 --json "${from[@]}" "${ids[@]}" "${evals[@]}" --eval-batches 1
[ "$(first_loss without)" = "$(first_loss first)" ] || fail "dropout is on in evaluation" "$work/first.out"
plan drops tests/graphs/gpt2-dropout.json laptop2x2 --stages 0@right,1@left --micro-batches 2
run drops drops --steps 4 --json "${from[@]}" "${ids[@]}" --seed 5 "${evals[@]}" --eval-every 2
sed -i '/eval_loss/d' "$work/drops.out"
compare losses "$work/drops.out" "$work/with.out"

title "metrics: a line a step, and what a run that goes on adds; the gradients' norm is the same under every plan"
python3 - "$work" <<'P' || fail "metrics"
import json, sys
lines = [json.loads(line) for line in open(f"{sys.argv[1]}/one.jsonl")]
steps = [x for x in lines if "loss" in x]
assert [x["step"] for x in steps] == list(range(7)), steps
assert all(k in x for x in steps for k in ("lr", "grad_norm", "ms", "tokens_per_second", "epoch")), steps[0]
assert [x["step"] for x in lines if "eval_loss" in x] == [3, 6, 7]
assert abs(steps[-1]["epoch"] - 7 * 8 / 40) < 1e-5
P
for way in auto zero tp parts stages; do
    run $way norm --steps 3 "${from[@]}" "${ids[@]}" --metrics "$work/norm.jsonl"
    python3 - "$work" <<'P' || fail "norm of $way" "$work/norm.jsonl"
import json, sys
def norms(name): return [x["grad_norm"] for x in map(json.loads, open(f"{sys.argv[1]}/{name}.jsonl")) if "loss" in x][:3]
a, b = norms("one"), norms("norm")
assert len(b) == 3 and all(abs(x / y - 1) < 1e-4 for x, y in zip(a, b)), (a, b)
P
done
run one more --steps 2 --init "$work/some" "${ids[@]}" --metrics "$work/norm.jsonl"
[ "$(wc -l <"$work/norm.jsonl")" = 5 ] || fail "a run that goes on does not append"

title "lines: step, loss, rate, norm, time, speed, rest; the end says what was predicted and saved"
run auto lines --steps 3 "${from[@]}" "${ids[@]}" --save "$work/lines"
grep -Eq '^step 0  loss 5\.3736  lr 0\.00025  norm [0-9.]+  [0-9.]+ ms  [0-9]+ tokens/s  [0-9.]+ % of peak  ETA [0-9]+:[0-9][0-9]$' "$work/lines.out" || fail "a step's line" "$work/lines.out"
grep -Eq '^3 steps in [0-9:]+: [0-9.]+ ms a step in the median, [0-9.]+ times the predicted [0-9.]+$' "$work/lines.out" || fail "the end" "$work/lines.out"
grep -q "^saved $work/lines/step-3: " "$work/lines.out" || fail "not said what was saved" "$work/lines.out"

title "the backend is the plan's"
plan gpus $graph h200x4 --batch 32
"$hapc" run "$work/gpus" --steps 1 "${ids[@]}" >"$work/out" 2>"$work/err" && ! command -v nvidia-smi >/dev/null && fail "a plan for GPUs runs without" "$work/out"
grep -q '^step' "$work/out" && ! command -v nvidia-smi >/dev/null && fail "it runs on CPUs" "$work/out"
run gpus cpus --steps 1 --backend cpu --json "${from[@]}" "${ids[@]}"

title "Ctrl-C: the step ends, what is to be saved is saved; the rest of the run is as if nothing was"
stops_and_saves auto
finish
