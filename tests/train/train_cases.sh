#!/usr/bin/env bash
# Training beside the straight road, each against the same run on one rank or against PyTorch:
#
#   tests/train/train_cases.sh zero-rows   ranks that own no row of a cut
#   tests/train/train_cases.sh batch       other batches than the graph's
#   tests/train/train_cases.sh resume      checkpoints: half a run, saved, resumed, on the same and on other ranks
#   tests/train/train_cases.sh dropout     the same mask under every plan
#   tests/train/train_cases.sh variants    micro-batches (four at night too) and recomputation; also with dropout
#   tests/train/train_cases.sh pushes      collectives by copies into other ranks' memory
#   tests/train/train_cases.sh pairs       collectives beside the matmuls that they feed or that feed them
#   tests/train/train_cases.sh experts     rows cut before and after the experts, experts cut between
#   tests/train/train_cases.sh positions   one sequence cut over ranks, in attention by area of the causal mask
#   tests/train/train_cases.sh tight       buffers of layers that do not fit a stride apart
#   tests/train/train_cases.sh rehearsal   nothing stays of passes ahead of the first step
#   tests/train/train_cases.sh stages      layers on machines of their own, micro-batches by 1F1B
#   tests/train/train_cases.sh together    pairs and experts inside stages; runs that go on without stages, and in them
set -u
. tests/train/train_steps.sh
torch=tests/torch

# same_on_one GRAPH MODEL STEPS REFERENCE CLUSTER STRATEGY OPTIONS…: losses, first gradients and the
# arena of a plan; REFERENCE is the run on one rank by `one`. Options are the plan's.
same_on_one()
{
    local graph=$1 model=$2 steps=$3 one=$4 cluster=$5 strategy=$6 name=$(basename "$5" .yaml)-$6
    shift 6
    title "$graph $* on $cluster, $strategy"
    plan "$name" "$graph" "$cluster" --strategy "$strategy" --keep-grads "$@" || return
    proved "$name"
    run "$name" "$name" --steps "$steps" --json "${from[@]}" $(inputs "$model") || return
    compare arena "$work/$name/plan.json" "$work/$name.err"
    compare losses "$work/$name.out" "$work/$one.out"
    run "$name" first --steps 1 --json "${from[@]}" $(inputs "$model") --save-grads "$work/grads.safetensors" || return
    compare grads "$work/grads.safetensors" "$work/$one-grads.safetensors"
    rm -f "$work/grads.safetensors"
}

# Experts on ranks, rows of examples go to them and back.
apart=(--expert-room 5)
for pin in "*_proj" "*to_rooms" "*2.rooms" "*rooms'dx" "expert_linear'dx"; do
    apart+=(--pin "model.layers.?.mlp.experts.$pin=S(0)")
done

# one NAME GRAPH MODEL STEPS OPTIONS…: the run on one rank, kept as $work/NAME.out and NAME.grads
one()
{
    local name=$1 graph=$2 model=$3 steps=$4
    shift 4
    title "$graph $* on one rank"
    plan "$name" "$graph" laptop1 --strategy dp-even --keep-grads "$@" &&
        run "$name" first --steps 1 --json "${from[@]}" $(inputs "$model") --save-grads "$work/$name-grads.safetensors" &&
        run "$name" "$name" --steps "$steps" --json "${from[@]}" $(inputs "$model") || exit 1
}

# no_rows PLAN: the batch of 2 is cut so that some rank has none of it
no_rows()
{
    grep -Eq '"size":2,"entries":\[([0-9]+,)*0[],]' "$work/$1/plan.json" ||
        fail "every rank has rows: this tests nothing"
}

zero_rows()
{
    local strategy
    from=(--seed 1)
    one two examples/mlp/graph.json mlp 20 --batch 2
    for strategy in dp-even dp-prop zero auto tp; do
        same_on_one examples/mlp/graph.json mlp 20 two laptop $strategy --batch 2
        case $strategy in dp-* | zero) no_rows laptop-$strategy ;; esac
    done
    from=(--init $torch/gpt2-tiny/init.safetensors)
    one pair examples/gpt2-tiny/graph.json gpt2-tiny 10 --batch 2
    for strategy in dp-even dp-prop zero auto; do
        same_on_one examples/gpt2-tiny/graph.json gpt2-tiny 10 pair laptop3 $strategy --batch 2
    done
    no_rows laptop3-dp-even
}

# Twelve layers on two devices, in so little memory that buffers of layers lie by themselves.
tight()
{
    local graph=$work/gpt12n.json cluster=$work/tight.yaml
    python3 bench/planner/case_graphs.py gpt12n >"$graph"
    sed 's/memory: 1[26] GiB/memory: 10 MB/' clusters/laptop2.yaml >"$cluster"
    cp README.md "$work/text.bin"
    from=(--seed 1 --tokens u8 --input "input_ids=$work/text.bin" --input "labels=$work/text.bin+1")
    one alone "$graph" none 5
    same_on_one "$graph" none 5 alone "$cluster" auto
    grep -q 'ONE(h\[5\].attn' "$work/tight-auto/buffers.h" || fail "families lie whole: this tests nothing"
}

batch()
{
    local b strategy
    from=(--seed 1)
    for b in 7 100; do # 100: more than the files hold
        one b$b examples/mlp/graph.json mlp 10 --batch $b
        for strategy in auto dp-prop; do
            same_on_one examples/mlp/graph.json mlp 10 b$b laptop $strategy --batch $b
        done
    done
    from=(--init $torch/bert-tiny/init.safetensors)
    one b13 examples/bert-tiny/graph.json bert-tiny 10 --batch 13
    for strategy in auto dp-prop zero; do
        same_on_one examples/bert-tiny/graph.json bert-tiny 10 b13 laptop3 $strategy --batch 13
    done
}

# twenty NAME: the losses of two halves and the parameters after them are PyTorch's
twenty()
{
    cat "$work/half.out" "$work/$1.out" >"$work/both.out"
    compare torch $torch/gpt2-tiny "$work/both.out" - "$work/$1.safetensors" \
        $torch/gpt2-tiny/init.safetensors '*.attn.c_attn.bias=3'
}

