#!/usr/bin/env bash
# What the CUDA backend makes of a step (runtime/cuda/fuse/cuda_fuse.h), on CPU kernels: tiny models in fp32
# and bf16 on one rank and on four run from the list as recorded and as fused. Losses, parameters and
# moments are the same bits, and in bf16 on one rank under half of the calls are left. Where roundings
# are saved (matmuls that are one) losses are near. Programs of stages give the bits that they give as
# called; so they do where of parts that are the same work the first one's calls are made.
set -u
. tests/train/train_steps.sh
export OMPI_MCA_btl_vader_single_copy_mechanism=none
wrap=
for f in begin sync op cut partial coll pair port wait fuse fused; do wrap="$wrap -Wl,--wrap=hap_backend_$f"; done
export PKG_CONFIG_PATH=$HAP_BUILD/lib/pkgconfig

cases='
    mlp,laptop1,auto,fp32 gpt2-tiny,laptop1,auto,fp32 gpt2-tiny,laptop1,auto,bf16
    bert-tiny,laptop1,auto,bf16 bert-tiny,laptop1,auto,bf16,4 vit-tiny,laptop1,auto,bf16
    bert-moe-tiny,laptop1,auto,bf16 batch-norm,laptop1,auto,bf16 batch-residual,laptop1,auto,bf16 batch-residual,laptop,auto,bf16 gpt2-tiny,laptop,auto,bf16 gpt2-tiny,laptop,zero,bf16
    gpt2-tiny,h200x4,tp,bf16 bert-tiny,laptop,tp,fp32 gpt2-tiny,laptop-peers,tp,bf16
    gpt2-tiny,laptop-peers,zero,bf16 gpt2-tiny,laptop2x2-peers,zero,bf16
    gpt2-tiny,laptop1,auto,bf16,,momentum gpt2-tiny,laptop1,auto,bf16,,sgd
    rotary,laptop1,auto,bf16 rotary,laptop,auto,bf16 rotary,h200x4,auto,bf16 rotary,h200x4,dp-even,bf16
    gpt2-tiny,laptop2x2,dp-prop,bf16,,,0@left:1-2@right'
[ "${HAP_NIGHTLY:-}" != 1 ] || cases+='
    bert-tiny,laptop2x2,tp,fp32,,,0@right:1-2@left gpt2-tiny,laptop,tp,bf16 bert-tiny,laptop2x2,auto,bf16 gpt2-tiny,laptop2x2,tp,bf16
    gpt2-tiny,laptop,zero,bf16,,momentum'
