"""torch's side of bench/overlap_bench: symm_mem's fused operators on the shapes of a list.

Usage: torchrun --nproc-per-node W bench/overlap_torch.py bench/shapes.txt

One line a shape, in ms, medians of 15 of the slowest rank: the product alone, NCCL alone, one after the
other, the fused operator; each as called, and with the GPU held back until its launches are enqueued
("gpu"). Every element of the fused result is compared with the sequential one.
"""
import os
import sys

os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"
os.environ["NCCL_NVLS_ENABLE"] = "0"
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem

SAMPLES, WARM = 15, 4
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(rank)
dev = torch.device("cuda", rank)
dist.init_process_group("nccl", device_id=dev)
group = dist.group.WORLD.group_name
wrong = 0


def say(*words):
    if rank == 0:
        print(*words, flush=True)


def timed(f, held):
    times = []
    for i in range(WARM + SAMPLES):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        if held:
            torch.cuda._sleep(6_000_000)  # cycles: about 3 ms
        a.record()
        f(i % 2)
        b.record()
        torch.cuda.synchronize()
        if i >= WARM:
            times.append(a.elapsed_time(b))
    t = torch.tensor(times, device=dev)
    dist.all_reduce(t, op=dist.ReduceOp.MAX)
    return t.median().item()


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


def run(kind, m, n, k, name):
    global wrong
    ag = kind == "AG"
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
    text = "torch %s %d %d %d /%d %s:" % (kind, m, n, k, world, name)
    for title, f in ("matmul", product), ("collective", collective), ("seq", sequential), ("fused", fused):
        if f is None:
            text += " fused none"
            continue
        if title == "fused":
            sequential(0)
            bad = differing(fused(0), y[0] if ag else out[0], 0.02 if ag else 0.06)
            wrong += bad
        text += " %s %.3f gpu %.3f" % (title, timed(f, False), timed(f, True))
    say(text)


for shape in shapes(sys.argv[1]):
    try:
        run(*shape)
    except RuntimeError as e:
        say("torch", *shape, "failed:", str(e)[:160])
    torch.cuda.empty_cache()
say("torch", torch.__version__, "wrong elements in all:", wrong)
dist.destroy_process_group()
