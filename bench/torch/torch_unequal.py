#!/usr/bin/env python3
"""Compiled PyTorch DDP steps on GPUs made unequal: a rank of fewer than all SMs runs on a green
context's stream (emulated), on which every kernel it launches stays; NCCL is outside. bf16 autocast,
fused AdamW, no dropout. The global batch is shared evenly and in proportion to SMs; gradients are
reduced in f32 or bf16 (DDP's bf16_compress_hook). Prints the median of 15 steps of each.

    torchrun --nproc-per-node 4 bench/torch/torch_unequal.py MODEL nvlink|sockets SMS,SMS,…     (of bench_models.py)
"""

import os
import sys
import time

name, link, sms = sys.argv[1], sys.argv[2], [int(x) for x in sys.argv[3].split(",")]
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
if link == "sockets":  # NCCL takes the halves for two hosts
    os.environ["NCCL_HOSTID"] = f"emulated-{rank // (world // 2)}"
    os.environ["NCCL_NET"] = "Socket"
    os.environ["NCCL_SOCKET_IFNAME"] = "lo"

import torch
import torch.distributed as dist
from bench_models import MODELS, batch
from green_stream import green_stream
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from steps.models import rows_of  # noqa: E402

on_gpu = torch.cuda.is_available()
device = torch.device("cuda", rank) if on_gpu else torch.device("cpu")
if on_gpu:
    torch.cuda.set_device(rank)
    torch.zeros(1, device=device)
    if sms[rank] < torch.cuda.get_device_properties(rank).multi_processor_count:
        torch.cuda.set_stream(green_stream(rank, sms[rank]))
dist.init_process_group("nccl" if on_gpu else "gloo", device_id=device if on_gpu else None)
torch.set_float32_matmul_precision("high")
rows = rows_of(name) * world


def wait():
    if on_gpu:
        torch.cuda.synchronize()


def say(text):
    if rank == 0:
        print(text, flush=True)


def largest(x):
    x = torch.tensor([x], device=device)
    dist.all_reduce(x, op=dist.ReduceOp.MAX)
    return x.item()


def say_rates():
    """What a matmul reaches on each rank."""
    a = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(3):
        start.record()
        a @ a
        end.record()
    wait()
    rate = torch.tensor([2 * 8192**3 / start.elapsed_time(end) / 1e9], device=device)
    rates = [torch.empty_like(rate) for _ in range(world)]
    dist.all_gather(rates, rate)
    say(f"matmul by rank: {' '.join(f'{r.item():.0f}' for r in rates)} TFLOP/s on SMs {sms}")


if on_gpu:
    say_rates()


def shares(split):
    if split == "even":
        return [rows // world] * world
    part = [rows * s // sum(sms) for s in sms]
    for r in sorted(range(world), key=lambda r: -(rows * sms[r] % sum(sms)))[: rows - sum(part)]:
        part[r] += 1
    return part


def measure(split, grad):
    part = shares(split)
    torch.manual_seed(0)
    torch._dynamo.reset()
    if on_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    model, inputs = MODELS[name]()
    images = any(isinstance(m, torch.nn.Conv2d) for m in model.modules())  # channels last, as in torch_step.py
    model = model.to(device).train()
    model = model.to(memory_format=torch.channels_last) if images else model
    ddp = torch.nn.parallel.DistributedDataParallel(
        model, device_ids=[rank] if on_gpu else None, gradient_as_bucket_view=True)
    if grad == "bf16":
        ddp.register_comm_hook(None, bf16_compress_hook)
    run = torch.compile(ddp, dynamic=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=on_gpu)
    inputs = batch(inputs, part[rank], device)
    if images:
        inputs = {k: x.to(memory_format=torch.channels_last) if x.dim() == 4 else x for k, x in inputs.items()}

    def step():
        with torch.autocast(device.type, torch.bfloat16):
            # DDP averages over ranks: a rank's mean counts as much as its rows
            loss = run(**inputs)
            loss = (loss if isinstance(loss, torch.Tensor) else loss.loss) * (part[rank] * world / rows)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    times = []
    for i in range(20):
        dist.barrier()
        wait()
        begin = time.perf_counter()
        step()
        wait()
        times.append(time.perf_counter() - begin)
    ms = largest(sorted(times[5:])[7]) * 1e3
    peak = largest(torch.cuda.max_memory_allocated() / 2**30 if on_gpu else 0.0)
    say(f"PyTorch {torch.__version__} DDP compiled, {name} {rows} rows, {link}, emulated SMs {sms}, "
        f"{split} {part}, gradients {grad}: {ms:.2f} ms/step, {peak:.1f} GiB")
    del run, ddp, model, optimizer


for grad in ["f32"] if link == "nvlink" else ["f32", "bf16"]:
    for split in ["even", "prop"]:
        measure(split, grad)
dist.destroy_process_group()
