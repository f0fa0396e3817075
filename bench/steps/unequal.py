"""Steps on GPUs of unequal speed: half of them compute on 64 of their 132 SMs (green contexts: emulated;
memory, links and NCCL keep their speed), over NVLink and as two emulated hosts on sockets."""

import os

from steps import models
from steps.models import go, plan, rows_of
from steps.speed import line

SMS = "132,132,64,64"
CLUSTERS = {"nvlink": "clusters/h200x4-mixed.yaml", "sockets": "clusters/h200x4-mixed-sockets.yaml"}
# strategy, dtype of gradients
PLANS = ["auto,f32", "dp-even,f32", "dp-prop,f32", "auto,bf16", "dp-even,bf16", "dp-prop,bf16"]


def wrong(first, losses):
    """How many of two runs' first 20 losses differ by more than 1 in 500."""
    if not losses:
        return "all"
    return sum(not (a > 0 and b > 0 and abs(a - b) < a / 500) for a, b in zip(first[:20], losses))


def unequal(m):
    """hapc's plans for GPT-2 128 x 1024 and BERT 256 x 128, by strategy and dtype of gradients"""
    if m.gpus < 4:
        print("unequal: wants 4 GPUs")
        return
    for model in m.models:
        rows = models.inputs(m, model)
        for link in m.o.links:
            first = None
            for what in m.o.plans or PLANS:
                strategy, grad = what.split(",")
                name = f"unequal.{model}.{link}.{strategy}.{grad}"
                folder = plan(m, name, models.graph_of(m, model), models.of_gpus(m, CLUSTERS[link]), "--batch",
                              str(4 * rows_of(model)), "--precision", "bf16", "--strategy", strategy,
                              "--grad-dtype", grad)
                if not folder:
                    continue
                run = go(m, name, folder, "--steps", str(m.o.steps), "--seed", "1", *rows)
                first = first or run.losses
                emulated = sum(x.get("emulated", False) for x in run.lines)
                line(m, f"hapc {model} {link} {what}: {run.median()} ms/step (emulated: {emulated} lines), "
                        f"predicted {models.predicted_ms(folder):.1f} ms, "
                        f"#wrong {wrong(first, run.losses)}, losses {run.some_losses()}")


def unequal_torch(m):
    """PyTorch DDP on the same SMs: even and proportional shares"""
    for model in m.models if m.gpus >= 4 else []:
        for link in m.o.links:
            done = m.run(f"torch.{model}.{link}", ["torchrun", "--nproc-per-node", "4",
                                                   "bench/torch/torch_unequal.py", model, link, SMS],
                         280, plain=True)
            for x in done.text().splitlines():
                if "ms/step" in x or "TFLOP" in x or "Error" in x:
                    line(m, x)


def llama_sms(m):
    """SMs of each GPU where half of them are slow."""
    return ",".join(["132"] * (m.gpus - m.gpus // 2) + ["64"] * (m.gpus // 2))


def fsdp_torch(m):
    """Llama-3-8B by PyTorch FSDP2, on equal GPUs and with half of them on 64 SMs (emulated)"""
    done = m.run("fsdp.torch", ["torchrun", "--nproc-per-node", str(m.gpus), "bench/torch/torch_fsdp.py", "llama8b",
                                str(rows_of("llama8b") * m.gpus), llama_sms(m)], 300, plain=True,
                 env={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})
    for x in done.text().splitlines():
        if "ms/step" in x or "Error" in x:
            line(m, x[:300])


def fsdp(m):
    """hapc's plans for the same, by --cluster and --mixed, what was measured or else the data sheet, with pairs or not"""
    rows, files = rows_of("llama8b") * m.gpus, models.inputs(m, "llama8b")
    equal, mixed = (x if os.path.exists(x) else None for x in map(m.path, ("profiled.yaml", "mixed.yaml")))
    for what, cluster in (("equal", m.o.cluster or equal or models.cluster(m, m.gpus)),
                          (f"emulated SMs {llama_sms(m)}", m.o.mixed or mixed or models.cluster(m, m.gpus, 64))):
        for pairs in m.o.pairs:
            name = f"fsdp.hapc.{what.split()[0]}.{pairs}"
            folder = plan(m, name, models.graph_of(m, "llama8b"), cluster, "--batch", str(rows),
                          "--precision", "bf16", "--pairs", pairs)
            if not folder:
                continue
            run = go(m, name, folder, "--steps", "25", "--seed", "1", *files, limit=150)
            ms = run.median(skip=12)  # earlier ones find the way to run a step
            rate = "none" if ms == "none" else f"{rows * 2048 / float(ms) * 1e3:.0f}"
            line(m, f"hapc llama8b {rows} x 2048, {what}, pairs {pairs}: {ms} ms/step, {rate} tokens/s, "
                    f"predicted {models.predicted_ms(folder):.1f} ms, losses {run.some_losses()}")
            print("\n".join("    " + x for x in run.said("workspace [0-9]|rehearsed|from here on", 9)))
