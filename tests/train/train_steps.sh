# Sourced by the train_*.sh tests, which run in the repository root: plan, prove, run, compare. Each
# step that fails says so, counts, and gives the files' last lines.
hapc=${HAP_BUILD:?}/bin/hapc
measure=$HAP_BUILD/tests/train_compare
unset OPENBLAS_NUM_THREADS # hapc run chooses
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
backend=() # options of every run, beside -v: ranks say what they allocate
fails=0
done_=0

title()
{
    done_=$((done_ + 1))
    echo "$*"
}

fail() # WHAT [FILE]
{
    echo "  WRONG $1"
    [ $# -gt 1 ] && tail -n 20 "$2"
    fails=$((fails + 1))
    return 1
}

# plan NAME GRAPH CLUSTER OPTIONS…: the plan in $work/NAME
plan()
{
    local name=$1 graph=$2 cluster=$3 code
    shift 3
    [ -e "$cluster" ] || cluster=clusters/$cluster.yaml
    "$hapc" "$graph" "$cluster" -q -o "$work/$name" "$@" >"$work/plan.out" 2>&1
    code=$?
    [ $code = 0 ] || fail "hapc $graph $cluster $*: exit $code" "$work/plan.out"
}

# proved NAME: the program as it was written computes the graph
proved()
{
    "$hapc" check "$work/$1" >"$work/check.out" 2>&1 || fail "hapc check: exit $?" "$work/check.out"
}

# run PLAN NAME OPTIONS…: stdout to $work/NAME.out, stderr to $work/NAME.err
run()
{
    local plan=$1 name=$2 code
    shift 2
    "$hapc" run "$work/$plan" -v ${backend[@]+"${backend[@]}"} "$@" >"$work/$name.out" 2>"$work/$name.err"
    code=$?
    [ $code = 0 ] || fail "hapc run $*: exit $code" "$work/$name.err"
}

# inputs MODEL: options for its committed rows; none if it has none
inputs()
{
    local f
    for f in tests/torch/"$1"/*.npy; do
        [ -e "$f" ] || return
        printf '%s ' --input "$(basename "$f" .npy)=$f"
    done
}

# compare MODE FILES…: train_compare.c
compare()
{
    "$measure" "$@" || fails=$((fails + 1))
}

finish()
{
    echo "$done_ runs, $fails wrong"
    exit $((fails > 0))
}
