#!/usr/bin/env bash
# hapc where there is too little memory for planning: from next to nothing to enough it ends with exit
# code 3 and one message, or with a plan, never by a signal, and leaves no half-written folder.
# Usage: tests/cli/memory_test.sh
set -u
hapc=$HAP_BUILD/bin/hapc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fails=0
fail() {
    echo "FAIL: $*"
    fails=$((fails + 1))
}

plan() { # KIB OUT
    (
        ulimit -v "$1"
        exec "$hapc" examples/gpt2-tiny/graph.json clusters/laptop.yaml --json -o "$2"
    ) >"$work/out" 2>"$work/err"
}

# The least with which the process starts at all.
least=4096
until (ulimit -v $least; exec "$hapc" --version) >/dev/null 2>&1; do
    least=$((least + 1024))
    [ $least -lt 1000000 ] || { echo "skipped: hapc does not start under ulimit -v"; exit 77; }
done
short=0 planned=0
for more in 64 512 1024 1536 2048 3072 4096 6144 8192 12288 $(seq 16384 512 24576) 65536 400000; do
    plan $((least + more)) "$work/$more"
    case $? in
    0)
        planned=$((planned + 1))
        [ -s "$work/$more/program.c" ] || fail "+$more KiB: no program.c"
        ;;
    3)
        short=$((short + 1))
        [ "$(grep -c 'out of memory' "$work/err")" = 1 ] || fail "+$more KiB: $(cat "$work/err")"
        [ ! -e "$work/$more" ] || fail "+$more KiB: a folder is left"
        ;;
    *) fail "+$more KiB: $(cat "$work/err")" ;;
    esac
done
[ $short -gt 2 ] || fail "memory was short $short times"
[ $planned -gt 0 ] || fail "no plan with 400 MB"

# Many stages with every number of micro-batches: what was tried is not kept. (211 MB where it is.)
cat >"$work/twelve.yaml" <<'END'
name: twelve
machines:
  - name: m
    count: 12
    devices: [{model: V100-16GB, memory: 2 GiB, count: 1}]
    link: {bandwidth: 10 GB/s, latency: 8 us}
network: {bandwidth: 100 Gbit/s, latency: 20 us}
END
stages=$(seq -s, 0 11 | sed -E 's/[0-9]+/&@m.&/g')
(
    ulimit -v $((least + 150000))
    exec "$hapc" examples/gpt2/graph.json "$work/twelve.yaml" --batch 32 --stages "$stages" --json
) >"$work/out" 2>"$work/err" || fail "12 stages: $(cat "$work/err")"
rm "$work/twelve.yaml"
[ -z "$(ls -A "$work" | grep -Ev '^([0-9]+|out|err)$')" ] || fail "files are left: $(ls -A "$work")"
exit $((fails > 0))
