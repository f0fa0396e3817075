"""GPT-2 124M trained on a real text with evaluation, by hapc and by PyTorch at once."""

import json
import os

from steps import models
from steps.models import plan, read_lines
from steps.speed import line

# 4 rows of 1024 tokens a step; bench/torch/torch_text.py has the same.
ROWS, STEPS, EVERY, RATE, WARMUP = 4, 2000, 500, 3e-4, 100


def text_graph(m):
    with open(models.graph_of(m, "gpt2")) as f:
        graph = json.load(f)
    graph["optimizer"].update(lr=RATE, clip_norm=1.0, schedule={"warmup": WARMUP, "cosine": STEPS})
    path = m.path("text.json")
    with open(path, "w") as f:
        json.dump(graph, f)
    return path


def text(m):
    """2000 steps of GPT-2 on the pack's text with evaluation: losses beside PyTorch's"""
    folder = plan(m, "text", text_graph(m), models.cluster(m, 1), "--batch", str(ROWS), "--precision", "bf16", "-q")
    if not folder:
        return
    tokens, start, metrics = os.path.join(m.pack, "text"), m.path("start.safetensors"), m.path("hapc.text.jsonl")
    rows = models.token_rows(f"{tokens}/train.bin")
    run = [m.hapc, "run", folder, "--backend", m.backend, *rows]
    made = m.run("text.start", [*run, "--steps", "0", "--seed", "1", "--save", start], 60)
    if not made.ok:
        m.failed("text", made.tail(4))
        return
    held = [x.replace("--input", "--eval").replace("train.bin", "held.bin") for x in rows]
    mine = m.start("text.hapc", [*run, "--init", start, "--steps", str(STEPS), *held, "--eval-every", str(EVERY),
                                 "--metrics", metrics])
    other = m.start("text.torch", ["python3", "bench/torch/torch_text.py", m.work, tokens, str(STEPS), str(EVERY)],
                    plain=True)
    ends = [m.wait(p, 240) for p in (mine, other)]
    os.remove(start)
    if all(x.ok for x in ends):
        compare(m, read_lines(metrics), read_lines(m.path("torch.text.jsonl")))
    for name, x in zip(("hapc", "torch"), ends):
        if not x.ok:
            m.failed(f"text.{name}", x.tail(6))


def compare(m, mine, other):
    a, b = ([x for x in lines if "loss" in x] for lines in (mine, other))
    worst, every = 0, STEPS // 10
    for at in range(0, STEPS, every):
        x, y = (sum(r["loss"] for r in run[at : at + every]) / every for run in (a, b))
        worst = max(worst, abs(x / y - 1))
        line(m, f"text, steps {at} to {at + every - 1}: hapc {x:.4f}, PyTorch {y:.4f} ({100 * (x / y - 1):+.2f} %)")
    each = max(abs(x["loss"] / y["loss"] - 1) for x, y in zip(a, b))
    norms = max(abs(x["grad_norm"] / y["grad_norm"] - 1) for x, y in zip(a[:20], b[:20]))
    for x, y in zip([r for r in mine if "eval_loss" in r], [r for r in other if "eval_loss" in r]):
        off = x["eval_loss"] / y["eval_loss"] - 1
        worst = max(worst, abs(off))
        line(m, f"text, evaluation at {x['step']}: hapc {x['eval_loss']:.4f}, PyTorch {y['eval_loss']:.4f} ({100 * off:+.2f} %)")
    line(m, f"text: {len(a)} and {len(b)} steps, the largest difference of means and evaluations {100 * worst:.2f} %, of "
            f"a step {100 * each:.2f} %, of the first 20 gradient norms {100 * norms:.3f} %")
    if not worst <= 0.01 or len(a) != STEPS or len(b) != STEPS:
        m.failed("text", ["losses are more than 1 % apart, or steps are missing"])
