#!/usr/bin/env bash
# hapc run --on-failure replan --rebalance: GPT-2 tiny on two hosts of two ranks. A host is killed at
# step 7 and comes back at step 20, and a rank is three times slower from step 30 on; a rank dies, and
# one stops, on hosts that answer. Each run ends at its last step, with the losses of one that nobody
# disturbed, and leaves nobody behind. Hosts are this machine: a stand-in for ssh opens a clean shell,
# or refuses while the host is down. How fast ranks are they state (tests/support/paced.c), so that
# nothing depends on the machine's load.
set -u
. tests/train/train_steps.sh
mpirun --version 2>/dev/null | grep -Eq 'Open MPI|OpenRTE' || { echo "skipped: not Open MPI"; exit 77; }
run_pid=
trap '[ -n "$run_pid" ] && kill -TERM "$run_pid" && wait "$run_pid"; rm -rf "$work"' EXIT
host=127.0.0.2 graph=examples/gpt2-tiny/graph.json
rows=(--json --init tests/torch/gpt2-tiny/init.safetensors $(inputs gpt2-tiny))
cat >"$work/ssh" <<S
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1
shift
[ -e "$work/down" ] && { echo "ssh: connect to host \$host: No route to host" >&2; exit 255; }
mkdir -p "$work/there"
exec env -i PATH="\$PATH" HOME="\$HOME" TMPDIR="$work/there" OMPI_ALLOW_RUN_AS_ROOT=1 \\
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS="${ASAN_OPTIONS:-}" OMPI_MCA_btl=tcp,self sh -c "\$*"
S
chmod +x "$work/ssh"
mkdir "$work/here" "$work/there"
export OMPI_MCA_plm_rsh_agent=$work/ssh OMPI_MCA_btl=tcp,self TMPDIR=$work/here HAPC_CACHE=$work/cache
cpu='kind: cpu, memory: 8 GiB, memory_bandwidth: 8 GB/s, count: 2'
cat >"$work/two.yaml" <<S
name: two
machines:
  - {name: a, hosts: [localhost], devices: [{name: cpu, f32: 40 GFLOP/s, $cpu}], link: {bandwidth: 4 GB/s, latency: 5 us}}
  - {name: b, hosts: [$host], devices: [{name: slow, f32: 20 GFLOP/s, $cpu}], link: {bandwidth: 4 GB/s, latency: 5 us}}
network: {bandwidth: 1 GB/s, latency: 20 us}
S

