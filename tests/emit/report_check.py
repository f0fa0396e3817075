#!/usr/bin/env python3
"""Checks a plan folder's plan.json, report.html and report.txt against each other.

report_check.py DIR: plan.json against docs/plan.schema.json; its sums; the page's data against it;
the page reads nothing else, and no name in it can be obeyed. Says what is wrong; exit 1 then.
"""
import html.parser
import json
import math
import os
import re
import sys

WRONG = []


def wrong(words):
    WRONG.append(words)


TYPES = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
    "integer": int, "number": (int, float),
}


def is_type(value, name):
    if isinstance(value, bool) and name != "boolean":
        return False
    return isinstance(value, TYPES[name])


def validate(value, schema, at):
    """The part of JSON Schema that docs/plan.schema.json uses; any other key is an error."""
    known = {"$schema", "title", "description", "type", "additionalProperties", "required",
             "properties", "items", "oneOf", "enum", "const", "minimum", "maximum", "minItems", "maxItems"}
    if set(schema) - known:
        return wrong(f"schema {at}: {set(schema) - known}")
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_type(value, t) for t in types):
        return wrong(f"{at}: {value!r:.60} is no {types}")
    if "const" in schema and value != schema["const"]:
        wrong(f"{at}: {value!r}")
    if "enum" in schema and value not in schema["enum"]:
        wrong(f"{at}: {value!r}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not math.isfinite(value) or value < schema.get("minimum", -math.inf) or \
                value > schema.get("maximum", math.inf):
            wrong(f"{at}: {value}")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf):
            wrong(f"{at}: {len(value)} items")
        for i, item in enumerate(value):
            validate(item, schema.get("items", {}), f"{at}[{i}]")
    if "oneOf" in schema and sum(all(k in value for k in s["required"]) for s in schema["oneOf"]) != 1:
        wrong(f"{at}: not the keys of one of " + ", ".join(s["description"] for s in schema["oneOf"]))
    if isinstance(value, dict):
        properties, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
        for key in schema.get("required", []):
            if key not in value:
                wrong(f"{at}: no {key}")
        for key, item in value.items():
            if key in properties:
                validate(item, properties[key], f"{at}.{key}")
            elif rest is False:
                wrong(f"{at}: {key} is not in the schema")
            elif isinstance(rest, dict):
                validate(item, rest, f"{at}.{key}")


def near(a, b, words, share=1e-3):
    if abs(a - b) > share * max(abs(a), abs(b), 1e-9) + 1e-9:
        wrong(f"{words}: {a} and {b}")


def check_plan(p):
    step = p["predicted_ms"]
    for c in p["classes"]:
        # Of several micro-batches the page shows each at the last one's times.
        share = 1e-3 if p["micro_batches"] == 1 else 1e-2
        near(c["compute_ms"] + c["exposed_ms"] + c["waiting_ms"], step, c["name"] + ": time", share)
        near(sum(c["phases_ms"]), c["compute_ms"], c["name"] + ": phases", share)
        m = c["memory"]
        if len(m["over_step"]) != 160:
            wrong(f"{c['name']}: {len(m['over_step'])} moments")
        kinds = ["parameters", "optimizer", "activations", "gradients", "sending"]
        total = sum(m[k] for k in kinds)
        near(max(sum(b) for b in m["over_step"]), total, c["name"] + ": fullest moment", 1e-6)
        if total > 1.01 * c["peak_bytes"] + 4096:
            wrong(f"{c['name']}: {total} live bytes in an arena of {c['peak_bytes']}")
    busiest = max(p["classes"], key=lambda c: c["compute_ms"])
    sends = [i for i in p["instructions"] if i["call"].startswith("coll_")]
    near(sum(i["exposed_ms"] for i in sends), busiest["exposed_ms"], "exposed time", 5e-3)
    for i in sends:
        if i["exposed_ms"] > 1.001 * (i["end_ms"][0] - i["begin_ms"][0]) + 1e-6 and not p["pairs"]:
            wrong(f"line {i['line']}: exposed longer than it takes")
    for i in p["instructions"]:
        if any(e > step * 1.000001 + 1e-9 for e in i.get("end_ms", [])):
            wrong(f"line {i['line']}: ends behind the step")
    for t in p["tensors"]:
        for cut in t.get("cuts", []):
            if cut >= len(p["cuts"]):
                wrong(f"{t['id']}: no cut {cut}")
    for name, ms in p["baselines"].items():
        if (ms is None) != (name in p["baselines_why"]):
            wrong(f"baseline {name}: {ms}, and a reason: {p['baselines_why'].get(name)}")
        if ms is not None and p["strategy_option"] == "auto" and ms < step * 0.9999:
            wrong(f"baseline {name} is faster: {ms}")
    others = [ms for ms in p["baselines_kept"].values() if ms] + \
        [p["one_device"]["ms"]] if "one_device" in p else []
    for ms in others:
        if p["strategy_option"] == "auto" and not p["pins"] and ms < step * 0.9999:
            wrong(f"another plan is faster: {ms}")
    for r in p["ranks"]:
        if r["dropped"] != ("dropped_because" in r):
            wrong(f"rank {r['cluster_rank']}: dropped without a reason, or the other way round")