resume()
{
    local graph=examples/gpt2-tiny/graph.json strategy
    local train=(--json $(inputs gpt2-tiny)) init=(--init $torch/gpt2-tiny/init.safetensors)
    plan one $graph laptop1
    plan zero $graph laptop2x2 --strategy zero
    for strategy in auto tp; do
        title "10 + 10 steps on laptop, $strategy: the same bytes as 20"
        plan four $graph laptop --strategy $strategy || continue
        run four all --steps 20 "${train[@]}" "${init[@]}" --save "$work/all.safetensors"
        run four half --steps 10 "${train[@]}" "${init[@]}" --save "$work/half.safetensors"
        run four rest --steps 10 "${train[@]}" --init "$work/half.safetensors" --save "$work/rest.safetensors"
        cat "$work/half.out" "$work/rest.out" | sed 's/,"ms.*//' >"$work/both"
        sed 's/,"ms.*//' "$work/all.out" | cmp - "$work/both" || fail "losses differ"
        cmp "$work/all.safetensors" "$work/rest.safetensors" || fail "checkpoints differ"
        twenty rest
        title "... saved by four ranks, resumed by one"
        run one single --steps 10 "${train[@]}" --init "$work/half.safetensors" --save "$work/single.safetensors" && twenty single
    done
    title "saved by one rank, resumed by four (two machines of two, zero)"
    run one half --steps 10 "${train[@]}" "${init[@]}" --save "$work/half.safetensors" &&
        run zero rest --steps 10 "${train[@]}" --init "$work/half.safetensors" --save "$work/rest.safetensors" && twenty rest
    title "--save-every 10 in a run of 20 leaves the last"
    run zero all --steps 20 "${train[@]}" "${init[@]}" --save "$work/every.safetensors" --save-every 10
    compare torch $torch/gpt2-tiny "$work/all.out" - "$work/every.safetensors" \
        $torch/gpt2-tiny/init.safetensors '*.attn.c_attn.bias=3'

    graph=examples/mlp/graph.json
    train=(--json --shuffle $(inputs mlp))
    title "mlp shuffled, its first half on two ranks, its second on four, as on one"
    plan one $graph laptop1
    plan two $graph laptop2 --strategy dp-prop
    plan four $graph laptop --strategy auto
    run one start --steps 0 --seed 3 $(inputs mlp) --save "$work/start.safetensors"
    run one all --steps 20 "${train[@]}" --seed 3 --save "$work/all.safetensors"
    run two half --steps 10 "${train[@]}" --seed 3 --save "$work/half.safetensors"
    run four rest --steps 10 "${train[@]}" --init "$work/half.safetensors" --save "$work/rest.safetensors"
    cat "$work/half.out" "$work/rest.out" >"$work/both.out"
    compare losses "$work/both.out" "$work/all.out"
    compare params "$work/rest.safetensors" "$work/all.safetensors" "$work/start.safetensors"
}

dropout()
{
    local graph=tests/graphs/gpt2-dropout.json cluster strategy
    from=(--seed 5)
    one with $graph gpt2-tiny 10
    # That there is a mask: without dropout, and with other random numbers, the losses are others.
    sed -E 's/"(p|dropout)": 0\.1/"\1": 0.0/' $graph >"$work/without.json"
    plan without "$work/without.json" laptop1 && run without without --steps 10 --json "${from[@]}" $(inputs gpt2-tiny)
    compare differ "$work/with.out" "$work/without.out"
    run with zero --steps 0 "${from[@]}" $(inputs gpt2-tiny) --save "$work/zero.safetensors"
    grep -aq hap.seed "$work/zero.safetensors" || fail "no hap.seed in a checkpoint"
    run with other --steps 10 --json --init "$work/zero.safetensors" --seed 6 $(inputs gpt2-tiny)
    compare differ "$work/with.out" "$work/other.out"
    run with same --steps 10 --json --init "$work/zero.safetensors" $(inputs gpt2-tiny)
    compare losses "$work/same.out" "$work/with.out"
    for strategy in auto dp-even dp-prop zero tp hap; do
        same_on_one $graph gpt2-tiny 10 with laptop $strategy
    done
    same_on_one $graph gpt2-tiny 10 with laptop3 auto
}

# as_torch MODEL CLUSTER STRATEGY OPTIONS…: 20 steps, first gradients and last parameters
as_torch()
{
    local model=$1 cluster=$2 strategy=$3 name=$2-$3 start parts=-
    shift 3
    title "$model $* on $cluster, $strategy"
    start=$work/$model-start.safetensors
    case $model in
    gpt2*)
        start=$torch/$model/init.safetensors
        parts='*.attn.c_attn.bias=3'
        ;;
    esac
    plan "$name" examples/$model/graph.json "$cluster" --strategy "$strategy" --keep-grads "$@" || return
    proved "$name"
    run "$name" "$name" --steps 20 --json --init "$start" $(inputs $model) --save "$work/final.safetensors" || return
    compare arena "$work/$name/plan.json" "$work/$name.err"
    run "$name" first --steps 1 --json --init "$start" $(inputs $model) --save-grads "$work/grads.safetensors" || return
    compare torch "$torch/$model" "$work/$name.out" "$work/grads.safetensors" "$work/final.safetensors" "$start" "$parts"
    rm -rf "$work/final.safetensors" "$work/grads.safetensors"
    [ -n "${as_torch_keeps:-}" ] || rm -rf "${work:?}/$name"
}

