#!/usr/bin/env python3
"""Other legal orders of the slots of a program of stages, in its place.

    other_orders.py PROGRAM.c SEED

Every stage does at random what it can: forward what has come up, backward what has come down, weight gradients
that are apart; each in ascending order, no more micro-batches under way than its ring has places. What all stages
do is one sequence in time, so none waits for ever.
"""

import random
import re
import sys

path, seed = sys.argv[1], int(sys.argv[2])
text = open(path).read()
draw = random.Random(seed)
TABLE = re.compile(r"(static const hap_slot slots_(\d+)\[\] = \{)(.*?)(\};)", re.S)
tables = {int(m[2]): m[3] for m in TABLE.finditer(text)}
n = len(tables)
assert n > 1 and sorted(tables) == list(range(n)), tables.keys()
places = [int(re.search(r"slots_%d\[k\]\.m;\s*hap_ring\(r, \(int\)\(m %% (\d+)\)\)" % s, text)[1]) for s in range(n)]
micro = max(map(int, re.findall(r"HAP_FORWARD\((\d+)\)", tables[0]))) + 1
apart = ["HAP_WEIGHTS" in tables[s] for s in range(n)]
forward, back, weights = [0] * n, [0] * n, [0] * n  # next, by stage
done = [[] for _ in range(n)]
while True:
    can = []
    for s in range(n):
        ended = weights[s] if apart[s] else back[s]
        if forward[s] < micro and (s == 0 or forward[s] < forward[s - 1]) and forward[s] - ended < places[s]:
            can.append((s, forward, "HAP_FORWARD"))
        if back[s] < forward[s] and (s == n - 1 or back[s] < back[s + 1]):
            can.append((s, back, "HAP_BACK"))
        if apart[s] and weights[s] < back[s]:
            can.append((s, weights, "HAP_WEIGHTS"))
    if not can:
        break
    s, kind, name = draw.choice(can)
    done[s].append(f"{name}({kind[s]})")
    kind[s] += 1
assert all(len(done[s]) == (3 if apart[s] else 2) * micro for s in range(n)), done
text = TABLE.sub(lambda m: m[1] + ", ".join(done[int(m[2])]) + m[4], text)
open(path, "w").write(text)
