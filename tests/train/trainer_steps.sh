# Sourced behind train_steps.sh by the tests of hapc run as a trainer, which have `from` (initial values)
# and `ids` (inputs).

# losses NAME: "step loss" of each line of a run with --json
losses() { sed -n 's/.*"step":\([0-9]*\),"loss":\([0-9.]*\).*/\1 \2/p' "$work/$1.out"; }

# stops_and_saves PLAN: Ctrl-C ends a run behind its step, saves there, and a run goes on from that
stops_and_saves()
{
    local pid code last
    "$hapc" run "$work/$1" --steps 100000000 "${from[@]}" "${ids[@]}" --save "$work/stopped" --metrics "$work/stopped.jsonl" >"$work/out" 2>"$work/err" &
    pid=$!
    for _ in $(seq 600); do grep -q '^step 3 ' "$work/out" && break; sleep 0.1; done
    kill -INT $pid
    wait $pid
    code=$?
    [ $code = 130 ] && grep -q '^hapc: interrupted: ends after this step' "$work/err" || fail "exit $code" "$work/err"
    last=$(tail -n 1 "$work/stopped.jsonl" | sed 's/.*"step":\([0-9]*\).*/\1/')
    [ "$(ls "$work/stopped")" = "step-$((last + 1))" ] || fail "saved $(ls -A "$work/stopped"), the last step is $last" "$work/out"
    run "$1" after --steps 1 --json --init "$work/stopped" "${ids[@]}"
    [ "$(losses after | cut -d' ' -f1)" = $((last + 1)) ] || fail "does not go on behind step $last" "$work/after.out"
}
