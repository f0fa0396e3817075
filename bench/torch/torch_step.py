#!/usr/bin/env python3
"""Compiled PyTorch steps of a model of bench_models.py: bf16 autocast, fused AdamW, no dropout, DDP if started
by torchrun on several GPUs. Prints the median of the steps and the first losses. A third word names the
kernels that F.scaled_dot_product_attention may take: flash or cudnn; any: PyTorch chooses. A fourth is the
number of steps, 25 if it is left out.

    python3 bench/torch/torch_step.py NAME ROWS [flash|cudnn|any [STEPS]]
"""

import os
import re
import sys
import time

import torch
import torch.distributed as dist
from bench_models import MODELS, batch

name, rows = sys.argv[1], int(sys.argv[2])
kernels = sys.argv[3] if len(sys.argv) > 3 else "any"
steps = int(sys.argv[4]) if len(sys.argv) > 4 else 25
for one in ("flash", "cudnn", "mem_efficient", "math") if kernels != "any" else ():
    getattr(torch.backends.cuda, f"enable_{one}_sdp")(one == kernels)
rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
torch.cuda.set_device(rank)
if world > 1:
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
model, inputs = MODELS[name]()
images = any(isinstance(m, torch.nn.Conv2d) for m in model.modules())  # their channels are last, as cuDNN wants them
model = model.cuda().train()
model = model.to(memory_format=torch.channels_last) if images else model
run = torch.nn.parallel.DistributedDataParallel(
    model, device_ids=[rank], gradient_as_bucket_view=True) if world > 1 else model
run = torch.compile(run)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
inputs = batch(inputs, rows // world, "cuda")
if images:
    inputs = {k: x.to(memory_format=torch.channels_last) if x.dim() == 4 else x for k, x in inputs.items()}


def step():
    with torch.autocast("cuda", torch.bfloat16):
        loss = run(**inputs)
        loss = loss if isinstance(loss, torch.Tensor) else loss.loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss


losses = [step().item() for _ in range(8)]
times = []
for _ in range(steps):
    if world > 1:
        dist.barrier()
    torch.cuda.synchronize()
    start = time.perf_counter()
    step()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - start)
times.sort()
if rank == 0 and kernels != "any":  # which they were, and their time
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
        torch.cuda.synchronize()
    for x in sorted(profile.key_averages(), key=lambda x: -x.self_device_time_total):
        if re.search("flash|fmha|sdpa|cudnn", x.key):
            print(f"    {x.self_device_time_total / 1e3:9.2f} ms {x.count:4} calls {x.key[:110]}", flush=True)
if rank == 0:
    peak = torch.cuda.max_memory_allocated() / 2**30
    print(f"PyTorch {torch.__version__} compiled, {name}, attention {kernels}, {world} GPU, {rows} rows: "
          f"{times[steps // 2] * 1e3:.2f} ms/step, {peak:.1f} GiB, losses {losses[0]:.4f} {losses[-1]:.4f}", flush=True)
if world > 1:
    dist.destroy_process_group()