def unpack(v):
    """Lists as emit/packed_list.h writes them."""
    out, i = [], 1
    while i < len(v):
        if v[i] >= 0:
            out.append(v[i])
            i += 1
            continue
        for _ in range(-v[i]):
            out.append(out[-v[i + 1]])
        i += 2
    return [x - v[0] for x in out]


def check_timeline(p, d):
    """Every lane of the page against begin and end in plan.json."""
    step, tl = p["predicted_ms"], d["tl"]
    def takes(i):
        return max([b - a for a, b in zip(i.get("begin_ms", []), i.get("end_ms", []))] or [0])

    calls, line, rest = [], 0, iter(p["instructions"])
    for x in unpack(tl["s"]): # what takes less than the digits of plan.json may be on the page
        line += x
        for i in rest:
            if "begin_ms" in i and i["line"] == line:
                calls.append(i)
                break
            if takes(i) > 0:
                return wrong(f"line {i['line']} is not on the page, or in another place")
        else:
            return wrong(f"plan.json has no call of line {line} where the page has it")
    if any(takes(i) > 0 for i in rest):
        wrong("the page ends early")
    for lane in tl["lanes"]:
        row, at, times, last = 0, 0, unpack(lane["g"]), {}
        for k, x in enumerate(unpack(lane["i"])):
            row += x
            begin = (at + times[2 * k]) * tl["tick"]
            at += times[2 * k] + times[2 * k + 1]
            last[row] = (begin, at * tl["tick"])
        c = lane.get("c", 0)
        if p["micro_batches"] > 1:
            continue  # one that begins early cuts the one before off
        for row, (begin, end) in last.items():
            if abs(begin - calls[row]["begin_ms"][c]) > 1e-4 * step or \
                    abs(end - calls[row]["end_ms"][c]) > 1e-4 * step:
                wrong(f"page, line {calls[row]['line']}: runs at another time")
                return


def check_page(p, d):
    near(d["ms"], p["predicted_ms"], "page: step", 1e-8)
    for mine, theirs in zip(d["classes"], p["classes"]):
        for key in ("compute_ms", "exposed_ms", "waiting_ms"):
            near(mine[key], theirs[key], f"page: {key} of {mine['name']}",
                 1e-8 if p["micro_batches"] == 1 else 1e-2)
    if d["verdict"] != list(p["verdict"].values()):
        wrong("page: another verdict")
    here = {(a["id"], a["kept"], a["other"]): a["ms"] for a in d["alternatives"]}
    for (name, kept, other), ms in here.items():
        theirs = p["one_device"]["ms"] if name == "one" else p["baselines_best"][name]["ms"] \
            if other else p["baselines_kept" if kept else "baselines"][name]
        if (ms is None) != (theirs is None) or (ms is not None and abs(ms - theirs) > 1e-6 * ms):
            wrong(f"page: {name} takes {ms}, in plan.json {theirs}")
    simple = [a for a in d["alternatives"] if a["simple"] and a["ms"] is not None]
    best = min(simple, key=lambda a: a["ms"], default=None)
    if best and best["where"] not in p["verdict"]["brings"]:
        wrong(f"the verdict does not compare with {best['name']}, {best['where']}")
    beside = best and best["id"] != "one" and d["kept"] > 1 and best["ms"] > 1.0051 * p["predicted_ms"]
    if beside and not re.search(r" (Beside that it|It cuts by the same things, in other) ", p["verdict"]["brings"]):
        wrong("the verdict does not say what differs from the best simple alternative")
    sends = [i for i in p["instructions"] if i["call"].startswith("coll_")]
    near(sum(c["exposed_ms"] for c in d["colls"]), sum(i["exposed_ms"] for i in sends),
         "page: exposed", 1e-6)
    if sum(c["n"] for c in d["colls"]) != len(sends):
        wrong("page: another number of collectives")
    near(sum(sum(m["t"]) for m in d["modules"]),
         max(sum(c["phases_ms"]) for c in p["classes"]), "page: time of modules", 0.02)
    near(sum(s["share"] for s in d["shares"]), 1, "page: shares")
    check_timeline(p, d)


