#!/usr/bin/env python3
"""Names with what a terminal or a reader's eye obeys (escape sequences, marks of writing direction,
characters without width) in a graph, a cluster file, options and paths: no command prints them, no
file of a plan has them but graph.json and cluster.yaml, which are the user's own."""
import glob
import json
import os
import subprocess
import sys
import tempfile

hapc = os.environ["HAP_BUILD"] + "/bin/hapc"
ODD = "\u202e\u001b[31m\u2066\u009b\u200b"
failed = 0


def obeyed(data):
    return [repr(c) for c in "\u202e\u2066\u009b\u200b\u001b" if c.encode() in data]


def run(*words, want=None):
    global failed
    p = subprocess.run([hapc, *words], capture_output=True)
    for text in (p.stdout, p.stderr):
        for line in text.split(b"\n"):
            if obeyed(line):
                print(f"FAILED: hapc {ascii(words)} prints {obeyed(line)}: {ascii(line)}")
                failed = 1
    if want is not None and p.returncode != want:
        print(f"FAILED: hapc {ascii(words)}: {p.returncode}: {ascii(p.stderr)}")
        failed = 1
    return p


def renamed(graph):
    """Every tensor and node gets the marks behind its name."""
    names = set(graph["tensors"]) | {o for n in graph["nodes"] for o in n["out"]}

    def of(name):
        return name + ODD if name in names else name

    nodes = [
        dict(n, name=n["name"] + ODD, **{k: [of(x) for x in n[k]] for k in ("in", "out")})
        for n in graph["nodes"]
    ]
    for n in nodes:
        n["from"] = "model" + ODD
    optimizer = graph["optimizer"]
    groups = [dict(x, match=[glob + ODD for glob in x["match"]]) for x in optimizer["groups"]]
    return dict(
        graph,
        optimizer=dict(optimizer, groups=groups),
        tensors={of(k): v for k, v in graph["tensors"].items()},
        nodes=nodes,
        loss=of(graph["loss"]),
        producer=graph["producer"] + ODD,
    )


with tempfile.TemporaryDirectory() as work:
    g, c, plan = work + "/g.json", work + "/c.yaml", work + "/plan"
    with open("examples/mlp/graph.json") as f:
        text = json.dumps(renamed(json.load(f)), ensure_ascii=False)
    with open(g, "w") as f:
        f.write(text)
    marks = ODD.replace("\u001b", "\\e").replace("\u009b", "\\x9b")
    device = "f32: 100 GFLOP/s, memory: 1 GiB, memory_bandwidth: 10 GB/s, kind: cpu"
    cluster = f"""name: "lab{marks}"
machines:
  - name: "one{marks}"
    devices: [{{name: "fast{marks}", {device}, count: 2}}, {{name: "slow{marks}", {device}, threads: 2}}]
    link: {{bandwidth: 4 GB/s, latency: 8 us}}
source: datasheet
"""
    with open(c, "w") as f:
        f.write(cluster)
    run(g, c, "-o", plan, "--full", want=0)
    run(g, c, "-o", work + "/other", "-q", "--strategy", "dp-even", want=0)
    for file in glob.glob(plan + "/*"):
        with open(file, "rb") as f:
            if obeyed(f.read()) and not file.endswith(("graph.json", "cluster.yaml")):
                print("FAILED:", file, "has them")
                failed = 1
    with open(plan + "/plan.json") as f:
        if ODD not in json.dumps(json.load(f), ensure_ascii=False).replace("\\u001b", "\u001b"):
            print("FAILED: plan.json lost the names")
            failed = 1
    for words in (
        ["check", plan],
        ["check", "--json", plan],
        ["diff", plan, work + "/other"],
        ["diff", plan, work + "/other", "--program"],
        ["run", plan, "--dry-run"],
        [g, c, "--json"],
        [g, c, "--check-only"],
        ["explain", plan, "fc1.weight" + ODD],
        ["explain", plan, "fc1.weight" + ODD, "--json"],
        *(["explain", plan, x] for x in ("network", "op_linear")),
    ):
        run(*words, want=0)
    for words in (
        ["run", plan, "--steps", "1"],  # names its inputs
        ["explain", plan, "nothing" + ODD],
        ["compare", plan, work + ODD],
        ["run", plan + ODD],
        ["check", plan + ODD],
        ["report", plan + ODD],
        [g + ODD, c],
        [g, c + ODD],
        [ODD],
        [g, c, "--" + ODD],
        [g, c, "--strategy", ODD],
        [g, c, "--pin", f"x{ODD}=R"],
        [g, c, "--what-if", "x" + ODD],
    ):
        if run(*words).returncode == 0:
            print("FAILED: no error:", ascii(words))
            failed = 1
    for old, new in (('"op": "relu"', f'"op": "re{ODD[0]}"'), ('"loss": ', f'"lo{ODD[0]}": ')):
        assert old in text
        with open(g, "w") as f:
            f.write(text.replace(old, new, 1))
        run(g, c, want=1)
    for old, new in (("source", f'"so{marks}"'), ("count: 2", f'count: "{marks}"')):
        with open(c, "w") as f:
            f.write(cluster.replace(old, new, 1))
        run("examples/mlp/graph.json", c, want=1)
sys.exit(failed)
