"""Steps on GPUs of unequal speed: half of them compute on 64 of their 132 SMs (green contexts: emulated;
memory, links and NCCL keep their speed), over NVLink and as two emulated hosts on sockets."""

import math
import os
import re

from steps import checks, models, stages
from steps.models import go, plan, rows_of
from steps.speed import line

SMS = "132,132,64,64"
HOSTS = {"nvlink": 1, "sockets": 2}
# strategy, dtype of gradients
VGG = {"cuda": "vgg19", "cpu": "vgg_tiny"}
PLANS = ["auto,f32", "dp-even,f32", "dp-prop,f32", "auto,bf16", "dp-even,bf16", "dp-prop,bf16"]


def wrong(first, losses):
    """How many of two runs' first 20 losses differ by more than 1 in 500."""
    if not losses:
        return "all"
    return sum(not (a > 0 and b > 0 and abs(a - b) < a / 500) for a, b in zip(first[:20], losses))


def unequal(m):
    """hapc's plans for --models (GPT-2 128 x 1024, BERT 256 x 128, VGG19 256), by strategy and dtype of gradients"""
    if m.gpus < 4:
        print("unequal: wants 4 GPUs")
        return
    for model in m.models:
        for link in m.o.links:
            planned(m, model, link, m.o.plans or PLANS)


def planned(m, model, link, plans):
    """The median ms of each plan's steps, as printed."""
    rows, first, found = models.inputs(m, model), None, {}
    for what in plans:
        strategy, grad = what.split(",")
        name = f"unequal.{model}.{link}.{strategy}.{grad}"
        folder = plan(m, name, models.graph_of(m, model), models.cluster(m, 4, 64, HOSTS[link]), "--batch",
                      str(4 * rows_of(model)), "--precision", models.precision(m), "--strategy", strategy,
                      *(["--grad-dtype", grad] if m.backend == "cuda" else []))
        if not folder:
            continue
        run = go(m, name, folder, "--steps", str(m.o.steps), "--seed", "1", *rows)
        first = first or run.losses
        found[what] = run.median()
        emulated = sum(x.get("emulated", False) for x in run.lines)
        line(m, f"hapc {model} {link} {what}: {run.median()} ms/step (emulated: {emulated} lines), "
                f"predicted {models.predicted_ms(folder):.1f} ms, "
                f"#wrong {wrong(first, run.losses)}, losses {run.some_losses()}")
        print("\n".join("    " + x for x in run.said("^rank.*workspace|rehearsed|from here on", 6)))
    return found


def beside_one(m):
    """--models on all GPUs, equal ones and with half of them on 64 SMs: losses of 20 steps beside one GPU's, of the same rows"""
    for model in m.models:
        rows, many, first = models.inputs(m, model), rows_of(model) * m.gpus, None
        for what, cluster in (("1 GPU", models.cluster(m, 1)), *clusters(m)):
            name = name_of(model, what, "auto")
            folder = plan(m, name, models.graph_of(m, model), cluster, "--batch", str(many), "--precision",
                          models.precision(m))
            if not folder:
                continue
            run = go(m, name, folder, "--steps", str(m.o.steps), "--seed", "1", *rows)
            if first is None and what == "1 GPU":
                first = run.losses
            bad = wrong(first, run.losses) if first else "all"
            most = max((abs(a - b) / a for a, b in zip(first or [], run.losses[:20])), default=math.inf)
            emulated = sum(x.get("emulated", False) for x in run.lines)
            line(m, f"hapc {model} {many} rows, {what}: {run.median()} ms/step (emulated: {emulated} lines), predicted "
                    f"{models.predicted_ms(folder):.1f} ms, losses within {most:.1e} of one GPU's, #wrong {bad}, losses "
                    f"{run.some_losses()}")
            if bad:
                m.failed(name, [f"{bad} losses"])


def unequal_torch(m):
    """PyTorch DDP on the same SMs: even and proportional shares"""
    for model in m.models if m.gpus >= 4 else []:
        for link in m.o.links:
            torch_ddp(m, model, link)


def torch_ddp(m, model, link, limit=280):
    """ms of each way, as printed: {(split, dtype of gradients): ms}"""
    done = m.run(f"torch.{model}.{link}", ["torchrun", "--nproc-per-node", "4", "bench/torch/torch_unequal.py", model,
                                           link, SMS], limit, plain=True)
    found = {}
    for x in done.text().splitlines():
        if "ms/step" in x or "TFLOP" in x or "Error" in x:
            line(m, x[:300])
        for split, grad, ms in re.findall(r", (even|prop) .*gradients (\w+): ([\d.]+) ms/step", x):
            found[split, grad] = float(ms)
    return found


def vgg(m):
    """VGG19, 256 images on two emulated hosts of unequal SMs on sockets: hapc beside DDP; 3 times as fast is asked"""
    if m.gpus < 4:
        print("vgg-unequal: wants 4 GPUs")
        return
    ours = planned(m, VGG[m.backend], "sockets", ["auto,f32", "auto,bf16"])
    theirs = torch_ddp(m, VGG[m.backend], "sockets", 150)
    for grad in ("f32", "bf16"):
        ddp = [ms for (_, g), ms in theirs.items() if g == grad]
        own = ours.get(f"auto,{grad}", "none")
        if ddp and own != "none":
            line(m, f"VGG19 on sockets, emulated SMs {SMS}, gradients {grad}: {min(ddp) / float(own):.2f} times as fast "
                    f"as the better DDP ({min(ddp):.1f} ms)")


