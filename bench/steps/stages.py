"""Stages on GPUs: whether they are right, how fast beside plans without stages and beside PyTorch's own
pipelining, and where the time goes. Hosts are emulated: sockets over the loopback device."""

import os

from steps import models
from steps.models import go, plan
from steps.speed import line

XL = "examples/gpt2-xl/graph.json"


def stages(m):
    """tiny models in 2 and 3 stages: losses of CPU ranks, the same bits called, listed and in graphs"""
    for cases in ("5", "1234"): # several on a GPU take turns: the last one, the longest, has all to itself
        m.together({f"stages.{case}": (["tests/cuda/stages_cuda.sh", case], {}) for case in cases}, 150)


def right(m):
    """Whether `stages` ran here and found nothing wrong."""
    said = [x for x in m.summary if x.startswith("stages.")]
    if any(" ok " not in x for x in said):
        print("stages are not right: not measured")
    return all(" ok " in x for x in said)


def timed(m, name, graph, cluster, rows, *options):
    """ms of a plan's step as printed, or None; says it with its prediction."""
    folder = plan(m, name, graph, cluster, *options, "--precision", "bf16")
    if not folder:
        return None
    run = go(m, name, folder, "--steps", str(m.o.steps), "--seed", "1", *rows, limit=150)
    ms = run.median(skip=12)  # earlier ones find the way to run a step
    emulated = sum(x.get("emulated", False) for x in run.lines)
    line(m, f"hapc {name}: {ms} ms/step (emulated: {emulated} lines), predicted "
            f"{models.predicted_ms(folder):.1f} ms, losses {run.some_losses()}")
    print("\n".join("    " + x for x in run.said("like others|from here on|workspace [0-9]", 9)))
    return None if ms == "none" else float(ms)


def traced(m, name, *rows):
    """Where a planned step's time goes: what ranks and messages took beside what the plan says."""
    folder, events = m.path(f"plan.{name}"), m.path("stages.trace.json")
    if m.left() < 75:
        return
    go(m, f"{name}.traced", folder, "--steps", "12", "--trace", events, "--seed", "1", *rows, limit=70)
    if not os.path.exists(events):
        return
    for what, command in (("ports", ["python3", "bench/steps/trace_ports.py", folder, events]),
                          ("compare", [m.hapc, "compare", folder, events])):
        done = m.run(f"{name}.{what}", command, 60)
        for x in done.text().splitlines()[:48 if what == "compare" else None]:
            line(m, "    " + x)
    os.remove(events)


def stages_speed(m):
    """GPT-2 XL, batch 64, bf16, on two emulated hosts: stages beside the plan without"""
    if m.gpus < 4:
        print("stages-speed: wants 4 GPUs")
    if m.gpus < 4 or not right(m):
        return
    cluster, rows = models.cluster(m, 4, hosts=2), models.inputs(m, "gpt2", 128)
    ms = {how: timed(m, f"stages.xl.{how}", XL, cluster, rows, "--batch", "64", "--stages", how)
          for how in m.o.stages}
    if ms.get("auto"):
        run = go(m, "stages.xl.spare", m.path("plan.stages.xl.auto"), "--steps", str(m.o.steps), "--seed", "1", *rows,
                 cuda="spare=off", limit=150)
        line(m, f"hapc stages.xl.auto, spare=off: {run.median(skip=12)} ms/step (emulated), losses {run.some_losses()}")
        traced(m, "stages.xl.auto", *rows)
    if all(ms.get(how) for how in ("off", "auto")):
        line(m, f"stages.xl: {ms['off'] / ms['auto']:.2f} times as fast as without stages (emulated)")


BATCH = "32"


def pipeline(micro, splits):
    """PyTorch's own pipelining on two emulated hosts of unequal SMs: a command of torchrun."""
    return ["bench/torch/torch_pipeline.py", "llama", BATCH, micro, "sockets", "132,132,64,64", splits]


def stages_torch(m):
    """Llama 1.1B on two emulated hosts of unequal SMs: stages beside torch.distributed.pipelining"""
    if m.gpus < 4:
        print("stages-torch: wants 4 GPUs")
    if m.gpus < 4 or not right(m):
        return
    cluster = models.cluster(m, 4, 64, 2)
    rows = models.inputs(m, "llama", 64)
    ms = timed(m, "stages.llama", models.graph_of(m, "llama"), cluster, rows, "--batch", BATCH, "--stages", "auto")
    best, split = None, "12,13,14"  # layers of the first host, which has 64 % of the processors and no head
    for micro in ("8", "16"):
        if best and m.left() < 160:  # what comes behind has the time
            break
        done = m.run(f"torch.stages.{micro}", ["torchrun", "--nproc-per-node", "4", *pipeline(micro, split)], 150, plain=True)
        for x in done.text().splitlines():
            if "ms/step" in x or "Error" in x:
                line(m, x[:300])
            if "best:" in x:
                own, split = float(x.split("best:")[1].split()[0]), x.split("with")[1].split()[0]
                best = own if best is None else min(best, own)
    if ms and best:
        line(m, f"stages.llama: {best / ms:.2f} times as fast as PyTorch's pipelining (emulated)")
