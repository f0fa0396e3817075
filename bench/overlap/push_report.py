"""Tables of push_bench with --ways: python3 push_report.py LOG

Of each kind a row for each way: bus GB/s and, in brackets, times the library's at each size; then the fit of the sizes from 16 MiB on,
ms = a + bytes / bandwidth, least squares of relative errors: a in us, GB/s of the fit. A way with cuts=K sends each message in K:
what a message more takes is by how much that is slower than the same way without, at the median of the sizes. Last, the way of
the largest geometric mean of times the library's, over all kinds and sizes from 64 MiB on, of those without a wrong value."""
import json
import math
import re
import statistics
import sys


def fit(points):  # [(bytes, sec)] -> (a, bytes a second)
    sw = sx = sy = sxx = sxy = 0.0
    for x, y in points:
        w = 1 / y**2
        sw, sx, sy, sxx, sxy = sw + w, sx + w * x, sy + w * y, sxx + w * x * x, sxy + w * x * y
    slope = (sw * sxy - sx * sy) / (sw * sxx - sx * sx)
    return (sy - slope * sx) / sw, 1 / slope


def without_cuts(way):
    return ",".join(w for w in way.split(",") if not w.startswith(("cuts=", "least=")))


def main():
    rows, ranks, wrong = {}, 0, []
    for line in open(sys.argv[1], errors="replace"):
        if not line.startswith('{"kind"'):
            continue
        x = json.loads(line)
        ranks = x["ranks"]
        way = x.get("way", x["form"] if x["form"].startswith("PUSH") else "library")
        rows.setdefault(x["kind"], {}).setdefault(way, {})[x["mib"]] = x
        if x["wrong"] > 0 or x.get("fits") is False:
            wrong.append((x["kind"], way, x["mib"], x["wrong"]))
    for kind, ways in rows.items():
        sizes = sorted({mib for at in ways.values() for mib in at})
        print(f"\n{kind}, {ranks} ranks, bf16: bus GB/s (times the library's)\n")
        print("| way | " + " | ".join(f"{mib:g} MiB" for mib in sizes) + " | a, us | fitted GB/s | a message, us |")
        print("|---" * (len(sizes) + 4) + "|")
        for way, at in ways.items():
            cells = [f"{at[m]['bus_gbs']:.0f} ({at[m]['to_library']:.3f})" if m in at else "" for m in sizes]
            points = [(at[m]["mib"] * 2**20 * (ranks - 1) / ranks, at[m]["ms"] / 1e3) for m in sizes if m in at and m >= 16 and at[m]["ms"] > 0]
            a, speed = fit(points) if len(points) > 2 else (float("nan"), float("nan"))
            cuts, base, message = re.search(r"cuts=(\d+)", way), ways.get(without_cuts(way)), ""
            if cuts and base:  # an extra message of each of the ranks - 1
                more = (int(cuts[1]) - 1) * (ranks - 1)
                message = f"{statistics.median((at[m]['ms'] - base[m]['ms']) * 1e3 / more for m in sizes if m in at and m in base):.1f}"
            print(f"| {way} | " + " | ".join(cells) + f" | {a * 1e6:.1f} | {speed / 1e9:.0f} | {message} |")
        best = {m: max((w for w in ways if w != "library" and m in ways[w]), key=lambda w: ways[w][m]["bus_gbs"]) for m in sizes}
        print("\nfastest: " + "; ".join(f"{m:g} MiB {best[m]} {ways[best[m]][m]['to_library']:.3f}" for m in sizes))
    print(f"\nwrong: {wrong or 'none'}")
    gain = {}
    for ways in rows.values():
        for way, at in ways.items():
            gain.setdefault(way, []).extend(math.log(x["to_library"]) for m, x in at.items() if m >= 64)
    right = [w for w in gain if gain[w] and w != "library" and "cuts=" not in w and w not in {x[1] for x in wrong}]
    if right:
        best = max(right, key=lambda w: statistics.fmean(gain[w]))
        print(f"best: {best} {math.exp(statistics.fmean(gain[best])):.3f}")


main()
