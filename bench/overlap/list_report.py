#!/usr/bin/env python3
"""What overlap-bench measured of pairs as lists of tiles, beside chunks, sequences and others.

    bench/overlap/list_report.py FILE.jsonl:PLANNED[:PRICED[:STORED]]… [--beside FILE.jsonl]…

PLANNED: what pair_chunks wrote for --chunks; PRICED: for --also (pair_chunks --each, --stored);
STORED: pair_chunks --stores. --beside: what overlap-base and torch_overlap.py measured of the same
shapes. A line a shape, ms: what was planned, what would be with such lists (allowed), what the
runtime kept, the planner's chunks, its list, the best lists by stores and in parts of k of PRICED,
the fastest sequence, the best chunks tried, bare pushes, torch's fused operator; whether chunks, the
list or the sequence was planned first (c, L, s), S, P if it would be a list by stores, in parts of
k, and which. Below it, each list of PRICED: ms, price / measured. Then, of each set of
shapes and of all, geometric means of time / limit, of the planner's over others, of price / measured.
The limit is max(matmul, the fastest collective) of overlap-bench's process.
"""

import math
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from overlap_report import least, mean, read  # noqa: E402

ORDER = ("planned", "allowed", "run", "chunks", "list", "stores", "parts", "seq", "tried", "bare", "torch")
TRITON = {"triton-down": 0.923}  # Triton-distributed's time / torch's, published for H100s


def lines_of(path):
    """{(kind, name, chunks and list): ms}, and {(kind, name): (the planner's first line, ms)}."""
    price, first = {}, {}
    for text in open(path):
        what, _, ms = text.partition("#")
        kind, name, form, *rest = what.split()
        took = float(ms.split()[0]) if ms else None
        first.setdefault((kind, name), (form, " ".join(rest), took))
        if ms:
            price[kind, name, " ".join(rest)] = took
    return price, first


def first_is_list(text):
    return "|" in text and int(text.split("|")[1].split()[1]) & 8


def list_of(text):
    """The list of a line of pair_chunks, but for whether it is first."""
    form, how, *groups = text.split("|")[1].split()
    return " ".join([form, str(int(how) & ~8), *groups])


def how_of(text):
    return int(text.split("|")[1].split()[1]) if "|" in text else 0


def by_stores(text):
    return how_of(text) & 16


def new(text):
    """A way that the planner does not plan yet: by stores, in parts of k."""
    return how_of(text) & 48


def show(x):
    return f"{x['ms']:.4f}" if x else "-"


def spread(name, values):
    return f"  {name}: {mean(values):.3f} of {len(values)}, {min(values):.3f} to {max(values):.3f}"


class Ratios:
    """Of shapes: {what: [(ratio, shape)]}."""

    def __init__(self):
        self.of = {}

    def add(self, kind, what, x, over, name):
        if x and over:
            self.of.setdefault((kind, what), []).append((x / over, name))

    def merge(self, other):
        for key, values in other.of.items():
            self.of.setdefault(key, []).extend(values)

    def tell(self):
        for (kind, what), values in sorted(self.of.items()):
            only = [v for v, _ in values]
            text = spread(f"{kind} {what}", only)
            if "price" in what:
                logs = [math.log(x) for x in only]
                text += f", deviation {statistics.pstdev(logs):.3f}"
            elif what.startswith("planned / "):
                worst = max(values)
                text += f" ({worst[1]}), median {statistics.median(only):.3f}"
            print(text)
        for what, most in (("planned / seq or chunks", 1.03), ("planned / torch", 1.02)):
            over = [f"{k} {n} {v:.3f}" for (k, w), x in sorted(self.of.items()) if w == what for v, n in x if v > most]
            print(f"  more than {most} of {what}: {', '.join(over) or 'none'}")


def measured(rows, text, allowed):
    """Of a shape: what each way took."""
    pairs = [x for x in rows if x["by"] == "hapc" and x["method"] == "pair"]
    ours = [x for x in rows if x["by"] == "hapc"]
    bare, torch = ([x for x in rows if x["by"] == by] for by in ("bare", "torch"))
    has = {
        "seq": least(ours, method="sequential"),
        "chunks": least(pairs, chosen="planner", tiles=False, list=None),
        "list": least(pairs, chosen="planner", tiles=False, list=True),
        "run": least(pairs, chosen="planner", tiles=True, list=None),
        "tried": least(pairs, chosen="tried", tiles=False),
        "stores": least(pairs, chosen="also", chunks=by_stores),
        "parts": least(pairs, chosen="also", chunks=lambda text: how_of(text) & 48 == 32),
        "bare": least(bare, method="push pair"),
        "torch": least(torch, method="fused"),
    }
    has["planned"] = (has["list"] if first_is_list(text) else has["chunks"]) or has["seq"]
    if not has["run"]:
        has["run"] = has["planned"]
    has["allowed"] = None
    if allowed is not None:
        other = first_is_list(allowed) and new(allowed)
        has["allowed"] = has["planned"] if not other else least(
            pairs, chosen="also", chunks=lambda text: new(text) and list_of(text) == list_of(allowed))
    return has