for case in $cases; do
    IFS=, read -r model cluster strategy precision batch optimizer stages <<<"$case"
    title "$model on $cluster, $strategy, $precision${batch:+, batch $batch}${optimizer:+, $optimizer}${stages:+, stages $stages}"
    name=$model-$cluster-$strategy-$precision
    graph=examples/$model/graph.json rows=$model
    [ -e "$graph" ] || graph=tests/graphs/$model.json rows=gpt2-tiny
    [[ $model != batch-* ]] || rows=mlp
    case $optimizer in
    momentum) set_to='"momentum", "momentum": 0.9' ;;
    *) set_to="\"$optimizer\"" ;;
    esac
    if [ -n "$optimizer" ]; then
        sed "s/\"adamw\"/$set_to/" "$graph" >"$work/graph.json"
        graph=$work/graph.json
    fi
    plan "$name" "$graph" "$cluster" --strategy "$strategy" --precision "$precision" ${batch:+--batch "$batch"} \
        ${stages:+--stages "${stages//:/,}" --micro-batches 4} || continue
    # shellcheck disable=SC2046,SC2086
    ${CC:-cc} -O1 -o "$work/$name/listed" "$work/$name/program.c" $wrap $(pkg-config --cflags haprt) -Wl,--start-group \
        "$HAP_BUILD/tests/libfused_list.a" $(pkg-config --libs haprt) -Wl,--end-group >"$work/cc.out" 2>&1 ||
        { fail "program.c with the list" "$work/cc.out"; continue; }
    ranks=$(sed -n 's/.*hap_init(.*, \([0-9]*\));/\1/p' "$work/$name/program.c")
    for on in off exact on; do
        # shellcheck disable=SC2046
        mpirun --allow-run-as-root --oversubscribe --bind-to none -n "$ranks" "$work/$name/listed" --cuda fuse=$on --steps 4 --seed 1 \
            --json $(inputs "$rows") --save "$work/$name/$on.safetensors" >"$work/$name/$on.out" 2>"$work/$name/$on.err" ||
            fail "fused $on" "$work/$name/$on.err"
        sed 's/,"ms.*//' "$work/$name/$on.out" >"$work/$name/$on.losses"
    done
    [ "$(wc -l <"$work/$name/on.losses")" = 4 ] || fail "not 4 losses" "$work/$name/on.err"
    cmp "$work/$name/off.losses" "$work/$name/exact.losses" || fail "losses differ"
    cmp "$work/$name/off.safetensors" "$work/$name/exact.safetensors" || fail "parameters differ"
    paste -d' ' "$work/$name/off.losses" "$work/$name/on.losses" | sed 's/[^ ]*"loss"://g' |
        awk '{ d = ($1 - $2) / $1; if (d < 0) d = -d; if (!(d < 1e-4)) bad = 1 } END { exit bad }' || fail "losses are not near"
    if [ -n "$stages" ]; then
        # shellcheck disable=SC2046
        run "$name" "$name/called" --steps 4 --seed 1 --json $(inputs "$rows") --save "$work/$name/called.safetensors"
        sed 's/,"ms.*//' "$work/$name/called.out" | cmp - "$work/$name/exact.losses" || fail "losses are not those of the program as called"
        cmp "$work/$name/called.safetensors" "$work/$name/exact.safetensors" || fail "parameters are not those of the program as called"
    fi
    read -r calls gone <<<"$(sed -n 's/^rank 0 \([0-9]*\) calls, \([0-9]*\) left.*/\1 \2/p' "$work/$name/on.err")"
    read -r launches updates <<<"$(sed -n 's/^rank 0 .* joined; \([0-9]*\) to update, \([0-9]*\) of.*/\1 \2/p' "$work/$name/on.err")"
    exact=$(sed -n 's/^rank 0 [0-9]* calls, \([0-9]*\) left.*/\1/p' "$work/$name/exact.err")
    echo "  ${calls:-no} calls, ${gone:-none} left out or joined, ${exact:-none} without a rounding less; ${launches:-no} to square gradients and update, ${updates:-none} of them updates"
    read -r pushes ahead <<<"$(sed -n 's/^rank 0 \([0-9]*\) one-sided puts, \([0-9]*\) told.*/\1 \2/p' "$work/$name/exact.err")"
    [[ $cluster != *-peers ]] || echo "  ${pushes:-no} pushes, ${ahead:-none} told ahead"
    [[ $cluster != *-peers ]] || [ "${ahead:-0}" -gt 0 ] || fail "no one-sided put is told ahead"
    # shellcheck disable=SC2046
    [[ $cluster != *-peers ]] || ! HAP_TEST_HASTY=1 mpirun --allow-run-as-root --oversubscribe --bind-to none -n "$ranks" \
        "$work/$name/listed" --cuda fuse=exact --steps 4 --seed 1 --json $(inputs "$rows") 2>"$work/$name/hasty.err" | sed 's/,"ms.*//' |
        cmp -s - "$work/$name/exact.losses" || fail "a one-sided put that is told too early is not noticed"
    # Steps from a list, in parts, from a list.
    if [[ $cluster == *-peers || -n $stages ]]; then
        # shellcheck disable=SC2046
        HAP_TEST_WAYS=1 mpirun --allow-run-as-root --oversubscribe --bind-to none -n "$ranks" "$work/$name/listed" --cuda fuse=exact --steps 4 --seed 1 \
            --json $(inputs "$rows") --save "$work/$name/ways.safetensors" 2>"$work/$name/ways.err" | sed 's/,"ms.*//' >"$work/$name/ways.losses"
        cmp "$work/$name/ways.losses" "$work/$name/exact.losses" || fail "losses differ from way to way" "$work/$name/ways.err"
        cmp "$work/$name/ways.safetensors" "$work/$name/exact.safetensors" || fail "parameters differ from way to way"
        [ "$(grep -cE '^rank [0-9]+ [1-9][0-9]* graphs' "$work/$name/ways.err")" = "$ranks" ] || fail "no graphs" "$work/$name/ways.err"
        [ -n "$stages" ] || [ "$(sed -n 's/^rank.* graphs, //p' "$work/$name/ways.err" | sort -u | wc -l)" = 1 ] || fail "starts are captured on some ranks" "$work/$name/ways.err"
        echo "  $(sed -n 's/^rank 0 \(.*graphs.*\)/\1/p' "$work/$name/ways.err")"
        [ -z "$stages" ] || [ "$strategy" = tp ] || [ "$(grep -cE '^rank .* captured parts, [1-9][0-9]* like others' "$work/$name/ways.err")" = "$ranks" ] ||
            fail "no parts are the same work" "$work/$name/ways.err"
    fi
    # Where the arena lets a residual's sum join its norm, the norm before is made again: a call more.
    recorded=$(sed -n 's/^rank 0 \([0-9]*\) calls.*/\1/p' "$work/$name/off.err")
    [ -z "$batch" ] || [ "${calls:-0}" -ge $((${recorded:-0} + 3)) ] || fail "no norm is made again"
    case $name in bert-tiny-laptop1-*-bf16)
        [ "${gone:-0}" -ge $((${exact:-0} + 8 * 3)) ] || fail "query, key and value are not one matmul in three layers" ;;
    rotary-laptop1-*-bf16)
        [ "${gone:-0}" -ge $((${exact:-0} + 12 * 3)) ] || fail "query, key and value are not one matmul, query and key not turned at once, in three layers" ;;
    esac
    # Of images nothing but a statistic's passes, and activations, can be joined.
    [[ $model == batch-* ]] || [ "$ranks" != 1 ] || [ "$precision" = fp32 ] || [ $((2 * ${gone:-0})) -gt "${calls:-1}" ] || fail "few calls are left out"
    read -r gelus slopes <<<"$(sed -n 's/^rank 0 .* of them updates; \([0-9]*\) gelus, \([0-9]*\) .*/\1 \2/p' "$work/$name/on.err")"
    gated=$(sed -n 's/^rank 0 .* matmul; \([0-9]*\) products .*/\1/p' "$work/$name/on.err")
    batches=$(sed -n 's/^rank 0 .* of them; //p' "$work/$name/exact.err")
    echo "  ${gelus:-no} gelus, ${slopes:-no} gradients of gelu with a matmul, ${gated:-no} of silu's products; ${batches:-no batch norms}"
    [[ $name != rotary-laptop1-* && $name != rotary-h200x4-* ]] || [ "${gated:-0}" = 6 ] || fail "products with silu and their gradients are not joined to matmuls"
    [[ $name != batch-*-laptop1-* ]] || [[ $batches == [1-9]*" calls with batch norms, "[1-9]* ]] || fail "no batch norm is joined"
    # Where the arena lets a gradient lie beside the matmul's operands.
    [ "$name${batch:-}" != bert-tiny-laptop1-auto-bf16 ] || [ "${gelus:-0}${slopes:-0}" = 43 ] || fail "gelu and its gradient are not joined to matmuls"
    # One chain updates and one squares, or two where there are many gradients; with uneven cuts transfers keep some apart.
    most=3
    case $cluster in
    laptop1 | h200x4) [ "${updates:-0}" = 1 ] || fail "parameters are updated in ${updates:-no} launches" ;;
    *) most=$((${recorded:-0} / 10)) ;;
    esac
    [ "${launches:-1000}" -le $most ] || fail "gradients are squared and used in $launches launches"
    rm -rf "${work:?}/$name"
done
finish
