#!/usr/bin/env python3
"""Every example graph on every sample cluster, and the named cases (plan_cases.py): processor seconds and
peak memory of hapc, the predicted step, exit code; each beside what it may take and the best step known.

    bench/plan table [-k REGEX] [--jobs N] [--graphs a,b] [--clusters c,d] [--json OUT] [--out FILE.md]
                     [--steps FILE.tsv] [--against FILE.tsv]

A case is GRAPH@CLUSTER, with its options behind it; -k takes those that hold the expression. Prints the
slowest, those over 1 s or 1 GB, plans worse than a baseline or with a gap above 2 %, and the named cases.
Exit 1: a case is over a limit, has no answer, or is above 1.03 of the best known. --out writes all rows
with baselines and bounds, --json all that was measured, --steps the steps alone; --against compares with
what --steps wrote: plans that are slower by more than 0.1 %, and cases that had a plan.
"""

import argparse
import concurrent.futures
import datetime
import glob
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile

from case_graphs import GRAPHS
from plan_cases import CASES, EXCEPTIONS, LADDERS

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BASELINES = ["dp-even", "dp-prop", "zero", "tp", "hap"]
MOST_BYTES = 8 << 30  # of address space
MOST_SECONDS, MOST_MB, EXCEPTION_SECONDS = 1.0, 1000, 3.0
WORSE = 1.03  # of the best step known
SLOWER = 1.001  # than in the file of --against
NO_PLAN = 3  # exit code


def graph_path(name, scratch):
    """A graph of examples/, or of case_graphs.py, written to scratch."""
    path = f"{ROOT}/examples/{name}/graph.json"
    if name in GRAPHS:
        path = f"{scratch}/{name}.json"
        if not os.path.exists(path):
            with open(path, "w") as f:
                json.dump(GRAPHS[name](), f)
    return path


def cluster_path(name):
    """Of a named case, of a sample, or the path itself."""
    if os.path.isabs(name):
        return name
    own = f"{HERE}/cases/{name}.yaml"
    return own if os.path.exists(own) else f"{ROOT}/clusters/{name}.yaml"


def measure(hapc, case, limit, scratch):
    """One run of hapc: {name, exit, seconds, mb, plan (its JSON) or why}."""

    def confine():
        os.nice(10)
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))

    command = [hapc, graph_path(case["graph"], scratch), cluster_path(case["cluster"]), *case["options"], "--json"]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        p = subprocess.Popen(command, stdout=out, stderr=err, preexec_fn=confine)
        _, status, use = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        row = {**case, "exit": p.returncode, "seconds": use.ru_utime + use.ru_stime, "mb": use.ru_maxrss / 1000}
        if p.returncode == 0:
            row["plan"] = json.load(out)
            row["ms"] = row["plan"]["predicted_ms"]
        else:
            words = err.read().strip().splitlines()
            row["why"] = words[0][:160] if words else f"signal {-p.returncode}"
    return row


def all_cases(graphs, clusters):
    pairs = [{"graph": g, "cluster": c, "options": []} for g in graphs for c in clusters]
    for case in pairs + CASES:
        case["name"] = " ".join([f"{case['graph']}@{case['cluster']}", *case["options"]])
    named = {c["name"] for c in CASES}
    return [c for c in pairs if c["name"] not in named] + CASES


def number(x):
    return "–" if x is None else f"{x:.4g}"


def beaten(row):
    """Baselines that are faster than the plan."""
    plan = row["plan"]
    return [b for b in BASELINES if (plan["baselines"].get(b) or 1e99) < plan["predicted_ms"] * (1 - 1e-9)]


def markdown(rows):
    head = ["graph", "cluster", "ranks", "plan s", "MB", "auto"] + BASELINES
    head += ["additive", "bound", "gap", "lower bound"]
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for r in rows:
        what = [" ".join([r["graph"], *r["options"]]), r["cluster"]]
        if r["exit"]:
            yield "| " + " | ".join([*what, "", f"{r['seconds']:.2f}", f"{r['mb']:.0f}", r["why"]]) + " |"
            continue
        p, gap = r["plan"], r["plan"].get("gap")
        kept = sum(1 for k in p["ranks"] if not k.get("dropped"))
        cells = [*what, f"{kept}/{len(p['ranks'])}", f"{r['seconds']:.2f}", f"{r['mb']:.0f}"]
        cells += [number(r["ms"]) + (" **!**" if beaten(r) else "")]
        cells += [number(p["baselines"].get(b)) for b in BASELINES]
        cells += [number(p.get("additive_ms")), number(p.get("additive_bound_ms"))]
        cells += ["–" if gap is None else f"{100 * gap:.2f} %" + (" **>2 %**" if gap > 0.02 else "")]
        yield "| " + " | ".join(cells + [number(p.get("lower_bound_ms"))]) + " |"


def section(title, lines):
    lines = list(lines)
    if lines:
        print(f"\n{title}")
        print("\n".join(f"  {line}" for line in lines))
    return len(lines)


def timing(r):
    step = f"{r['ms']:.4g} ms" if r["exit"] == 0 else f"exit {r['exit']}"
    return f"{r['seconds']:8.2f} s {r['mb']:7.0f} MB  {step:>12}  {r['name']}"


def over(r):
    seconds = EXCEPTION_SECONDS if r["name"] in EXCEPTIONS else MOST_SECONDS
    return r["seconds"] > seconds or r["mb"] > MOST_MB


