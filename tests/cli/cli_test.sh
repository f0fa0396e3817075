#!/bin/bash
# hapc's command line: exit codes, hints, nothing half-written, plan folders, check of edited programs.
set -u
. tests/cli/commands_run.sh
g=examples/mlp/graph.json c=clusters/laptop3.yaml

# narrow [COMMAND]: its help fits into 80 columns
narrow() {
    local line LC_ALL=C.UTF-8 lines=0
    "$hapc" "$@" --help >"$work/out" 2>"$work/err"
    while IFS= read -r line; do
        lines=$((lines + 1))
        [ ${#line} -le 80 ] || wrong "hapc $* --help is wider than 80 columns: $line"
    done <"$work/out"
    [ $lines -ge 3 ] || wrong "hapc $* --help"
}

code 2 'hapc plans one training step'
narrow
narrow profile
code 0 'hapc plans one training step' --help
code 0 '^hapc [0-9]+\.[0-9]+' --version
for command in run check explain; do
    code 0 'hapc' $command --help
    narrow $command
    code 2 'wanted: hapc' $command
    code 2 "unknown option '--halp'" $command --halp
    code 1 'is no plan folder' $command "$work/none"
done
code 2 "did you mean 'check'" chekc
# What the help takes from the tables of strategies and passes, and what -d makes of a letter.
code 0 'auto, dp-even, dp-prop, zero, tp, hap' --help
code 0 'L lower, W place waits' --help
code 0 '^# after place waits' $g $c -d W
code 2 "did you mean '--steps'" run "$work" --stpes 3
code 2 "^hapc: error: --cuda has no key 'grahp' \(graph, .*peers\)$" run "$work" --backend cuda --cuda tune=off,grahp=list
code 2 "did you mean 'graph'" run "$work" --backend cuda --cuda=tune=off,grahp=list
code 2 "^hapc: error: --cuda graph has no value '1' \(usual, on, list, auto, off\)$" run "$work" --backend cuda --cuda graph=1
code 2 "did you mean 'exact'" run "$work" --backend cuda --cuda fuse=exct
code 2 "^hapc: error: --cuda fuse has no value '' " run "$work" --backend cuda --cuda fuse
code 2 "^hapc: error: --cuda has no key '' " run "$work" --backend cuda --cuda fuse=on,
code 2 'this run is on CPUs; --backend cuda is wanted' run "$work" --backend cpu --cuda fuse=off
code 2 "^hapc: error: --cuda has no key 'x' " profile --cuda x=1
code 2 '--json takes no value' run "$work" --json=1
code 2 '--steps wants a value' run "$work" --steps
code 2 "unknown option '--seed'" $g $c --seed 3
code 2 "unknown option '--backend'" $g $c --backend cpu
code 2 "did you mean '--strategy'" $g $c --stratgy auto
code 2 "did you mean 'dp-even'" $g $c --strategy dp-evn
code 2 'precision is fp32' $g $c --precision fp64
code 2 'needs --precision bf16' $g $c --grad-dtype bf16
code 2 'whole number' $g $c --micro-batches 0
code 2 'auto, none, all, how many or which' $g $c --recompute some
code 1 'graph.json:[0-9]+:[0-9]+: error: 3 micro-batches do not divide the batch of 64' $g $c --micro-batches 3
code 1 'no blocks that repeat' $g $c --recompute all
code 1 '9 blocks to recompute, but 3 blocks repeat' examples/gpt2-tiny/graph.json $c --recompute 9
code 2 'wants a value' $g $c --pin
code 2 'did you mean' profile --quik
code 2 'whole number' $g $c --batch x
code 2 'whole number' $g $c --batch=0
code 2 'wants a value' $g $c --batch
code 2 'takes no value' $g $c --json=1
code 2 'unexpected argument' $g $c third
code 2 'wanted: hapc GRAPH' $g
code 1 'nothing.json.*: error: ' "$work/nothing.json" $c
code 1 'nothing.yaml.*: error: ' $g "$work/nothing.yaml"
echo '{"format": "hap.graph",' >"$work/bad.json"
code 1 'bad.json:[0-9]+:[0-9]+: error: ' "$work/bad.json" $c -o "$work/bad"
[ -e "$work/bad" ] && wrong "bad input leaves a folder"

# A device with too little memory: exit 3, in numbers, and nothing is written.
sed 's/memory: [0-9]* GiB/memory: 100 KiB/' $c >"$work/small.yaml"
code 3 'no feasible plan.*needs? [0-9]+' $g "$work/small.yaml" -o "$work/small"
[ -e "$work/small" ] && wrong "an infeasible plan leaves a folder"
code 3 'no feasible plan' $g "$work/small.yaml" --strategy dp-even

code 0 '^Decided' $g $c -o "$work/plan"
for f in graph.json cluster.yaml program.c buffers.h plan.json report.txt report.html trace.json; do
    [ -s "$work/plan/$f" ] || wrong "no $f in the plan folder"
done
[ "$(wc -l <"$work/out")" -le 24 ] && [ "$(wc -L <"$work/out")" -le 80 ] || wrong "the verdict is long: $(wc -lL <"$work/out")"
for how in "$c" clusters/hap-paper.yaml "clusters/laptop2x2.yaml --stages 0@left,1@right"; do
    # shellcheck disable=SC2086
    "$hapc" $g $how -o "$work/plan" >"$work/out" 2>"$work/err" || wrong "a plan on $how"
    [ "$(wc -l <"$work/out")" -le 24 ] && [ "$(wc -L <"$work/out")" -le 80 ] || wrong "$how: the verdict is long: $(wc -lL <"$work/out")"
done
code 0 '^Decided' $g $c -o "$work/plan"
grep -q "^Page     hapc report $work/plan --open" "$work/out" || wrong "the verdict does not name the page"
code 0 '^Decided' report "$work/plan"
[ "$(grep -c '' "$work/out")" -le 24 ] && grep -q "^Page     file://.*/report.html$" "$work/out" || wrong "report is no verdict"
code 0 '^Collectives' report "$work/plan" --full
code 0 '^Collectives' $g $c --full
# What openers complain of stays with them, unless the user named them.
mkdir "$work/openers"
printf '#!/bin/sh\necho no browser >&2\nexit 3\n' >"$work/openers/xdg-open"
cp "$work/openers/xdg-open" "$work/openers/open"
chmod +x "$work/openers"/*
(unset BROWSER; PATH=$work/openers exec "$hapc" report "$work/plan" --open) >"$work/out" 2>"$work/err" || wrong "--open without a browser"
grep -q '^No browser opened it' "$work/out" && [ ! -s "$work/err" ] || wrong "--open without a browser: $(cat "$work/err")"
BROWSER=echo code 0 "/plan/report.html$" report "$work/plan" --open
(PATH=/nowhere BROWSER=/nowhere/x exec "$hapc" report "$work/plan" --open) >"$work/out" 2>"$work/err"
grep -q "^file://.*/plan/report.html$" "$work/out" || wrong "without a browser the page is not named"
code 1 'nothing' report "$work/nothing"
code 2 'wanted: hapc report DIR' report
cmp -s $g "$work/plan/graph.json" && cmp -s $c "$work/plan/cluster.yaml" || wrong "copies differ"
[ -z "$(ls -d "$work"/plan.* 2>/dev/null)" ] || wrong "temporary folders are left"
# A slice of a dim that two dims make keeps its size: the modular run is left out, and all say so.
cat >"$work/large.json" <<'G'
{"format": "hap.graph", "version": 1, "batch": {"B": 2},
 "tensors": {"x": {"kind": "input", "dtype": "f32", "shape": ["B", 4096, 4096], "batch": 0},
             "w": {"kind": "param", "dtype": "f32", "shape": [4096], "init": {"const": 1.0}}},
 "nodes": [{"name": "a", "op": "mul", "in": ["x", "w"], "out": ["a"]},
           {"name": "b", "op": "reshape", "in": ["a"], "out": ["b"], "attrs": {"shape": ["B", 16777216]}},
           {"name": "c", "op": "slice", "in": ["b"], "out": ["c"], "attrs": {"dim": 1, "start": 1, "stop": 16777216}},
           {"name": "d", "op": "mul", "in": ["c", "c"], "out": ["d"]},
           {"name": "loss", "op": "mean", "in": ["d"], "out": ["loss"], "attrs": {"dims": [0, 1], "keepdim": false}}],
 "loss": "loss", "optimizer": {"name": "sgd", "lr": 0.1, "weight_decay": 0}}
G
code 0 'The certificate is of the calls alone' "$work/large.json" clusters/laptop2.yaml -o "$work/large"
code 0 'too large to run modulo' check "$work/large"
code 0 '"modular_run":false' check --json "$work/large"
grep -q '"modular_run":false' "$work/large/plan.json" || wrong "plan.json does not say that values were not run"
code 0 '"predicted_ms":[0-9.]+.*"certificate":"proved","modular_run":true.*"baselines":\{"dp-even".*"hap":[0-9.]+\}' $g $c --json
[ "$(wc -l <"$work/out")" = 1 ] || wrong "--json prints more than one line"
grep -Eq '"lower_bound_ms":[0-9.]+,"additive_ms":[0-9.]+,"additive_bound_ms":[0-9.]+,"gap":[0-9]' "$work/out" ||
    wrong "--json lacks a bound"
code 0 'Devices' $g clusters/laptop2x2.yaml --mesh machine -o "$work/two"
code 0 'alternatives' explain "$work/two" fc1.weight
grep -Eq '\+0?\.?[0-9.e-]+ ms  [RPS][^ ]*,[RPS]' "$work/out" || wrong "explain says no states of two axes"
code 0 '' $g $c -q -o "$work/quiet"
[ -s "$work/out" ] || [ -s "$work/err" ] && wrong "-q is not quiet"

# Pins: bad ones located with a caret (exit 1), clashes with both facts (exit 3), good ones kept.
code 1 "--pin:1:14: error: fc1.weight has no factor 'x'; it has: " $g $c --pin 'fc1.weight=S(x)'
grep -q '^ *^$' "$work/err" || wrong "no caret"
code 1 "did you mean 'fc1.weight'" $g $c --pin fc1.wieght=R
code 1 'label is never partial' $g $c --pin label=P
code 1 'at most two axes' $g $c --pin 'fc1.weight=S(0),R,R'
code 1 "no tensor and no op is called 'nope'" $g $c --pin fc1.weight=R --pin=nope=R -o "$work/pinned"
[ -e "$work/pinned" ] && wrong "a bad pin leaves a folder"
code 3 "--pin 'fc1.weight=R' and --pin 'fc\*.weight=S\(0\)' leave no state for fc1.weight" \
    $g $c --pin fc1.weight=R --pin 'fc*.weight=S(0)'
code 3 "--pin 'fc1.weight=S\(0\)' clashes with strategy dp-even" $g $c --strategy dp-even --pin 'fc1.weight=S(0)'
code 3 "--pin 'fc1.weight=S\(1\)' clashes with fc1," $g $c --strategy hap --pin 'fc1.weight=S(1)'
for strategy in auto zero; do
    code 0 '^Decided' $g $c --strategy $strategy --pin 'fc1.weight=S(1)' --pin fc2.weight=R -o "$work/pinned"
    grep -q '"pins":\["fc1.weight=S(1)","fc2.weight=R"\]' "$work/pinned/plan.json" || wrong "no pins in plan.json"
    code 0 '^proved' check "$work/pinned"
    code 0 'state S\(1:' explain "$work/pinned" fc1.weight
    grep -q 'state \(R\|S(0\)' <(grep '(home)' "$work/out") && wrong "the pinned home is elsewhere"
    grep -A9 'alternatives' "$work/out" | grep 'ms  ' | grep -vq 'ms  S(1:' && wrong "explain forgets the pins"
    code 0 'state R' explain "$work/pinned" fc2.weight
done
sed -i 's/"fc2.weight=R"/"fc2.weight=S(0)"/' "$work/pinned/plan.json"
code 1 "buffers.h:[0-9]+: fc2.weight does not lie as --pin 'fc2.weight=S\(0\)'" check "$work/pinned"
code 0 '^Decided' examples/gpt2-tiny/graph.json $c --pin '*.c_attn.weight=S(h)' --pin 'input_ids=S(b)' \
    --pin '*.mlp.c_fc=R' -o "$work/pinned"
code 0 '^proved' check "$work/pinned"
code 0 'strategy hap' $g $c --strategy hap --full -o "$work/hap"
code 0 '^proved' check "$work/hap"

# Pairs: in the report, in plan.json, explained; none where none are wanted.
tp=(--pin 'transformer.h.*.mlp.c_fc=S(2)' --pin 'transformer.h.*.add*=S(0)')
peers=clusters/laptop-peers.yaml tiny=examples/gpt2-tiny/graph.json
code 0 '^Decided' $tiny $peers "${tp[@]}" -o "$work/pairs"
grep -Eq ' 3  behind all_gather +put\(1\) +transformer.h.\*.mlp.c_fc ' "$work/pairs/report.txt" || wrong "the report has no pair of c_fc"
grep -q '"pairs":true,' "$work/pairs/plan.json" || wrong "plan.json does not say that there are pairs"
grep -q '"overlap":{"length":3,"chunks":\[\[0,1\],\[1,1\],\[2,1\]\],"ms":' "$work/pairs/plan.json" ||
    wrong "no pair in plan.json"
code 0 'in a pair of 3 calls, 3 chunks of rows: matmuls [0-9.]+ ms, transfer' \
    explain "$work/pairs" transformer.h.1.mlp.c_fc --no-search
code 0 '^proved' check "$work/pairs"
code 0 '^Decided' $tiny $peers "${tp[@]}" --pairs off -o "$work/pairs"
grep -q '^Pairs' "$work/pairs/report.txt" && wrong "pairs in spite of --pairs off"
grep -q '"pairs":false,' "$work/pairs/plan.json" || wrong "plan.json does not say that there are no pairs"
code 2 "--pairs is auto or off, not 'on'" $tiny $peers --pairs on

# A folder that is no plan is left alone; what is not a plan's in a plan folder is kept.
mkdir "$work/mine" && echo precious >"$work/mine/file"
code 1 'no plan folder' $g $c -o "$work/mine"
[ "$(cat "$work/mine/file")" = precious ] && [ "$(ls "$work/mine")" = file ] || wrong "a foreign folder was touched"
echo weights >"$work/plan/weights.safetensors"
code 0 '^Decided' $g $c -o "$work/plan/"
[ "$(cat "$work/plan/weights.safetensors")" = weights ] || wrong "a checkpoint in the plan folder is lost"

# plan.json remembers what the graph was read with.
code 0 '2 micro-batches of 4' --full examples/gpt2-tiny/graph.json $c --micro-batches 2 --recompute 1 \
    --pin 'transformer.h.0.mlp.act=S(b)' -o "$work/variant"
code 0 'proved: ' check "$work/variant"
code 0 'c_fc' explain "$work/variant" 'transformer.h.1.mlp.c_fc'
grep -q '"micro_batches":2,"recomputed":\[0\],' "$work/variant/plan.json" || wrong "plan.json does not say the variant"
grep -q 'hap_batch(r, 8, 32)' "$work/variant/program.c" || wrong "the batch is not the whole"
rm -rf "$work/variant"
code 0 'blocks 0, 2 of 3 computed again' --full examples/gpt2-tiny/graph.json $c --recompute 0,2 -o "$work/variant"
code 0 'proved: ' check "$work/variant"
grep -q '"recomputed":\[0,2\],' "$work/variant/plan.json" || wrong "plan.json does not say which blocks"
rm -rf "$work/variant"
code 1 'no block 3: 3 blocks repeat' examples/gpt2-tiny/graph.json $c --recompute 1,3
code 1 '3 micro-batches do not divide' examples/gpt2-tiny/graph.json $c --micro-batches 3 --recompute auto
code 0 '2 micro-batches of 4' --full examples/gpt2-tiny/graph.json $c --micro-batches 2 --recompute auto
code 0 'block 1 of 3 computed again' --full examples/gpt2-tiny/graph.json $c --micro-batches auto --recompute 1-1

code 0 '^Decided' $g $c --precision bf16 --batch 10 --keep-grads -o "$work/other"
code 0 '^proved' check "$work/other"
grep -q 'hap_grad(r, "fc1.weight"' "$work/other/buffers.h" || wrong "--keep-grads declares no gradient"
grep -q 'HAP_BF16' "$work/other/program.c" || wrong "--precision bf16 gives no bf16"

# check: as written; edited but still right; edited and wrong (exit 1, with the line); not C at all.
code 0 '^proved' check "$work/plan"
p=$work/plan/program.c
cp "$p" "$work/good.c"
sed -i '1i // a remark' "$p"
code 0 'proved.*edited' check "$work/plan"
sed 's/op_relu(r/op_tanh(r/' "$work/good.c" >"$p"
code 1 'program.c:[0-9]+' check "$work/plan"
line=$(grep -n 'op_tanh(r' "$p" | cut -d: -f1)
grep -q "program.c:$line" "$work/err" || wrong "check names another line than $line"
grep -v 'hap_wait' "$work/good.c" >"$p"
code 1 'program.c' check "$work/plan"
cp "$work/good.c" "$p"
cp "$work/plan/buffers.h" "$work/good.h"
sed -i 's/HAP_UNIFORM([^)]*)/HAP_FILL(0)/' "$work/plan/buffers.h"
code 1 'buffers.h:[0-9]+: .*graph says' check "$work/plan"
cp "$work/good.h" "$work/plan/buffers.h"
echo 'int main(void) { return 0 }' >"$p"
code 1 'program.c:1:10: error: not in the language' check "$work/plan"
code 5 'does not compile' run "$work/plan" --unproved
cp "$work/good.c" "$p"

code 0 'mpirun .*-n 3 .*/program --steps 2' run "$work/plan" --dry-run --steps 2
code 2 "did you mean '--steps'" run "$work/plan" --stesp 2
code 2 "--backend is cpu or cuda, not 'tpu'" run "$work/plan" --backend tpu
code 1 'error: ' run "$work/plan" --input image=/nonexistent --input label=/nonexistent
[ "$(grep -c 'error: ' "$work/err")" = 1 ] || wrong "more than one message"

# A plan for GPUs, where computing slows communication down: the report and the predicted timeline say
# what share of each collective is hidden, and how to run it.
code 0 '^Run +hapc run .*/gpus$' examples/gpt2/graph.json clusters/h200x4.yaml --strategy tp --precision bf16 --batch 32 -o "$work/gpus"
shares=$(sed -n '/^Collectives/,/^$/s/.* ms  *\([0-9]*\) %$/\1/p' "$work/gpus/report.txt")
[ -n "$shares" ] || wrong "no hidden shares in the report"
for s in $shares; do [ "$s" -le 100 ] || wrong "$s % hidden"; done
grep -q '"coll_[a-z_]*:.*"args":{"hidden":0\.[0-9]*}}' "$work/gpus/trace.json" || wrong "no hidden share in trace.json"
grep -q '"name":"op_.*"hidden"' "$work/gpus/trace.json" && wrong "a hidden share of an op"

# Stages on parts of a machine: each says which GPUs it has.
code 0 'layer 0 on host:2-3' $tiny clusters/h200x4.yaml --stages 0@host:2-3,1-2@host:0-1 -o "$work/parts"
for device in 2 0; do
    grep -q "static const int hap_device\[\] = {$device[,}]" "$work/parts/program.c" || wrong "no stage begins with device $device"
done
code 0 '^proved: ' check "$work/parts"

code 0 'Devices' explain "$work/plan"
code 0 'state S' explain "$work/plan" fc1.weight
grep -q 'alternatives' "$work/out" || wrong "explain shows no alternatives"
code 0 'op_linear' explain "$work/plan" 'fc?'
code 1 "did you mean 'fc1.weight'" explain "$work/plan" fc1.wieght
exit $status
