#!/usr/bin/env bash
# hapc run over the hosts of a cluster file: Open MPI starts its daemon for the second machine by a
# stand-in for ssh that opens a clean shell here, so the ranks there get only what the launch line
# hands on, and have no heartbeat. (tests/cli/hosts_net.sh has hosts with addresses of their own.)
set -u
. tests/cli/one_message.sh
mpirun --version 2>/dev/null | grep -Eq 'Open MPI|OpenRTE' || { echo "skipped: not Open MPI"; exit 77; }
hapc=$HAP_BUILD/bin/hapc
work=$(mktemp -d)
export ASAN_OPTIONS=${ASAN_OPTIONS:-} HAPC_CACHE=$work/cache
run_pid=
trap '[ -n "$run_pid" ] && kill -TERM "$run_pid" && wait "$run_pid"; rm -rf "$work"' EXIT
fails=0
fail() {
    echo "FAIL: $*"
    fails=$((fails + 1))
}

cat >"$work/ssh" <<S
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1
shift
echo "\$host" >>"$work/asked"
mkdir -p "$work/there/\$host" # a host's own: daemons that share a session folder kill each other
exec env -i PATH="\$PATH" HOME="\$HOME" TMPDIR="$work/there/\$host" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \\
    ASAN_OPTIONS="$ASAN_OPTIONS" OMPI_MCA_btl=tcp,self sh -c "\$*"
S
chmod +x "$work/ssh"
mkdir "$work/here" "$work/there"
unset OPENBLAS_NUM_THREADS
export OMPI_MCA_plm_rsh_agent=$work/ssh OMPI_MCA_btl=tcp,self TMPDIR=$work/here
cat >"$work/two.yaml" <<S
name: two
machines:
  - {name: a, hosts: [localhost], devices: [$(printf '{name: cpu, kind: cpu, f32: 40 GFLOP/s, memory: 8 GiB, memory_bandwidth: 8 GB/s, count: 2}')], link: {bandwidth: 4 GB/s, latency: 5 us}}
  - {name: b, hosts: [127.0.0.2], devices: [{name: slow, kind: cpu, f32: 20 GFLOP/s, memory: 8 GiB, memory_bandwidth: 8 GB/s, count: 2}], link: {bandwidth: 4 GB/s, latency: 5 us}}
network: {bandwidth: 1 GB/s, latency: 20 us}
S
npy() { # NAME DESCR SHAPE BYTES
    printf "\x93NUMPY\x01\x00\x76\x00%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" >"$work/$1"
    head -c "$4" /dev/zero >>"$work/$1"
}
npy image.npy '<f4' '(64, 784)' $((64 * 784 * 4))
npy label.npy '<i8' '(64,)' $((64 * 8))
run=("$hapc" run "$work/mlp" --input "image=$work/image.npy" --input "label=$work/label.npy")

"$hapc" examples/mlp/graph.json "$work/two.yaml" --strategy dp-even -q -o "$work/mlp" || exit 1
"${run[@]}" -v --steps 3 --json >"$work/out" 2>"$work/err" || fail "a good run fails: $(cat "$work/err")"
[ "$(grep -c '"loss":[0-9.]*' "$work/out")" = 3 ] || fail "not three steps: $(cat "$work/out" "$work/err")"
[ "$(grep -c '^rank [23] class 1 segments' "$work/err")" = 2 ] || fail "-v does not reach the ranks there: $(cat "$work/err")"
grep -q -- '--host localhost:2,127.0.0.2:2 -x OPENBLAS_NUM_THREADS -n 4 ' "$work/err" || fail "launch line: $(cat "$work/err")"
[ "$(cat "$work/asked")" = 127.0.0.2 ] || fail "daemons were started on $(cat "$work/asked")"

NCCL_DEBUG=WARN LD_LIBRARY_PATH=$work/libs "${run[@]}" --dry-run >"$work/out" 2>"$work/err" || fail "dry run: $(cat "$work/err")"
for variable in NCCL_DEBUG LD_LIBRARY_PATH; do
    grep -q -- " -x $variable " "$work/out" || fail "$variable does not go along: $(cat "$work/out")"
done

pids() { # of ranks whose TMPDIR is here or there
    local p
    for p in /proc/[0-9]*; do
        [[ "$(readlink "$p/exe" 2>/dev/null)" = "$work"/cache/*/program ]] || continue
        tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -q "^TMPDIR=$work/$1" && echo "${p#/proc/}"
    done
}
start() {
    : >"$work/out"
    "${run[@]}" --steps 100000000 >"$work/out" 2>"$work/err" &
    run_pid=$!
    for _ in $(seq 300); do
        grep -q '^step 1 ' "$work/out" && return
        sleep 0.1
    done
    fail "the run does not start: $(cat "$work/err")"
}
finish() { # WHAT SECONDS MESSAGE
    local begin=$SECONDS code
    wait "$run_pid"
    code=$?
    run_pid=
    [ $code = 5 ] || fail "$1: exit $code, wanted 5: $(cat "$work/err")"
    [ $((SECONDS - begin)) -le "$2" ] || fail "$1: took $((SECONDS - begin)) s"
    sleep 1
    [ -z "$(pids here)$(pids there)" ] || fail "$1: ranks are left: $(pids here) $(pids there)"
    one_message "$1"
    grep -Eq "$3" "$work/err" || fail "$1: $(cat "$work/err")"
}

start
[ "$(pids there | wc -l)" = 2 ] || fail "not two ranks there: $(pids there)"
kill -PIPE "$(pids here | head -n 1)" # as from a connection that the death below closes
kill -9 "$(pids there | head -n 1)"
finish "a rank killed there" 20 '^rank [23] host 127.0.0.2 device slow.*died'

start
kill -STOP "$(pids there | head -n 1)"
finish "a rank stopped there" 40 'no progress for 1[0-9] s; ranks on other hosts are not watched'

# Where no rank is here none is watched: a run goes on.
sed 's/localhost/127.0.0.3/' "$work/two.yaml" >"$work/away.yaml"
"$hapc" examples/mlp/graph.json "$work/away.yaml" --strategy dp-even -q -o "$work/mlp" || fail "no plan for hosts elsewhere"
start
sleep 11
kill -TERM "$run_pid"
wait "$run_pid"
code=$?
run_pid=
[ $code = 130 ] || fail "ranks elsewhere: exit $code: $(cat "$work/err")"
sleep 1
[ -z "$(pids here)$(pids there)" ] || fail "ranks elsewhere are left: $(pids here) $(pids there)"

# A host that cannot be reached: what ssh says, and mpirun's reason.
printf '#!/bin/sh\necho "ssh: connect to host: No route to host" >&2\nexit 255\n' >"$work/ssh"
"${run[@]}" --steps 3 >"$work/out" 2>"$work/err"
code=$?
[ $code = 5 ] || fail "no such host: exit $code: $(cat "$work/err")"
grep -q '^ssh: connect to host: No route to host$' "$work/err" || fail "no such host: ssh's message is gone: $(cat "$work/err")"
grep -q '^hapc: error: the ranks could not be run (mpirun ended with exit code [0-9]*): ORTE was unable to reliably start one or more daemons' "$work/err" ||
    fail "no such host: $(cat "$work/err")"

[ $fails = 0 ] && echo ok
exit $((fails > 0))
