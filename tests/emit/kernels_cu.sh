#!/bin/bash
# kernels.cu of every small example, and of stages, is what `hapc check` makes of program.c, and compiles, in f32 and
# bf16: by nvcc, where there is one.
set -u
hapc=$HAP_BUILD/bin/hapc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0 n=0
python3 tests/graphs/make_groups.py 13 "$work/rows.json" "$work/rows.npy" || exit 1 # every row
"$hapc" "$work/rows.json" clusters/h200x4.yaml -o "$work/plan" -q && "$hapc" check -q "$work/plan" && mv "$work/plan/kernels.cu" "$work/all.rows.cu" || status=1
for tokens in 13 520; do # rows of no whole vectors, and of three a thread
    python3 tests/graphs/make_scores.py $tokens 8 "$work/scores$tokens.json" "$work/rows.npy" || exit 1
done
for graph in examples/{gpt2-tiny,bert-tiny,vit-tiny,bert-moe-tiny,mlp,branches}/graph.json tests/graphs/gpt2-dropout.json "$work"/scores{13,520}.json stages; do
    for precision in fp32 bf16; do
        plan=("$graph" clusters/h200x4.yaml)
        [ $graph != stages ] || plan=(examples/gpt2-tiny/graph.json clusters/a100x2-v100x2.yaml --stages 0@old,1-2@new --micro-batches 4)
        "$hapc" "${plan[@]}" --precision $precision -o "$work/plan" -q || { echo "FAILED: $graph: no plan"; status=1; continue; }
        [ -e "$work/plan/kernels.cu" ] || { echo "$graph: no fusions"; continue; }
        "$hapc" check -q "$work/plan" || { echo "FAILED: $graph $precision: its kernels"; status=1; }
        cat "$work/plan/kernels.cu" >>"$work/all.$precision.cu"
        sed -i "s/^\(HAP[A-Z_]*KERNEL\)(k\([0-9]*\),/\1(k\2_$((++n)),/" "$work/all.$precision.cu"
    done
done
nvcc=$(command -v nvcc) || { echo "no nvcc"; exit $status; }
to=(-arch=compute_80 -ptx) # its assembly takes twice as long again: at night
[ "${HAP_NIGHTLY:-}" != 1 ] || to=(-arch=sm_80 -cubin)
for precision in fp32 bf16 rows; do
    "$nvcc" "${to[@]}" -std=c++17 -I"$HAP_BUILD/include" -o "$work/k.out" "$work/all.$precision.cu" || { echo "FAILED: $precision does not compile"; status=1; }
done
exit $status