def slow_half(m):
    """SMs of each GPU where half of them are slow."""
    return ",".join(["132"] * (m.gpus - m.gpus // 2) + ["64"] * (m.gpus // 2))


def torch_fsdp(m, model, limit=300):
    """PyTorch FSDP2, on equal GPUs and with half of them on 64 SMs: {(where, split): ms}"""
    tokens = models.MODELS[model][1]["input_ids"][0][0]
    done = m.run(f"fsdp.torch.{model}",
                 ["torchrun", "--nproc-per-node", str(m.gpus), "bench/torch/torch_fsdp.py", model,
                  str(rows_of(model) * m.gpus), slow_half(m), ",".join(m.o.devices)], limit, plain=True,
                 env={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})
    found = {}
    for x in done.text().splitlines():
        if "ms/step" in x or "Error" in x:
            line(m, x[:300])
        for where, split, ms in re.findall(rf"x {tokens}, (.*), (even|prop) .*: ([\d.]+) ms/step", x):
            found["equal" if "devices" in where else "emulated", split] = float(ms)
    return found


def warm(m):
    """`ops`; meanwhile PyTorch compiles what `fsdp-torch` and `stages-torch` run, of two layers"""
    two = {"BENCH_LAYERS": "2"}
    started = [m.start("warm.fsdp", ["torchrun", "--nproc-per-node", str(m.gpus), "bench/torch/torch_fsdp.py", "llama8b",
                                     str(rows_of("llama8b") * m.gpus), slow_half(m), ",".join(m.o.devices)],
                       env=two, plain=True),
               m.start("warm.stages", ["torchrun", "--nproc-per-node", str(m.gpus), "--master-port", "29511",
                                       *stages.pipeline("8", "1")], env=two, plain=True)]
    m.together(checks.op_tests(m), 100)
    for p in started:
        done = m.wait(p, 110)
        print("\n".join(f"    {done.seconds:.0f} s: {x[:200]}" for x in done.tail(2)), flush=True)


def fsdp_torch(m):
    """Llama-3-8B by PyTorch FSDP2, on equal GPUs and with half of them on 64 SMs (emulated)"""
    torch_fsdp(m, "llama8b")


def timed_fsdp(m, what, name, folder, model, n_tokens, cuda=""):
    run = go(m, f"{name}{cuda}", folder, "--steps", "25", "--seed", "1", *models.inputs(m, model), cuda=cuda, limit=150)
    ms = run.median(skip=12)  # earlier ones find the way to run a step
    rate = "none" if ms == "none" else f"{n_tokens / float(ms) * 1e3:.0f}"
    line(m, f"hapc {what}{cuda and ', ' + cuda}: {ms} ms/step, {rate} tokens/s, predicted {models.predicted_ms(folder):.1f} ms, "
            f"losses {run.some_losses()}")
    return run


def name_of(model, what, pairs):
    return f"fsdp.{model}.{re.sub('[ ,]+', '-', what)}.{pairs}"


def planned_fsdp(m, model, what, cluster, pairs, *options):
    """(ms of a plan's steps as printed, its folder, losses), or None"""
    rows, tokens = rows_of(model) * m.gpus, models.MODELS[model][1]["input_ids"][0][0]
    name = name_of(model, what, pairs)
    folder = plan(m, name, models.graph_of(m, model), cluster, "--batch", str(rows), "--precision",
                  models.precision(m), "--pairs", pairs, *options)
    if not folder:
        return None
    run = timed_fsdp(m, f"{model} {rows} x {tokens}, {what}, pairs {pairs}", name, folder, model, rows * tokens)
    ms = run.median(skip=12)
    said = models.plan_said(folder, "memory of .* arena") + run.said("workspace [0-9]|rehearsed|from here on", 9)
    print("\n".join("    " + x for x in said))
    return None if ms == "none" else (float(ms), folder, run.losses)


def clusters(m):
    """By --cluster and --mixed, by what a step before measured, or by the data sheet."""
    equal, mixed = (x if os.path.exists(x) else None for x in map(m.path, ("profiled.yaml", "mixed.yaml")))
    every = (("equal", m.o.cluster or equal or models.cluster(m, m.gpus)),
             (f"emulated SMs {slow_half(m)}", m.o.mixed or mixed or models.cluster(m, m.gpus, 64)))
    return [x for x in every if x[0].split()[0] in m.o.devices]


def fsdp(m):
    """hapc's plans for the same, with pairs or not; by each of --ways"""
    size = rows_of("llama8b") * m.gpus
    for what, cluster in clusters(m):
        for pairs in m.o.pairs:
            found = planned_fsdp(m, "llama8b", what, cluster, pairs)
            for way in (m.o.ways or []) if found else []:
                timed_fsdp(m, f"llama8b {size} x 2048, {what}, pairs {pairs}", "fsdp.again", found[1], "llama8b",
                           size * 2048, way)


def fsdp_trace(m):
    """where a step of `fsdp` goes: what its ops and collectives took beside what the plan says"""
    events = m.path("fsdp.trace.json")
    for what, _ in clusters(m):
        name = name_of("llama8b", what, m.o.pairs[0])
        folder = m.path(f"plan.{name}")
        if not os.path.isdir(folder):
            continue
        go(m, f"{name}.traced", folder, "--steps", "10", "--trace", events, "--seed", "1", *models.inputs(m, "llama8b"), limit=90)
        if not os.path.exists(events):
            continue
        line(m, f"-- {name}, traced")
        for command in ([m.hapc, "compare", folder, events], ["python3", "bench/steps/trace_ops.py", events, m.path(f"{name}.tsv")]):
            for x in m.run(f"{name}.compare", command, 60).text().splitlines()[:60]:
                line(m, "    " + x)
        os.remove(events)
