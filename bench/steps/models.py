"""Models that steps plan and run with hapc: rows, plans, runs and what they print."""

import json
import os
import re
import statistics

import numpy as np

# rows a device, tokens, ids from … to, graph (of the pack, if it has no folder)
MODELS = {
    "gpt2": (32, 1024, 0, 50257, "gpt2.json"),
    "long": (1, 32768, 0, 50257, "long.json"),
    "llama": (8, 2048, 0, 128256, "llama.json"),
    "qwen": (16, 1024, 0, 151936, "qwen.json"),
    "bert": (64, 128, 1, 30522, "examples/bert/graph.json"),
    "gpt2-tiny": (8, 32, 1, 190, "examples/gpt2-tiny/graph.json"),
    "bert-tiny": (8, 32, 1, 190, "examples/bert-tiny/graph.json"),
}


def rows_of(model):
    return MODELS[model][0]


def tokens_of(model):
    return MODELS[model][1]


def graph_of(m, model):
    graph = MODELS[model][4]
    return graph if "/" in graph else os.path.join(m.pack, graph)


def ids(m, model, n_rows=None):
    """The file of a model's rows: for four steps of a device, or so many."""
    rows, tokens, low, high, _ = MODELS[model]
    path = m.path(f"{model}.npy")
    rng = np.random.default_rng(0)
    np.save(path, rng.integers(low, high, (n_rows or 4 * rows, tokens), dtype=np.int64))
    return path


def inputs(path):
    return ["--input", f"input_ids={path}", "--input", f"labels={path}"]


def cluster(m, n):
    """One host of n H200s, by the data sheet."""
    path = m.path(f"h200x{n}.yaml")
    with open(path, "w") as f:
        f.write(f"name: h200x{n}\nmachines:\n  - name: host\n    devices: [{{model: H200, count: {n}}}]\n"
                "    link: {bandwidth: 370 GB/s, latency: 3 us}\nsource: datasheet\n")
    return path


def plan(m, name, graph, cluster_file, *options, limit=120):
    """The folder of a plan, or None, said."""
    folder = m.path(f"plan.{name}")
    done = m.run(f"plan.{name}", [m.hapc, graph, cluster_file, *options, "-o", folder], limit)
    if done.ok:
        return folder
    m.failed(f"plan.{name}", done.tail(3))
    return None


def plan_said(m, name, *patterns):
    """The first line of the report for each pattern."""
    with open(m.path(f"plan.{name}.log"), errors="replace") as f:
        text = f.read()
    found = (re.search(f"(?m)^.*{p}.*$", text) for p in patterns)
    return [x.group(0).strip()[:200] for x in found if x]


class Run:
    """Lines of `hapc run --json`: losses, milliseconds, and what -v said."""

    def __init__(self, lines, done):
        self.lines, self.done = lines, done
        self.losses = [x["loss"] for x in lines if "loss" in x]
        self.ms = [x["ms"] for x in lines if "ms" in x]

    def median(self, skip=10):
        return f"{statistics.median(self.ms[skip:]):.2f}" if len(self.ms) > skip else "none"

    def some_losses(self):
        at = sorted({0, 4, 26, len(self.losses) - 1})
        return " ".join(f"{self.losses[i]:.5f}" for i in at if 0 <= i < len(self.losses))

    def said(self, pattern, n=4):
        return [x[:300] for x in self.done.text().splitlines() if re.search(pattern, x)][:n]


def read_lines(path):
    lines = []
    with open(path, errors="replace") as f:
        for line in f:
            try:
                lines.append(json.loads(line))
            except ValueError:
                pass
    return lines


def go(m, name, folder, *options, cuda="", limit=100):
    """Runs a plan. `cuda`: options of --cuda, as graph=on,fuse=off."""
    out = m.path(f"{name}.jsonl")
    if m.backend == "cuda" and cuda:
        options += ("--cuda", cuda)
    done = m.run(name, [m.hapc, "run", folder, "--backend", m.backend, "--json", "-v", *options],
                 limit, out=out)
    if not done.ok:
        m.failed(name, [f"exit {done.code}", *done.tail(4)])
    return Run(read_lines(out), done)
