#!/usr/bin/env bash
# Tiny models of tests/torch trained in fp32 on CUDA devices, on one and on four ranks: losses,
# gradients of the first step and parameters of the last equal PyTorch's; a replayed graph and a step
# run as called give the same losses. Skipped where there is no device.
set -u
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
if [ "$gpus" = 0 ]; then
    echo "skipped: no CUDA device"
    exit 77
fi
. tests/train_steps.sh
backend=(--backend cuda)
for case in mlp,laptop1,auto gpt2-tiny,laptop1,auto bert-tiny,laptop1,auto \
    mlp,laptop,dp-prop gpt2-tiny,laptop,auto gpt2-tiny,laptop,zero gpt2-tiny,laptop,tp bert-tiny,laptop2x2,auto; do
    IFS=, read -r model cluster strategy <<<"$case"
    if [ "$gpus" -lt 4 ] && [ "$cluster" != laptop1 ]; then continue; fi
    ref=tests/torch/$model name=$model-$cluster-$strategy parts=- graph=examples/$model/graph.json
    case $model in gpt2*) parts='*.attn.c_attn.bias=3' ;; esac
    title "$model on $cluster, $strategy"
    plan "$name" "$graph" "$cluster" --strategy "$strategy" --keep-grads || continue
    from=(--init "$ref/init.safetensors")
    start=$ref/init.safetensors
    if [ ! -f "$start" ]; then
        start=$work/$model.start.safetensors
        from=(--seed 1)
        [ -f "$start" ] || { plan start "$graph" laptop1 &&
            run start start --steps 0 --seed 1 --save "$start" $(inputs "$model"); } || continue
    fi
    run "$name" "$name" --steps 20 --json "${from[@]}" $(inputs "$model") --save "$work/final" || continue
    compare arena "$work/$name/plan.json" "$work/$name.err"
    run "$name" first --steps 1 --json "${from[@]}" $(inputs "$model") --save-grads "$work/grads" || continue
    compare torch "$ref" "$work/$name.out" "$work/grads" "$work/final" "$start" "$parts"
    if [ "$strategy" = auto ]; then
        HAP_CUDA_GRAPH=0 run "$name" called --steps 20 --json "${from[@]}" $(inputs "$model") || continue
        for f in "$name" called; do sed 's/,"ms.*//' "$work/$f.out" >"$work/$f.losses"; done
        cmp "$work/$name.losses" "$work/called.losses" || fail "a replayed step differs from a called one"
    fi
    rm -rf "${work:?}/$name" "$work/final" "$work/grads"
done
# In bf16 a step without its casts (cuda_fuse.c) gives the very losses of one run as called.
for model in gpt2-tiny bert-tiny; do
    title "$model on laptop1 in bf16, replayed and called"
    plan bf16 "examples/$model/graph.json" laptop1 --precision bf16 || continue
    for graph in 1 0; do
        HAP_CUDA_GRAPH=$graph run bf16 "bf16.$graph" --steps 20 --json --seed 1 $(inputs "$model") || continue 2
        sed 's/,"ms.*//' "$work/bf16.$graph.out" >"$work/bf16.$graph.losses"
    done
    [ "$(wc -l <"$work/bf16.0.losses")" = 20 ] || fail "not 20 losses"
    cmp "$work/bf16.0.losses" "$work/bf16.1.losses" || fail "a replayed step differs from a called one"
    rm -rf "$work/bf16"
done
finish
