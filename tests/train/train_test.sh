#!/usr/bin/env bash
# A model of tests/torch trained for 20 steps on one to four unequal ranks under every strategy (on one
# rank, where they are alike, two; all at night, on two more clusters too: HAP_NIGHTLY=1): losses, gradients of the first step and parameters of the last equal PyTorch's (design.md, 6); the
# program as written is proved again; every rank's arena is as large as the plan says.
#
#   tests/train/train_test.sh MODEL [CLUSTER…]
set -u
. tests/train/train_steps.sh
model=$1
shift
clusters=${*:-laptop1 laptop laptop2x2}
[ "${HAP_NIGHTLY:-}" != 1 ] || clusters='laptop1 laptop2 laptop3 laptop laptop2x2'
ref=tests/torch/$model
parts=-
case $model in
gpt2*) parts='*.attn.c_attn.bias=3' ;; # q, k, v in one; attention ignores what k's part adds
bert-moe* | vit*) parts='*.attn.qkv.bias=3' ;;
esac
graph=examples/$model/graph.json

# Where PyTorch started. Not stored for a model whose --seed 1 gives it: then it is what one rank saves
# before its first step.
if [ -f "$ref/init.safetensors" ]; then
    start=$ref/init.safetensors
    from=(--init "$start")
else
    start=$work/start.safetensors
    from=(--seed 1)
    plan start "$graph" laptop1 && run start start --steps 0 --seed 1 --save "$start" $(inputs $model) ||
        exit 1
fi

for cluster in $clusters; do
    ways='auto dp-even dp-prop zero tp hap'
    [ "$cluster" = laptop1 ] && [ "${HAP_NIGHTLY:-}" != 1 ] && ways='auto tp' # all alike on one rank
    [ "$cluster" = laptop2x2 ] && ways="$ways dp-prop@machine zero@machine tp@machine" # on two axes
    for way in $ways; do
        name=$cluster-$way
        strategy=${way%@*}
        mesh=auto
        [ "$way" = "$strategy" ] || mesh=machine
        title "$model on $cluster, $way"
        plan "$name" "$graph" "$cluster" --strategy "$strategy" --mesh $mesh --keep-grads || continue
        proved "$name"
        run "$name" "$name" --steps 20 --json "${from[@]}" $(inputs $model) --save "$work/final.safetensors" || continue
        compare arena "$work/$name/plan.json" "$work/$name.err"
        run "$name" first --steps 1 --json "${from[@]}" $(inputs $model) --save-grads "$work/grads.safetensors" || continue
        compare torch "$ref" "$work/$name.out" "$work/grads.safetensors" "$work/final.safetensors" "$start" "$parts"
        rm -rf "${work:?}/$name" "$work/final.safetensors" "$work/grads.safetensors"
    done
done
finish
