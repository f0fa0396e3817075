# Sourced by tests of hapc's commands: $hapc, a folder $work that goes at the end, $status for the exit,
# and two ways to say what is wrong.
hapc=${HAP_BUILD:?}/bin/hapc
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
status=0
wrong() {
    echo "FAILED: $*"
    cat "$work/out" "$work/err"
    status=1
}
# code CODE PATTERN ARGS…: exit code, and a pattern that stderr or stdout must match; '': anything
code() {
    local want=$1 pattern=$2
    shift 2
    "$hapc" "$@" >"$work/out" 2>"$work/err"
    local got=$?
    [ $got = "$want" ] || wrong "hapc $*: exit $got, wanted $want"
    [ -z "$pattern" ] || cat "$work/out" "$work/err" | grep -Eq -- "$pattern" || wrong "hapc $*: no '$pattern' in"
}
