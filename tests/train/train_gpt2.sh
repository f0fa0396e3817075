#!/usr/bin/env bash
# GPT-2 124M (the real configuration, vocabulary 50257) on the four ranks of clusters/laptop.yaml, at
# night under a second strategy too (HAP_NIGHTLY=1): the
# first two losses are PyTorch's. Ranks make their own initial values (--seed 1).
set -u
. tests/train/train_steps.sh
strategies=auto
[ "${HAP_NIGHTLY:-}" != 1 ] || strategies='auto dp-prop'
for strategy in $strategies; do
    title "gpt2 on laptop, $strategy"
    plan $strategy examples/gpt2/graph.json laptop --strategy $strategy || continue
    proved $strategy
    run $strategy $strategy --steps 2 --json --seed 1 $(inputs gpt2) || continue
    compare arena "$work/$strategy/plan.json" "$work/$strategy.err"
    compare torch tests/torch/gpt2 "$work/$strategy.out"
done
finish
