#!/usr/bin/env bash
# Plans in bf16, with gradients in f32 and in bf16, on one rank and on four unequal ones: proved as
# written, trained for 20 steps. Losses stay within 1e-3 of PyTorch's in fp32 and are not the fp32
# program's; `hapc check` builds the graph that plan.json says.
set -u
. tests/train/train_steps.sh

# near A.jsonl B: the losses differ by at most 1e-3, and somewhere. B is a run or a reference.json
near()
{
    awk -v limit=1e-3 -v what="$1 $2" '
        function add(x) { if (file == 1) a[++n] = x; else b[++m] = x }
        FNR == 1 { file++ }
        /"step"/ { sub(/.*"loss": */, ""); sub(/,.*/, ""); add($0 + 0); next }
        /"losses"/ { on = 1 }
        on { line = $0; while (match(line, /[0-9]+\.[0-9]+(e-?[0-9]+)?/)) {
                 add(substr(line, RSTART, RLENGTH) + 0); line = substr(line, RSTART + RLENGTH) }
             if ($0 ~ /\]/) on = 0 }
        END { for (i = 1; i <= n; i++) {
                  d = (a[i] - b[i]) / b[i]; if (d < 0) d = -d; if (d > worst) worst = d }
              good = n == 20 && m == 20 && worst <= limit && worst > 0
              printf "  %s losses %.2e of %.0e (%d and %d steps)\n", good ? "ok   " : "WRONG", worst, limit, n, m
              exit !good }' "$1" "$2" || fails=$((fails + 1))
}

for model in mlp gpt2-tiny; do
    ref=tests/torch/$model
    from=(--seed 1)
    [ -f "$ref/init.safetensors" ] && from=(--init "$ref/init.safetensors")
    for grad in f32 bf16; do
        for cluster in laptop1 laptop; do
            name=$model-$grad-$cluster
            title "$model in bf16, gradients $grad, on $cluster"
            plan "$name" examples/$model/graph.json $cluster --precision bf16 --grad-dtype $grad \
                --keep-grads || continue
            proved "$name"
            # shellcheck disable=SC2046
            run "$name" "$name" --steps 20 --json "${from[@]}" $(inputs $model) \
                --save-grads "$work/grads" || continue
            compare arena "$work/$name/plan.json" "$work/$name.err"
            near "$work/$name.out" "$ref/reference.json"
        done
        near "$work/$model-$grad-laptop.out" "$work/$model-$grad-laptop1.out"
    done
done

title "casts stand in program.c, masters are f32"
grep -q 'op_cast(.*HAP_BF16)' "$work/mlp-f32-laptop/program.c" || fail "no cast to bf16"
grep -q 'AS_PARAM(.*weight' "$work/mlp-f32-laptop/buffers.h" || fail "no parameters"

title "a plan says its precision"
for key in '"precision": *"bf16"' '"grad_dtype": *"bf16"'; do
    grep -q "$key" "$work/mlp-bf16-laptop/plan.json" || fail "plan.json: no $key"
done
sed -i 's/"precision": *"bf16"/"precision":"fp32"/' "$work/mlp-f32-laptop/plan.json"
"$hapc" check "$work/mlp-f32-laptop" >"$work/check.out" 2>&1 && fail "proved as fp32"

title "tf32 is the fp32 graph, and a call that the program makes"
plan fp32 examples/mlp/graph.json laptop && plan tf32 examples/mlp/graph.json laptop --precision tf32 &&
    proved tf32
for name in fp32 tf32; do # without the heading, which has the command
    sed '1,/^$/d' "$work/$name/program.c" >"$work/$name.c"
done
diff "$work/fp32.c" "$work/tf32.c" | grep '^[<>]' >"$work/diff.out"
[ "$(sed 's/^> *//' "$work/diff.out")" = 'hap_math(r, HAP_MATH_TF32);' ] || fail "programs differ" "$work/diff.out"
sed -i '/hap_math(/d' "$work/tf32/program.c"
sed -i 's/^\( *\)hap_mesh(r/\1hap_math(r, HAP_MATH_TF32);\n&/' "$work/fp32/program.c"
for case in tf32,f32,tf32 fp32,tf32,fp32; do # the call is what counts, not plan.json
    IFS=, read -r name math precision <<<"$case"
    "$hapc" check "$work/$name" >"$work/check.out" 2>&1 && fail "$name: proved"
    grep -q "hap_math: f32 matmuls are computed in $math, the plan's precision is $precision" "$work/check.out" ||
        fail "$name: another reason" "$work/check.out"
done

title "usage"
for bad in '--precision fp8' '--grad-dtype i64' '--grad-dtype bf16'; do
    # shellcheck disable=SC2086
    "$hapc" examples/mlp/graph.json clusters/laptop.yaml $bad >"$work/usage.out" 2>&1
    [ $? = 2 ] || fail "$bad does not exit 2" "$work/usage.out"
done
finish
