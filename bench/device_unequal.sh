# Parts of bench/device.sh on four GPUs of unequal speed (green contexts: emulated), sourced by it.
#   unequal         GPT-2 124M 128 x 1024 and BERT-base 256 x 128, bf16: hapc's plans over NVLink and
#                   with two emulated hosts on sockets, by strategy and dtype of gradients
#   unequal-torch   PyTorch DDP beside it: even and proportional shares on the same SMs
# HAP_MODELS, HAP_LINKS (nvlink sockets) and HAP_PLANS (auto dp-even dp-prop auto,bf16 …) choose.

unequal_cluster() { [ "$1" = nvlink ] && echo "$root/clusters/h200x4-mixed.yaml" || echo "$root/clusters/h200x4-mixed-sockets.yaml"; }

# wrong A B: how many of the losses of two runs differ by more than 1 in 500
wrong()
{
    paste <(sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' "$1") <(sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' "$2") |
        awk 'NR <= 20 {d = $1 - $2; n += !($1 > 0 && $2 > 0 && d < $1 / 500 && d > -$1 / 500)} END {print NR ? n + 0 : "all"}'
}

unequal()
{
    local model link what strategy grad name first ran
    for model in $models; do
        ids "$model"
        for link in ${HAP_LINKS:-nvlink sockets}; do
            first=
            for what in ${HAP_PLANS:-auto dp-even dp-prop auto,bf16 dp-even,bf16 dp-prop,bf16}; do
                strategy=${what%,*} grad=f32 name=unequal.$model.$link.$what
                [ "$strategy" = "$what" ] || grad=${what#*,}
                "$pack/bin/hapc" "$(graph_of "$model")" "$(unequal_cluster $link)" --batch $((4 * $(rows_of "$model"))) --precision bf16 \
                    --strategy "$strategy" --grad-dtype "$grad" -o "/tmp/$name" >"$out/$name.plan" 2>&1 || { tail -n 3 "$out/$name.plan"; continue; }
                go "$model" "/tmp/$name" "$name" --steps ${HAP_STEPS:-30}
                first=${first:-$name}
                ran=$(grep -c '"emulated":true' "$out/$name.jsonl")
                echo "hapc $model $link $what: $(median "$out/$name.jsonl") ms/step (emulated: $ran lines), predicted" \
                    "$(sed -n 's/^Predicted \([0-9.]* ms\).*/\1/p' "$out/$name.plan"), #wrong $(wrong "$out/$first.jsonl" "$out/$name.jsonl")," \
                    "$(sed -n 's/.*cluster [^,]*, \([0-9] of [0-9] ranks\).*/\1/p' "$out/$name.plan"), losses $(some_losses "$name")"
                grep -hE 'SMs\)' "$out/$name.err" | head -n 1 | cut -c1-90
            done
        done
    done
}

unequal_torch()
{
    local model link
    for model in $models; do
        for link in ${HAP_LINKS:-nvlink sockets}; do
            timeout 280 torchrun --nproc-per-node 4 bench/device_unequal.py "$model" "$link" 132,132,64,64 2>&1 |
                tee "$out/torch.$model.$link.log" | grep --line-buffered -E 'ms/step|TFLOP|Error'
        done
    done
}
