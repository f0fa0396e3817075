#!/usr/bin/env python3
"""Deep steps on unlike devices, each as it is and with one thing more: what makes a step slower that should
not. The long form of the property test, which draws small steps.

    bench/plan deep [--graphs a,b] [--clusters c,d] [--changes x,y] [--json OUT] [--against OUT]

A line a step: ms as it is, then each change as a share of that, and processor seconds in all. The last
lines: steps that a change made slower by more than 0.5 %. --against compares with what --json wrote. Exit 1:
there are such steps.
"""

import argparse
import json
import math
import re
import sys
import tempfile

from plan_table import ROOT, cluster_path, measure

GRAPHS = ["llama24", "bert24", "moe24", "gpt64", "gpti30", "gpt12w", "llama32"]
CLUSTERS = ["a100x2-v100x2", "v100x2-p100x6", "hap-paper", "rtx4x2", "h8a16", "l4t8", "tiers3"]
SLOWER, OTHER = 1.005, 1.003
SECONDS = 300  # of one plan


def times(key, factor, lines):
    """Each number behind a key times a factor, in the lines that hold `lines`."""

    def change(text):
        def line(x):
            put = lambda m: f"{m[1]}{float(m[2]) * factor:.6g}"  # noqa: E731
            return re.sub(rf"({key}: )([\d.]+)", put, x) if lines in x else x

        return "\n".join(map(line, text.split("\n")))

    return change


def device_more(group):
    """One more device in each machine of a group."""

    def change(text):
        counts = list(re.finditer(r"model: [^}]*?count: (\d+)", text))
        if group >= len(counts):
            return text
        m = counts[group]
        return text[: m.start(1)] + str(int(m[1]) + 1) + text[m.end(1) :]

    return change


def more_memory(factor):
    with open(f"{ROOT}/clusters/devices.yaml") as f:
        sizes = dict(re.findall(r"^(\S+):\n.*?memory: ([\d.]+) GB", f.read(), re.M | re.S))

    def change(text):
        put = lambda m: f"model: {m[1]}, memory: {float(sizes[m[1]]) * factor:.6g} GB"  # noqa: E731
        return re.sub(r"model: ([\w-]+)", put, text)

    return change


CHANGES = {
    "latency": times("latency", 0.5, "latency"),
    "network": times("bandwidth", 1.5, "network:"),
    "links": times("bandwidth", 1.5, " link:"),
    "first": device_more(0),
    "second": device_more(1),
    "memory": more_memory(1.2),
}


def step(hapc, graph, cluster, text, scratch):
    """(ms or None, processor seconds) of a graph on a cluster that is given as text."""
    path = f"{scratch}/{cluster}.yaml"
    with open(path, "w") as f:
        f.write(text)
    row = measure(hapc, {"graph": graph, "cluster": path, "options": [], "name": graph}, SECONDS, scratch)
    return row.get("ms"), row["seconds"]


def compare(found, path):
    with open(path) as f:
        before = json.load(f)
    both = [k for k in found if found[k][0] and before.get(k, [None])[0]]
    mean = math.exp(sum(math.log(found[k][0] / before[k][0]) for k in both) / len(both))
    print(f"{len(both)} steps as in {path}: {mean:.4f} times that on average; processor seconds: "
          f"{sum(before[k][1] for k in both):.0f} before, {sum(found[k][1] for k in both):.0f} now")  # fmt: skip
    for k in sorted(both, key=lambda k: found[k][0] / before[k][0]):
        share = found[k][0] / before[k][0]
        if max(share, 1 / share) > OTHER:
            print(f"    {share:.3f}  {k}: {before[k][0]:.6g} -> {found[k][0]:.6g} ms")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("hapc")
    p.add_argument("--graphs", default=",".join(GRAPHS))
    p.add_argument("--clusters", default=",".join(CLUSTERS))
    p.add_argument("--changes", default=",".join(CHANGES))
    p.add_argument("--json")
    p.add_argument("--against")
    o = p.parse_args()
    found, slower = {}, []
    with tempfile.TemporaryDirectory() as scratch:
        for graph in o.graphs.split(","):
            for cluster in o.clusters.split(","):
                with open(cluster_path(cluster)) as f:
                    text = f.read()
                name = f"{graph}@{cluster}"
                ms, seconds = found[name] = step(o.hapc, graph, cluster, text, scratch)
                line = [f"{name:24}", f"{ms:9.6g} ms" if ms else "  no plan   "]
                for change in o.changes.split(","):
                    other = CHANGES[change](text)
                    if other == text:
                        continue
                    x = found[f"{name} {change}"] = step(o.hapc, graph, cluster, other, scratch)
                    seconds += x[1]
                    share = (x[0] or math.inf) / ms if ms else 0
                    line.append(f"{change} {share:.3f}")
                    if share > SLOWER:
                        slower.append(f"    {share:.3f}  {name} {change}")
                print("  ".join(line), f" {seconds:.1f} s", flush=True)
    print(f"{len(slower)} of {sum(' ' in k for k in found)} changes made a step slower by more than 0.5 %")
    print("\n".join(sorted(slower, reverse=True)))
    if o.json:
        with open(o.json, "w") as f:
            json.dump(found, f, indent=1)
    if o.against:
        compare(found, o.against)
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