of_host() { # pids of what runs there, daemons too
    grep -lsz "^TMPDIR=$work/$1" /proc/[0-9]*/environ | cut -d/ -f3
}
ranks() { # pids of ranks
    local p
    for p in $(of_host "$1"); do
        [[ "$(readlink "/proc/$p/exe" 2>/dev/null)" = "$HAPC_CACHE"/*/program ]] && echo "$p"
    done
}
begin() { # NAME OPTIONS…: a run in the background
    local name=$1
    shift
    : >"$work/$name.out"
    "$hapc" run "$work/plan" --steps 50 --save "$work/$name" --save-every 5 "${rows[@]}" \
        --on-failure replan "$@" >"$work/$name.out" 2>"$work/$name.err" &
    run_pid=$!
}
wait_for() { # NAME PATTERN FILE
    local i
    for i in $(seq 600); do
        grep -Eq "$2" "$work/$1.$3" && return
        kill -0 "$run_pid" 2>/dev/null || break
        sleep 0.1
    done
    fail "$1: no '$2'" "$work/$1.err"
}
ended() { # NAME: it ends well, with the losses of an undisturbed run
    local code
    wait "$run_pid"
    code=$?
    run_pid=
    [ $code = 0 ] || fail "$1: exit $code" "$work/$1.err"
    # Steps behind the last checkpoint are done again: what is said of them last counts.
    grep '^{"step"' "$work/$1.out" | awk -F'[:,]' '{ line[$2] = $0 } END { for (i = 0; i < 50; i++) print line[i] }' >"$work/$1.last"
    compare losses "$work/$1.last" "$work/whole.out"
    [ -d "$work/$1/step-50" ] || fail "$1: no last checkpoint"
    sleep 1
    [ -z "$(ranks here)$(ranks there)" ] || fail "$1: ranks are left: $(ranks here) $(ranks there)"
}
said() { # NAME PATTERN
    grep -Eq -- "$2" "$work/$1.err" || fail "$1: '$2' is not said" "$work/$1.err"
}

plan plan $graph "$work/two.yaml" --strategy dp-prop || finish
title "undisturbed"
run plan whole --steps 50 "${rows[@]}" || finish
${CC:-cc} -c -Iruntime -I"$HAP_BUILD/include" -DPACED="\"$work/pace\"" -DSPEEDS="\"$work/speeds\"" tests/support/paced.c -o "$work/paced.o" || exit 1
export CC="${CC:-cc} -Wl,--wrap=hap_comm_vote_start,--wrap=hap_pace_step $work/paced.o"

title "a host is killed at step 7 and back at step 20, a rank is slowed at step 30"
echo 300 >"$work/pace"
echo 30 1 3 >"$work/speeds"
begin host --rebalance
wait_for host '"step":7,' out
touch "$work/down"
kill -9 $(of_host there)
echo 50 21 60000 >"$work/pace"
wait_for host '^hapc: moved in [0-9.]+ s$' err
[ "$(ranks here | wc -l)" = 2 ] || fail "not two ranks: $(ranks here)" "$work/host.err"
"$hapc" check -q "$work/host/plan" || fail "the new plan is not proved"
wait_for host '"step":20,' out
rm "$work/down"
wait_for host '^hapc: back: ' err
echo 10 40 60000 >"$work/pace"
wait_for host '^hapc: cpu of localhost takes ' err
echo 10 >"$work/pace"
ended host
rm "$work/speeds"
said host "^hapc: goes on without 2 x slow of $host on 2 devices: noticed in [0-9.]+ s, ended in [0-9.]+ s, planned in [0-9.]+ s\$"
said host "^hapc: back: 2 x slow of $host\$"
said host '^hapc: goes on on 4 devices: planned in 0.0 s$'
said host '^hapc: cpu of localhost takes 3 times as long as planned \(noticed in [0-9.]+ s\): .*: goes on with it behind the next checkpoint$'
said host '^hapc: goes on on 4 devices: noticed in [0-9.]+ s, planned in [0-9.]+ s$'
[ "$(grep -c '^hapc: moved in' "$work/host.err")" = 3 ] || fail "not three moves" "$work/host.err"
grep -q '"slowdown": 3[,.]' "$work/host/plan/cluster.yaml" || fail "the slow device is not in the plan's cluster"
[ ! -e "$work/host/next" ] || fail "SAVE/next is left"
said host "^hapc: error: host lost: $host \(mpirun's daemon there has ended\)\$"
grep '^hapc: \(goes\|moved\|back\|cpu\)' "$work/host.err"

title "ranks are noisy"
echo 0 >"$work/pace"
echo noise >"$work/speeds"
begin noise --rebalance
ended noise
! grep -q '^hapc: ' "$work/noise.err" || fail "noise is taken for more" "$work/noise.err"
rm "$work/speeds"

title "a rank dies on a host that answers"
echo 100 >"$work/pace"
begin rank
wait_for rank '"step":7,' out
kill -9 "$(ranks there | tail -n 1)"
wait_for rank '^hapc: goes on without slow' err
ended rank
said rank "^hapc: goes on without slow of $host on 3 devices: "
said rank '^hapc: goes on on 4 devices: '

title "a rank stops here"
gone=$(sh -c 'echo $$')
mkdir "$work/stop" && touch "$work/stop/.left-$(hostname)-$gone.yaml" "$work/stop/.next-$(hostname)-$gone.yaml" "$work/stop/.left-other-$gone.yaml"
echo 100 >"$work/pace"
begin stop
wait_for stop '"step":7,' out
kill -STOP "$(ranks here | tail -n 1)"
wait_for stop '^hapc: goes on without cpu' err
echo 10 >"$work/pace"
ended stop
[ "$(ls -A "$work/stop" | grep '^\.')" = ".left-other-$gone.yaml" ] || fail "left: $(ls -A "$work/stop")"

title "mpirun is killed"
echo 100 >"$work/pace"
begin launcher
wait_for launcher '"step":7,' out
kill -9 "$(pgrep -P "$run_pid" -f '^mpirun ')"
wait_for launcher '^hapc: goes on on 4 devices: noticed' err
echo 10 >"$work/pace"
ended launcher
said launcher '^hapc: error: mpirun died \(signal 9, Killed\), and the ranks with it$'

title "Ctrl-C while the next program is compiled"
printf '#!/bin/sh\n[ "$1" = --version ] && exec cc --version\n[ -e "%s/slow" ] && { echo $$ >"%s/compiles"; exec sleep 100; }\nexec %s "$@"\n' "$work" "$work" "$CC" >"$work/slow_cc"
chmod +x "$work/slow_cc"
echo 100 >"$work/pace"
CC=$work/slow_cc begin signal
wait_for signal '"step":7,' out
touch "$work/slow"
kill -9 "$(ranks there | tail -n 1)"
for i in $(seq 300); do [ -s "$work/compiles" ] && break; sleep 0.1; done
kill -INT "$run_pid"
begun=$SECONDS
wait "$run_pid"
code=$?
run_pid=
[ $code = 130 ] && [ $((SECONDS - begun)) -le 10 ] || fail "Ctrl-C: exit $code after $((SECONDS - begun)) s" "$work/signal.err"
[ -s "$work/compiles" ] && [ ! -d "/proc/$(cat "$work/compiles")" ] || fail "the compiler is left"
[ -z "$(ranks here)$(ranks there)" ] || fail "ranks are left: $(ranks here) $(ranks there)"

title "what cannot go on"
usage() { # PATTERN OPTIONS…
    local pattern=$1
    shift
    "$hapc" run "$work/plan" --on-failure replan "$@" >"$work/bad.out" 2>&1
    [ $? = 2 ] && grep -q -- "$pattern" "$work/bad.out" || fail "$*" "$work/bad.out"
}
usage 'wants --save FOLDER' --steps 1
usage 'wants --save FOLDER' --steps 1 --save "$work/one.safetensors"
usage 'would do what graph.json says' --save "$work/other" --unproved
"$hapc" run "$work/plan" --rebalance --steps 1 >"$work/bad.out" 2>&1
[ $? = 2 ] && grep -q -- '--rebalance wants --save FOLDER' "$work/bad.out" || fail "--rebalance without --save" "$work/bad.out"
finish
