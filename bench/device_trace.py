#!/usr/bin/env python3
"""Seconds by op of the last step of a trace written by `hapc run --trace` (each call waited for)."""

import collections
import json
import sys

trace = json.load(open(sys.argv[1]))
events = [e for e in (trace["traceEvents"] if isinstance(trace, dict) else trace) if e.get("ph") == "X"]
total, count = collections.Counter(), collections.Counter()
steps = max(1, sum(e["name"] == "nll_sum" for e in events))
for e in events[len(events) // steps * (steps - 1):]:
    total[e["name"]] += e["dur"] / 1e3
    count[e["name"]] += 1
print(f"one step, each call waited for: {sum(total.values()):.2f} ms")
for name, ms in total.most_common(24):
    print(f"  {name:20s} {ms:8.3f} ms  {count[name]:4d} calls")
