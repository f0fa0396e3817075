#!/usr/bin/env python3
"""What messages between stages took in the last step of a trace of `hapc run --trace`, beside what the plan says.
Usage: trace_ports.py PLAN TRACE

A message's time is measured where a rank waited for it: from when it was handed to the port, or the port had brought
the one before, to when it was there. Computing is what a rank's calls took but those that send or receive."""

import collections
import json
import os
import re
import sys

PLAN, TRACE = sys.argv[1:3]
WAITED = 200  # us in a receive, from which on it waited


def ports_of_lines():
    """By line of program.c: send or recv, and the port. A call may go over several lines."""
    found = {}
    with open(os.path.join(PLAN, "program.c")) as f:
        text = f.read()
    for call in re.finditer(r"op_(send|recv)\(r, [^;]*?, (\d+), [^,;()]*\);", text):
        found[str(text.count("\n", 0, call.start()) + 1)] = call.group(1), int(call.group(2))
    return found


def last_step(events):
    """By rank: its calls in the last step that all ranks have, in order."""
    steps = collections.defaultdict(list)
    for e in events:
        if e["tid"] == 3:
            steps[e["pid"]].append((e["ts"], e["ts"] + e["dur"]))
    calls = {rank: [e for e in events if e["pid"] == rank and e["tid"] == 0 and begin <= e["ts"] < end]
             for rank, (begin, end) in ((rank, max(x)) for rank, x in steps.items())}
    return {rank: sorted(x, key=lambda e: e["ts"]) for rank, x in calls.items()}


def main():
    with open(os.path.join(PLAN, "plan.json")) as f:
        plan = json.load(f)
    with open(TRACE) as f:
        trace = json.load(f)
    events = [e for e in (trace["traceEvents"] if isinstance(trace, dict) else trace) if e.get("ph") == "X"]
    lines, calls = ports_of_lines(), last_step(events)
    sent, got = collections.defaultdict(list), collections.defaultdict(list)  # by port: calls of each rank
    for rank, mine in calls.items():
        ends = [(e, *lines[e["name"].partition(":")[2]]) for e in mine
                if re.match("op_(send|recv):", e["name"]) and e["name"].partition(":")[2] in lines]
        for port in {p for _, _, p in ends}:
            for way, out in (("send", sent), ("recv", got)):
                here = [e for e, w, p in ends if (w, p) == (way, port)]
                if here:
                    out[port].append(here)
        work = sum(e["dur"] for e in mine) / 1e3
        waits = sum(e["dur"] for e, way, _ in ends if way == "recv") / 1e3
        sends = sum(e["dur"] for e, way, _ in ends if way == "send") / 1e3
        stage = max((s for s in plan["stages"] if s["first_rank"] <= rank), key=lambda s: s["first_rank"])
        print(f"rank {rank}: {work - waits - sends:.1f} ms at work (predicted {stage['busy_ms']:.1f}), {waits:.1f} in receives "
              f"({stage['waits_ms']:.1f}), {sends:.2f} in sends")
    for port, x in enumerate(plan["ports"]):
        took, free = [], 0
        for k in range(min((len(r) for r in sent[port] + got[port]), default=0)):
            left = max(r[k]["ts"] for r in sent[port])  # a send's call begins when all before it is done
            there = max(r[k]["ts"] + r[k]["dur"] for r in got[port])
            if max(r[k]["dur"] for r in got[port]) >= WAITED:
                took.append((there - max(left, free)) / 1e3)
            free = there
        rate = f", {x['bytes'] / min(took) / 1e6:.2f} GB/s at most" if took and min(took) > 0 else ""
        print(f"port {port} ({x['value']}, {x['when']}, {x['bytes'] / 1e6:.1f} MB): predicted {x['ms']:.2f} ms; "
              f"waited for {len(took)}: {' '.join(f'{t:.2f}' for t in took)}{rate}")


main()
