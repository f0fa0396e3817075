#!/bin/bash
# report.html, plan.json and report.txt say the same, on every example; plan.json is as
# docs/plan.schema.json has it. Names with markup, marks of direction and escapes do no harm.
set -u
hapc=$HAP_BUILD/bin/hapc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
command -v python3 >/dev/null || {
    echo "skipped: no python3"
    exit 77
}

# plan NAME GRAPH CLUSTER OPTIONS…: plans and checks
plan() {
    local name=$1
    shift
    "$hapc" "$@" -q -o "$work/$name" && python3 tests/emit/report_check.py "$work/$name" && return
    echo "FAILED: $name: hapc $*"
    status=1
}

for graph in examples/*/graph.json; do
    name=$(basename "$(dirname "$graph")")
    [ "$name" = gpt3-175b ] || plan "$name" "$graph" clusters/h200x4.yaml # that takes a minute
done
plan unequal examples/gpt2/graph.json clusters/a100x2-v100x2.yaml
grep -q '"one_device":{"device":"A100-40GB"' "$work/unequal/plan.json" &&
    grep -q '"with_ms":' "$work/unequal/plan.json" && grep -q '"dp-prop":[0-9.]*,"zero"' "$work/unequal/plan.json" || {
    echo "FAILED: plan.json does not compare"
    status=1
}
# What others take on the devices of the plan is what they take on a cluster of these alone.
sed '/name: old/,/link:/d; /^network/d' clusters/a100x2-v100x2.yaml >"$work/two.yaml"
sed 's/count: 2/count: 1/' "$work/two.yaml" >"$work/single.yaml"
for n in two single; do
    "$hapc" examples/gpt2/graph.json "$work/$n.yaml" --json >"$work/$n.json" || status=1
done
python3 - "$work" <<'P' || status=1
import json, sys
read = lambda name: json.load(open(f"{sys.argv[1]}/{name}"))
plan, two, single = read("unequal/plan.json"), read("two.json"), read("single.json")
pairs = [(s, plan["baselines_kept"][s], ms) for s, ms in two["baselines"].items()]
pairs.append(("one device", plan["one_device"]["ms"], single["predicted_ms"]))
for name, kept, alone in pairs:
    if (kept is None) != (alone is None) or abs(kept - alone) > 0.01 * alone:
        sys.exit(f"FAILED: {name} takes {kept} ms among others, {alone} ms alone")
P
plan moe examples/bert-moe/graph.json clusters/hap-paper.yaml
plan two-axes examples/mlp/graph.json clusters/laptop2x2.yaml --mesh machine
plan one examples/mlp/graph.json clusters/laptop1.yaml
plan variant examples/gpt2-tiny/graph.json clusters/laptop3.yaml --micro-batches 2 --recompute 1
plan four examples/gpt2-tiny/graph.json clusters/laptop3.yaml --micro-batches 4
plan pairs examples/gpt2-tiny/graph.json clusters/laptop-peers.yaml --pin 'transformer.h.*.mlp.c_fc=S(2)' \
    --pin 'transformer.h.*.add*=S(0)'
grep -q '"consumer":true' "$work/pairs/report.html" || {
    echo "FAILED: no pair on the page"
    status=1
}

# Stages.
for how in '0@left,1-2@right' '0@right,1-2@left --micro-batches 4' '0@left,1-2@right --micro-batches 2 --recompute all' \
    '0@left,1-2@right --micro-batches 4 --strategy tp'; do
    # shellcheck disable=SC2086
    plan stages examples/gpt2-tiny/graph.json clusters/laptop2x2.yaml --stages $how
done
plan stages-of-unequal examples/gpt2/graph.json clusters/a100x2-v100x2.yaml --stages 0-7@new,8-11@old --micro-batches 8

# Names that would be obeyed.
mkdir "$work/a<b>\"&"
sed 's|fc1|fc1</script><img src=x onerror=alert(1)>\\u202e\\u001b[31m\\"\&|g' examples/mlp/graph.json >"$work/a<b>\"&/graph.json"
sed 's|name: laptop|name: "l\\u202e</script>\\e[31m"|; s|cpu4|"c<i>\&\\u2066\\x9b"|; s|here|"h<u>"|' clusters/laptop.yaml >"$work/c.yaml"
plan hostile "$work/a<b>\"&/graph.json" "$work/c.yaml"
"$hapc" check -q "$work/hostile" || {
    echo "FAILED: a name is obeyed in program.c"
    status=1
}
"$hapc" "$work/a<b>\"&/graph.json" "$work/c.yaml" --full >"$work/out"
sed 's|name: left|name: "l\\u202e</script>\\e[31m"|; s|cpu4|"c<i>\&\\u2066\\x9b"|' clusters/laptop2x2.yaml >"$work/c2.yaml"
plan hostile-stages "$work/a<b>\"&/graph.json" "$work/c2.yaml" --stages '0@l*,1@right' --micro-batches 2
"$hapc" "$work/a<b>\"&/graph.json" "$work/c2.yaml" --stages '0@l*,1@right' --full >>"$work/out"
if grep -q $'\033\|\xe2\x80\xae' "$work/out"; then
    echo "FAILED: a name is obeyed by a terminal"
    status=1
fi
exit $status
