"""Models that steps plan and run with hapc: rows, plans, runs and what they print."""

import json
import os
import re
import statistics

import numpy as np

def causal(tokens, low, high):
    return {"input_ids": ((tokens,), low, high), "labels": "input_ids"}


def images(name="x"):
    return {name: ((3, 224, 224), None, None), "labels": ((), 0, 1000)}


# rows a device, inputs, graph (of the pack, if it has no folder). An input is the shape of a row and the
# numbers from … to; floats, if they are None; or what another input is.
MODELS = {
    "gpt2": (32, causal(1024, 0, 50257), "gpt2.json"),
    "long": (1, causal(32768, 0, 50257), "long.json"),
    "llama": (8, causal(2048, 0, 128256), "llama.json"),
    "llama8b": (3, causal(2048, 0, 128256), "llama8b.json"),
    "qwen": (16, causal(1024, 0, 151936), "qwen.json"),
    "vit": (64, images("pixel_values"), "vit.json"),
    "vgg19": (64, images(), "vgg19.json"),
    "resnet50": (256, images(), "resnet50.json"),
    "convnext": (128, images("pixel_values"), "convnext.json"),
    "t5": (32, {"input_ids": ((512,), 1, 32128), "labels": ((128,), 1, 32128)}, "t5.json"),
    "bert": (64, causal(128, 1, 30522), "examples/bert/graph.json"),
    "gpt2-tiny": (8, causal(32, 1, 190), "examples/gpt2-tiny/graph.json"),
    "bert-tiny": (8, causal(32, 1, 190), "examples/bert-tiny/graph.json"),
}


def rows_of(model):
    return MODELS[model][0]


def size_of(model, n=1):
    """Of a step on n devices: "32 x 1024 tokens"."""
    shapes = [x[0] for x in MODELS[model][1].values() if not isinstance(x, str)]
    each = " and ".join("x".join(map(str, s)) for s in shapes if s)
    return f"{rows_of(model) * n} x {each} {'pixels' if len(shapes[0]) > 1 else 'tokens'}"


def graph_of(m, model):
    graph = MODELS[model][2]
    return graph if "/" in graph else os.path.join(m.pack, graph)


def inputs(m, model, n_rows=None, what="--input"):
    """Options for files of a model's rows: for four steps of a device, or so many."""
    options, rng = [], np.random.default_rng(0)
    for name, x in MODELS[model][1].items():
        path = m.path(f"{model}.{x if isinstance(x, str) else name}.npy")
        if not isinstance(x, str):
            shape = (n_rows or 4 * rows_of(model), *x[0])
            floats = x[1] is None
            np.save(path, rng.standard_normal(shape, np.float32) if floats else rng.integers(x[1], x[2], shape))
        options += [what, f"{name}={path}"]
    return options


def token_rows(path):
    """Of a causal language model, whose labels are its tokens."""
    return ["--input", f"input_ids={path}", "--input", f"labels={path}"]


def cluster(m, n, sms=0):
    """One host of n GPUs, by the data sheet; the second half of them on so many SMs (emulated)."""
    name = f"{m.gpu.lower()}x{n}-mixed" if sms else f"{m.gpu.lower()}x{n}"
    path, some = m.path(f"{name}.yaml"), n // 2
    devices = (f"{{model: {m.gpu}, count: {n - some}}}, {{model: {m.gpu}, count: {some}, sms: {sms}}}" if sms else
               f"{{model: {m.gpu}, count: {n}}}")
    with open(path, "w") as f:
        f.write(f"name: {name}\nmachines:\n  - name: host\n    devices: [{devices}]\n"
                "    link: {bandwidth: 370 GB/s, latency: 3 us}\nsource: datasheet\n")
    return path


def of_gpus(m, path):
    """A cluster file of H200s as one of the GPUs that are there."""
    if m.gpu == "H200":
        return path
    with open(path) as f:
        text = f.read().replace("model: H200", f"model: {m.gpu}").replace("h200x", f"{m.gpu.lower()}x")
    here = m.path(os.path.basename(path).replace("h200x", f"{m.gpu.lower()}x"))
    with open(here, "w") as f:
        f.write(text)
    return here


def plan(m, name, graph, cluster_file, *options, limit=120):
    """The folder of a plan, or None, said."""
    folder = m.path(f"plan.{name}")
    done = m.run(f"plan.{name}", [m.hapc, graph, cluster_file, *options, "-o", folder], limit)
    if done.ok:
        return folder
    m.failed(f"plan.{name}", done.tail(3))
    return None


def plan_said(folder, *patterns):
    """The first line of the report for each pattern."""
    with open(os.path.join(folder, "report.txt"), errors="replace") as f:
        text = f.read()
    found = (re.search(f"(?m)^.*{p}.*$", text) for p in patterns)
    return [x.group(0).strip()[:200] for x in found if x]


def predicted_ms(folder):
    with open(os.path.join(folder, "plan.json")) as f:
        return json.load(f)["predicted_ms"]


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
