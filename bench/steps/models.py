"""Models that steps plan and run with hapc: rows, plans, runs and what they print."""

import json
import os
import re
import shutil
import statistics
import subprocess

import numpy as np

def causal(tokens, low, high):
    return {"input_ids": ((tokens,), low, high), "labels": "input_ids"}


def crowd(rows, tokens, experts):
    """What each token of a row chooses, two of the experts: every second token the first one, and the others as
    evenly as may be. Added to a router's numbers, it decides."""
    numbers, others, token = np.zeros((tokens, experts), np.float32), experts - 1, np.arange(tokens)
    pair = token // 2
    numbers[token, np.where(token % 2, 1 + 2 * pair % others, 0)] = 60
    numbers[token, 1 + np.where(token % 2, 2 * pair + 1, pair) % others] = 60
    return np.broadcast_to(numbers, (rows, tokens, experts))


def experts(tokens, words, graph, crowded=False):
    choice = {"crowd": ((tokens, 8), crowd, None)} if crowded else {}
    return 4, {**causal(tokens, 0, words), **choice}, graph


def images(name="x"):
    return {name: ((3, 224, 224), None, None), "labels": ((), 0, 1000)}


# rows a device, inputs, graph (of the pack, if it has no folder). An input is the shape of a row and the
# numbers from … to; floats, if they are None; what a function makes; or what another input is.
MODELS = {
    "gpt2": (32, causal(1024, 0, 50257), "gpt2.json"),
    "long": (1, causal(32768, 0, 50257), "long.json"),
    "llama": (8, causal(2048, 0, 128256), "llama.json"),
    "llama8b": (3, causal(2048, 0, 128256), "llama8b.json"),
    "mixtral": experts(1024, 32000, "mixtral.json"),
    "mixtral_crowd": experts(1024, 32000, "mixtral_crowd.json", True),
    "mixtral_slim_crowd": experts(1024, 4000, "mixtral_slim_crowd.json", True),
    "mixtral_tiny": experts(32, 256, "mixtral_tiny.json"),
    "mixtral_tiny_crowd": experts(32, 256, "mixtral_tiny_crowd.json", True),
    "qwen": (16, causal(1024, 0, 151936), "qwen.json"),
    "vit": (64, images("pixel_values"), "vit.json"),
    "vgg19": (64, images(), "vgg19.json"),
    "vgg_tiny": (8, {"x": ((3, 32, 32), None, None), "labels": ((), 0, 10)}, "vgg_tiny.json"),
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
            if callable(x[1]):
                np.save(path, x[1](*shape))
            elif x[1] is None:
                np.save(path, rng.standard_normal(shape, np.float32))
            else:
                np.save(path, rng.integers(x[1], x[2], shape))
        options += [what, f"{name}={path}"]
    return options


def token_rows(path):
    """Of a causal language model, whose labels are its tokens."""
    return ["--input", f"input_ids={path}", "--input", f"labels={path}"]


def on_all(m, path):
    """A cluster file with as many devices as there are: each kind's share of them. Measured ones hold for any number."""
    with open(path) as f:
        text = f.read()
    n = sum(int(x) for x in re.findall(r"count: (\d+)", text))
    if n in (0, m.gpus):
        return path
    curves = re.search(r'(?m)^measured: *"?([^"\n]*)"?', text)
    if curves:
        shutil.copy(os.path.join(os.path.dirname(path), curves.group(1)), m.work)
    name, kind = os.path.splitext(os.path.basename(path))
    to = m.path(f"{name}.x{m.gpus}{kind}")
    with open(to, "w") as f:
        f.write(re.sub(r"count: (\d+)", lambda x: f"count: {int(x.group(1)) * m.gpus // n}", text))
    return to


def device_of(m):
    """H100 or H200, as they are here."""
    said = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True,
                          text=True).stdout if m.backend == "cuda" else ""
    return "H100" if "H100" in said else "H200"


def cluster(m, n, sms=0, hosts=1):
    """One host of n GPUs, by the data sheet; the second half of them on so many SMs (emulated). Of more hosts
    (emulated) it is the halves, on sockets."""
    if m.backend == "cpu":
        return f"clusters/laptop{'1' if n == 1 else '2x2-peers' if hosts > 1 else ''}.yaml"
    model, some = device_of(m), n // 2
    name = f"{model.lower()}x{n}{'-mixed' if sms else ''}{'-sockets' if hosts > 1 else ''}"
    devices = (f"{{model: {model}, count: {n - some}}}, {{model: {model}, count: {some}, sms: {sms}}}" if sms else
               f"{{model: {model}, count: {n}}}")
    emulate = f"    emulate: {{hosts: {hosts}}}\nnetwork: {{bandwidth: 7 GB/s, latency: 50 us}}\n" if hosts > 1 else ""
    path = m.path(f"{name}.yaml")
    with open(path, "w") as f:
        f.write(f"name: {name}\nmachines:\n  - name: host\n    devices: [{devices}]\n"
                f"    link: {{bandwidth: 370 GB/s, latency: 3 us}}\n{emulate}source: datasheet\n")
    return path


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


def precision(m):
    return "bf16" if m.backend == "cuda" else "fp32"


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
