#!/usr/bin/env python3
"""HAP's evaluation (arXiv 2401.05965, EuroSys 2024), simulated: its four models with 8 layers, 32 samples
a GPU, under every strategy, on its cluster of 2 machines of V100 and 6 of P100 with 1 to 8 GPUs each.

    bench/plan [--build DIR] evaluation [--models a,b] [--gpus 8,64] [--released DIR]   PYTHON=.venv/bin/python

hap-paper is the cluster by data sheets, cut to so many GPUs a machine; hap-profiled is its 64 GPUs as HAP's
own profiler saw them. Times are ms a step of the simulator, "x" what auto is quicker by; – does not fit the
memory. ZeRO has batches by speed (DeepSpeed's are equal) and gathers experts. "plan s" are processor seconds
of our search to certificate; with --released also those of alibaba/hap as released (released_hap.py), which
plans for the rates and bandwidths of hap-profiled.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
STRATEGIES = ["dp-even", "dp-prop", "zero", "tp", "hap"]
SIMPLE = ["dp-even", "dp-prop", "zero"]  # HAP's baselines: even and proportional DDP, DeepSpeed
LAYERS = 8
MODELS = {  # sizes that examples/NAME/make takes; what HAP calls it
    "vgg19": ([], "Vvgg"),
    "vit": ([LAYERS], "Vtransformer"),
    "bert-hap": ([LAYERS], "Rtransformer"),
    "bert-moe": ([LAYERS], "Rmoe"),
}
PUBLISHED = 2.41  # HAP's best case over the best of its baselines


def cluster(gpus, scratch):
    """hap-paper with so many GPUs in all."""
    if gpus == 64:
        return f"{ROOT}/clusters/hap-paper.yaml"
    path = f"{scratch}/{gpus}.yaml"
    with open(f"{ROOT}/clusters/hap-paper.yaml") as f, open(path, "w") as out:
        out.write(f.read().replace("count: 8}", f"count: {gpus // 8}}}"))
    return path


def said(*command, key=None):
    """Standard output, or the word behind the line `key`; None where the command ended otherwise."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        print(f"evaluation: {' '.join(str(c) for c in command)}: exit {done.returncode}: {done.stderr.strip()[-300:]}",
              file=sys.stderr)  # fmt: skip
        return None
    lines = [x.split() for x in done.stdout.splitlines()]
    return done.stdout if key is None else next((float(x[-1]) for x in lines if x[:1] == [key]), None)


def graph(model, gpus, scratch):
    path = f"{scratch}/{model}-{gpus}.json"
    if not os.path.exists(path):
        sizes = [str(x) for x in MODELS[model][0]]
        subprocess.run([os.environ.get("PYTHON", f"{ROOT}/.venv/bin/python"), f"{ROOT}/examples/{model}/make", *sizes,
                        str(gpus), "-o", path], check=True, capture_output=True)  # fmt: skip
    return path


def measured(o, model, gpus, on, path, scratch):
    """One row: {auto, plan seconds and each strategy: ms or None}."""
    g = graph(model, gpus, scratch)
    plan = said(f"{o.binary}/hapc", g, path, "--json")
    row = {"model": model, "gpus": gpus, "cluster": on, **{s: None for s in STRATEGIES}, "auto": None}
    if plan:
        p = json.loads(plan)
        row.update({s: p["baselines"].get(s) for s in STRATEGIES}, auto=p["predicted_ms"],
                   kept=sum(1 for r in p["ranks"] if not r.get("dropped")))  # fmt: skip
    row["sec"] = said(f"{o.binary}/plan_bench", g, path, o.runs, key="cpu_seconds")
    row["released"] = None
    if o.released:
        row["released"] = said("/usr/bin/python3", f"{HERE}/released_hap.py", o.released, MODELS[model][1], LAYERS,
                               gpus, key="cpu_seconds")  # fmt: skip
    return row


def number(x):
    return "–" if x is None else f"{x:.4g}"


def beside(row, strategy):
    ms = row[strategy]
    return "–" if ms is None or row["auto"] is None else f"{ms:.4g} ({ms / row['auto']:.2f}x)"


def table(rows, released):
    head = ["model", "GPUs", "cluster", "GPUs used", "auto", *STRATEGIES, "plan s"] + (["released HAP s"] if released else [])
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for r in rows:
        cells = [r["model"], str(r["gpus"]), r["cluster"], str(r.get("kept", "–")), number(r["auto"])]
        cells += [beside(r, s) for s in STRATEGIES] + [number(r["sec"])] + ([number(r["released"])] if released else [])
        yield "| " + " | ".join(cells) + " |"


def best(rows, against):
    """The largest factor over the quickest of these strategies that fits, and where."""
    found = [(0, "nowhere")]
    for r in rows:
        times = [r[s] for s in against if r[s] is not None]
        if times and r["auto"]:
            found.append((min(times) / r["auto"], f"{r['model']} on {r['gpus']} GPUs"))
    return max(found)


def report(rows, released):
    print("\n".join(table(rows, released)))
    print()
    for on in sorted({r["cluster"] for r in rows}):
        mine = [r for r in rows if r["cluster"] == on]
        for title, against in (
            ("data parallelism, even or by speed", ["dp-even", "dp-prop"]),
            ("the best of these and ZeRO", SIMPLE),
            ("HAP's strategy", ["hap"]),
        ):
            factor, where = best(mine, against)
            print(f"{on}: best case over {title}: {factor:.2f} x ({where})")
    beaten = [f"{r['model']}@{r['cluster']} by {s}" for r in rows for s in STRATEGIES
              if r["auto"] and r[s] and r[s] < r["auto"] * (1 - 1e-9)]  # fmt: skip
    print(f"auto is behind: {', '.join(beaten) or 'nothing'}")
    factor = best(rows, SIMPLE)[0]
    print(f"asked: HAP's published {PUBLISHED} x on its best case: {'reached' if factor >= PUBLISHED else 'MISSED'}")
    return 1 if beaten or factor < PUBLISHED or any(r["auto"] is None for r in rows) else 0


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("binary", help="folder of hapc and plan_bench")
    a.add_argument("--models", default=",".join(MODELS))
    a.add_argument("--gpus", default="8,16,32,64")
    a.add_argument("--runs", type=int, default=1, help="of the planner, whose median counts")
    a.add_argument("--released", metavar="DIR", help="alibaba/hap, built: its hap.so, models.py and collectives.py")
    o = a.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for model in o.models.split(","):
            for gpus in (int(x) for x in o.gpus.split(",")):
                clusters = [("hap-paper", cluster(gpus, scratch))]
                if gpus == 64:
                    clusters.append(("hap-profiled", f"{ROOT}/clusters/hap-profiled.yaml"))
                for on, path in clusters:
                    rows.append(measured(o, model, gpus, on, path, scratch))
                    print(rows[-1], file=sys.stderr, flush=True)
    return report(rows, o.released)


if __name__ == "__main__":
    sys.exit(main())
