#!/usr/bin/env bash
# Programs of a plan under Slurm: two nodes (two slurmd of this machine, in a cluster of its own that
# this test starts and ends), srun with PMIx. Losses equal those under mpirun, and so do those of
# hapc run inside an allocation, where mpirun starts its daemons by srun; a rank that is killed ends
# the job. Skipped where Slurm is not installed (apt install slurmctld slurmd munge) or not root asks.
set -u
for tool in srun salloc slurmctld slurmd munged scontrol; do
    PATH=$PATH:/usr/sbin command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: slurmd wants root"; exit 77; }
mpirun --version 2>/dev/null | grep -Eq 'Open MPI|OpenRTE' || { echo "skipped: not Open MPI"; exit 77; }
PATH=$PATH:/usr/sbin
hapc=$HAP_BUILD/bin/hapc
work=$(mktemp -d)
cleanup() {
    local f
    for f in "$work"/slurmd.?.pid "$work/slurmctld.pid" "$work/munged.pid"; do
        [ -s "$f" ] && kill "$(cat "$f")" 2>/dev/null
    done
    for _ in $(seq 50); do
        ls "$work"/*.pid >/dev/null 2>&1 || break
        sleep 0.1
    done
    rm -rf "$work"
}
trap cleanup EXIT
fails=0
fail() {
    echo "FAIL: $*"
    fails=$((fails + 1))
}

# --- a cluster of two nodes, both here
chmod 755 "$work"
port=$((20000 + $$ % 20000)) host=$(hostname -s) cpus=$(nproc)
head -c 1024 /dev/urandom >"$work/key"
chmod 400 "$work/key"
mkdir "$work"/{state,spool.a,spool.b,tmp.a,tmp.b}
cat >"$work/slurm.conf" <<S
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
AuthType=auth/munge
AuthInfo=socket=$work/munge.sock
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool.%n
TmpFS=$work/tmp.%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
SchedulerType=sched/builtin
SwitchType=switch/none
ReturnToService=2
MpiDefault=pmix
KillWait=2
NodeName=a NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=$cpus
NodeName=b NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=$cpus
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:8
S
export SLURM_CONF=$work/slurm.conf
srun --mpi=list 2>&1 | grep -qw pmix || { echo "skipped: this srun has no PMIx"; exit 77; }
munged --force --socket="$work/munge.sock" --key-file="$work/key" --pid-file="$work/munged.pid" --log-file="$work/munged.log" \
    --seed-file="$work/munged.seed" && slurmctld && slurmd -N a && slurmd -N b || { echo "skipped: Slurm does not start: $(tail -qn 3 "$work"/*.log)"; exit 77; }
for _ in $(seq 100); do
    [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 2 ] && break
    sleep 0.1
done
[ "$(sinfo -h -t idle -o %D)" = 2 ] || { echo "skipped: the nodes do not come up: $(sinfo; tail -qn 3 "$work"/*.log)"; exit 77; }

# --- four ranks, two a node
npy() { # NAME DESCR SHAPE BYTES
    printf "\x93NUMPY\x01\x00\x76\x00%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" >"$work/$1"
    head -c "$4" /dev/zero >>"$work/$1"
}
npy image.npy '<f4' '(64, 784)' $((64 * 784 * 4))
npy label.npy '<i8' '(64,)' $((64 * 8))
options=(--input "image=$work/image.npy" --input "label=$work/label.npy" --json)
folder=(--folder "$work/mlp") # of a program that hapc run does not start
losses() { sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' "$1"; }
# Both nodes are this machine, which Open MPI would find out and share memory over it.
export OMPI_MCA_btl=tcp,self OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export HAPC_CACHE=$work/cache OPENBLAS_NUM_THREADS=1
"$hapc" examples/mlp/graph.json clusters/laptop.yaml --strategy dp-even -q -o "$work/mlp" || exit 1
"$hapc" run "$work/mlp" --steps 5 "${options[@]}" >"$work/mpirun.out" 2>"$work/err" || fail "under mpirun: $(cat "$work/err")"
[ "$(losses "$work/mpirun.out" | wc -l)" = 5 ] || fail "not five losses: $(cat "$work/mpirun.out")"
program=$(echo "$work"/cache/*/program)

timeout 60 srun -N 2 -n 4 --overcommit --mpi=pmix "$program" "${folder[@]}" -v --steps 5 "${options[@]}" >"$work/srun.out" 2>"$work/err" ||
    fail "under srun: $(cat "$work/err")"
[ "$(grep -c '^rank [0-3] class [0-9] segments' "$work/err")" = 4 ] || fail "not four ranks: $(cat "$work/err")"
diff <(losses "$work/mpirun.out") <(losses "$work/srun.out") || fail "losses under srun differ"

timeout 60 srun -n 4 --overcommit --mpi=none "$program" "${folder[@]}" --steps 1 "${options[@]}" >"$work/out" 2>"$work/err" && fail "tasks that are not joined run"

timeout 60 salloc -Q -N 2 -n 4 --overcommit "$hapc" run "$work/mlp" --steps 5 "${options[@]}" >"$work/salloc.out" 2>"$work/err" ||
    fail "hapc run in an allocation: $(cat "$work/err")"
diff <(losses "$work/mpirun.out") <(losses "$work/salloc.out") || fail "losses in an allocation differ"

timeout 60 srun -N 2 -n 4 --overcommit --mpi=pmix "$program" "${folder[@]}" --steps 100000000 "${options[@]}" >"$work/out" 2>"$work/err" &
job=$!
for _ in $(seq 300); do
    grep -q '"step":1,' "$work/out" && break
    sleep 0.1
done
pids() {
    local exe
    for exe in /proc/[0-9]*/exe; do
        [ "$(readlink "$exe" 2>/dev/null)" = "$program" ] && basename "$(dirname "$exe")"
    done
}
[ "$(pids | wc -l)" = 4 ] || fail "not four ranks run: $(pids)"
kill -9 "$(pids | tail -n 1)"
wait $job && fail "a job with a killed rank ends well"
for _ in $(seq 100); do
    [ -z "$(pids)" ] && break
    sleep 0.1
done
[ -z "$(pids)" ] || fail "ranks are left: $(pids)"

[ $fails = 0 ] && echo ok
exit $((fails > 0))
