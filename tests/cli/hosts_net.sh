#!/usr/bin/env bash
# hapc run over hosts with addresses of their own: network namespaces on a bridge, links of 200
# Mbit/s (tc tbf), one of them slow and lossy (tests/cli/lossy_link.py). Open MPI's daemons are
# started by a stand-in for ssh (tests/cli/host_shell.py) that has a server on each host. Runs over two and
# four hosts end with the losses of one host; of a link that is cut, a host that is gone and one that
# never answers one message says so within 15 s, and no process is left on any host.
set -u
if [ "${1:-}" != inside ]; then
    unshare -nm true 2>/dev/null && command -v ip tc nsenter >/dev/null ||
        { echo "skipped: no network namespaces (unshare -nm, ip, tc, nsenter)"; exit 77; }
    exec unshare -nm "$0" inside
fi
. tests/cli/one_message.sh
mpirun --version 2>/dev/null | grep -Eq 'Open MPI|OpenRTE' || { echo "skipped: not Open MPI"; exit 77; }
hapc=$HAP_BUILD/bin/hapc
work=$(mktemp -d)
export ASAN_OPTIONS=${ASAN_OPTIONS:-} HAPC_CACHE=$work/cache HAP_TEST_WORK=$work
run_pid= lossy_pid= servers=()
left() { # pids of ranks and daemons of ours, on all hosts
    grep -lsz "^HAP_TEST_WORK=$work$" /proc/[0-9]*/environ | cut -d/ -f3 | while read -r p; do
        [[ "$(readlink "/proc/$p/exe" 2>/dev/null)" =~ /(program|orted|mpirun|orterun|prted)$ ]] && echo "$p"
    done
}
over() {
    [ -n "$run_pid" ] && kill -KILL "$run_pid"
    [ -n "$lossy_pid" ] && kill "$lossy_pid"
    [ ${#servers[@]} -gt 0 ] && kill "${servers[@]}" 2>/dev/null
    for p in $(left); do kill -KILL "$p"; done
    umount /run 2>/dev/null
    rm -rf "$work"
}
trap over EXIT
fails=0
fail() {
    echo "FAIL: $*"
    fails=$((fails + 1))
}

# This shell is host 1, 10.77.0.1, on the bridge; 2 to 4 are namespaces of their own.
mount -t tmpfs none /run && mkdir /run/netns && ip link set lo up && ip link add hap0 type bridge &&
    ip link set hap0 address 02:00:00:00:00:01 && ip addr add 10.77.0.1/24 dev hap0 && ip link set hap0 up ||
    { echo "skipped: no bridge, or no tmpfs, without more rights"; exit 77; }
for i in 2 3 4; do
    ip netns add "h$i" && ip link add "v$i" type veth peer name eth0 netns "h$i" && ip link set "v$i" master hap0 up &&
        ip -n "h$i" link set lo up && ip -n "h$i" addr add "10.77.0.$i/24" dev eth0 && ip -n "h$i" link set eth0 up ||
        { echo "skipped: no veth pairs"; exit 77; }
    tc qdisc add dev "v$i" root tbf rate 200mbit burst 64kbit latency 50ms &&
        tc -n "h$i" qdisc add dev eth0 root tbf rate 200mbit burst 64kbit latency 50ms ||
        { echo "skipped: no tc tbf"; exit 77; }
done
for i in 2 3 4; do # a host's processes are its own, not children of mpirun
    mkdir -p "$work/there/h$i"
    nsenter --net="/run/netns/h$i" env -i PATH="$PATH" HOME="$HOME" TMPDIR="$work/there/h$i" HAP_TEST_WORK="$work" \
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS="$ASAN_OPTIONS" OMPI_MCA_btl=tcp,self \
        unshare -u sh -c "hostname h$i; exec python3 tests/cli/host_shell.py serve $work/h$i" >"$work/ready$i" 2>&1 &
    servers+=($!)
done
for i in 2 3 4; do
    for _ in $(seq 300); do grep -q ready "$work/ready$i" && break; sleep 0.1; done
    grep -q ready "$work/ready$i" || { echo "host $i: $(cat "$work/ready$i")"; exit 1; }
done
cat >"$work/ssh" <<S
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=h\${1##*.}
shift
exec python3 "$PWD/tests/cli/host_shell.py" ask "$work/\$host" "\$*"
S
chmod +x "$work/ssh"
mkdir "$work/here"
unset OPENBLAS_NUM_THREADS
export OMPI_MCA_plm_rsh_agent=$work/ssh OMPI_MCA_btl=tcp,self TMPDIR=$work/here

answers() { # HOST: waits until it reaches this one; a link that came up needs a moment
    for _ in $(seq 300); do
        nsenter --net="/run/netns/h$1" timeout 5 bash -c 'echo >/dev/tcp/10.77.0.1/9' 2>&1 | grep -q refused && return
        sleep 0.1
    done
    fail "host $1 does not reach host 1"
}
cluster() { # HOSTS…
    echo "name: net"
    echo "machines:"
    for i in "$@"; do
        echo "  - {name: m$i, hosts: [10.77.0.$i], devices: [{name: cpu, kind: cpu, f32: 20 GFLOP/s, memory: 8 GiB, memory_bandwidth: 8 GB/s}]}"
    done
    echo "network: {bandwidth: 200 Mbit/s, latency: 100 us}"
}
rows() {
    local f
    for f in tests/torch/mlp/*.npy; do printf '%s ' --input "$(basename "$f" .npy)=$f"; done
}
cluster 1 2 >"$work/two.yaml"
cluster 1 2 3 4 >"$work/four.yaml"
for c in two four; do
    "$hapc" examples/mlp/graph.json "$work/$c.yaml" --strategy dp-even -q -o "$work/$c" || exit 1
done
"$hapc" examples/mlp/graph.json clusters/laptop1.yaml -q -o "$work/one" || exit 1
losses() { sed -n 's/.*"loss":\([0-9.e+-]*\).*/\1/p' "$work/$1.out"; }
run() { # NAME PLAN OPTIONS…
    "$hapc" run "$work/$2" $(rows) --seed 3 "${@:3}" >"$work/$1.out" 2>"$work/$1.err"
}
same() { # NAME
    paste <(losses one) <(losses "$1") | awk '{ d = $1 - $2; if (d < 0) d = -d; if (NF != 2 || d > 1e-5) bad = 1 } END { exit bad || NR != 12 }' ||
        fail "$1: losses differ: $(losses "$1" | tail -n 3) $(cat "$work/$1.err")"
}

run one one --steps 12 --json || fail "one host: $(cat "$work/one.err")"
for c in two four; do
    run "$c" "$c" --steps 12 --json || fail "$c hosts: $(cat "$work/$c.err")"
    same "$c"
done
[ -z "$(left)" ] || fail "left behind runs that end well: $(left)"

# Host 4 behind a link that delays by 5 ms each way and loses a frame in fifty.
ip link set v4 nomaster
ip link add hap1 type bridge && ip link set hap1 up && ip link set v4 master hap1
if python3 tests/cli/lossy_link.py hap-a hap-b 5 50 >"$work/lossy" 2>&1 & lossy_pid=$!; then
    for _ in $(seq 100); do grep -q ready "$work/lossy" && break; kill -0 $lossy_pid 2>/dev/null || break; sleep 0.1; done
fi
if grep -q ready "$work/lossy"; then
    ip link set hap-a master hap0 up && ip link set hap-b master hap1 up || fail "the lossy link is not there"
    answers 4
    run lossy four --steps 12 --json || fail "a lossy link: $(cat "$work/lossy.err")"
    same lossy
    kill $lossy_pid
    grep -q . "$work/lossy" && cat "$work/lossy"
else
    echo "no lossy link: $(cat "$work/lossy")"
fi
lossy_pid=
ip link set v4 master hap0
answers 4

start() { # PLAN
    : >"$work/out"
    "$hapc" run "$work/$1" $(rows) --steps 100000000 >"$work/out" 2>"$work/err" &
    run_pid=$!
    for _ in $(seq 1200); do
        grep -q '^step 3 ' "$work/out" && return
        sleep 0.1
    done
    fail "the run does not start: $(cat "$work/err")"
}
ends() { # WHAT PATTERN: the message comes, then the run ends, then nobody is left
    local code said= begin=$SECONDS i
    for i in $(seq 600); do
        grep -Eq "$2" "$work/err" && { said=$((SECONDS - begin)); break; }
        kill -0 "$run_pid" 2>/dev/null || break
        sleep 0.1
    done
    wait "$run_pid"
    code=$?
    run_pid=
    [ $code = 5 ] || fail "$1: exit $code, not 5: $(cat "$work/err")"
    grep -Eq "$2" "$work/err" || fail "$1: $(cat "$work/err")"
    sed -i '/^Killed$/d' "$work/err" # the host's shell, of its daemon
    one_message "$1"
    for i in $(seq 300); do [ -z "$(left)" ] && break; sleep 0.2; done
    [ -z "$(left)" ] || fail "$1: left behind: $(for p in $(left); do tr '\0' ' ' <"/proc/$p/cmdline" | head -c 60; done)"
    echo "$1: said after ${said:-$((SECONDS - begin))} s, all gone after $((SECONDS - begin)) s: $(grep -Em1 "$2" "$work/err")"
}

start two
ip link set v2 down
ends "a link is cut" 'no progress for 1[0-9] s; ranks on other hosts are not watched|host lost: 10.77.0.2'
ip link set v2 up
answers 2

of_host() { # pids of ranks and daemons there
    left | while read -r p; do grep -qz "^TMPDIR=$work/there/$1$" "/proc/$p/environ" && echo "$p"; done
}
start four
kill -9 $(of_host h3)
ends "all processes of a host are gone" 'host lost: 10.77.0.2 or 10.77.0.3 or 10.77.0.4|rank 2 host 10.77.0.3 device cpu.*: the process died'

start four
touch "$work/h3.down"
ip link set v3 down
kill -9 $(of_host h3)
ends "a host loses its power" 'no progress for 1[0-9] s; ranks on other hosts are not watched|host lost: 10.77.0.2 or'

# It never answers: mpirun's daemon there cannot call back.
(timeout 60 "$hapc" run "$work/four" $(rows) --steps 3 >"$work/out" 2>"$work/err") &
run_pid=$!
rm "$work/h3.down"
ends "a host cannot be reached" '^hapc: error: '
ip link set v3 up

[ $fails = 0 ] && echo ok
exit $((fails > 0))
