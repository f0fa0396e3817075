#!/usr/bin/env python3
"""Reference training runs in plain PyTorch: tests/torch/NAME/ for those of RUNS.

    make_references.py [NAME...]           README.md says what the files hold

The module itself is trained (not its graph), in fp32 on one CPU thread, with torch.optim.AdamW.
"""

from __future__ import annotations

import json
import math
import os
import sys
from fnmatch import fnmatchcase

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "examples"))
sys.path.insert(0, os.path.join(HERE, "..", "graphs"))
sys.path.insert(0, HERE)
import make_experts  # noqa: E402
import models  # noqa: E402
import philox  # noqa: E402
from hap_export import load_into, safetensors  # noqa: E402

SEED = 1  # of the initial weights: hapc run --seed 1
#       steps, rows of the input files, init committed
RUNS = {
    "mlp": (20, 96, False),
    "gpt2-tiny": (20, 40, True),
    "bert-tiny": (20, 40, True),
    "bert-moe-tiny": (20, 40, False),
    "vit-tiny": (20, 20, False),
    "routed": (20, 40, False),
    "gpt2": (2, 16, False),
}


def make_inputs(name: str, e: models.Example, rows: int) -> dict[str, np.ndarray]:
    """Rows of data that can be learnt, labels to be ignored among them, unevenly many a row."""
    rng = np.random.default_rng(7)
    if name == "mlp":
        label = rng.integers(0, e.vocab, rows)
        centre = rng.normal(size=(e.vocab, 784))
        image = 0.3 * (0.1 * centre[label] + rng.normal(size=(rows, 784)))
        label[rng.random(rows) < 0.1] = -100
        return {"image": image.astype(np.float32), "label": label}
    if name == "vit-tiny":
        label = rng.integers(0, e.vocab, rows)
        shape = e.inputs["image"].shape[1:]
        image = rng.normal(size=(e.vocab, *shape))[label] + rng.normal(size=(rows, *shape))
        label[rng.random(rows) < 0.1] = -100
        return {"image": image.astype(np.float32), "label": label}
    length = e.inputs["input_ids"].shape[1]
    n = e.vocab - e.low
    step = rng.integers(1, 4, (rows, 1))
    ids = rng.integers(0, n, (rows, 1)) + step * np.arange(length)
    ids = np.where(rng.random((rows, length)) < 0.2, rng.integers(0, n, (rows, length)), ids) % n + e.low
    labels = ids.copy()
    if name == "bert-tiny":  # masked language model: the rate differs from row to row, some rows have none
        masked = rng.random((rows, length)) < rng.choice([0.0, 0.1, 0.3], (rows, 1))
        masked[0, :3] = True
        labels[~masked] = -100
        ids[masked] = e.vocab - 1
    else:
        labels[rng.random((rows, length)) < 0.1] = -100
    return {"input_ids": ids.astype(np.int64), "labels": labels.astype(np.int64)}


def make_optimizer(module, o: dict) -> torch.optim.Optimizer:
    """AdamW with one group a parameter; of the graph's groups the first that matches wins."""
    groups = []
    for name, p in module.named_parameters():
        group = next((g for g in o.get("groups", ()) if any(fnmatchcase(name, m) for m in g["match"])), {})
        decay = group.get("weight_decay", o.get("weight_decay", 0))
        groups.append({"params": [p], "weight_decay": decay, "lr_scale": group.get("lr_scale", 1.0)})
    assert o["name"] == "adamw"
    return torch.optim.AdamW(groups, lr=o["lr"], betas=tuple(o["betas"]), eps=o["eps"], foreach=False)


def rate(o: dict, step: int) -> float:
    """The learning rate of step 0, 1, ...: README.md."""
    s = o.get("schedule", {})
    warmup, cosine, low = s.get("warmup", 0), s.get("cosine", 0), s.get("min_lr", 0.0)
    if step < warmup:
        return o["lr"] * (step + 1) / warmup
    if not cosine:
        return o["lr"]
    part = min(1.0, (step - warmup) / max(1, cosine - warmup))
    return o["lr"] * (low + (1 - low) * 0.5 * (1 + math.cos(math.pi * part)))


def train(e: models.Example, o: dict, inputs: dict, steps: int) -> dict:
    module, rows = e.module, len(next(iter(inputs.values())))
    batch = len(next(iter(e.inputs.values())))
    optimizer = make_optimizer(module, o)
    out = {"losses": [], "lr": [], "grad_norms": {}, "grads": {}}
    for step in range(steps):
        at = torch.arange(step * batch, (step + 1) * batch) % rows
        loss = module(**{k: torch.from_numpy(v)[at] for k, v in inputs.items()})
        loss = loss if isinstance(loss, torch.Tensor) else loss[0]
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            out["grads"] = {n: p.grad.clone() for n, p in module.named_parameters()}
            out["grad_norms"] = {n: float(g.norm()) for n, g in out["grads"].items()}
        if o.get("clip_norm"):
            torch.nn.utils.clip_grad_norm_(module.parameters(), o["clip_norm"])
        for group in optimizer.param_groups:
            group["lr"] = rate(o, step) * group["lr_scale"]
        optimizer.step()
        out["losses"].append(loss.item())
        out["lr"].append(rate(o, step))
    return out


def make(name: str) -> None:
    steps, rows, keep_init = RUNS[name]
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    file = lambda f: os.path.join(folder, f)  # noqa: E731
    path = os.path.join(HERE, "..", "graphs", name + ".json")
    own = os.path.exists(path)
    with open(path if own else os.path.join(HERE, "..", "..", "examples", name, "graph.json")) as f:
        doc = json.load(f)
    e = make_experts.build(balanced=False) if own else models.build(name)
    start = {n: torch.from_numpy(x) for n, x in philox.initial(doc, SEED).items()}
    safetensors.save(file("init.safetensors"), start)
    missing = load_into(e.module, file("init.safetensors"))
    assert not missing, missing
    if not keep_init:
        os.remove(file("init.safetensors"))
    inputs = make_inputs(name, e, rows)
    for key, array in inputs.items():
        np.save(file(f"{key}.npy"), array)
    run = train(e, doc["optimizer"], inputs, steps)
    grads, small = run.pop("grads"), name != "gpt2"
    if small:
        safetensors.save(file("grads.safetensors"), grads)
        safetensors.save(file("final.safetensors"), dict(e.module.named_parameters()))
    result = {"model": name, "torch": torch.__version__.partition("+")[0], "seed": SEED, "steps": steps, **run}
    with open(file("reference.json"), "w") as f:
        f.write("{" + ",\n ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in result.items()) + "}\n")
    print(name, " ".join(f"{x:.6f}" for x in run["losses"]))


if __name__ == "__main__":
    torch.set_num_threads(1)
    for model in sys.argv[1:] or RUNS:
        make(model)
