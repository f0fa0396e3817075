#!/usr/bin/env python3
"""One table of what overlap-bench, overlap-base and overlap_torch.py printed.

    bench/overlap/overlap_report.py FILE.jsonl [--lines | PRICES]

--lines: the groupings that were timed, as bench/`bench/plan groups --price` takes them; PRICES: what it
says of them, compared with what they took.
Columns in ms, medians of the slowest rank; behind a slash the time over the limit.

What a device that power binds takes depends on what it did before, by up to 15 %. So the limit,
max(product alone, the faster of NCCL and push alone), the sequences, the planner's pair and the
best tried are of one process, overlap-bench, which times them in turns; ratios among them are of
one heat. Bare cuBLASLt with NCCL and pushes (overlap-base: chunks, beside push, bare pushes) and
torch (its fused operator, the faster of as called and with launches hidden) are of processes of
their own, with the same pauses and turns; "product alone" over theirs says what such ratios carry.
The planner's means the fastest sequence where the planner has no pair. Pairs are as programs run
them: in chunks or by tiles, which is quicker where they are rehearsed; "in chunks" are the same
groupings in chunks alone.
"""

import json
import math
import sys

ORDER = {"AG": 0, "RS": 1, "AR": 2}


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def read(path):
    heads, shapes = [], {}
    for line in open(path):
        if not line.startswith("{"):
            print(line.rstrip()[:200])
            continue
        x = json.loads(line)
        if "method" not in x:
            heads.append(x)
            continue
        key = (ORDER[x["kind"]], x["kind"], x["m"], x["n"], x["k"], x["ranks"], x["name"])
        shapes.setdefault(key, []).append(x)
    return heads, shapes


def least(rows, **want):
    """The fastest of the rows that have these values (functions: that they hold for)."""
    found = [
        x
        for x in rows
        if "ms" in x and all(v(x.get(k)) if callable(v) else x.get(k) == v for k, v in want.items())
    ]
    return min(found, key=lambda x: x["ms"], default=None)


def of(rows, method):
    found = least(rows, method=method)
    return found and found["ms"]


def line(x):
    """A grouping as bench/planner/pair_chunks.c writes it: weights of 1 are left out."""
    groups = " ".join(g[:-2] if g.endswith("*1") else g for g in x["chunks"].split())
    return f"{x['kind']} {x['name']} {x['form'].lower()} {groups}"


def compare_prices(path, shapes):
    prices = {}
    for text in open(path):
        what, _, ms = text.partition("#")
        if ms:
            prices[" ".join(what.split())] = float(ms.split()[0])
    ratio = {}
    for key, rows in shapes.items():
        pairs = [x for x in rows if x["by"] == "hapc" and x["method"] == "pair" and "ms" in x and line(x) in prices]
        for x in pairs:
            over = math.log(prices[line(x)] / x["ms"])
            ratio.setdefault(key[1] + (" planner's" if x["chosen"] == "planner" else " tried"), []).append((over, key[-1]))
        for x, y in ((x, y) for x in pairs for y in pairs if line(x) < line(y)):
            told, took = (math.log(t(x) / t(y)) for t in (lambda p: prices[line(p)], lambda p: p["ms"]))
            if abs(took) > 0.03:
                ratio.setdefault(key[1] + " order", []).append((told * took > 0, key[-1]))
    for what, values in sorted(ratio.items()):
        only = [v for v, _ in values]
        if what.endswith("order"):
            print(f"{what}: of {len(only)} groupings that differ by 3 %, two at a time, {sum(only)} in the order of their prices")
            continue
        m = sum(only) / len(only)
        sd = math.sqrt(sum((v - m) ** 2 for v in only) / len(only))
        (low, of_low), (high, of_high) = min(values), max(values)
        print(f"{what} price / measured: geometric mean {math.exp(m):.3f} of {len(only)}, deviation {sd:.3f}, "
              f"{math.exp(low):.3f} ({of_low}) to {math.exp(high):.3f} ({of_high})")  # fmt: skip


def by_put(form):
    return form.startswith("PUT")


def cell(x, limit):
    return f"{x['ms']:.3f}/{x['ms'] / limit:.2f}" if x else "-"