# staged MODEL CLUSTER STAGES OPTIONS…: 20 steps, first gradients and last parameters of a pipeline
staged()
{
    local model=$1 cluster=$2 stages=$3 start=$work/$1-start.safetensors parts=-
    shift 3
    title "$model in stages $stages $* on $(basename "$cluster" .yaml)"
    case $model in
    gpt2*)
        start=$torch/$model/init.safetensors
        parts='*.attn.c_attn.bias=3'
        ;;
    bert-moe* | vit*) parts='*.attn.qkv.bias=3' ;;
    esac
    if [ ! -f "$start" ]; then
        plan start examples/$model/graph.json laptop1 &&
            run start start --steps 0 --seed 1 --save "$start" $(inputs $model) || return
    fi
    plan staged examples/$model/graph.json "$cluster" --stages "$stages" --keep-grads "$@" || return
    proved staged
    run staged staged --steps 20 --json --init "$start" $(inputs $model) --save "$work/final.safetensors" || return
    run staged first --steps 1 --json --init "$start" $(inputs $model) --save-grads "$work/grads.safetensors" || return
    compare stages "$torch/$model" "$work/staged.out" "$work/grads.safetensors" "$work/final.safetensors" "$start" "$parts"
    rm -f "$work/final.safetensors" "$work/grads.safetensors"
}

# halves of a run in stages, the second from the checkpoint of the first: the bytes of the whole
staged_resume()
{
    local train=(--json $(inputs gpt2-tiny))
    title "10 + 10 steps in stages: the same bytes as 20"
    run staged all --steps 20 "${train[@]}" --init $torch/gpt2-tiny/init.safetensors --save "$work/all.safetensors"
    run staged half --steps 10 "${train[@]}" --init $torch/gpt2-tiny/init.safetensors --save "$work/half" --shard-size 100000
    run staged rest --steps 10 "${train[@]}" --init "$work/half" --save "$work/rest.safetensors"
    cat "$work/half.out" "$work/rest.out" | sed 's/,"ms.*//' >"$work/both"
    sed 's/,"ms.*//' "$work/all.out" | cmp - "$work/both" || fail "losses differ"
    cmp "$work/all.safetensors" "$work/rest.safetensors" || fail "checkpoints differ"
}

