#!/usr/bin/env python3
"""Steps of a Llama of bench_models.py by PyTorch FSDP2 (fully_shard): f32 parameters and moments, bf16
compute, gradients reduced in f32 (hapc's), each block and the loss compiled, fused AdamW, random weights. First
on equal devices; then, if SMS is given, on green contexts (emulated) with rows shared evenly and in
proportion to SMs: there every kernel of the compute stream stays on so many SMs, NCCL and FSDP's own
copies on all. Prints the median of the steps and the first losses of each.

    torchrun --nproc-per-node N bench/torch/torch_fsdp.py MODEL ROWS [SMS,SMS,… [equal,emulated]]

The last one says which of both, if not both.
"""

import os
import sys
import time

import torch
import torch.distributed as dist
from bench_models import MODELS
from green_stream import green_stream
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn import functional as F

name, rows = sys.argv[1], int(sys.argv[2])
sms = [int(x) for x in sys.argv[3].split(",")] if len(sys.argv) > 3 else []
kinds, steps = sys.argv[4].split(",") if len(sys.argv) > 4 else ["equal", "emulated"], 15
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
on_gpu = torch.cuda.is_available()
device = torch.device("cuda", rank) if on_gpu else torch.device("cpu")
if on_gpu:
    torch.cuda.set_device(rank)
dist.init_process_group("nccl" if on_gpu else "gloo", device_id=device if on_gpu else None)
torch.manual_seed(rank)


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


def sharded():
    """The model with its parameters cut over all ranks: normal numbers of 0.02, norms of one."""
    model, inputs = MODELS[name]()
    config = model.config
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.model.layers:
        layer.compile(dynamic=False)
        fully_shard(layer, mp_policy=policy)
    fully_shard(model.lm_head, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    model.to_empty(device=device)
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(0, 0.02) if p.ndim > 1 else p.fill_(1)
    model.model.rotary_emb = type(model.model.rotary_emb)(config).to(device)
    return model.train(), config.vocab_size, inputs["input_ids"][0][0]


def share(split):
    """Rows of each rank."""
    if split == "even":
        return [rows // world] * world
    part = [rows * s // sum(sms) for s in sms]
    for r in sorted(range(world), key=lambda r: -(rows * sms[r] % sum(sms)))[: rows - sum(part)]:
        part[r] += 1
    return part


@torch.compile(dynamic=False)
def loss_of(logits, labels):
    return F.cross_entropy(logits.float(), labels)


model, words, tokens = sharded()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=on_gpu)


def measure(split, where):
    part = share(split)
    if on_gpu:  # memory is kept by stream
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    ids = torch.randint(1, words, (part[rank], tokens), device=device)
    labels = F.pad(ids, (0, 1), value=-100)[:, 1:].reshape(-1)

    def step():
        logits = model(input_ids=ids).logits
        # FSDP averages over ranks: a rank's mean counts as much as its rows.
        loss = loss_of(logits.view(-1, words), labels) * (part[rank] * world / rows)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    losses, times = [], []
    for i in range(5 + steps):
        dist.barrier()
        wait()
        begin = time.perf_counter()
        loss = step()
        wait()
        if i >= 5:
            times.append(time.perf_counter() - begin)
        losses.append(loss.item() * rows / (part[rank] * world))
    ms = largest(sorted(times)[steps // 2]) * 1e3
    peak = largest(torch.cuda.max_memory_allocated() / 2**30 if on_gpu else 0)
    say(f"PyTorch {torch.__version__} FSDP2 compiled, {name} {rows} x {tokens}, {where}, {split} {part}: "
        f"{ms:.2f} ms/step, {rows * tokens / ms * 1e3:.0f} tokens/s, {peak:.1f} GiB, "
        f"losses {losses[0]:.4f} {losses[-1]:.4f}")


if "equal" in kinds:
    measure("even", f"{world} devices")
if sms and "emulated" in kinds:
    if on_gpu and sms[rank] < torch.cuda.get_device_properties(rank).multi_processor_count:
        torch.cuda.set_stream(green_stream(rank, sms[rank]))
    for split in ("even", "prop"):
        measure(split, f"emulated SMs {sms}")
dist.destroy_process_group()
