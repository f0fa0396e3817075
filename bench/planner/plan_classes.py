#!/usr/bin/env python3
"""What a plan's step is predicted to take by class of instruction, and what it took.

    bench/plan classes PLAN [TRACE STEPS]

PLAN is the folder that hapc wrote, TRACE what `hapc run PLAN --trace TRACE --steps STEPS` wrote, with each call waited
for. A class is a call on tensors of one shape and state (products: as M x N x K of a rank, which read [M, K], sums of
M rows for gradients of weights; collectives: with the form). Columns: calls a step; of the first class of devices, as
predicted: ms a step, us a call and the rate that this is (Tflop/s of products and attention, GB/s of others, of
collectives what leaves a rank); as measured on rank 0, the last step: the same. Predicted are the judge's times: a call
of a group has its share of the group, one that a neighbour's kernel does has none; what else the runtime joined is in
its neighbour's measured time. Measured of a collective is what is left of it when the calls inside it are taken off:
less than it took where it was hidden (predicted: all of it). Below: sums by kind. The 40 longest are listed.
"""

import collections
import json
import math
import os
import re
import sys

BYTES = {"f32": 4, "bf16": 2, "f16": 2, "i64": 8, "i32": 4, "bool": 1}
DENSE = {"op_linear", "op_linear_dw", "op_matmul"}
ATTENTION = {"op_sdpa": 4, "op_sdpa_bwd": 10}
MOVES = {"op_reshape", "op_transpose", "op_split", "op_concat", "op_slice", "op_pad", "op_expand", "hap_cut", "hap_partial", "op_cast"}
UPDATE = {"op_sgd", "op_momentum", "op_adam", "op_sumsq", "op_clip_scale"}


def kind_of(call):
    return ("collectives" if call.startswith("coll_") else "products" if call in DENSE else
            "attention" if call in ATTENTION else "moves and casts" if call in MOVES else
            "optimizer" if call in UPDATE else "rows and points")


class Plan:
    def __init__(self, folder):
        with open(os.path.join(folder, "plan.json")) as f:
            self.plan = json.load(f)
        self.tensor, self.ranks = self.plan["tensors"], self.plan["n_ranks"]
        with open(os.path.join(folder, "trace.json")) as f:
            self.judged = durations(json.load(f), 0)

    def elements(self, k):
        t = self.tensor[k]
        return t["bytes"][0] / BYTES[t["dtype"]]

    def text(self, k):
        t = self.tensor[k]
        state = re.sub(r"S\((\d+):([a-z]*)\d*@[^)]*\)", r"S(\1:\2)", t["state"])
        return f"{t['shape']}{'' if state == 'R' else state} {t['dtype']}"

    def look(self, i):
        """label, (flop or bytes, its unit)"""
        call, out, operands = i["call"].replace("_start", ""), i["out"], [k for k in i["in"] if k >= 0]
        moved = sum(self.tensor[k]["bytes"][0] for k in out + operands)
        if call in ("op_linear", "op_linear_dw"):
            a, b, c = self.elements(operands[0]), self.elements(operands[1]), self.elements(out[0])
            return f"{call} {sides(call, a, b, c)}", 2 * math.sqrt(a * b * c), "Tflop/s"
        if call in ATTENTION and len(self.tensor[operands[0]]["shape"]) == 4:
            q = operands[1 if call == "op_sdpa_bwd" else 0]
            keys = self.tensor[operands[2 if call == "op_sdpa_bwd" else 1]]["shape"][2]
            return f"{call} {self.text(q)}, half of it", ATTENTION[call] * self.elements(q) * keys / 2, "Tflop/s"
        if call.startswith("coll_"):
            n, whole = self.ranks, i["bytes"]
            sent = whole * (n - 1) / n * (2 if "all_reduce" in call else 1 / n if "all_to_all" in call else 1)
            many = f" and {len(out) - 1} more" if len(out) > 1 else ""
            return f"{call} {i['form']} {self.text(operands[0])} -> {self.text(out[0])}{many}", sent, "GB/s"
        return f"{call} {self.text(out[0] if out else operands[0])}", moved, "GB/s"


