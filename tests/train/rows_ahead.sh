#!/usr/bin/env bash
# Rows that are sent ahead of their step, as a GPU takes them (tests/support/rows_ahead.c), are those
# that a step reads for itself: over epochs, shuffled, between evaluations, in a run that goes on, on
# one rank and on four; the same losses, evaluations and checkpoints. Of a step the rows are sent once,
# but where an evaluation comes between, and none are sent behind the last step.
set -u
. tests/train/train_steps.sh
export PKG_CONFIG_PATH=$HAP_BUILD/lib/pkgconfig OMPI_MCA_btl_vader_single_copy_mechanism=none
wrap=
for f in rows rows_send rows_take; do wrap="$wrap -Wl,--wrap=hap_backend_$f"; done

# go PROGRAM NAME OPTIONS…: losses and evaluations to NAME.losses
go()
{
    local program=$1 name=$2
    shift 2
    mpirun --allow-run-as-root --oversubscribe --bind-to none -n "$ranks" "$program" --json "$@" \
        >"$work/$name.out" 2>"$work/$name.err" || fail "$name" "$work/$name.err"
    sed 's/"[a-z_]*ms":[0-9.]*//' "$work/$name.out" >"$work/$name.losses"
}

# same WHAT
same()
{
    cmp "$work/ahead.losses" "$work/plain.losses" || fail "$1: losses differ"
    diff -r "$work/ahead" "$work/plain" >/dev/null || fail "$1: checkpoints differ"
}

# sent TIMES LEFT: inputs of every rank's program
sent()
{
    local said="inputs sent $1 times, $2 of them left\$"
    [ "$(grep -c "$said" "$work/ahead.err")" = "$ranks" ] || fail "not $1 sent, $2 left" "$work/ahead.err"
}

for case in gpt2-tiny,laptop1 gpt2-tiny,laptop; do
    IFS=, read -r model cluster <<<"$case"
    title "$model on $cluster"
    plan "$model" "examples/$model/graph.json" "$cluster" || continue
    ranks=$(sed -n 's/.*hap_init(.*, \([0-9]*\));/\1/p' "$work/$model/program.c")
    for to in plain ahead; do
        # shellcheck disable=SC2046,SC2086
        ${CC:-cc} -O1 -o "$work/$model/$to" "$work/$model/program.c" $([ $to = plain ] || echo $wrap) $(pkg-config --cflags haprt) \
            -Wl,--start-group "$HAP_BUILD/tests/librows_ahead.a" $(pkg-config --libs haprt) -Wl,--end-group >"$work/cc.out" 2>&1 ||
            fail "program.c, $to" "$work/cc.out"
    done
    rows=$(inputs "$model")
    for to in plain ahead; do # 40 rows are 5 steps
        # shellcheck disable=SC2086
        go "$work/$model/$to" $to --seed 1 --steps 7 --shuffle $rows ${rows//--input/--eval} --eval-every 3 --save "$work/$to"
    done
    [ "$(grep -c '"loss"' "$work/ahead.losses")" = 7 ] || fail "not 7 losses"
    [ "$(grep -c '"eval_loss"' "$work/ahead.losses")" -ge 2 ] || fail "not 2 evaluations"
    same "$model"
    # Steps 0 to 6; those of steps 3 and 6 once more, behind evaluations of 5 batches.
    evals=$(grep -c '"eval_loss"' "$work/ahead.losses")
    sent $((2 * (7 + 2 + evals * 5))) 4
    for to in plain ahead; do
        # shellcheck disable=SC2086
        go "$work/$model/$to" $to --init "$work/$to" --steps 4 $rows --save "$work/$to"
    done
    same "$model, going on"
    sent 8 0
    rm -rf "$work/plain" "$work/ahead"
done
finish
