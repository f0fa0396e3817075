"""Experts chosen by tokens: Mixtral on four GPUs, equal and with half of them on 64 SMs (emulated), beside PyTorch FSDP2;
and, on two or more, with one expert crowded and experts on ranks of their own."""

import json
import math
import os
import shutil

import numpy as np

from steps import models
from steps.models import go, plan, rows_of
from steps.speed import line
from steps.unequal import clusters, planned_fsdp, torch_fsdp

MIXTRAL = {"cuda": "mixtral", "cpu": "mixtral_tiny"}
SLIM = {"cuda": "mixtral_slim_crowd", "cpu": "mixtral_tiny_crowd"} # as wide, its gradients fit into memory
# Each rank has some of the experts and multiplies the rows that choose them.
PARALLEL = ["--pin", "*mlp.experts.*_proj=S(0)", "--pin", "*mlp.experts.*to_rooms=S(0)",
            "--pin", "*mlp.experts.*2.rooms=S(0)", "--pin", "*mlp.experts.*rooms'dx=S(0)",
            "--pin", "*mlp.experts.expert_linear'dx=S(0)"]
ROOM = 2  # of an even share: what half of the tokens take
APART = ["--expert-room", str(ROOM), *PARALLEL]
BF16 = ["--precision", "bf16"]  # on CPUs too: with casts of weights rows go to experts there
GRADS_OFF = 0.025  # how far two plans' gradients of one tensor may be apart, of its norm


def union(spans):
    """Spans that meet joined, by time."""
    out = []
    for a, b in sorted(spans):
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return out


def covered(a, b, spans):
    return sum(max(0, min(b, y) - max(a, x)) for x, y in spans)


def idle_by(begin, end, ops, colls):
    """Where a rank computes nothing between two times: ms by the collective under way there that ends last, with its
    line in program.c; "" where none is."""
    found, at = {}, begin
    for a, b in [*ops, [end, end]]:
        if a > at:
            ends = [(y, name, line) for name, line, x, y in colls if x < a and y > at]
            what = " ".join(max(ends)[1:]) if ends else ""
            found[what] = found.get(what, 0) + (a - at) / 1e3
        at = max(at, b)
    return found


def of_trace(path):
    """Of the last step of a trace of `hapc run`: its ms, what each rank computes, of each kind of collective the ms
    of all ranks and how much of them ranks compute meanwhile, and where the rank that computes most is idle."""
    with open(path) as f:
        events = [e for e in json.load(f)["traceEvents"] if e.get("ph") == "X"]
    step, computes, moved, idle = 0, [], {}, {}
    for rank in sorted({e["pid"] for e in events}):
        own = [(*e["name"].partition(":")[::2], e["tid"], e["ts"], e["ts"] + e["dur"]) for e in events if e["pid"] == rank]
        begin, end = [(a, b) for name, _, _, a, b in own if name == "step"][-1]
        own = [x for x in own if x[3] >= begin and x[4] <= end]
        ops = union((a, b) for name, _, tid, a, b in own if tid == 0 and name.startswith("op_"))
        colls = [(name, line, a, b) for name, line, _, a, b in own if name.startswith("coll_")]
        step = max(step, end - begin)
        computes.append(sum(b - a for a, b in ops) / 1e3)
        if computes[-1] == max(computes):
            idle = idle_by(begin, end, ops, colls)
        for name, _, a, b in colls:
            took, hid = moved.get(name, (0, 0))
            moved[name] = took + b - a, hid + covered(a, b, ops)
    return step / 1e3, computes, {k: (took / 1e3, hid / took if took else 0) for k, (took, hid) in moved.items()}, idle


def traced(m, model, folder, cuda):
    """`of_trace` of the plan's run, whose trace is kept with the logs; or None."""
    events = m.path(f"{model}.trace.{cuda}.txt")
    go(m, f"{model}.traced.{cuda}", folder, "--steps", "14", "--trace", events, "--seed", "1", *models.inputs(m, model),
       cuda=cuda, limit=90)
    return of_trace(events) if os.path.exists(events) else None


def told(what, found):
    """Prints of a traced run what its ranks compute and where the fullest is idle."""
    step, computes, _, idle = found
    longest = sorted(idle.items(), key=lambda x: -x[1])[:12]
    print(f"    {what}, a traced step of {step:.1f} ms: ranks compute {' '.join(f'{x:.1f}' for x in computes)} ms; the "
          f"fullest is idle {sum(idle.values()):.2f} ms: "
          + ", ".join(f"{ms:.2f} {coll or 'without a collective'}" for coll, ms in longest), flush=True)


def place(m):
    """A name for the devices, and their cluster file; of CPUs one with pairs and all-to-alls."""
    what, cluster = clusters(m)[0]
    return what, cluster if m.backend == "cuda" or m.o.cluster else "clusters/laptop-peers.yaml"


def fell(m, first, losses):
    """How far two runs' first 20 losses are apart, in words, and how many are wrong. Learning is slow (RATES of
    bench/torch/bench_models.py), so an error would hardly show in a loss; it does in how far the loss of the same
    rows has fallen. All are wrong where none has fallen by more than 1 in 500."""
    turns = 4 // math.gcd(4, m.gpus) # batches until rows come again
    off = [(abs(a - b), max(0, first[i % turns] - a), a) for i, (a, b) in enumerate(zip(first[:20], losses))]
    most = max((fall for _, fall, _ in off), default=0)
    bad = sum(not d <= min(a / 500, fall / 500 + a / 50000) for d, fall, a in off) + 20 - len(off)
    if off and most < off[0][2] / 500:
        bad = 20
    apart = max((d / fall for d, fall, _ in off[turns:] if fall > 0), default=math.inf)
    return f"losses fell by {most:.3f}, apart by at most {apart:.1e} of it, #wrong {bad}", bad


