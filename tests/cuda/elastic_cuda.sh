#!/usr/bin/env bash
# hapc run --on-failure replan on one host of four GPUs: the rank of GPU 1 is killed at step 7, and the
# job goes on with the three others, by their own numbers. At the next checkpoint GPU 1 is taken in
# again; its rank is killed once more, at step 22, and it stays out. The job ends at step 50 with the
# losses of one that nobody disturbed (1e-5). Prints how long it took to notice, to plan and to move.
# Skipped below four devices. `elastic_cuda.sh cpu`: the same plans on CPU ranks.
set -u
on=${1:-cuda}
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
if [ "$on" = cuda ] && [ "$gpus" -lt 4 ]; then
    echo "skipped: $gpus CUDA devices, four are wanted"
    exit 77
fi
. tests/train/train_steps.sh
mpirun --version 2>/dev/null | grep -Eq 'Open MPI|OpenRTE' || { echo "skipped: not Open MPI"; exit 77; }
run_pid=
trap '[ -n "$run_pid" ] && kill -TERM "$run_pid" && wait "$run_pid"; rm -rf "$work"' EXIT
export HAPC_CACHE=$work/cache # other runs on this machine are none of ours
backend=(--backend "$on")
[ "$on" = cpu ] || backend+=(--cuda tune=off)
# shellcheck disable=SC2046
rows=(--json --init tests/torch/gpt2-tiny/init.safetensors $(inputs gpt2-tiny))
cat >"$work/four.yaml" <<'Y'
name: four
machines:
  - name: host
    devices: [{model: H200, count: 4}]
    link: {bandwidth: 370 GB/s, latency: 3 us}
source: datasheet
Y
${CC:-cc} -c -Iruntime -I"$HAP_BUILD/include" -DPACED="\"$work/pace\"" tests/support/paced.c -o "$work/paced.o" || exit 1
export CC="${CC:-cc} -Wl,--wrap=hap_comm_vote_start $work/paced.o"

rank() # N: its pid
{
    local exe
    find /proc -maxdepth 2 -name exe -lname "$HAPC_CACHE/*/program*" 2>/dev/null | while read -r exe; do
        grep -qsz "^OMPI_COMM_WORLD_RANK=$1\$" "${exe%exe}environ" && basename "${exe%/exe}"
    done
}
lose() # N: kills rank N
{
    local pid
    pid=$(rank "$1")
    [ -n "$pid" ] || fail "no rank $1 at $(tail -n 1 "$work/job.out"): $(find /proc -maxdepth 2 -name exe -printf '%p %l\n' 2>/dev/null | grep "$work")"
    # shellcheck disable=SC2086
    kill -9 $pid
}
wait_for() # PATTERN FILE
{
    local i
    for i in $(seq 900); do
        grep -Eq -- "$1" "$work/job.$2" && return
        kill -0 "$run_pid" 2>/dev/null || break
        sleep 0.05
    done
    fail "no '$1'" "$work/job.err"
}
three() # the plan under way is of GPUs 0, 2 and 3
{
    grep -q 'hap_device\[\] = {0, 2, 3}' "$work/job/plan/program.c" || fail "not GPUs 0, 2 and 3: $(grep hap_device "$work/job/plan/program.c")"
}

title "undisturbed"
plan plan examples/gpt2-tiny/graph.json "$work/four.yaml" --strategy dp-prop || finish
run plan whole --steps 50 "${rows[@]}" || finish

title "GPU 1 is lost at step 7, taken in again, lost at step 22"
echo 100 >"$work/pace"
: >"$work/job.out"
"$hapc" run "$work/plan" "${backend[@]}" --steps 50 --save "$work/job" --save-every 5 "${rows[@]}" \
    --on-failure replan >"$work/job.out" 2>"$work/job.err" &
run_pid=$!
wait_for '"step":7,' out
lose 1
wait_for '^hapc: moved in ' err
three
wait_for '^hapc: goes on on 4 devices' err
wait_for '"step":22,' out
lose 1
wait "$run_pid"
code=$?
run_pid=
[ $code = 0 ] || fail "exit $code" "$work/job.err"
three
[ -z "$(rank '[0-9]*')" ] || fail "ranks are left: $(rank '[0-9]*')"
[ "$(grep -c '^hapc: goes on without H200 on 3 devices: noticed in ' "$work/job.err")" = 2 ] || fail "GPU 1 is not lost twice" "$work/job.err"
[ "$(grep -c '^hapc: moved in ' "$work/job.err")" = 3 ] || fail "not three moves" "$work/job.err"
[ -d "$work/job/step-50" ] || fail "no last checkpoint"
# Steps behind the last checkpoint are done again: what is said of them last counts.
grep '^{"step"' "$work/job.out" | awk -F'[:,]' '{ line[$2] = $0 } END { for (i = 0; i < 50; i++) print line[i] }' >"$work/job.last"
compare losses "$work/job.last" "$work/whole.out"
grep '^hapc: \(goes\|moved\|back\)' "$work/job.err"
finish
