#!/bin/bash
# Every line of tests/bad/command_lines.txt is refused, with the messages of command_lines.stderr,
# an exit code of bad input or usage, and nothing written. UPDATE_GOLDEN=1 writes the messages anew.
set -u
export LC_ALL=C.UTF-8
unset HAPC_DATA # messages name the folder
. tests/cli/commands_run.sh
g=examples/mlp/graph.json c=clusters/laptop3.yaml t=examples/gpt2-tiny/graph.json w=$work/empty
export g c t w
golden=tests/bad/command_lines.stderr
mkdir "$w"
while IFS= read -r line; do
    case $line in '#'* | '') continue ;; esac
    eval "set -- $line"
    "$hapc" "$@" >"$work/out" 2>"$work/err"
    got=$?
    [ -s "$work/out" ] && { echo "FAILED: hapc $line prints on stdout"; status=1; }
    case $got in 1 | 2 | 3) ;; *) echo "FAILED: hapc $line: exit $got" && status=1 ;; esac
    [ -z "$(ls "$w")" ] || { echo "FAILED: hapc $line writes something"; status=1; }
    { echo "== hapc $line: $got" && cat "$work/err"; } >>"$work/all"
done <tests/bad/command_lines.txt
data=$(cd "$HAP_BUILD" && pwd)/bin/../share/hapc
sed -i "s|$w|\$w|g; s|$data|DATA|g; s|$HAP_BUILD/bin/../share/hapc|DATA|g" "$work/all"
if [ "${UPDATE_GOLDEN:-0}" = 1 ]; then
    cp "$work/all" $golden
elif ! diff -u $golden "$work/all"; then
    echo "FAILED: other messages than $golden (UPDATE_GOLDEN=1 tests/cli/refused.sh writes it anew)"
    status=1
fi
exit $status