def main():
    heads, shapes = read(sys.argv[1])
    if sys.argv[2:] == ["--lines"]:
        rows = [x for rows in shapes.values() for x in rows if x["by"] == "hapc" and x["method"] == "pair"]
        print("\n".join(sorted({line(x) for x in rows})))
        return
    for h in heads:
        print(" ".join(f"{k} {v}" for k, v in h.items()))
    titles = ["shape", "product", "NCCL", "push (GB/s, x NCCL)", "limit", "sequential", "chunks", "beside push",
              "torch", "bare pushes", "planner's", "best tried", "groups: planner's | best"]  # fmt: skip
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    ratio, slower, wrong = {}, [], 0
    for key in sorted(shapes):
        _, kind, m, n, k, ranks, name = key
        rows = shapes[key]
        wrong += sum(x["wrong"] for x in rows)
        ours = [x for x in rows if x["by"] == "hapc" and x.get("compared", True)]
        bare = [x for x in rows if x["by"] == "bare"]
        theirs = [x for x in rows if x["by"] == "torch"]
        product = least(ours, method="matmul")
        nccl = least(ours, method="collective", form=lambda f: not by_put(f))
        push = least(ours, method="collective", form=by_put)
        if not product or not (nccl or push):
            print(f"| {kind} {m} {n} {k} /{ranks} {name} | not measured |")
            continue
        limit = max(product["ms"], min(x["ms"] for x in (nccl, push) if x))
        alone = least([x for x in rows if not x.get("held")], method="matmul")["ms"]
        moved = [x["ms"] for x in rows if x["method"] in ("collective", "nccl", "push", "push all") and "ms" in x]
        lowest = max(alone, min(moved))
        sequential = least(ours, method="sequential")
        library = least(ours, method="sequential", form=lambda f: not by_put(f))
        torch = least(theirs, method="fused")
        pairs = [x for x in ours if x["method"] == "pair"]
        chunked = [x for x in pairs if not x.get("tiles") and not x.get("list")]
        pairs = [x for x in pairs if x.get("tiles")] or pairs
        planned, best = least(pairs, chosen="planner"), least(pairs)
        same, best_chunked = least(chunked, chosen="planner"), least(chunked)
        chosen = planned or sequential
        chunks = least(bare, method=lambda t: t.startswith("chunks"))
        wire = m * (k if kind == "AG" else n) * 2 * (ranks - 1) / ranks * (2 if kind == "AR" else 1) / 1e6
        print(
            f"| {kind} {m} {n} {k} /{ranks} {name} | {product['ms']:.3f} | {nccl['ms'] if nccl else math.nan:.3f} | "
            + (f"{push['ms']:.3f} ({wire / push['ms']:.0f}, {nccl['ms'] / push['ms']:.2f})" if push and nccl else "-")
            + f" | {limit:.3f} | "
            + " | ".join(cell(x, limit) for x in (sequential, chunks, least(bare, method="beside push"), torch,
                                                  least(bare, method="push pair"), chosen, best))
            + f" | {planned['chunks'].strip() if planned else 'sequential'} | {best['chunks'].strip() if best else '-'} |"
        )  # fmt: skip
        for what, x, over in (
            ("planner's / limit", chosen, limit),
            ("best tried / limit", best, limit),
            ("planner's in chunks / limit", same or sequential, limit),
            ("best tried in chunks / limit", best_chunked, limit),
            ("planner's / the same in chunks", planned, same and same["ms"]),
            ("best tried / best tried in chunks", best, best_chunked and best_chunked["ms"]),
            ("fastest sequential / limit", sequential, limit),
            ("planner's / lowest limit of all processes", chosen, lowest),
            ("planner's / sequential by NCCL", chosen, library and library["ms"]),
            ("planner's / fastest sequential", chosen, sequential and sequential["ms"]),
            ("planner's / bare sequential", chosen, of(bare, "seq")),
            ("planner's / torch", chosen, torch and torch["ms"]),
            ("planner's / chunks", chosen, chunks and chunks["ms"]),
            ("product alone / bare", product, of(bare, "matmul")),
            ("product alone / torch", product, of([x for x in theirs if not x["held"]], "matmul")),
            ("NCCL / push", nccl, push and push["ms"] if wire > 48 else None),
        ):
            if x and over:
                ratio.setdefault((kind, what), []).append((x["ms"] / over, name))
        if planned and sequential and planned["ms"] > 1.01 * sequential["ms"]:
            slower.append(f"{kind} {name} {planned['ms'] / sequential['ms']:.3f}")
    for (kind, what), values in ratio.items():
        only = [v for v, _ in values]
        worst = max(values)
        print(f"{kind} {what}: geometric mean {mean(only):.3f} of {len(only)}, {min(only):.3f} to {worst[0]:.3f} ({worst[1]})")
    print(f"pairs of the planner's more than 1 % slower than the fastest sequence: {', '.join(slower) or 'none'}")
    if len(sys.argv) > 2:
        compare_prices(sys.argv[2], shapes)
    print(f"#wrong {wrong}")


if __name__ == "__main__":
    main()