def named(r):
    text = f"{r['seconds']:7.2f} s {r['mb']:6.0f} MB  {number(r.get('ms')):>9} ms"
    if "best" in r:
        text += f"  best {r['best']:>7g}"
        text += f"  x {r['ms'] / r['best']:.3f}" if r["exit"] == 0 else "         "
        text += "  ABOVE" if above(r) else ""
    return f"{text}  {r['name']} ({r['why_here']})" + (f"  exit {r['exit']}: {r['why']}" if r["exit"] else "")


def above(r):
    return "best" in r and (r["exit"] != 0 or r["ms"] > WORSE * r["best"])


def ladders(rows):
    """Less work that takes longer."""
    of = {r["name"]: r.get("ms") for r in rows}
    for ladder in LADDERS:
        ms = [of[name] for name in ladder if of.get(name)]
        if any(a > b * 1.005 for a, b in zip(ms, ms[1:])):
            yield f"{' > '.join(f'{x:.5g}' for x in ms)} ms: {', '.join(ladder)}"


def report(rows):
    """Prints what stands out; the number of lines that should not be there."""
    rows = sorted(rows, key=lambda r: -r["seconds"])
    plans = [r for r in rows if r["exit"] == 0]
    none = sum(r["exit"] == NO_PLAN for r in rows)
    total = sum(r["seconds"] for r in rows)
    print(f"{len(rows)} cases, {len(plans)} plans, {none} that fit nowhere, {total:.0f} processor seconds")
    section("slowest", (timing(r) for r in rows[:10]))
    bad = section(f"over {MOST_SECONDS:g} s or {MOST_MB / 1000:g} GB", (timing(r) for r in rows if over(r)))
    bad += section("no answer", (f"{r['name']}: exit {r['exit']}: {r['why']}" for r in rows
                                 if r["exit"] not in (0, NO_PLAN)))  # fmt: skip
    bad += section("slower than a baseline", (f"{r['name']}: {', '.join(beaten(r))}" for r in plans if beaten(r)))
    section("gap above 2 %", (f"{100 * r['plan']['gap']:6.2f} %  {r['name']}" for r in plans
                              if (r["plan"].get("gap") or 0) > 0.02))  # fmt: skip
    own = [r for r in rows if r.get("why_here")]
    section("named cases", (named(r) for r in sorted(own, key=lambda r: CASES.index(case_of(r)))))
    bad += section("less work, a longer step", ladders(rows))
    return bad + sum(above(r) for r in rows)


def write_steps(rows, path):
    """A line a plan: its case and milliseconds a step as predicted."""
    with open(path, "w") as f:
        f.writelines(f"{r['name']}\t{r['ms']:.6g}\n" for r in rows if r["exit"] == 0)


def against(rows, path):
    """Prints how the plans of both stand; the number of those that are slower or gone."""
    with open(path) as f:
        before = {name: float(ms) for name, ms in (line.rstrip("\n").split("\t") for line in f)}
    both = [(r, r["ms"] / before[r["name"]]) for r in rows if r["name"] in before and r["exit"] == 0]
    slower = sorted(((x, r) for r, x in both if x > SLOWER), key=lambda pair: -pair[0])
    gone = [r for r in rows if r["name"] in before and r["exit"]]
    quicker = sum(x < 1 / SLOWER for _, x in both)
    print(f"\n{len(both)} plans as in {path}: {len(slower)} slower, {quicker} quicker, {len(gone)} without a plan now; "
          f"the slowest {max((x for _, x in both), default=1):.4f} times")
    section("slower", (f"{x:.4f}  {before[r['name']]:.4g} -> {r['ms']:.4g} ms  {r['name']}" for x, r in slower))
    return len(slower) + section("without a plan", (f"{r['name']}: {r['why']}" for r in gone))


def case_of(row):
    return next(c for c in CASES if c["name"] == row["name"])


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("hapc")
    a.add_argument("-k", default="", metavar="REGEX", help="cases that hold it")
    a.add_argument("--jobs", type=int, default=1, help="at once; more disturb the times")
    a.add_argument("--graphs", default="", help="of examples/; none: the named cases alone")
    a.add_argument("--clusters", default="", help="of clusters/")
    a.add_argument("--json", help="all that was measured")
    a.add_argument("--out", help="all rows, with baselines and bounds")
    a.add_argument("--steps", help="writes each case's step")
    a.add_argument("--against", help="compares with such a file")
    a.add_argument("--limit", type=int, default=120, help="processor seconds a plan may take")
    o = a.parse_args()
    graphs = o.graphs.split(",") if o.graphs else sorted(
        os.path.basename(os.path.dirname(g)) for g in glob.glob(f"{ROOT}/examples/*/graph.json"))
    clusters = o.clusters.split(",") if o.clusters else sorted(
        os.path.basename(c)[:-5] for c in glob.glob(f"{ROOT}/clusters/*.yaml") if not c.endswith("devices.yaml"))
    cases = [c for c in all_cases([] if o.graphs == "none" else graphs, clusters) if re.search(o.k, c["name"])]
    with tempfile.TemporaryDirectory() as scratch:
        for case in cases:
            graph_path(case["graph"], scratch)
        with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
            rows = []
            for row in pool.map(lambda c: measure(o.hapc, c, o.limit, scratch), cases):
                rows.append(row)
                print(timing(row), file=sys.stderr, flush=True)
    if o.json:
        with open(o.json, "w") as f:
            json.dump(rows, f, indent=0)
    if o.out:
        head = f"{datetime.date.today()}, {platform.node()}, {os.cpu_count()} cores; times are ms a step as simulated"
        with open(o.out, "w") as f:
            f.write("\n".join([head, "", *markdown(rows)]) + "\n")
    if o.steps:
        write_steps(rows, o.steps)
    bad = report(rows) + (against(rows, o.against) if o.against else 0)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
