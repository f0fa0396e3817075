#!/usr/bin/env python3
"""Trains GPT-2 124M by compiled PyTorch as bench/gpu's step `text` has hapc train it: bf16 autocast, AdamW with
warmup and a cosine, gradients clipped, from the parameters of OUT/start.safetensors, on the rows of train.bin
in their order. Writes a JSON line a step and an evaluation of held.bin to OUT/torch.text.jsonl.

    python3 bench/torch/torch_text.py OUT TOKENS STEPS EVERY
"""

import json
import math
import sys

import numpy as np
import torch
from gpt2_start import gpt2_from

out, tokens, steps, every = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
ROWS, LENGTH, RATE, WARMUP = 4, 1024, 3e-4, 100  # bench/steps/text.py has the same
torch.set_float32_matmul_precision("high")


def rows_of(name):
    return torch.from_numpy(np.fromfile(f"{tokens}/{name}.bin", np.uint16).astype(np.int64).reshape(-1, LENGTH)).cuda()


train, held = rows_of("train"), rows_of("held")
model = gpt2_from(out + "/start.safetensors")
run = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.1, fused=True)


def share(step):
    if step < WARMUP:
        return (step + 1) / WARMUP
    return 0.5 * (1 + math.cos(math.pi * min(1, (step - WARMUP) / (steps - WARMUP))))


def loss_of(batch):
    with torch.autocast("cuda", torch.bfloat16):
        return run(input_ids=batch, labels=batch).loss


def evaluated():
    with torch.no_grad():
        return torch.stack([loss_of(held[i : i + ROWS]) for i in range(0, len(held), ROWS)]).mean()


schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, share)
lines = []
for step in range(steps):
    loss = loss_of(train[(torch.arange(ROWS, device="cuda") + step * ROWS) % len(train)])
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad(set_to_none=True)
    lines.append({"step": step, "loss": loss.detach(), "grad_norm": norm.detach()})
    if (step + 1) % every == 0:
        lines.append({"step": step + 1, "eval_loss": evaluated()})
with open(out + "/torch.text.jsonl", "w") as f:
    for x in lines:
        f.write(json.dumps({k: v if k == "step" else v.item() for k, v in x.items()}) + "\n")