# CLUSTER STAGES STRATEGY SLOTS OTHER: the same losses with other slots in their place
other_order()
{
    plan staged examples/gpt2-tiny/graph.json "$1" --stages "$2" --strategy "$3" --micro-batches 4 || return
    run staged staged --steps 5 --json "${from[@]}" $(inputs gpt2-tiny)
    local was=${4// /[[:space:]]*} # perhaps on two lines of the table
    grep -zq "$was" "$work/staged/program.c" || fail "no slots $4"
    sed -zi "s/$was/$5/" "$work/staged/program.c"
    "$hapc" check --accept -q "$work/staged" || fail "$5 is refused"
    run staged other --steps 5 --json "${from[@]}" $(inputs gpt2-tiny)
    sed 's/,"ms.*//' "$work/staged.out" >"$work/both"
    sed 's/,"ms.*//' "$work/other.out" | cmp - "$work/both" || fail "losses differ"
}

# random_orders N NAME: N other legal orders of plan NAME, drawn from a seed that is printed: the same bits
random_orders()
{
    local n=$1 name=$2 seed=${HAP_SEED:-$(date +%s)} i
    title "$n other legal orders of slots, from seed $seed on: the same bits"
    run "$name" first --steps 5 --json "${from[@]}" $(inputs gpt2-tiny)
    for ((i = 0; i < n; i++)); do
        python3 tests/train/other_orders.py "$work/$name/program.c" $((seed + i)) || fail "seed $((seed + i))"
        "$hapc" check --accept -q "$work/$name" || fail "seed $((seed + i)) is refused"
        run "$name" other --steps 5 --json "${from[@]}" $(inputs gpt2-tiny)
        diff <(sed 's/,"ms.*//' "$work/first.out") <(sed 's/,"ms.*//' "$work/other.out") >/dev/null ||
            fail "seed $((seed + i)): losses differ"
    done
}

stages()
{
    local three=$work/three.yaml two=$work/two.yaml four=$work/four.yaml graph=tests/graphs/gpt2-dropout.json
    cat >"$three" <<'EOF'
name: three
machines:
  - name: a
    devices:
      - {name: cpu4, kind: cpu, f32: 80 GFLOP/s, memory: 16 GiB, memory_bandwidth: 16 GB/s}
      - {name: cpu1, kind: cpu, f32: 20 GFLOP/s, memory: 4 GiB, memory_bandwidth: 4 GB/s}
      - {name: cpu3, kind: cpu, f32: 60 GFLOP/s, memory: 12 GiB, memory_bandwidth: 12 GB/s}
    link: {bandwidth: 4 GB/s, latency: 5 us}
  - name: b
    devices:
      - {name: cpu2, kind: cpu, f32: 40 GFLOP/s, memory: 8 GiB, memory_bandwidth: 8 GB/s}
      - {name: cpu1, kind: cpu, f32: 20 GFLOP/s, memory: 4 GiB, memory_bandwidth: 4 GB/s}
    link: {bandwidth: 4 GB/s, latency: 5 us}
  - name: c
    devices:
      - {name: cpu2, kind: cpu, f32: 40 GFLOP/s, memory: 8 GiB, memory_bandwidth: 8 GB/s}
    link: {bandwidth: 4 GB/s, latency: 5 us}
network: {bandwidth: 1 GB/s, latency: 20 us}
source: datasheet
EOF
    cat >"$two" <<'EOF'
name: two
machines:
  - name: m
    count: 2
    devices:
      - {name: cpu2, kind: cpu, f32: 40 GFLOP/s, memory: 8 GiB, memory_bandwidth: 8 GB/s}
      - {name: cpu1, kind: cpu, f32: 20 GFLOP/s, memory: 4 GiB, memory_bandwidth: 4 GB/s}
    link: {bandwidth: 4 GB/s, latency: 5 us}
network: {bandwidth: 100 MB/s, latency: 20 us}
source: datasheet
EOF
    staged bert-tiny "$two" auto
    "$hapc" report "$work/staged" | grep -q ' in 2 stages: ' || fail "no stages were found"
    { sed -e 's/name: two/name: four/' -e '/^network/,$d' "$two"
        cat <<'EOF'
  - name: n
    count: 2
    devices:
      - {name: cpu3, kind: cpu, f32: 60 GFLOP/s, memory: 12 GiB, memory_bandwidth: 12 GB/s}
    link: {bandwidth: 4 GB/s, latency: 5 us}
EOF
        sed -n '/^network/,$p' "$two"; } >"$four"
    staged mlp clusters/laptop2x2.yaml 0@left,1@right --strategy dp-prop
    staged mlp clusters/laptop2x2.yaml 0@right,1@left --strategy tp --micro-batches 4
    staged bert-tiny clusters/laptop2x2.yaml 0@left,1-2@right --strategy dp-prop --micro-batches 2
    staged vit-tiny clusters/laptop2x2.yaml 0@left,1@right --micro-batches 2
    staged bert-moe-tiny clusters/laptop2x2.yaml 0-3@right,4-9@left --strategy zero
    staged bert-moe-tiny "$four" 0-2@m.0,3-5@n.1,6-7@m.1,8-9@n.0 --strategy dp-prop --micro-batches 2
    staged gpt2-tiny "$three" 0@b,1@a,2@c --strategy dp-prop --micro-batches 4
    staged gpt2-tiny "$three" 0@a,1-2@b+c --strategy tp --micro-batches 2 --recompute 1-1
    staged gpt2-tiny "$three" 0@a:0-1,1@a:2,2@b --strategy dp-prop --micro-batches 2
    staged gpt2-tiny "$three" 0@b,1-2@a --micro-batches 2 --pin 'transformer.h.*.mlp.c_fc=S(2)' --pin '*.add.2=S(0)'
    staged gpt2-tiny "$three" 0@c,1@b,2@a --strategy zero --micro-batches 4
    grep -q 'HAP_WEIGHTS(3)' "$work/staged/program.c" || fail "no weight gradients apart"
    staged_resume
    title "what plans of stages do not have is refused"
    local command
    local step="examples/gpt2-tiny/graph.json $three --stages 0@c,1-2@a"
    for command in "$step --what-if batch=16" "$step -d p"; do
        # shellcheck disable=SC2086
        "$hapc" $command >"$work/bad.out" 2>&1 && fail "hapc $command"
        grep -q 'not supported: ' "$work/bad.out" || fail "hapc $command" "$work/bad.out"
    done
    title "a measured step of stages beside the predicted one: the same calls"
    run staged traced --steps 4 --trace "$work/trace" $(inputs gpt2-tiny)
    "$hapc" compare "$work/staged" "$work/trace" >"$work/said" 2>&1 || fail "hapc compare" "$work/said"
    grep -q '^4 steps, of which the last 2 count, on 6 devices' "$work/said" || fail "hapc compare: steps" "$work/said"
    grep 'are no calls of this plan' "$work/said" && fail "calls of a run in stages that the plan has not" "$work/said"
    from=(--seed 5)
    one with $graph gpt2-tiny 10
    title "dropout in stages: the masks of one rank"
    plan staged $graph clusters/laptop2x2.yaml --stages 0@left,1@right --strategy dp-even --micro-batches 4 &&
        run staged staged --steps 10 --json "${from[@]}" $(inputs gpt2-tiny) &&
        compare losses "$work/staged.out" "$work/with.out"
    title "another legal order of slots: the same bits"
    other_order clusters/laptop2x2.yaml 0@left,1-2@right dp-prop \
        'HAP_FORWARD(0), HAP_FORWARD(1), HAP_BACK(0)' 'HAP_FORWARD(0), HAP_BACK(0), HAP_FORWARD(1)'
    title "weight gradients earlier and later: the same bits"
    other_order "$three" 0@c,1@b,2@a zero 'HAP_WEIGHTS(1), HAP_BACK(3)' 'HAP_BACK(3), HAP_WEIGHTS(1)'
    other_order "$three" 0@c,1@b,2@a zero 'HAP_FORWARD(2), HAP_WEIGHTS(0)' 'HAP_WEIGHTS(0), HAP_FORWARD(2)'
    local n=3
    [ "${HAP_NIGHTLY:-}" != 1 ] || n=30
    plan eight examples/gpt2-tiny/graph.json "$three" --stages 0@c,1@b,2@a --strategy zero --micro-batches 8 &&
        random_orders $n eight
}

# crossed MODEL START: 10 steps by plan `staged` and 10 by plan `whole`, then the other way round
crossed()
{
    local first second model=$1 train=(--json $(inputs "$1"))
    shift
    for first in staged whole; do
        second=$([ $first = staged ] && echo whole || echo staged)
        title "$model: 10 steps of plan $first, 10 of plan $second"
        run $first half --steps 10 "${train[@]}" "$@" --save "$work/half.safetensors" &&
            run $second rest --steps 10 "${train[@]}" --init "$work/half.safetensors" --save "$work/rest.safetensors" || return
        if [ "$1" = --init ]; then
            twenty rest
        else
            cat "$work/half.out" "$work/rest.out" >"$work/both.out"
            compare losses "$work/both.out" "$work/all.out"
            compare params "$work/rest.safetensors" "$work/all.safetensors" "$work/start.safetensors"
        fi
    done
}

# crossed_with_one GRAPH ROWS CLUSTER STAGES OPTIONS…: crossed, beside 20 steps of one rank; the rows are a model's
crossed_with_one()
{
    local graph=$1 rows=$2 cluster=$3 stages=$4
    shift 4
    title "$graph in stages $stages $* on $(basename "$cluster" .yaml), beside one rank"
    plan staged $graph "$cluster" --stages "$stages" "$@" && proved staged &&
        plan whole $graph laptop --strategy dp-prop && plan one $graph laptop1 &&
        run one start --steps 0 --seed 1 --save "$work/start.safetensors" $(inputs $rows) &&
        run one all --steps 20 --json --seed 1 --save "$work/all.safetensors" $(inputs $rows) &&
        crossed $rows --seed 1
}

# beside.yaml: peers that compute slowly, over links on which rows of experts take half as long
cluster_of_experts()
{
    cat >"$work/beside.yaml" <<-END
	name: beside
	machines:
	  - name: here
	    devices:
	      - {name: a, kind: cpu, f32: 2 GFLOP/s, memory: 4 GB, memory_bandwidth: 100 GB/s}
	      - {name: b, kind: cpu, count: 2, f32: 1.5 GFLOP/s, memory: 4 GB, memory_bandwidth: 100 GB/s}
	      - {name: c, kind: cpu, f32: 0.3 GFLOP/s, memory: 4 GB, memory_bandwidth: 100 GB/s}
	    link: {bandwidth: 0.2 GB/s, latency: 0.1 us}
	    peer: true
	source: datasheet
	END
}

# pairs_of PLAN COLLECTIVE: how many
pairs_of()
{
    awk -v coll="coll_$2_start" '
        /hap_overlap\(/ { inside = 1; text = "" }
        inside { text = text $0 }
        /hap_overlapped\(/ { n += inside && index(text, coll) > 0; inside = 0 }
        END { print n + 0 }' "$work/$1/program.c"
}

# Rows that go to experts, and pairs, in stages; and the second half of the steps without stages, or in others: PyTorch's
routed()
{
    local graph=tests/graphs/routed.json near=$work/near.yaml start=$work/routed-start.safetensors way first second
    sed 's/4 GB\/s, latency: 10 us/300 MB\/s, latency: 100 ns/; s/^network:.*/network: {bandwidth: 2 GB\/s, latency: 5 us}/' \
        clusters/laptop2x2-peers.yaml >"$near"
    plan one $graph laptop1 && run one start --steps 0 --seed 1 --save "$start" $(inputs routed) &&
        plan staged $graph "$near" --stages 0@right,1@left --strategy tp --micro-batches 2 && proved staged &&
        plan other $graph "$near" --stages 0@left,1@right --strategy zero --micro-batches 4 &&
        plan whole $graph laptop || return
    cluster_of_experts
    plan rooms $graph "$near" --stages 0@left,1@right --strategy hap --micro-batches 2 "${apart[@]}" && proved rooms &&
        plan beside $graph "$work/beside.yaml" --strategy hap "${apart[@]}" && proved beside || return
    [ "$(grep -c 'coll_all_to_all_start' "$work/rooms/program.c")" -ge 8 ] || fail "rows go to no rooms in both stages"
    [ "$(pairs_of beside all_to_all)" = 4 ] || fail "not four pairs of rows and experts: this tests nothing"
    paired staged all_reduce FLAT
    [ "$(grep -c 'op_expert_linear(r' "$work/staged/program.c")" = 8 ] || fail "rows go not to experts in both stages"
    for way in "staged whole" "whole staged" "staged other" "other staged" "rooms beside" "beside rooms"; do
        read -r first second <<<"$way"
        title "routed: 10 steps of plan $first, 10 of plan $second, beside PyTorch"
        run $first half --steps 10 --json $(inputs routed) --init "$start" --save "$work/half.safetensors" &&
            run $second rest --steps 10 --json $(inputs routed) --init "$work/half.safetensors" --save "$work/rest.safetensors" || return
        cat "$work/half.out" "$work/rest.out" >"$work/both.out"
        compare torch $torch/routed "$work/both.out" - "$work/rest.safetensors" "$start" -
    done
}

together()
{
    local peers=$work/peers.yaml experts=tests/graphs/experts.json
    sed 's/4 GB\/s, latency: 10 us/2 GB\/s, latency: 1 us/; s/^network:.*/network: {bandwidth: 2 GB\/s, latency: 5 us}/' \
        clusters/laptop2x2-peers.yaml >"$peers"
    staged gpt2-tiny "$peers" 0@left,1-2@right --strategy tp --micro-batches 2
    paired staged all_reduce FLAT
    plan whole examples/gpt2-tiny/graph.json laptop && crossed gpt2-tiny --init $torch/gpt2-tiny/init.safetensors
    staged bert-moe-tiny "$peers" 0-3@right,4-9@left --strategy hap --micro-batches 2
    grep -q 'coll_all_to_all_start(.*ffn_combine_dx' "$work/staged/program.c" ||
        fail "no tokens go to experts: this tests nothing"
    crossed_with_one examples/bert-moe-tiny/graph.json bert-moe-tiny "$peers" 0-3@right,4-9@left --strategy hap --micro-batches 2
    crossed_with_one $experts gpt2-tiny "$peers" 0@left,1@right --strategy zero
    routed
    crossed_with_one tests/graphs/rotary.json gpt2-tiny "$peers" 0@left,1-2@right --strategy dp-prop --micro-batches 2
    crossed_with_one tests/graphs/batch-norm.json mlp "$peers" 0@left,1@right --strategy dp-prop --micro-batches 1
    crossed_with_one tests/graphs/batch-norm.json mlp "$peers" 0@left,1@right --micro-batches 2
}

variants()
{
    local k counts=2 graph=tests/graphs/gpt2-dropout.json
    title "mlp's start"
    plan start examples/mlp/graph.json laptop1 &&
        run start start --steps 0 --seed 1 --save "$work/mlp-start.safetensors" $(inputs mlp) || exit 1
    [ "${HAP_NIGHTLY:-}" != 1 ] || counts='2 4'
    for k in $counts; do
        as_torch mlp laptop1 auto --micro-batches $k
        as_torch mlp laptop dp-prop --micro-batches $k
        as_torch mlp laptop auto --micro-batches $k
        as_torch gpt2-tiny laptop1 auto --micro-batches $k
        as_torch gpt2-tiny laptop auto --micro-batches $k
    done
    as_torch gpt2-tiny laptop dp-prop --micro-batches 2
    as_torch gpt2-tiny laptop2x2 zero --micro-batches 2
    as_torch gpt2-tiny laptop1 auto --recompute all
    as_torch gpt2-tiny laptop auto --recompute 2
    as_torch gpt2-tiny laptop auto --recompute 0,2
    as_torch gpt2-tiny laptop auto --recompute 1-1 --micro-batches 2
    as_torch gpt2-tiny laptop auto --recompute all --micro-batches 2
    from=(--seed 5)
    one with $graph gpt2-tiny 10
    same_on_one $graph gpt2-tiny 10 with laptop1 auto --micro-batches 4
    same_on_one $graph gpt2-tiny 10 with laptop auto --micro-batches 2
    same_on_one $graph gpt2-tiny 10 with laptop auto --recompute all
    same_on_one $graph gpt2-tiny 10 with laptop dp-prop --recompute 1-1 --micro-batches 2
}

experts()
{
    local graph=examples/bert-moe-tiny/graph.json cluster moe=layers.1.ffn
    from=(--seed 1)
    one moe $graph bert-moe-tiny 20
    for cluster in laptop3 laptop; do
        same_on_one $graph bert-moe-tiny 20 moe $cluster hap --pin "$moe.w?=S(0)" \
            --pin "$moe.expert_slots=S(0)" --pin 'layers.1.ln_1=S(0)' --pin "$moe.reshape=S(0)" \
            --pin "$moe.reshape.2=S(1)"
        grep -q 'coll_all_to_all_start(.*ffn_dispatch' "$work/$cluster-hap/program.c" ||
            fail "no all-to-all of the dispatched tokens: this tests nothing"
        grep -q '"dropped": *true' "$work/$cluster-hap/plan.json" && fail "not on every rank"
    done
    same_on_one $graph bert-moe-tiny 20 moe laptop dp-prop --micro-batches 2
    graph=tests/graphs/experts.json moe='model.layers.?.mlp.experts'
    one tokens $graph gpt2-tiny 10
    same_on_one $graph gpt2-tiny 10 tokens laptop dp-prop --micro-batches 2
    same_on_one $graph gpt2-tiny 10 tokens laptop auto --pin "$moe.*_proj=S(0)" --pin "$moe.expert_linear*=P"
    grep -q 'mlp_experts_gate_up_proj, HAP_NT)' "$work/laptop-auto/program.c" ||
        fail "no rank multiplies by its own experts alone: this tests nothing"
    local value
    same_on_one $graph gpt2-tiny 10 tokens laptop hap "${apart[@]}"
    for value in to_rooms 2_rooms 2_from_rooms_dx dx; do
        tr -d '\n ' <"$work/laptop-hap/program.c" | grep -q "coll_all_to_all_start([^;]*&b->mlp_experts_expert_linear_$value,b" ||
            fail "no rows go to experts in $value: this tests nothing"
    done
    # Rows that come while experts multiply, and leave so; the last rank has no expert.
    cluster_of_experts
    same_on_one $graph gpt2-tiny 10 tokens "$work/beside.yaml" hap "${apart[@]}"
    [ "$(pairs_of beside-hap all_to_all)" = 4 ] || fail "not four pairs of rows and experts: this tests nothing"
    grep -q 'HAP_CUT("cut_5", *0, *5,.*, *0)' "$work/beside-hap/program.c" || fail "an expert on every rank: this tests nothing"
    same_on_one $graph gpt2-tiny 10 tokens "$work/beside.yaml" hap "${apart[@]}" --pairs off
    grep -q hap_overlap "$work/beside-hap/program.c" && fail "pairs in spite of --pairs off"
    same_on_one $graph gpt2-tiny 10 tokens laptop tp --expert-room 5
    same_on_one $graph gpt2-tiny 10 tokens laptop dp-prop --expert-room 5 --micro-batches 2
    title "experts without room for all that choose them"
    plan small $graph laptop --expert-room 1 &&
        "$hapc" run "$work/small" --steps 10 --seed 1 $(inputs gpt2-tiny) >"$work/small.out" 2>&1
    [ $? = 5 ] || fail "exit $?" "$work/small.out"
    grep -Eq 'step 0 program.c:[0-9]+: to_rooms: 1[4-9] of 64 rows of example [0-7] choose expert [0-4], which has room for 13 \(hapc --expert-room\)' \
        "$work/small.out" || fail "no word of the room" "$work/small.out"
}

# cluster_of MACHINES FAST SLOW: ranks so slow that what they compute counts and links are free
cluster_of()
{
    local machine name=$work/slow$1$2$3.yaml
    echo "name: slow
machines:" >"$name"
    for machine in $(seq "$1"); do
        echo "  - name: m$machine
    devices:
      - {name: slow, kind: cpu, count: $2, f32: 1 GFLOP/s, memory: 4 GB, memory_bandwidth: 100 GB/s}
      - {name: slower, kind: cpu, count: $3, f32: 0.6 GFLOP/s, memory: 4 GB, memory_bandwidth: 100 GB/s}
    link: {bandwidth: 100 GB/s, latency: 0.01 us}" | sed '/count: 0/d' >>"$name"
    done
    echo "network: {bandwidth: 100 GB/s, latency: 0.01 us}
source: datasheet" >>"$name"
    echo "$name"
}

positions()
{
    local graph=examples/gpt2-tiny/graph.json cluster pin='transformer.h.*.attn.sdpa=S(2)'
    from=(--init $torch/gpt2-tiny/init.safetensors)
    one single $graph gpt2-tiny 10 --batch 1
    for cluster in $(cluster_of 1 2 0) $(cluster_of 1 2 1) $(cluster_of 1 3 1); do
        same_on_one $graph gpt2-tiny 10 single "$cluster" auto --batch 1 --pin "$pin"
        grep -q '"from":"[a-z]* area"' "$work/$(basename "$cluster" .yaml)-auto/plan.json" ||
            fail "no cut by area: this tests nothing"
    done
    same_on_one $graph gpt2-tiny 10 single "$(cluster_of 2 1 1)" auto --batch 1 --mesh machine --pin "$pin"
    from=(--seed 5)
    one drops tests/graphs/gpt2-dropout.json gpt2-tiny 10 --batch 1
    same_on_one tests/graphs/gpt2-dropout.json gpt2-tiny 10 drops "$(cluster_of 1 2 1)" auto --batch 1 --pin "$pin"
}

# pushed PLAN KIND: a collective of the kind is a push
pushed()
{
    grep -Eq "coll_$2_start\(r, AXIS\([01]\)( \| AXIS\(1\))?, FORM_PUT" "$work/$1/program.c" && kinds+=($2)
}

# paired PLAN COLLECTIVE FORM: a pair of the collective, inside or outside of a block's function
paired()
{
    has_pair "$@" || fail "no pair of $2, $3: this tests nothing"
}

has_pair()
{
    awk -v coll="coll_$2_start" -v form="FORM_$3" '
        /hap_overlap\(/ { inside = 1; text = "" }
        inside { text = text $0 }
        /hap_overlapped\(/ { inside = 0; if (index(text, coll) && text ~ form "[,()]") found = 1 }
        END { exit !found }' "$work/$1/program.c"
}

# joined PLAN: a pair has members whose rows are multiplied together, which a weight below 0 says
joined()
{
    grep -q 'hap_overlap(.*, -[0-9]' "$work/$1/program.c"
}

# gaps.yaml: laptop-peers where each further chunk of a pair costs a matmul 10 us, so that to join
# members is often worth it
cluster_of_gaps()
{
    local i pairs=
    for i in 1 2 3 4; do
        pairs+="${pairs:+,}{\"class\":\"cpu$i\",\"gap\":1e-5,\"flag\":1e-6}"
    done
    echo "{\"format\":\"hap.curves\",\"version\":1,\"classes\":{},\"collectives\":[],\"pairs\":[$pairs]}" >"$work/gaps.json"
    sed 's/^source:.*/source: measured 2026-11-21\nmeasured: gaps.json/' clusters/laptop-peers.yaml >"$work/gaps.yaml"
}

# passes PLAN: a pair has rows that another member passes on, whose distance is a chunk's third number
passes()
{
    grep -Eq '(hap_overlap\(.*|^ *)\{[1-9], -?[0-9]+, [1-9]\}' "$work/$1/program.c"
}

# slow.yaml: laptop-peers with two fast and two slow devices on links that fast ones' rows hold up
cluster_of_slow_links()
{
    sed 's/4 GB\/s, latency: 10 us/2 GB\/s, latency: 2 us/; s/f32: 60/f32: 80/; s/f32: 40/f32: 20/' clusters/laptop-peers.yaml >"$work/slow.yaml"
}

# Pairs of all-gathers (before and behind loops' layers), reduce-scatters and all-reduces, on one
# axis and inside machines, with uneven rows; and the same plan without pairs.
pairs()
{
    local batch tp='--pin transformer.h.*.mlp.c_fc=S(2) --pin transformer.h.*.add*=S(0)'
    from=(--init $torch/gpt2-tiny/init.safetensors)
    one gpt2 examples/gpt2-tiny/graph.json gpt2-tiny 10
    same_on_one examples/gpt2-tiny/graph.json gpt2-tiny 10 gpt2 laptop-peers auto $tp
    paired laptop-peers-auto all_gather PUT
    paired laptop-peers-auto reduce_scatter PUT
    same_on_one examples/gpt2-tiny/graph.json gpt2-tiny 10 gpt2 laptop2x2-peers auto --mesh machine \
        --pin 'transformer.h.*.mlp.c_fc=S(0),S(2)' --pin 'transformer.h.*.add*=S(0),S(0)' \
        --pin 'transformer.h.*.attn.c_attn=S(0),S(2)'
    paired laptop2x2-peers-auto all_gather PUT
    grep -q 'all_gather_start(r, AXIS(1), FORM_PUT' "$work/laptop2x2-peers-auto/program.c" ||
        fail "not inside machines: this tests nothing"
    same_on_one examples/gpt2-tiny/graph.json gpt2-tiny 10 gpt2 laptop-peers auto $tp --pairs off
    grep -q hap_overlap "$work/laptop-peers-auto/program.c" && fail "pairs in spite of --pairs off"
    same_on_one examples/gpt2-tiny/graph.json gpt2-tiny 10 gpt2 laptop2 tp
    paired laptop2-tp all_reduce FLAT
    # Rows of fast devices that slow ones pass on.
    cluster_of_slow_links
    for batch in 16 32 64; do
        plan passes examples/gpt2-tiny/graph.json "$work/slow.yaml" $tp --batch $batch || return
        passes passes && break
    done
    one passed examples/gpt2-tiny/graph.json gpt2-tiny 3 --batch $batch
    same_on_one examples/gpt2-tiny/graph.json gpt2-tiny 3 passed "$work/slow.yaml" auto $tp --batch $batch
    passes slow-auto || fail "nothing is passed on: this tests nothing"
    # Rows that go from columns to all ranks; members whose rows are multiplied together.
    tp='--pin transformer.h.*.add*=R --pin transformer.h.*.ln_2*=R --pin transformer.h.*.mlp.c_fc=S(2)'
    tp+=' --pin transformer.h.*.mlp.c_proj*=S(0) --pin transformer.h.*.mlp.act*=S(0)'
    for batch in 32 28 24 64; do
        plan crosses examples/gpt2-tiny/graph.json laptop-peers $tp --batch $batch || return
        has_pair crosses all_to_all PUT && break
    done
    one crossed examples/gpt2-tiny/graph.json gpt2-tiny 3 --batch $batch
    same_on_one examples/gpt2-tiny/graph.json gpt2-tiny 3 crossed laptop-peers auto $tp --batch $batch
    paired laptop-peers-auto all_to_all PUT
    cluster_of_gaps
    for batch in 10 21 25 17 8 12 20 32; do
        plan joins examples/gpt2-tiny/graph.json "$work/gaps.yaml" $tp --batch $batch || return
        joined joins && break
    done
    joined joins || {
        fail "no batch whose plan joins members of a pair: choose other batches or gaps"
        return
    }
    one joined examples/gpt2-tiny/graph.json gpt2-tiny 3 --batch $batch
    same_on_one examples/gpt2-tiny/graph.json gpt2-tiny 3 joined "$work/gaps.yaml" auto $tp --batch $batch
    joined gaps-auto || fail "nothing is joined: this tests nothing"
}

# Plans whose collectives are pushes: all four kinds of them, on one axis and inside machines.
pushes()
{
    local way kind kinds=() graph=examples/bert-moe-tiny/graph.json moe=layers.1.ffn
    as_torch_keeps=1
    plan start examples/mlp/graph.json laptop1 &&
        run start start --steps 0 --seed 1 --save "$work/mlp-start.safetensors" $(inputs mlp) || exit 1
    for way in mlp:laptop-peers:auto mlp:laptop-peers:dp-prop mlp:laptop-peers:tp gpt2-tiny:laptop-peers:auto \
        gpt2-tiny:laptop-peers:zero gpt2-tiny:laptop-peers:tp gpt2-tiny:laptop2x2-peers:zero \
        gpt2-tiny:laptop2x2-peers:dp-prop; do
        as_torch ${way//:/ }
        way=${way#*:}
        for kind in all_gather reduce_scatter all_reduce; do
            pushed ${way/:/-} $kind
        done
        rm -rf "${work:?}/${way/:/-}"
    done
    from=(--seed 1)
    one moe $graph bert-moe-tiny 20
    same_on_one $graph bert-moe-tiny 20 moe laptop-peers hap --pin "$moe.w?=S(0)" \
        --pin "$moe.expert_slots=S(0)" --pin 'layers.1.ln_1=S(0)' --pin "$moe.reshape=S(0)" \
        --pin "$moe.reshape.2=S(1)"
    pushed laptop-peers-hap all_to_all
    for kind in all_gather reduce_scatter all_reduce all_to_all; do
        [[ " ${kinds[*]} " = *" $kind "* ]] || fail "no $kind by push: this tests nothing"
    done
}

# rehearsed PLAN OPTIONS…: losses, checkpoint and spans of five steps on `rows` are the same, bit for
# bit, behind two rehearsals and without any
rehearsed()
{
    local plan=$1 n
    shift
    title "$plan $*, rehearsed"
    for n in 0 2; do
        run "$plan" pass$n --rehearse $n --steps 5 --json --save "$work/pass$n.safetensors" \
            --trace "$work/pass$n.trace" "$@" "${rows[@]}" || return
        sed 's/,"ms.*//' "$work/pass$n.out" >"$work/pass$n.losses"
        grep -o '"name":"[^"]*","pid":[0-9]*' "$work/pass$n.trace" | sort | uniq -c >"$work/pass$n.spans"
    done
    grep -q '^rank 1 rehearsed 2 times in ' "$work/pass2.err" || fail "nothing is rehearsed"
    grep -q ' rehearsed ' "$work/pass0.err" && fail "rehearsed without being asked"
    [ "$(wc -l <"$work/pass2.losses")" = 5 ] || fail "not 5 losses"
    cmp "$work/pass0.losses" "$work/pass2.losses" || fail "losses differ"
    cmp "$work/pass0.safetensors" "$work/pass2.safetensors" || fail "checkpoints differ"
    cmp "$work/pass0.spans" "$work/pass2.spans" || fail "spans differ"
}

# ends CODE PATTERN OPTIONS…: how a run of mlp does that is rehearsed
ends()
{
    local want=$1 pattern=$2 code
    shift 2
    "$hapc" run "$work/mlp" --rehearse 2 --steps 1 "$@" >"$work/bad.out" 2>"$work/bad.err"
    code=$?
    [ $code = "$want" ] && grep -Eq "$pattern" "$work/bad.err" || fail "exit $code" "$work/bad.err"
}

rehearsal()
{
    local gpt2=examples/gpt2-tiny/graph.json init=(--init $torch/gpt2-tiny/init.safetensors) rows
    rows=($(inputs gpt2-tiny))
    plan gpt2 $gpt2 laptop2 || return
    rehearsed gpt2 "${init[@]}"
    rehearsed gpt2 --seed 3 --shuffle --save-every 2
    run gpt2 half --steps 3 --seed 3 --shuffle --save "$work/half.safetensors" "${rows[@]}" &&
        rehearsed gpt2 --init "$work/half.safetensors" --shuffle
    grep -q '"step":7' "$work/pass2.losses" || fail "does not go on behind step 2"
    rehearsed gpt2 --check-nan "${init[@]}"
    plan zero $gpt2 laptop2x2 --strategy zero && rehearsed zero "${init[@]}"
    plan peers $gpt2 laptop-peers --strategy tp && rehearsed peers "${init[@]}"
    plan bf16 $gpt2 laptop2 --precision bf16 && rehearsed bf16 "${init[@]}"
    plan dropout tests/graphs/gpt2-dropout.json laptop2 --micro-batches 2 && rehearsed dropout --seed 5
    rows=($(inputs mlp))
    plan mlp examples/mlp/graph.json laptop2 && rehearsed mlp --seed 1

    title "a file that does not fit is found before anything is rehearsed"
    ends 1 "^error: .*: there is no tensor 'fc1" "${init[@]}" "${rows[@]}"
    grep -q rehearsed "$work/bad.err" && fail "it is not" "$work/bad.err"
    title "what a rehearsal stumbles over is said to be in it"
    { head -c 128 $torch/mlp/label.npy; tail -c +129 $torch/mlp/label.npy | tr '\0' '\1'; } >"$work/label.npy"
    ends 5 '^rank [01] host [^ ]+ rehearsal program.c:[0-9]+: .* outside' "${rows[@]/$torch\/mlp\/label/$work/label}"
}

case ${1:-} in
zero-rows) zero_rows ;;
batch | resume | dropout | tight | variants | experts | positions | pushes | pairs | rehearsal | stages | together) "$1" ;;
*)
    echo "usage: tests/train/train_cases.sh zero-rows|batch|resume|dropout|tight|variants|experts|positions|pushes|pairs|rehearsal|stages|together"
    exit 2
    ;;
esac
finish
