#!/usr/bin/env python3
"""Milliseconds by op of the last step of a trace written by `hapc run --trace` (each call waited
for; earlier steps choose algorithms), and by kind of op, of the first and the last rank.
Usage: trace_ops.py TRACE [LIST]: LIST gets each call of the first."""

import collections
import json
import sys

DENSE = {"linear", "linear_dw", "matmul", "sdpa", "sdpa_bwd", "dispatch", "combine", "dispatch_dw"}
MOVES = {"reshape", "transpose", "split", "concat", "slice", "pad", "expand", "full", "cut", "partial", "cast"}
UPDATE = {"sgd", "momentum", "adam", "sumsq", "clip_scale"}

trace = json.load(open(sys.argv[1]))
# A call that is recorded or passes by takes no time.
events = [e for e in (trace["traceEvents"] if isinstance(trace, dict) else trace) if e.get("ph") == "X" and e["dur"] >= 1]
for e in events: # "op_linear:256": the row and its line in program.c
    e["name"], _, e["line"] = e["name"].removeprefix("op_").partition(":")
    ops = [e["name"]] + [x.removeprefix("op_").partition(":")[0] for x in e.get("args", {}).get("joined", [])]
    # One kernel of several ops goes by those that are no casts.
    e["name"] = "+".join(list(dict.fromkeys(x for x in ops if x != "cast"))[:5]) or "cast"


def last_step(events):
    """The calls inside the last step."""
    step = max((e for e in events if e["name"] == "step"), key=lambda e: e["ts"])
    return [e for e in events if e is not step and step["ts"] <= e["ts"] < step["ts"] + step["dur"]]


ranks = sorted({e["pid"] for e in events})
for rank in sorted({ranks[0], ranks[-1]}):
    last = last_step([e for e in events if e["pid"] == rank])
    total, count, kinds, worst = (collections.Counter() for _ in range(4))
    for e in last:
        name, ms = e["name"], e["dur"] / 1e3
        first = name.partition("+")[0]
        kind = ("products" if first in DENSE else "moves and casts" if name in MOVES else
                "optimizer" if first in UPDATE else "collectives" if e["tid"] == 1 else
                "rows and points")
        total[name] += ms
        count[name] += 1
        kinds[kind] += ms
        worst[name] = max(worst[name], ms)
    print(f"rank {rank}, one step, each call waited for: {sum(total.values()):.2f} ms;",
          ", ".join(f"{k} {v:.2f}" for k, v in kinds.most_common()))
    for name, ms in total.most_common(24):
        print(f"  {name:60s} {ms:8.3f} ms  {count[name]:4d} calls, longest {worst[name]:.3f}")
    if len(sys.argv) > 2 and rank == ranks[0]:
        with open(sys.argv[2], "w") as out:
            for e in last:
                print(e["name"], e["line"], f"{e['dur'] / 1e3:.4f}", sep="\t", file=out)
