#!/usr/bin/env python3
"""Steps of a Llama of bench_models.py by PyTorch's own pipelining (torch.distributed.pipelining, 1F1B): two
stages, each data parallel over half of the ranks: gradients lie side by side and are added at once behind
the last micro-batch. (DDP inside a stage fails in torch 2.13: "rebuilt parameter indices".) bf16 autocast,
f32 parameters and gradients, each block compiled, fused AdamW, random weights. The first half of the ranks is one host, the second another (emulated:
sockets); a rank of fewer than all SMs computes on a green context (emulated). Tied embeddings are a
copy in the last stage, whose gradients are added. Every split that is asked for is timed: layers of the
first stage. Prints the median of the steps and the first losses of each, and the best.

    torchrun --nproc-per-node N bench/torch/torch_pipeline.py MODEL ROWS MICRO_BATCHES nvlink|sockets SMS,SMS,… SPLIT,SPLIT,…
"""

import os
import sys
import time

name, rows, micro, link = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
sms, splits = ([int(x) for x in text.split(",")] for text in sys.argv[5:7])
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
half = world // 2
if link == "sockets":  # NCCL takes the halves for two hosts
    os.environ["NCCL_HOSTID"] = f"emulated-{rank // half}"
    os.environ["NCCL_NET"] = "Socket"
    os.environ["NCCL_SOCKET_IFNAME"] = "lo"

import torch
import torch.distributed as dist
from bench_models import MODELS
from green_stream import green_stream
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.nn import functional as F

on_gpu = torch.cuda.is_available()
device = torch.device("cuda", rank) if on_gpu else torch.device("cpu")
if on_gpu:
    torch.cuda.set_device(rank)
    torch.zeros(1, device=device)
    if sms[rank] < torch.cuda.get_device_properties(rank).multi_processor_count:
        torch.cuda.set_stream(green_stream(rank, sms[rank]))
dist.init_process_group("nccl" if on_gpu else "gloo", device_id=device if on_gpu else None)
torch.set_float32_matmul_precision("high")
number, place = rank // half, rank % half  # of the stage; in it
data = [dist.new_group(range(s * half, (s + 1) * half)) for s in (0, 1)][number]
pipe = [dist.new_group([p, p + half]) for p in range(half)][place]


def wait():
    if on_gpu:
        torch.cuda.synchronize()


def largest(x):
    x = torch.tensor([x], device=device)
    dist.all_reduce(x, op=dist.ReduceOp.MAX)
    return x.item()


class Half(torch.nn.Module):
    """Layers [first, last) of the model, with its embedding or its head."""

    def __init__(self, model, first, last):
        super().__init__()
        whole = len(model.model.layers)
        self.embed = model.model.embed_tokens if first == 0 else None
        self.layers = model.model.layers[first:last]
        self.norm = model.model.norm if last == whole else None
        self.head = model.lm_head if last == whole else None
        self.rotary = model.model.rotary_emb
        for layer in self.layers:
            layer.compile(dynamic=False)

    def forward(self, x):
        with torch.autocast(device.type, torch.bfloat16):
            if self.embed is not None:
                x = self.embed(x).to(torch.bfloat16)
            places = torch.arange(x.shape[1], device=x.device)[None]
            turned = self.rotary(x, places)
            for layer in self.layers:
                x = layer(x, position_embeddings=turned, position_ids=places)
                x = x if isinstance(x, torch.Tensor) else x[0]
            return x.to(torch.bfloat16) if self.head is None else self.head(self.norm(x))


def loss_of(logits, ids):
    labels = F.pad(ids, (0, 1), value=-100)[:, 1:].reshape(-1)
    return F.cross_entropy(logits.float().view(-1, logits.shape[-1]), labels)


def measure(split):
    torch._dynamo.reset()
    torch.manual_seed(0)  # the same model on all ranks
    model, inputs = MODELS[name]()
    tokens, words = inputs["input_ids"]
    tied = model.config.tie_word_embeddings
    if tied and number == 1:
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    part = Half(model, *((0, split), (split, len(model.model.layers)))[number]).to(device).train()
    del model
    shared = (part.embed if number == 0 else part.head).weight if tied else None
    optimizer = torch.optim.AdamW(part.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=on_gpu)
    grads = torch.zeros(sum(p.numel() for p in part.parameters()), device=device)
    for p, grad in zip(part.parameters(), grads.split([p.numel() for p in part.parameters()])):
        p.grad = grad.view_as(p)
    stage = PipelineStage(part, number, 2, device, group=pipe)
    schedule = Schedule1F1B(stage, micro, loss_fn=loss_of)
    torch.manual_seed(1 + place)
    ids = torch.randint(1, words[0] if isinstance(words, tuple) else words, (rows // half, *tokens), device=device)
    dist.broadcast(ids, place, group=pipe)

    def step():
        losses = []
        schedule.step(ids) if number == 0 else schedule.step(target=ids, losses=losses)
        if half > 1:
            dist.all_reduce(grads, group=data)
            grads.div_(half)
        if tied:
            dist.all_reduce(shared.grad, group=pipe)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        return sum(x.item() for x in losses) / micro if losses else 0.0

    losses, times = [], []
    for i in range(15):
        dist.barrier()
        wait()
        begin = time.perf_counter()
        losses.append(step())
        wait()
        times.append(time.perf_counter() - begin)
    ms = largest(sorted(times[5:])[5]) * 1e3
    peak = largest(torch.cuda.max_memory_allocated() / 2**30 if on_gpu else 0.0)
    if rank == half:
        print(f"PyTorch {torch.__version__} pipelining 1F1B, {name} {rows} x {tokens[0]}, {micro} micro-batches, {link}, "
              f"emulated SMs {sms}, {split} layers first: {ms:.2f} ms/step, {peak:.1f} GiB, "
              f"losses {losses[0]:.4f} {losses[-1]:.4f}", flush=True)
    return ms


best = min((measure(split), split) for split in splits)
if rank == half:
    print(f"PyTorch pipelining best: {best[0]:.2f} ms/step with {best[1]} layers first", flush=True)
dist.destroy_process_group()
