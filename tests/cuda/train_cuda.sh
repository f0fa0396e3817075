#!/usr/bin/env bash
# Tiny models of tests/torch trained in fp32 on CUDA devices, on one and on four ranks: losses,
# gradients of the first step and parameters of the last equal PyTorch's; a replayed graph, fused or
# not, and a step run as called give the same losses bit for bit; so do rehearsed runs, whose steps
# make no plan, take no device memory and capture nothing. Skipped where there is no device.
# Usage: tests/cuda/train_cuda.sh [torch|bf16|rehearsed]…: these parts alone.
set -u
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
if [ "$gpus" = 0 ]; then
    echo "skipped: no CUDA device"
    exit 77
fi
. tests/train/train_steps.sh
backend=(--backend cuda --cuda tune=off) # the same algorithms of matmuls in every run
on_one=true
[ "${HAP_TRAIN_RANKS:-}" != several ] || on_one=false
parts_asked=" ${*:-torch bf16 rehearsed} "
asked() { [[ $parts_asked = *" $1 "* ]]; }

# all_before NAME TIMES: every rank of the run rehearsed so often, and made nothing in its steps
all_before()
{
    local err=$work/$1.err said=' made before the steps: .* plans, .*; in them:' ranks
    ranks=$(grep -c "$said" "$err")
    [ "$ranks" -gt 0 ] && [ "$(grep -c "^rank [0-9]* rehearsed $2 times in " "$err")" = "$ranks" ] &&
        [ "$(grep -c "$said 0 plans, 0 allocations, 0 graphs\$" "$err")" = "$ranks" ] &&
        grep -q ' made before the steps: [1-9]' "$err" || fail "not all was made in $2 rehearsals" "$err"
}

for case in mlp,laptop1,auto gpt2-tiny,laptop1,auto bert-tiny,laptop1,auto gpt2-tiny,laptop1,auto,4 \
    routed,laptop1,auto routed,laptop,tp mlp,laptop,dp-prop gpt2-tiny,laptop,auto gpt2-tiny,laptop,zero gpt2-tiny,laptop,tp bert-tiny,laptop2x2,auto; do
    asked torch || break
    IFS=, read -r model cluster strategy micro <<<"$case"
    if [ "$cluster" = laptop1 ] && ! $on_one || [ "$cluster" != laptop1 ] && [ "$gpus" -lt 4 ]; then continue; fi
    ref=tests/torch/$model name=$model-$cluster-$strategy${micro:+-$micro} parts=- graph=examples/$model/graph.json
    case $model in
    gpt2*) parts='*.attn.c_attn.bias=3' ;;
    routed) graph=tests/graphs/routed.json ;;
    esac
    title "$model on $cluster, $strategy${micro:+, $micro micro-batches}"
    plan "$name" "$graph" "$cluster" --strategy "$strategy" --keep-grads ${micro:+--micro-batches "$micro"} || continue
    from=(--init "$ref/init.safetensors")
    start=$ref/init.safetensors
    if [ ! -f "$start" ]; then
        start=$work/$model-start.safetensors
        from=(--seed 1)
        [ -f "$start" ] || { plan start "$graph" laptop1 &&
            run start start --steps 0 --seed 1 --save "$start" $(inputs "$model"); } || continue
    fi
    run "$name" "$name" --steps 20 --json "${from[@]}" $(inputs "$model") --save "$work/final.safetensors" || continue
    compare arena "$work/$name/plan.json" "$work/$name.err"
    all_before "$name" 3
    # Where the rows of a step lay, padded gradients lie at its end: nobody reads them.
    [[ $model,$cluster != gpt2-tiny,laptop1 ]] || grep -q ' copies back 0 bytes of padded copies' "$work/$name.err" ||
        fail "padded copies are brought back" "$work/$name.err"
    run "$name" first --steps 1 --json "${from[@]}" $(inputs "$model") --save-grads "$work/grads.safetensors" || continue
    compare torch "$ref" "$work/$name.out" "$work/grads.safetensors" "$work/final.safetensors" "$start" "$parts"
    if [ "$strategy" = auto ]; then
        for way in off,off on,off on,exact; do
            run "$name" again --cuda "graph=${way%,*},fuse=${way#*,}" --steps 20 --json "${from[@]}" $(inputs "$model") || continue
            sed 's/,"ms.*//' "$work/again.out" >"$work/$name.$way.losses"
            cmp "$work/$name.off,off.losses" "$work/$name.$way.losses" || fail "losses of graph,fuse $way differ from those of the calls"
        done
    fi
    rm -rf "${work:?}/$name" "$work/final.safetensors" "$work/grads.safetensors"
