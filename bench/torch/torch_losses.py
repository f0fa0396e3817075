#!/usr/bin/env python3
"""Steps of GPT-2 124M by eager PyTorch in bf16 autocast and in f32, from the parameters of
OUT/start.safetensors on the rows of OUT/gpt2.npy, AdamW with 20 steps of warmup, beside the losses of
hapc in OUT/hapc.fp32.jsonl and OUT/hapc.bf16.jsonl. Last come the distances of each one's bf16 losses
from its own f32 losses.

    python3 bench/torch/torch_losses.py OUT
"""

import contextlib
import json
import os
import sys

import numpy as np
import torch
from gpt2_start import gpt2_from

out, rows, steps, warmup = sys.argv[1], 8, 50, 20
torch.backends.cuda.matmul.allow_tf32 = False


def run(autocast):
    model = gpt2_from(out + "/start.safetensors")
    plain = [p for n, p in model.named_parameters() if n.endswith(".bias") or ".ln_" in n]
    taken = {id(p) for p in plain}
    decayed = [p for p in model.parameters() if id(p) not in taken]
    groups = [{"params": plain, "weight_decay": 0.0}, {"params": decayed, "weight_decay": 0.1}]
    optimizer = torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95), fused=True)
    slower = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / warmup))
    ids, losses = torch.from_numpy(np.load(out + "/gpt2.npy")).cuda(), []
    for step in range(steps):
        batch = ids[step * rows : (step + 1) * rows]
        with torch.autocast("cuda", torch.bfloat16) if autocast else contextlib.nullcontext():
            loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        optimizer.step()
        slower.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
    return losses


def of_hapc(name):
    path = f"{out}/{name}.jsonl"
    return [json.loads(line)["loss"] for line in open(path)] if os.path.exists(path) else []


columns = {"hapc fp32": of_hapc("hapc.fp32"), "torch fp32": run(False), "hapc bf16": of_hapc("hapc.bf16"), "torch bf16": run(True)}
text = ["step  " + "  ".join(f"{name:>10}" for name in columns)]
for step in range(steps):
    row = [f"{c[step]:10.5f}" if step < len(c) else " " * 10 for c in columns.values()]
    text.append(f"{step:4}  " + "  ".join(row))
for a, b in (("hapc bf16", "hapc fp32"), ("torch bf16", "torch fp32"), ("hapc bf16", "torch fp32"), ("hapc fp32", "torch fp32")):
    d = [abs(x - y) for x, y in zip(columns[a], columns[b])]
    text.append(f"|{a} - {b}| over {len(d)} steps: largest {max(d, default=0):.5f}, mean {sum(d) / max(1, len(d)):.5f}")
print("\n".join(text))
with open(out + "/losses.txt", "w") as f:
    f.write("\n".join(text) + "\n")
