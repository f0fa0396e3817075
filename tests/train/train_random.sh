#!/usr/bin/env bash
# Random problems (random_plan.c: graphs, unequal devices, tight memory, options) planned, proved and
# trained on 1 to 6 ranks: losses and first gradients are those of a plan for one device, arenas are
# what the plan says.
#
#   tests/train/train_random.sh [CASES [SEED]]      SEED: printed by each run; one case again: 1 NUMBER
set -u
. tests/train/train_steps.sh
cases=${1:-$([ "${HAP_NIGHTLY:-}" = 1 ] && echo 40 || echo 4)}
number=${2:-$(date +%s%N | cut -c1-16)}
echo "train_random.sh $cases $number"
declare -A count=([subset]=0 [chunks]=0 [again]=0 [two]=0 [tight]=0)

# has KEY PATTERN: one more plan of that kind
has()
{
    if grep -Eq "$2" "$work/many/plan.json"; then count[$1]=$((count[$1] + 1)); fi
}

# Does the arena fill nine tenths of some device?
tight()
{
    grep -oE '"(capacity|peak)_bytes": *[0-9]+' "$work/many/plan.json" |
        awk -F: '/capacity/ { room = $2 } /peak/ && $2 > 0.9 * room { full = 1 } END { exit !full }'
}

# trained NAME: three steps, and the gradients of the first alone
trained()
{
    run "$1" first --steps 1 --json --seed 1 "${rows[@]}" --save-grads "$work/$1.grads" &&
        run "$1" "$1" --steps 3 --json --seed 1 "${rows[@]}"
}

for ((i = 0; i < cases; i++)); do
    rm -f "$work"/*.npy
    "$HAP_BUILD/tests/random_plan" "$number" "$work" >"$work/about" || exit 1
    title "$(cat "$work/about")"
    number=$(($(cut -d: -f1 "$work/about") + 1))
    rows=()
    for f in "$work"/*.npy; do rows+=(--input "$(basename "$f" .npy)=$f"); done
    read -ra options <"$work/options"
    plan one "$work/problem.json" "$work/one.yaml" --keep-grads || continue
    plan many "$work/problem.json" "$work/problem.yaml" --keep-grads "${options[@]+"${options[@]}"}" || continue
    proved many
    has subset '"dropped": *true'
    has chunks '"micro_batches": *([2-9]|[1-9][0-9])'
    has again '"recomputed": *\[ *[0-9]'
    has two '"mesh": *\[[0-9]+, *[0-9]'
    if tight; then count[tight]=$((count[tight] + 1)); fi
    trained one && trained many || continue
    compare losses "$work/many.out" "$work/one.out"
    compare arena "$work/many/plan.json" "$work/many.err"
    compare grads "$work/many.grads" "$work/one.grads"
done

echo "fewer devices: ${count[subset]}, micro-batches: ${count[chunks]}, recomputed: ${count[again]}," \
    "two axes: ${count[two]}, memory nearly full: ${count[tight]}"
for key in "${!count[@]}"; do
    [ "$cases" -lt 40 ] || [ "${count[$key]}" -gt 0 ] || fail "no plan has $key: this tests less than it says"
done
finish