done
# In bf16 a step gives the very losses of one run as called: captured, without its casts
# (cuda_fuse.c) and with joined calls, from the list or captured, and on own kernels of attention.
# Where a rounding is saved they are near.
for model in gpt2-tiny bert-tiny; do
    asked bf16 && $on_one || break
    title "$model on laptop1 in bf16: called, captured, fused"
    plan bf16 "examples/$model/graph.json" laptop1 --precision bf16 || continue
    for attention in cudnn own; do
        for way in off,off on,off list,exact on,exact on,on; do
            name=bf16.$attention.$way
            run bf16 "$name" --cuda "attention=$attention,graph=${way%,*},fuse=${way#*,}" --steps 20 --json --seed 1 \
                $(inputs "$model") || { echo "  that was graph,fuse $way, attention $attention"; continue; }
            sed 's/,"ms.*//' "$work/$name.out" >"$work/$name.losses"
            [ "$(wc -l <"$work/$name.losses")" = 20 ] || fail "not 20 losses"
            if [ $way = on,on ]; then
                paste -d' ' "$work/bf16.$attention.off,off.losses" "$work/$name.losses" | sed 's/[^ ]*"loss"://g' |
                    awk '{ d = ($1 - $2) / $1; if (d < 0) d = -d; if (!(d < 1e-3)) bad = 1 } END { exit bad }' ||
                    fail "losses of graph,fuse $way, attention $attention, are not near those of the calls"
                continue
            fi
            cmp "$work/bf16.$attention.off,off.losses" "$work/$name.losses" ||
                fail "losses of graph,fuse $way, attention $attention, differ from those of the calls"
        done
    done
    rm -rf "$work/bf16"
done
# Experts' rows by the tile kernel where it can: called and captured alike, and near the other kernels.
if asked bf16 && $on_one; then
    title "routed on laptop1 in bf16, by tiles and without"
    plan bf16 tests/graphs/routed.json laptop1 --precision bf16 &&
        for way in all,off all,on off,on; do
            run bf16 tiles --cuda "fuse=exact,tiles=${way%,*},graph=${way#*,}" --steps 20 --json --seed 1 $(inputs routed) || continue
            sed 's/,"ms.*//' "$work/tiles.out" >"$work/tiles.$way.losses"
        done
    cmp "$work/tiles.all,off.losses" "$work/tiles.all,on.losses" || fail "captured losses differ from those of the calls"
    paste -d' ' "$work/tiles.all,on.losses" "$work/tiles.off,on.losses" | sed 's/[^ ]*"loss"://g' |
        awk '{ d = ($1 - $2) / $1; if (d < 0) d = -d; if (!(d < 1e-3)) bad = 1 } END { exit bad || NR != 20 }' ||
        fail "losses by tiles are not near those without"
    rm -rf "$work/bf16"
fi
# Rehearsed or not, in every way to run a step: the same losses and parameters. In bf16, whose casts
# of parameters are made once, behind the load.
rows=(--init tests/torch/gpt2-tiny/init.safetensors $(inputs gpt2-tiny))
for case in laptop1,auto laptop,zero laptop-peers,tp; do
    asked rehearsed || break
    if [ "$case" = laptop1,auto ] && ! $on_one || [ "$case" != laptop1,auto ] && [ "$gpus" -lt 4 ]; then continue; fi
    title "gpt2-tiny on $case, rehearsed"
    plan before examples/gpt2-tiny/graph.json "${case%,*}" --strategy "${case#*,}" --precision bf16 || continue
    run before unrehearsed --cuda fuse=exact --rehearse 0 --steps 12 --json "${rows[@]}" --save "$work/unrehearsed.safetensors" || continue
    sed 's/,"ms.*//' "$work/unrehearsed.out" >"$work/unrehearsed.losses"
    [ "$(wc -l <"$work/unrehearsed.losses")" = 12 ] || fail "not 12 losses"
    grep -q '^rank [0-9]* rehearsed' "$work/unrehearsed.err" && fail "rehearsed in spite of --rehearse 0"
    grep -Eq 'in them: [1-9][0-9]* plans, .*, [1-9][0-9]* graphs$' "$work/unrehearsed.err" || fail "what steps make is not counted"
    for way in off,1 list,2 on,3 auto,3; do
        run before rehearsed --cuda "fuse=exact,graph=${way%,*}" --steps 12 --json "${rows[@]}" --save "$work/rehearsed.safetensors" || continue
        all_before rehearsed "${way#*,}"
        sed 's/,"ms.*//' "$work/rehearsed.out" >"$work/rehearsed.losses"
        cmp "$work/unrehearsed.losses" "$work/rehearsed.losses" || fail "losses of graph $way differ"
        cmp "$work/unrehearsed.safetensors" "$work/rehearsed.safetensors" || fail "checkpoints of graph $way differ"
    done
    for way in auto,3 list,2; do
        run before tuned --cuda "tune=on,graph=${way%,*}" --steps 12 --json "${rows[@]}" || continue
        all_before tuned "${way#*,}"
    done
    rm -rf "$work/before"
done
finish
