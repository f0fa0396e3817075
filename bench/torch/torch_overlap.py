"""torch's side of the overlap benchmark: symm_mem's fused operators on the shapes of a list.

Usage: torchrun --nproc-per-node W bench/torch/torch_overlap.py bench/overlap/shapes.txt [SECONDS] [fused]

A line of JSON a method: the product alone, NCCL alone, one after the other, the fused operator; each
as called, and ("held") with the GPU kept busy until all launches are enqueued. fused: product and fused
operator alone, of shapes that have one. Rows that ranks cannot share evenly are rounded up. A sample
is as many calls in a row as take about 4 ms, on two sets of tensors in turn, and the slowest rank's.
Turns go through all methods, a sample each behind a pause as long as overlap_bench's; as there each
method comes behind another one in every turn, so that none finds the GPUs cooler than another. Every
element of the fused result is compared with the sequential one.
"""
import json
import os
import sys
import time

os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"
os.environ["NCCL_NVLS_ENABLE"] = "0"
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem

TURNS, LEAST_TURNS, PAUSE = 10, 4, 1e-3
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(rank)
dev = torch.device("cuda", rank)
dist.init_process_group("nccl", device_id=dev)
group = dist.group.WORLD.group_name
wrong = 0


def say(*words):
    if rank == 0:
        print(*words, flush=True)


def sample(f, held, repeats):
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    if not held:
        time.sleep(PAUSE)
    dist.barrier()
    torch.cuda.synchronize()
    if held:
        torch.cuda._sleep(3_000_000)  # cycles: about 1.5 ms, the pause
    a.record()
    for i in range(repeats):
        f(i % 2)
    b.record()
    torch.cuda.synchronize()
    return a.elapsed_time(b) / repeats


def differing(y, ref, least):
    bad = ~((y.float() - ref.float()).abs() <= least + ref.float().abs() / 64)
    n = bad.sum()
    dist.all_reduce(n)
    return int(n)


def shapes(path):
    for line in open(path):
        word = line.split("#")[0].split()
        if len(word) == 6 and (world == 2 or str(world) in word[4].split(",")):
            yield word[0], int(word[1]), int(word[2]), int(word[3]), word[5]


def normal(*size, scale=1.0):
    return (torch.randn(*size, device=dev) * scale).bfloat16()


def run(kind, m, n, k, name, until):
    global wrong
    ag, told = kind == "AG", m
    m = -(-m // world) * world
    x = [normal(m // world if ag else m, k if ag else k // world) for _ in range(2)]
    w = [normal(k if ag else k // world, n // world if ag else n, scale=k**-0.5) for _ in range(2)]
    full = [torch.empty(m, k, device=dev, dtype=torch.bfloat16) for _ in range(2)] if ag else x
    y = [torch.empty(m, w[0].shape[1], device=dev, dtype=torch.bfloat16) for _ in range(2)]
    out = [torch.empty(m // world, n, device=dev, dtype=torch.bfloat16) for _ in range(2)]

    def product(i):
        torch.mm(full[i], w[i], out=y[i])

    def collective(i):
        if ag:
            dist.all_gather_into_tensor(full[i], x[i])
        elif kind == "RS":
            dist.reduce_scatter_tensor(out[i], y[i])
        else:
            dist.all_reduce(y[i])

    def sequential(i):
        if ag:
            collective(i)
        product(i)
        if not ag:
            collective(i)

    if ag:
        fused = lambda i: torch.ops.symm_mem.fused_all_gather_matmul(x[i], [w[i]], 0, group)[1][0]
    elif kind == "RS":
        fused = lambda i: torch.ops.symm_mem.fused_matmul_reduce_scatter(x[i], w[i], "sum", 0, group)
    else:
        fused = None  # there is none for an all-reduce
    sequential(0)
    methods = [("matmul", product)] + ([] if only_fused else [("nccl", collective), ("seq", sequential)])
    methods += [("fused", fused)] if fused else []
    bad = 0
    if fused:
        bad = differing(fused(0), y[0] if ag else out[0], 0.02 if ag else 0.06)
        wrong += bad
    times = {(method, held): [] for method, _ in methods for held in (False, True)}
    repeats = {}
    for method, f in methods:
        f(0)
        ms = torch.tensor(sample(f, False, 2), device=dev)
        dist.broadcast(ms, 0)
        repeats[method] = max(1, min(int(4 / ms.item() + 0.5), 16))
    keys = list(times)
    ring = 5 if len(times) < 5 else 7 if len(times) < 8 else 11  # every 1 + t-th of a ring of prime length
    for t in range(TURNS):
        late = torch.tensor([time.time() > until], device=dev)
        dist.broadcast(late, 0)
        if late.item() and t >= LEAST_TURNS:
            break
        for step in range(ring):
            at = (t + step * (1 + t % (ring - 1))) % ring
            if at < len(keys):
                method, held = keys[at]
                times[keys[at]].append(sample(dict(methods)[method], held, repeats[method]))
    for (method, held), t in times.items():
        t = torch.tensor(t, device=dev)
        dist.all_reduce(t, op=dist.ReduceOp.MAX)
        t = sorted(t.tolist())
        say(json.dumps({"by": "torch", "kind": kind, "m": told, "n": n, "k": k, "ranks": world, "name": name,
                        "method": method, "held": held, "ms": t[len(t) // 2], "p95": t[len(t) * 95 // 100],
                        "samples": len(t), "wrong": bad if method == "fused" else 0}))  # fmt: skip


began = time.time()
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 1e9
only_fused = sys.argv[3:] == ["fused"]
todo = [x for x in shapes(sys.argv[1]) if not only_fused or x[0] != "AR"]
say(json.dumps({"by": "torch", "version": torch.__version__, "device": torch.cuda.get_device_name(), "ranks": world}))
for i, shape in enumerate(todo):
    try:
        run(*shape, began + seconds * (i + 1) / len(todo))
    except RuntimeError as e:
        say("torch", *shape, "failed:", str(e)[:160])
    torch.cuda.empty_cache()
say(json.dumps({"by": "torch", "seconds": time.time() - began, "wrong": wrong}))
dist.destroy_process_group()
