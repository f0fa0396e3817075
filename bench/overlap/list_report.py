#!/usr/bin/env python3
"""What overlap-bench measured of pairs as lists of tiles, beside chunks and sequences.

    bench/overlap/list_report.py FILE.jsonl PLANNED [PRICED]

PLANNED: what pair_chunks wrote for --chunks; PRICED: for --also (pair_chunks --each). A line a shape,
ms: matmul, push, limit, fastest sequence, the planner's chunks, its list, what the runtime kept of the
two, the best chunks tried; whether chunks or the list were planned first (c, L), and which. Below it,
each list of PRICED: ms, price / measured. Then geometric means of time / limit, and of the planner's
over the quickest measured.
"""

import math
import sys

from overlap_report import least, mean, read


def lines_of(path):
    """{(kind, name, chunks and list): ms}, and {(kind, name): the planner's first line}."""
    price, first = {}, {}
    for text in open(path):
        what, _, ms = text.partition("#")
        kind, name, _, *rest = what.split()
        first.setdefault((kind, name), " ".join(rest))
        if ms:
            price[kind, name, " ".join(rest)] = float(ms.split()[0])
    return price, first


def first_is_list(text):
    return "|" in text and int(text.split("|")[1].split()[1]) & 8


def show(x):
    return f"{x['ms']:.4f}" if x else "-"


def spread(name, values):
    return f"  {name}: {mean(values):.3f} of {len(values)}, {min(values):.3f} to {max(values):.3f}"


def main():
    _, shapes = read(sys.argv[1])
    _, planned = lines_of(sys.argv[2])
    prices = lines_of(sys.argv[3])[0] if len(sys.argv) > 3 else {}
    ratios, over, wrong = {}, {}, 0
    for key in sorted(shapes):
        _, kind, m, n, k, _, name = key
        rows, text = shapes[key], planned.get((kind, name), "")
        wrong += sum(x["wrong"] for x in rows)
        pairs = [x for x in rows if x["method"] == "pair"]
        put, product = least(rows, method="collective"), least(rows, method="matmul")
        if not put or not product:
            print(f"{kind} {m} {n} {k} {name} not measured")
            continue
        limit = max(put["ms"], product["ms"])
        seq = least(rows, method="sequential")
        mine = {way: least(pairs, chosen="planner", tiles=tiles, list=of_list)
                for way, tiles, of_list in (("chunks", False, None), ("list", False, True), ("run", True, None))}  # fmt: skip
        tried = least(pairs, chosen="tried", tiles=False)
        first = mine["list"] if first_is_list(text) else mine["chunks"]
        has = {"seq": seq, **mine, "planned": first or seq, "tried": tried}
        for way, x in has.items():
            if x:
                ratios.setdefault((kind, way), []).append(x["ms"] / limit)
        quickest = min(x["ms"] for x in [seq, *mine.values()] if x)
        ratios.setdefault((kind, "planned / quickest"), []).append(has["planned"]["ms"] / quickest)
        print(f"{kind} {m} {n} {k} {name} mm {show(product)} put {show(put)} lim {limit:.4f} "
              f"{' '.join(f'{way} {show(x)}' for way, x in has.items())} "
              f"{has['planned']['ms'] / limit:.2f} {'L' if first_is_list(text) else 'c'} {text}")  # fmt: skip
        for x in sorted((x for x in pairs if x["chosen"] == "also" and "ms" in x), key=lambda x: x["ms"]):
            price = prices.get((kind, name, " ".join(x["chunks"].split())))
            if price:
                over.setdefault(kind, []).append(price / x["ms"])
                print(f"    {x['chunks'].split('|')[1].strip()} {x['ms']:.4f} / {price / x['ms']:.3f}")
    for (kind, way), values in sorted(ratios.items()):
        print(spread(f"{kind} {way}", values))
    for kind, values in sorted(over.items()):
        logs = [math.log(x) for x in values]
        middle = sum(logs) / len(logs)
        off = math.sqrt(sum((x - middle) ** 2 for x in logs) / len(logs))
        print(spread(f"{kind} price / measured", values) + f", deviation {off:.3f}")
    print(f"#wrong {wrong}")


main()
