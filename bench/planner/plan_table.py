#!/usr/bin/env python3
"""Every example graph on every sample cluster: plan_seconds, the judged step of the plan found and of
every baseline on the same judge, both bounds.

    bench/plan table [--graphs a,b] [--clusters c,d] [--runs N] [--out FILE.md]

plan ms is the least of N runs.

A row is worse than a baseline, or its additive gap above 2 %, only with a mark: `!` and `>2 %`.
"""
import argparse
import datetime
import glob
import json
import os
import platform
import resource
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BASELINES = ["dp-even", "dp-prop", "zero", "tp", "hap"]


MOST_BYTES = 8 << 30


def plan(hapc, graph, cluster, limit):
    """The JSON of one plan, or why there is none."""
    def confine():
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    p = subprocess.run([hapc, graph, cluster, "--json"], capture_output=True, text=True, timeout=limit, preexec_fn=confine)
    if p.returncode != 0:
        return None, p.stderr.strip().splitlines()[-1][:160] if p.stderr.strip() else f"exit {p.returncode}"
    return json.loads(p.stdout), ""


def quickest(hapc, graph, cluster, limit, runs):
    p, why = plan(hapc, graph, cluster, limit)
    for _ in range(runs - 1 if p else 0):
        again, _ = plan(hapc, graph, cluster, limit)
        p["plan_seconds"] = min(p["plan_seconds"], again["plan_seconds"])
    return p, why


def number(x):
    return "–" if x is None else f"{x:.4g}"


def row(graph, cluster, p):
    ours = p["predicted_ms"]
    base = [p["baselines"].get(b) for b in BASELINES]
    worse = any(b is not None and b < ours * (1 - 1e-9) for b in base)
    gap = p.get("gap")
    gap_text = "–" if gap is None else f"{100 * gap:.2f} %" + (" **>2 %**" if gap > 0.02 else "")
    kept = sum(1 for r in p["ranks"] if not r.get("dropped"))
    cells = [graph, cluster, f"{kept}/{len(p['ranks'])}", f"{1e3 * p['plan_seconds']:.0f}",
             number(ours) + (" **!**" if worse else "")] + [number(b) for b in base]
    cells += [number(p.get("additive_ms")), number(p.get("additive_bound_ms")), gap_text, number(p.get("lower_bound_ms"))]
    return "| " + " | ".join(cells) + " |"


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("hapc")
    a.add_argument("--graphs", default="")
    a.add_argument("--clusters", default="")
    a.add_argument("--out")
    a.add_argument("--runs", type=int, default=1)
    a.add_argument("--limit", type=float, default=120, help="seconds a plan may take")
    o = a.parse_args()
    graphs = o.graphs.split(",") if o.graphs else sorted(
        os.path.basename(os.path.dirname(g)) for g in glob.glob(f"{ROOT}/examples/*/graph.json"))
    clusters = o.clusters.split(",") if o.clusters else sorted(
        os.path.basename(c)[:-5] for c in glob.glob(f"{ROOT}/clusters/*.yaml") if not c.endswith("devices.yaml"))
    head = ["graph", "cluster", "ranks", "plan ms", "auto"] + BASELINES + ["additive", "bound", "gap", "lower bound"]
    lines = [f"{datetime.date.today()}, {platform.node()}, {os.cpu_count()} cores; times are ms a step as judged", "",
             "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for g in graphs:
        path = g if os.path.exists(g) else f"{ROOT}/examples/{g}/graph.json"
        for c in clusters:
            try:
                p, why = quickest(o.hapc, path, f"{ROOT}/clusters/{c}.yaml", o.limit, o.runs)
            except subprocess.TimeoutExpired:
                p, why = None, f"no answer in {o.limit:.0f} s"
            lines.append(row(os.path.basename(g), c, p) if p else f"| {os.path.basename(g)} | {c} | {why} |" + " |" * (len(head) - 3))
            print(lines[-1], flush=True)
    if o.out:
        with open(o.out, "w") as f:
            f.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
