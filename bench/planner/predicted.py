#!/usr/bin/env python3
"""Plans a graph with each strategy on a measured cluster, runs the plans, and compares.

    bench/plan predicted GRAPH CLUSTER [--backend cuda] [--strategies auto,dp-even,zero]
                       [--steps 20] [--plan=OPTION]… [--run=OPTION]…

Prints predicted and measured ms (the median of the steps after the first nine), the error, and
whether the predictions put the strategies in the order of the measurements; pairs that are
measured within 3 % of each other count as in order.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("hapc")
    p.add_argument("graph")
    p.add_argument("cluster")
    p.add_argument("--backend", default="cpu")
    p.add_argument("--strategies", default="auto,dp-even,dp-prop,zero,tp")
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--plan", action="append", default=[], help="an option of the planner")
    p.add_argument("--run", action="append", default=[], help="an option of hapc run")
    p.add_argument("--timeout", type=float, default=120)
    return p.parse_args()


def one(o, strategy, folder):
    """(predicted ms, measured ms, what went wrong)"""
    where = os.path.join(folder, strategy)
    made = subprocess.run(
        [o.hapc, o.graph, o.cluster, "--json", "--strategy", strategy, "-o", where, *o.plan],
        capture_output=True,
        text=True,
    )
    if made.returncode:
        return None, None, made.stderr.strip().splitlines()[-1:] or [f"exit {made.returncode}"]
    predicted = json.loads(made.stdout)["predicted_ms"]
    command = [o.hapc, "run", where, "--backend", o.backend, "--json", "--steps", str(o.steps), *o.run]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=o.timeout)
    except subprocess.TimeoutExpired:
        return predicted, None, ["out of time"]
    lines = [json.loads(x) for x in ran.stdout.splitlines() if x.startswith("{")]
    ms = [x["ms"] for x in lines if "ms" in x][9:]
    if ran.returncode or not ms:
        return predicted, None, ran.stderr.strip().splitlines()[-2:]
    return predicted, statistics.median(ms), []


def main():
    o = options()
    rows = []
    print(f"{os.path.basename(os.path.dirname(o.graph)) or o.graph} on {o.cluster} {' '.join(o.plan)}")
    print(f"{'strategy':10} {'predicted':>10} {'measured':>10} {'error':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for strategy in o.strategies.split(","):
            predicted, measured, why = one(o, strategy, folder)
            if measured is None:
                print(f"{strategy:10} {predicted or 0:10.2f} {'-':>10}  {' '.join(why)[:200]}")
                continue
            rows.append((strategy, predicted, measured))
            print(f"{strategy:10} {predicted:10.2f} {measured:10.2f} {100 * (predicted / measured - 1):+7.1f} %")
            sys.stdout.flush()
    if not rows:
        return 1
    errors = [abs(p / m - 1) for _, p, m in rows]
    pairs = [
        (a, b)
        for i, a in enumerate(rows)
        for b in rows[i + 1 :]
        if abs(a[2] - b[2]) > 0.03 * min(a[2], b[2])
    ]
    wrong = [f"{a[0]}/{b[0]}" for a, b in pairs if (a[1] < b[1]) != (a[2] < b[2])]
    print(
        f"median error {100 * statistics.median(errors):.1f} %, largest {100 * max(errors):.1f} %; "
        f"order {'right' if not wrong else 'wrong: ' + ' '.join(wrong)} ({len(pairs)} pairs)"
    )
    return 0


sys.exit(main())