def check_stages(p, d, trace):
    """A plan of stages: times add up, page and trace have each call as often and as long as the plan."""
    step, by_name = p["predicted_ms"], {}
    for c, mine in zip(p["classes"], d["classes"]):
        near(c["compute_ms"] + c["exposed_ms"] + c["waiting_ms"], step, c["name"] + ": time", 1e-6)
        near(mine["compute_ms"], c["compute_ms"], "page: computing", 1e-6)
        m = c["memory"]
        total = sum(m[k] for k in ("parameters", "optimizer", "activations", "gradients", "sending"))
        if total > 1.01 * c["peak_bytes"] + 4096:
            wrong(f"{c['name']}: {total} live bytes in an arena of {c['peak_bytes']}")
    for s, mine in zip(p["stages"], d["stages"]):
        near(s["bubble"], 1 - s["busy_ms"] / step, "bubble", 1e-6)
        near(mine["busy_ms"], s["busy_ms"], "page: busy", 1e-6)
        if s["busy_ms"] > step * 1.000001:
            wrong("a stage is busy for longer than the step")
    near(d["ms"], step, "page: step", 1e-8)
    if d["verdict"] != list(p["verdict"].values()):
        wrong("page: another verdict")
    best = next((a for a in d["alternatives"] if a["id"] == "whole"), None)
    if (best is None) != (p["without_stages_ms"] is None):
        wrong("page: no plan without stages")
    elif best:
        near(best["ms"], p["without_stages_ms"], "page: without stages", 1e-6)
    for i in p["instructions"]:
        if i["line"] > 0 and "begin_ms" in i:
            name = f"{i['call'].removesuffix('_start')}:{i['line']}"
            for c, k in enumerate(p["classes"]):
                at = 0 if len(i["ms"]) == 1 else c
                if k["stage"] == i["stage"] and i["end_ms"][at] > i["begin_ms"][at]:
                    own = by_name.setdefault((name, c), [0, 0])
                    own[0] += i.get("times", 1)
                    own[1] += i.get("times", 1) * (i["end_ms"][at] - i["begin_ms"][at])
    seen = {}
    for e in trace["traceEvents"]:
        if e["ph"] == "X" and not e["name"].endswith(":0"):
            own = seen.setdefault((e["name"], e["pid"]), [0, 0])
            own[0] += 1
            own[1] += e["dur"] / 1e3
    if seen.keys() != by_name.keys():
        wrong(f"trace.json: other calls, as {sorted(seen.keys() ^ by_name.keys())[:3]}")
    for key, (count, ms) in by_name.items():
        if seen.get(key, (0, 0))[0] != count:
            wrong(f"trace.json: {key} {seen.get(key)} times, {count} in plan.json")
        elif abs(seen[key][1] - ms) > 1e-3 * ms + 1e-3 * count:
            wrong(f"trace.json: {key} takes {seen[key][1]} ms, {ms} in plan.json")
    on_way = sum(x["n"] for x in d["ports"])
    lanes = [x for x in d["tl"]["lanes"] if x.get("t", "").startswith("messages")]
    if sum(len(unpack(x["i"])) for x in lanes) > on_way:
        wrong("page: more messages than ports have")
    for lane in d["tl"]["lanes"]:
        if sum(unpack(lane["g"])) * d["tl"]["tick"] > step * 1.00001:
            wrong("page: a lane ends behind the step")
    near(sum(c["n"] for c in d["colls"]), sum("form" in i for i in p["instructions"]), "page: collectives")


class Elements(html.parser.HTMLParser):
    """Elements and attributes of the shell."""

    def __init__(self):
        super().__init__()
        self.tags, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("src", "href")]
        if any(k.startswith("on") for k, _ in attrs):
            wrong(f"page: a handler on {tag}")


OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def check_shell(text):
    page = Elements()
    page.feed(text)
    if page.links != ["data:,"]:
        wrong(f"page: reads {page.links}")
    if page.tags.count("script") != 3 or "img" in page.tags:
        wrong(f"page: elements {sorted(set(page.tags))}")
    if re.search(r"https?://(?!www\.w3\.org/2000/svg)", text):
        wrong("page: an address of a network")
    if OBEYED.search(text):
        wrong(f"page: a character that is obeyed, {OBEYED.search(text)[0]!r}")
    if len(text.encode()) > 2e6:
        wrong(f"page: {len(text.encode())} bytes")
    words = re.search(r"const GLOSSARY = \{(.*?)\n\};", text, re.S)[1]
    terms = set(re.findall(r"^    '([^']+)':", words, re.M))
    for key in re.findall(r"\bterm\('([^']+)'", text):
        if key not in terms:
            wrong(f"page: no meaning of '{key}'")


def main():
    folder = sys.argv[1]
    read = lambda name: open(os.path.join(folder, name), encoding="utf-8").read()
    p = json.loads(read("plan.json"))
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(root, "docs", "plan.schema.json"), encoding="utf-8") as f:
        validate(p, json.load(f), "plan")
    text = read("report.html")
    check_shell(text)
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1]
    if "stages" in p:
        check_stages(p, json.loads(data), json.loads(read("trace.json")))
    else:
        check_plan(p)
        check_page(p, json.loads(data))
    report = read("report.txt")
    if OBEYED.search(report):
        wrong("report.txt: a character that is obeyed")
    head = report.split("\n---\n")[0].split("\n")
    if len(head) > 24 or max(len(line) for line in head) > 80:
        wrong(f"report.txt: a verdict of {len(head)} lines")
    for line in WRONG[:20]:
        print(f"{folder}: {line}")
    sys.exit(1 if WRONG else 0)


main()
