#!/usr/bin/env python3
"""Compiled PyTorch steps of GPT-2 124M on rows of 1024 tokens: bf16 autocast, fused AdamW, DDP if
started by torchrun on several GPUs. Prints the median of 15 steps and the first losses.

    python3 bench/device_torch.py ROWS
"""

import os
import sys
import time

import torch
import torch.distributed as dist
import transformers

rows = int(sys.argv[1])
rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
torch.cuda.set_device(rank)
if world > 1:
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
config = transformers.GPT2Config(attn_pdrop=0, embd_pdrop=0, resid_pdrop=0, use_cache=False)
model = transformers.GPT2LMHeadModel(config).cuda().train()
run = torch.nn.parallel.DistributedDataParallel(
    model, device_ids=[rank], gradient_as_bucket_view=True) if world > 1 else model
run = torch.compile(run)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
ids = torch.randint(0, 50257, (rows // world, 1024), device="cuda")


def step():
    with torch.autocast("cuda", torch.bfloat16):
        loss = run(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss


losses = [step().item() for _ in range(5)]
times = []
for _ in range(15):
    if world > 1:
        dist.barrier()
    torch.cuda.synchronize()
    start = time.perf_counter()
    step()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - start)
times.sort()
if rank == 0:
    peak = torch.cuda.max_memory_allocated() / 2**30
    print(f"PyTorch {torch.__version__} compiled, {world} GPU, {rows} x 1024 tokens: "
          f"{times[7] * 1e3:.2f} ms/step, {peak:.1f} GiB, losses {losses[0]:.4f} {losses[-1]:.4f}", flush=True)
if world > 1:
    dist.destroy_process_group()