def tensors(path):
    """(name, values) of a file of gradients, experts one by one."""
    with open(path, "rb") as f:
        begin = 8 + int.from_bytes(f.read(8), "little")
        head = json.loads(f.read(begin - 8))
    raw = np.memmap(path, np.uint8, "r", begin)
    for name, x in head.items():
        if name == "__metadata__":
            continue
        values = raw[slice(*x["data_offsets"])].view(np.float32).reshape(x["shape"])
        if values.ndim == 3:
            yield from ((f"{name}[{i}]", each) for i, each in enumerate(values))
        else:
            yield name, values


def distances(path, other):
    """{name: how far a gradient is from the other file's, of that one's norm}"""
    own = dict(tensors(path))
    return {name: float(np.linalg.norm(own[name] - x) / np.linalg.norm(x)) for name, x in tensors(other)}


def grads(m):
    """gradients of one step of a slim Mixtral, one expert crowded, by tensor: experts apart beside rows that stay"""
    if m.gpus < 2:
        print("expert-grads: wants 2 GPUs")
        return
    model, (what, cluster), saved = SLIM[m.backend], place(m), []
    shared = m.backend == "cuda" and os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > 8 << 30
    folder = "/dev/shm" if shared else m.work
    for how, options in (("stay", []), ("apart", APART)):
        name, path = f"grads.{model}.{how}", os.path.join(folder, f"bench-{os.getpid()}-{how}.safetensors")
        made = plan(m, name, models.graph_of(m, model), cluster, "--batch", str(rows_of(model) * m.gpus),
                    *BF16, "--keep-grads", *options)
        run = made and go(m, name, made, "--steps", "1", "--seed", "1", "--save-grads", path, *models.inputs(m, model))
        if not run or not os.path.exists(path):
            break
        with open(os.path.join(made, "program.c")) as f:
            text = f.read()
        print(f"    {how}: {text.count('hap_overlap(')} pairs, {text.count('all_to_all')} all-to-alls in program.c")
        saved.append(path)
    if len(saved) == 2:
        off = distances(saved[1], saved[0])
        bad = [name for name, x in off.items() if not x <= GRADS_OFF]
        worst = max(off, key=lambda name: off[name] if off[name] == off[name] else math.inf)
        line(m, f"hapc {model}, {m.gpus} GPUs, {what}, gradients of a step, experts apart beside rows that stay: "
                f"{len(off)} tensors, {worst} is off by {off[worst]:.1e} of its norm, most by "
                f"{sorted(off.values())[len(off) // 2]:.1e}, #wrong {len(bad)} ({GRADS_OFF} is allowed)")
        if bad:
            m.failed("expert-grads", [f"off by {off[name]:.1e}: {name}" for name in bad[:20]])
    for path in saved:
        os.remove(path)


def parallel(m, model, what, cluster, first):
    """Experts on ranks of their own: right beside the losses `first`, and its step beside what the rank with most
    to do computes. That is what its calls take one by one, with no transfer beside them."""
    found = planned_fsdp(m, model, f"{what}, experts apart", cluster, "auto", *BF16, *APART)
    if not found:
        return
    ms, folder, losses = found
    apart, paired = traced(m, model, folder, "pairs=off"), traced(m, model, folder, "pairs=on")
    if not apart:
        return
    (step, computes, _, _), (losses_are, bad) = apart, fell(m, first, losses)
    line(m, f"hapc {model}, {m.gpus} GPUs, {what}, half of the tokens choose one expert, experts apart: {ms:.2f} "
            f"ms/step, {ms / max(computes):.3f} of what the fullest rank computes (1.15 is asked; ms by rank "
            f"{' '.join(f'{x:.1f}' for x in computes)} of a traced step of {step:.1f} without pairs); "
            f"{losses_are}")
    if bad:
        m.failed("crowded", [f"{bad} losses"])
    told("without pairs", apart)
    if not paired:
        return
    told("with pairs", paired)
    for name, (took, hid) in sorted(paired[2].items()):
        line(m, f"    {name}: {took / len(computes):.2f} ms a rank, of a pair with its matmuls, waiting included; "
                f"{100 * hid:.0f} % hidden, {(1 - hid) * took / len(computes):.2f} ms not")


def crowded(m):
    """Mixtral of 4 layers, 4 x 1024 a GPU, one expert crowded, experts apart: 1.15 x what the fullest rank computes is asked"""
    if m.gpus < 2:
        print("crowded: wants 2 GPUs")
        return
    model = MIXTRAL[m.backend] + "_crowd"
    what, cluster = place(m)
    stay = planned_fsdp(m, model, f"{what}, crowded", cluster, "auto", *BF16)
    if stay:
        parallel(m, model, what, cluster, stay[2])


def mixtral(m):
    """Mixtral of 4 layers, 16 x 1024, bf16, beside FSDP2 with grouped_mm (1.3 is asked); then `crowded`"""
    if m.gpus < 4:
        print("mixtral: wants 4 GPUs")
        return
    model = MIXTRAL[m.backend]
    ours = {what.split()[0]: planned_fsdp(m, model, what, cluster, "auto") for what, cluster in clusters(m)}
    theirs = torch_fsdp(m, model, 150)
    for what, found in ours.items():
        best = [ms for (where, _), ms in theirs.items() if where == what]
        if found and best:
            line(m, f"Mixtral, {what} devices: {min(best) / found[0]:.2f} times as fast as FSDP2 ({min(best):.1f} ms)")
    crowded(m)
