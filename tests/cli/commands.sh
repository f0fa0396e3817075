#!/bin/bash
# What the table of commands gives: help in 80 columns, a man page, completion that offers what may
# stand there, hints for other tools' words. And the commands that plan nothing: devices, --scan (with
# a driver and an ssh that are made up), --check-only, diff.
set -u
export LC_ALL=C.UTF-8
. tests/cli/commands_run.sh
g=examples/mlp/graph.json c=clusters/laptop3.yaml

# --- help, man page, completion ---
for command in '' run check report explain diff compare profile devices completion man; do
    # shellcheck disable=SC2086
    code 0 'hapc' $command --help
    while IFS= read -r line; do
        [ ${#line} -le 80 ] || wrong "hapc $command --help is wider than 80 columns: $line"
    done <"$work/out"
    code 0 "^\.SH \"hapc ${command:-GRAPH}" man
done
code 0 '^\.B \\-\\-micro\\-batches K$' man
code 0 '' completion bash
bash -n "$work/out" || wrong "the completion is no bash"
# offered WORDS…: what Tab offers behind them, sorted, in one line
offered() {
    bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hapc; printf "%s\n" "${COMPREPLY[@]}"' "$work/complete" "$@" |
        sort -u | tr '\n' ' '
}
cp "$work/out" "$work/complete"
mkdir "$work/empty" && cd "$work/empty" || exit 1
[ "$(offered hapc de)" = 'devices ' ] || wrong "hapc de: $(offered hapc de)"
[ "$(offered hapc g.json c.yaml --strategy d)" = 'dp-even dp-prop ' ] || wrong "--strategy: $(offered hapc g.json c.yaml --strategy d)"
[ "$(offered hapc g.json c.yaml --mesh '')" = 'auto flat machine ' ] || wrong "--mesh: $(offered hapc g.json c.yaml --mesh '')"
[ "$(offered hapc run plan --ev)" = '--eval --eval-batches --eval-every ' ] || wrong "run: $(offered hapc run plan --ev)"
[ "$(offered hapc completion f)" = 'fish ' ] || wrong "completion: $(offered hapc completion f)"
cd - >/dev/null || exit 1
code 0 'compdef hapc' completion zsh
code 0 "^complete -c hapc -n '__fish_seen_subcommand_from run' -l steps -r -d " completion fish
code 2 'bash, zsh and fish' completion tcsh

# --- words of other tools, things in each other's place ---
code 2 "hint: what FSDP and ZeRO do: --strategy zero" $g $c --strategy fsdp
code 2 "hint: .*DDP.*: --strategy dp-even" $g $c --strategy DDP
code 2 "hint: tensor parallelism: --strategy tp" $g $c --strategy megatron
code 2 "did you mean 'dp-prop'" $g $c --strategy dp-porp
code 2 "hint: there is no fp16.*: --precision bf16" $g $c --precision fp16
code 2 "hint: two axes: --mesh machine" $g $c --mesh 2d
code 2 "hint: GPUs: --backend cuda" run "$work" --backend gpu
code 1 "^hint: hapc $g $c$" $c $g
code 1 "^hint: examples/mlp/graph.json" examples/mlp $c
code 1 "did you mean 'laptop'" $g latpop
code 0 '^Decided' $g laptop3

# --- on a terminal: labels are bold and errors red, unless NO_COLOR says no ---
if command -v script >/dev/null; then
    on_terminal() { TERM=xterm script -qec "$*" /dev/null </dev/null >"$work/out" 2>"$work/err"; }
    on_terminal "$hapc $g $c"
    grep -q $'^\033\[1mDecided\033\[0m  One training step' "$work/out" || wrong "no bold label"
    on_terminal "$hapc $g nothing"
    grep -q $'hapc: \033\[1;31merror:\033\[0m' "$work/out" || wrong "no red error"
    on_terminal "NO_COLOR=1 $hapc $g $c"
    grep -q $'\033' "$work/out" && wrong "colours in spite of NO_COLOR"
    grep -q '^Decided  One training step' "$work/out" || wrong "nothing without colours"
fi

# --- --check-only: both files are read, nothing is planned ---
code 0 'laptop3.yaml: good. 3 devices on 1 machine' $g $c --check-only
grep -q 'graph.json: good. Batch 64, [0-9]* parameters in [0-9]* tensors, [0-9]* ops a step' "$work/out" || wrong "the graph"
sed 's/count/cuont/; s/bandwidth: 4/bandwith: 4/' $c >"$work/bad.yaml"
code 1 'bad.yaml:[0-9]+:[0-9]+: error: unknown key' $g "$work/bad.yaml" --check-only -o "$work/none"
[ -e "$work/none" ] && wrong "--check-only writes"

# --- devices ---
code 0 '^RTX4090 +82.6 +82.6 +165.2 +165.2 +24 +1008  sm_89$' devices
grep -q '^MI300X .*gfx942, plan only$' "$work/out" || wrong "MI300X"
code 0 '"model":"H200","kind":"gpu","f32":6.7e\+13' devices --json
code 2 'hosts are for --scan' devices node1
# Every device of the catalogue makes a cluster that plans.
for model in $("$hapc" devices | awk '/ (sm_|gfx)/ {print $1}'); do
    printf 'name: x\nmachines:\n  - {name: a, devices: [{model: %s, count: 2}], link: {bandwidth: 10 GB/s, latency: 10 us}}\nsource: datasheet\n' "$model" >"$work/one.yaml"
    code 0 '^Decided' $g "$work/one.yaml"
done

# A host as the driver and the kernel show it.
mkdir "$work/bin"
cat >"$work/bin/nvidia-smi" <<'S'
#!/bin/sh
case $1 in
--query-gpu=*) cat "$FAKE/gpus" ;;
topo) cat "$FAKE/topo" 2>/dev/null ;;
esac
S
cat >"$work/bin/ssh" <<'S'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1 && shift
[ -d "$FAKE/$host" ] || exit 255
FAKE=$FAKE/$host exec sh -c "$*"
S
chmod +x "$work/bin/"*
export FAKE=$work/fake
mkdir -p "$FAKE/node1" "$FAKE/node2"
printf 'NVIDIA A100-SXM4-40GB, 40960, 4, 16\nNVIDIA A100-SXM4-40GB, 40960, 4, 16\n' | tee "$FAKE/gpus" >"$FAKE/node1/gpus"
printf 'GPU0\t X \tNV12\nGPU1\tNV12\t X \nLegend:\n  NV#  = Connection traversing a bonded set of # NVLinks\n' | tee "$FAKE/topo" >"$FAKE/node1/topo"
printf 'NVIDIA GeForce RTX 3090, 24576, 4, 16\nNVIDIA GeForce RTX 4070 Ti SUPER, 16376, 4, 16\nTesla V100-SXM2-16GB, 16384, 3, 16\n' >"$FAKE/node2/gpus"
scan() { PATH=$work/bin:$PATH "$hapc" devices --scan "$@" >"$work/scan.yaml" 2>"$work/err"; }
scan || wrong "scan of this machine"
cp "$work/scan.yaml" "$work/out"
grep -q '{model: A100-40GB, count: 2, memory: 40960 MiB}' "$work/out" || wrong "two A100"
grep -q 'bandwidth: 300 GB/s, latency: 8 us} # 12 NVLinks' "$work/out" || wrong "NVLinks"
code 0 '^Decided' $g "$work/scan.yaml"
scan node1 node2 || wrong "scan of two hosts"
cp "$work/scan.yaml" "$work/out"
grep -q '    host: node2' "$work/out" && grep -q '{model: RTX3090, count: 1, memory: 24576 MiB}' "$work/out" || wrong "an RTX 3090"
grep -q '{model: V100-16GB, count: 1' "$work/out" || wrong "a V100"
grep -q "name: 'NVIDIA GeForce RTX 4070 Ti SUPER', count: 1, f32: unknown" "$work/out" || wrong "a card that the catalogue lacks"
grep -q "is not in the catalogue; f32 and memory_bandwidth are yours to fill in" "$work/err" || wrong "no warning"
grep -q 'bandwidth: 31.5 GB/s, latency: 10 us} # PCIe 4.0 x16' "$work/out" || wrong "PCI Express"
code 1 'scan.yaml:[0-9]+:[0-9]+: error: ' $g "$work/scan.yaml"
scan nowhere
[ $? = 5 ] && grep -q 'nowhere does not answer' "$work/err" || wrong "a host that does not answer"
rm "$work/bin/nvidia-smi"
scan || wrong "scan of processors"
if ! command -v nvidia-smi >/dev/null; then
    code 0 '^Decided' $g "$work/scan.yaml"
    grep -q 'model: cpu-socket, threads: ' "$work/scan.yaml" || wrong "no processors"
fi

# --- diff ---
code 0 '' $g $c -q -o "$work/one"
code 0 '' $g $c -q -o "$work/same"
code 0 '^The plans decide the same\.$' diff "$work/one" "$work/same"
code 0 '' $g $c -q --strategy dp-even --batch 128 -o "$work/two"
code 0 '^Asked for +auto -> dp-even$' diff "$work/one" "$work/two"
grep -q '^Batch  *64 -> 128$' "$work/out" && grep -Eq '^Step .* -> .*(slow|slower)$' "$work/out" || wrong "diff"
code 0 '^-#define|^-' diff "$work/one" "$work/two" --program
code 0 '' $g $c -q --pin 'fc1.weight=S(1)' -o "$work/cut"
code 0 '' $g $c -q --pin 'fc1.weight=R' -o "$work/whole"
code 0 '^         cut by features [0-9 /]* -> whole$' diff "$work/cut" "$work/whole"
code 1 'is no plan folder' diff "$work/one" "$work/nothing"
code 2 'wanted: hapc diff DIR DIR2' diff "$work/one"
exit $status
