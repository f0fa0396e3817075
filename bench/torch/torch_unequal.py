#!/usr/bin/env python3
"""Compiled PyTorch DDP steps on GPUs made unequal: a rank of fewer than all SMs runs on a green
context's stream (emulated), on which every kernel it launches stays; NCCL is outside. bf16 autocast,
fused AdamW, no dropout. The global batch is shared evenly and in proportion to SMs; gradients are
reduced in f32 or bf16 (DDP's bf16_compress_hook). Prints the median of 15 steps of each.

    torchrun --nproc-per-node 4 bench/torch/torch_unequal.py gpt2|bert nvlink|sockets SMS,SMS,…
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
import transformers
from green_stream import green_stream
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

torch.cuda.set_device(rank)
torch.zeros(1, device="cuda")
if sms[rank] < torch.cuda.get_device_properties(rank).multi_processor_count:
    torch.cuda.set_stream(green_stream(rank, sms[rank]))
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
torch.set_float32_matmul_precision("high")

a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
for _ in range(3):
    start.record()
    a @ a
    end.record()
torch.cuda.synchronize()
rate = torch.tensor([2 * 8192**3 / start.elapsed_time(end) / 1e9], device="cuda")
rates = [torch.empty_like(rate) for _ in range(world)]
dist.all_gather(rates, rate)
if rank == 0:
    print("matmul by rank:", " ".join(f"{r.item():.0f}" for r in rates), "TFLOP/s on SMs", sms, flush=True)
del a

if name == "gpt2":
    rows, tokens = 32 * world, 1024
    config = transformers.GPT2Config(attn_pdrop=0, embd_pdrop=0, resid_pdrop=0, use_cache=False)
    make = transformers.GPT2LMHeadModel
else:
    rows, tokens = 64 * world, 128
    config = transformers.BertConfig(
        hidden_dropout_prob=0, attention_probs_dropout_prob=0, max_position_embeddings=tokens)
    make = transformers.BertForMaskedLM


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
    model = make(config).cuda().train()
    ddp = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank], gradient_as_bucket_view=True)
    if grad == "bf16":
        ddp.register_comm_hook(None, bf16_compress_hook)
    run = torch.compile(ddp, dynamic=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    ids = torch.randint(1, config.vocab_size, (part[rank], tokens), device="cuda")

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            # DDP averages over ranks: a rank's mean counts as much as its rows
            loss = run(input_ids=ids, labels=ids).loss * (part[rank] * world / rows)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    times = []
    for i in range(20):
        dist.barrier()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    middle = torch.tensor([sorted(times[5:])[7]], device="cuda")
    dist.all_reduce(middle, op=dist.ReduceOp.MAX)
    peak = torch.tensor([torch.cuda.max_memory_allocated() / 2**30], device="cuda")
    dist.all_reduce(peak, op=dist.ReduceOp.MAX)
    if rank == 0:
        print(f"PyTorch {torch.__version__} DDP compiled, {name} {rows} x {tokens}, {link}, emulated SMs {sms}, "
              f"{split} {part}, gradients {grad}: {middle.item() * 1e3:.2f} ms/step, {peak.item():.1f} GiB", flush=True)
    del run, ddp, model, optimizer


for grad in ["f32"] if link == "nvlink" else ["f32", "bf16"]:
    for split in ["even", "prop"]:
        measure(split, grad)
dist.destroy_process_group()