def tell_lists(rows, kind, name, prices, ratios):
    also = [x for x in rows if x.get("chosen") == "also" and "ms" in x]
    for x in sorted(also, key=lambda x: x["ms"]):
        price = prices.get((kind, name, " ".join(x["chunks"].split())))
        if price:
            ratios.add(kind, "list's price / measured", price, x["ms"], name)
            print(f"    {x['chunks'].split('|')[1].strip()} {x['ms']:.4f} / {price / x['ms']:.3f}")


def tell_shape(key, rows, planned, prices, allowed, ratios):
    _, kind, m, n, k, _, name = key
    may = allowed.get((kind, name), (None, None, None))[1]
    _, text, price = planned.get((kind, name), ("sequential", "", None))
    ours = [x for x in rows if x["by"] == "hapc"]
    put, product = least(ours, method="collective"), least(ours, method="matmul")
    if not put or not product:
        print(f"{kind} {m} {n} {k} {name} not measured")
        return
    limit, has = max(put["ms"], product["ms"]), measured(rows, text, may)
    size = "limit under 0.2" if limit < 0.2 else "limit over 0.4" if limit > 0.4 else None
    ms = {way: has[way]["ms"] for way in ORDER if has[way]}
    for way in ms:
        ratios.add(kind, f"{way} / limit", ms[way], limit, name)
        if size and way in ("planned", "allowed", "run"):
            ratios.add(kind, f"{way} / limit, {size}", ms[way], limit, name)
    plain = min(ms[w] for w in ("seq", "chunks") if w in ms)
    ratios.add(kind, "planned / seq or chunks", ms["planned"], plain, name)
    ratios.add(kind, "run / seq or chunks", ms["run"], plain, name)
    ratios.add(kind, "planned / quickest", ms["planned"], min(ms[w] for w in ("seq", "chunks", "list", "run") if w in ms), name)
    if "allowed" in ms:
        ratios.add(kind, "allowed / quickest", ms["allowed"], min(ms[w] for w in ("seq", "chunks", "list", "run", "stores", "parts") if w in ms), name)
        ratios.add(kind, "allowed / seq or chunks", ms["allowed"], plain, name)
    ratios.add(kind, "parts / list", ms.get("parts"), ms.get("list"), name)
    if "stores" in ms:
        either = min(ms["planned"], ms["stores"])
        ratios.add(kind, "stores / planned", ms["stores"], ms["planned"], name)
        for what in ["", *([size] if size else [])]:
            ratios.add(kind, f"planned or stores / limit{', ' * bool(what)}{what}", either, limit, name)
    ratios.add(kind, "planned / torch", ms["planned"], ms.get("torch"), name)
    ratios.add(kind, "run / torch", ms["run"], ms.get("torch"), name)
    ratios.add(kind, "planned / bare", ms["planned"], ms.get("bare"), name)
    ratios.add(kind, "price / measured", price, ms["planned"], name)
    ways = "" if not may or not first_is_list(may) else "SP" if new(may) == 48 else {16: "S", 32: "P"}.get(new(may), "")
    letter = "L" if first_is_list(text) else "c" if has["chunks"] else "s"
    beside = f" (Triton-distributed / torch: {TRITON[name]})" if name in TRITON else ""
    print(f"{kind} {m} {n} {k} {name} mm {show(product)} put {show(put)} {put['form']} lim {limit:.4f} "
          f"{' '.join(f'{way} {show(has[way])}' for way in ORDER)} {ms['planned'] / limit:.2f} {letter}{ways} {text}{beside}")  # fmt: skip
    tell_lists(rows, kind, name, prices, ratios)


def main():
    sets, beside, wrong, every = [], {}, 0, Ratios()
    words = iter(sys.argv[1:])
    for word in words:
        if word == "--beside":
            for key, rows in read(next(words))[1].items():
                beside.setdefault(key, []).extend(rows)
        else:
            sets.append(word.split(":"))
    for path, plan, *more in sets:
        shapes, (_, planned), ratios = read(path)[1], lines_of(plan), Ratios()
        prices = lines_of(more[0])[0] if more else {}
        allowed = lines_of(more[1])[1] if len(more) > 1 else {}
        print(f"-- {path}: kind, M, N, K, name, ms")
        for key in sorted(shapes):
            rows = shapes[key] + beside.get(key, [])
            wrong += sum(x["wrong"] for x in rows)
            tell_shape(key, rows, planned, prices, allowed, ratios)
        ratios.tell()
        every.merge(ratios)
    if len(sets) > 1:
        print(f"-- all {len(sets)} sets")
        every.tell()
    print(f"#wrong {wrong}")


if __name__ == "__main__":
    main()