def sides(call, a, b, c):
    """M x N x K of y[M, N] = x[M, K] w, or of dw[N, K] = dy[M, N]' x[M, K]: sums over M."""
    one, two, three = math.sqrt(a * c / b), math.sqrt(b * c / a), math.sqrt(a * b / c)
    names = (one, two, three) if call == "op_linear" else (three, one, two)
    return " x ".join(str(round(x)) for x in names)


def durations(trace, steps):
    """name:line -> us of each call of rank 0: of all (steps 0), or of the last of so many steps, from behind a call that
    is made once a step to that call again."""
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X" and e["pid"] == 0]
    events.sort(key=lambda e: e["ts"])
    if steps:
        count = collections.Counter(e["name"] for e in events)
        once = [k for k, e in enumerate(events) if count[e["name"]] == steps]
        if steps < 2 or not once:
            sys.exit(f"no call is made {steps} times in the trace")
        ends = [k for k in once if events[k]["name"] == events[once[-1]]["name"]]
        events = events[ends[-2] + 1:ends[-1] + 1]
    compute = [e for e in events if not e["name"].startswith("coll_")]
    took = collections.defaultdict(list)
    for e in events:
        us, lo, hi = e["dur"], e["ts"], e["ts"] + e["dur"]
        if steps and e["name"].startswith("coll_"):
            inside = (min(hi, x["ts"] + x["dur"]) - max(lo, x["ts"]) for x in compute)
            us = max(0, us - sum(max(0, x) for x in inside))
        took[e["name"]].append(us)
    return took


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    p = Plan(sys.argv[1])
    measured = None
    if len(sys.argv) > 3:
        with open(sys.argv[2]) as f:
            measured = durations(json.load(f), int(sys.argv[3]))
    rows = {}
    queue = {k: list(v) for k, v in p.judged.items()}
    for i in p.plan["instructions"]:
        if i["call"] == "hap_wait":
            continue
        label, size, unit = p.look(i)
        row = rows.setdefault(label, {"call": i["call"].replace("_start", ""), "n": 0, "us": 0.0, "size": 0.0, "unit": unit, "at": set()})
        name = f"{row['call']}:{i['line']}"
        row["n"] += 1
        row["us"] += queue[name].pop(0) if queue.get(name) else 0
        row["size"] += size
        row["at"].add(name)
    kinds = collections.defaultdict(lambda: [0.0, 0.0])
    of_line = collections.Counter(name for row in rows.values() for name in row["at"])
    for row in rows.values():
        # A line's calls are of one class but where a loop's first or last layer differs.
        row["got"] = sum(sum(measured.get(name, [])) / of_line[name] for name in row["at"]) if measured else 0
        k = kinds[kind_of(row["call"])]
        k[0] += row["us"]
        k[1] += row["got"]

    def rate(row, us):
        return f"{row['size'] / us / (1e6 if row['unit'] == 'Tflop/s' else 1e3):7.0f} {row['unit']:7s}" if us >= 0.1 else " " * 15

    head = "calls  predicted ms      us      rate        " + ("  measured ms      us      rate          " if measured else "") + "class"
    print(head)
    order = sorted(rows.items(), key=lambda x: -max(x[1]["us"], x[1]["got"]))
    for label, row in order[:40]:
        line = f"{row['n']:5d} {row['us'] / 1e3:13.3f} {row['us'] / row['n']:7.1f} {rate(row, row['us'])}"
        if measured:
            line += f"  {row['got'] / 1e3:11.3f} {row['got'] / row['n']:7.1f} {rate(row, row['got'])}"
        print(line, "", label)
    for kind, (us, got) in sorted(kinds.items(), key=lambda x: -x[1][0]):
        print(f"{kind:16s} {us / 1e3:9.2f} ms" + (f" predicted, {got / 1e3:9.2f} measured" if measured else ""))
    print(f"step             {p.plan['predicted_ms']:9.2f} ms predicted, hidden {p.plan['hidden_ms']:.2f}")


main()
