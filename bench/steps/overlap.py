"""Steps on several GPUs: overlapped pairs of a matmul and a collective, on bench/overlap/shapes.txt and
in whole models. hapc, bare cuBLASLt with NCCL and torch are processes one after the other; in each,
methods go in turns, a sample of 4 ms behind a pause of 1 ms, so that GPUs that power binds are as warm
for one as for another."""

import json
import os
import re

import numpy as np

from steps import models
from steps.models import go, plan
from steps.speed import cluster_file, line, measured

SHAPES = "bench/overlap/shapes.txt"
REPORT = ["python3", "bench/overlap/overlap_report.py"]
UNEVEN = r"70b-(square|qkv|o)$|8b-gate-up$|8b-down-columns|gpt3-o"
SMS = "132,132,64,64"


def several(m, least=2):
    if m.gpus < least:
        print(f"wants {least} GPUs")
    return m.gpus >= least


def groups_of(m, cluster, name, *options, shapes=SHAPES):
    """The planner's groups for the shapes, a file."""
    path = m.path(name)
    m.run(name, [os.path.join(m.pack, "bin/pair_chunks"), cluster, shapes, *options], 30, out=path,
          env={"HAPC_DEVICES": "clusters/devices.yaml"})
    return path


def table(m, name, jsonl, cluster, *options):
    """The report, with what the planner says of the groupings that were tried."""
    tried = m.path(f"{name}.tried.txt")
    m.run(f"{name}.tried", [*REPORT, jsonl, "--lines"], 30, out=tried)
    prices = groups_of(m, cluster, f"{name}.prices.txt", *options, "--price", tried)
    done = m.run(f"{name}.table", [*REPORT, jsonl, prices], 30)
    for x in done.text().splitlines():
        line(m, x)


def pairs(m):
    """overlapped pairs beside bare cuBLASLt with NCCL and puts, and torch's fused operators"""
    if not several(m):
        return
    cluster, seconds = cluster_file(m), str(m.o.each)
    groups = groups_of(m, cluster, "groups.txt")
    own = m.path("pairs.hapc.jsonl")
    bench = os.path.join(m.pack, "bin/overlap-bench-cuda")
    m.run("pairs.hapc", m.mpirun(m.gpus, bench, SHAPES, "--chunks", groups, "--seconds", seconds, "--lists",
                                 "3"), m.o.each + 45, out=own)
    bare, torch = m.path("pairs.bare.jsonl"), m.path("pairs.torch.jsonl")
    m.run("pairs.bare", m.mpirun(m.gpus, os.path.join(m.pack, "bin/overlap-base"), SHAPES, seconds),
          m.o.each + 20, out=bare, env={"CUDA_DEVICE_MAX_CONNECTIONS": "32"})
    m.run("pairs.torch", ["torchrun", "--nproc-per-node", str(m.gpus), "bench/torch/torch_overlap.py", SHAPES,
                          seconds], m.o.each + 30, out=torch, plain=True)
    every = m.path(f"overlap.x{m.gpus}.jsonl")
    with open(every, "w") as to:
        for path in (own, bare, torch):
            with open(path, errors="replace") as f:
                to.write(f.read())
    table(m, "pairs", every, cluster)


def uneven(m):
    """the same of hapc and baselines without torch with 132,132,64,64 SMs and cuts in proportion"""
    if not several(m, 4):
        return
    described = models.cluster(m, 4, 64)
    cluster = m.o.mixed or measured(m, "mixed", [described]) or described
    groups, shapes = groups_of(m, cluster, "groups.uneven.txt", "--cut"), m.path("shapes.uneven.txt")
    with open(SHAPES) as f, open(shapes, "w") as to:
        to.writelines(x for x in f if re.search(UNEVEN, x.strip()))
    for ctas in (0, 8):
        out = m.path(f"uneven.{ctas}.jsonl")
        m.run(f"uneven.{ctas}",
              m.mpirun(4, os.path.join(m.pack, "bin/overlap-bench-cuda"), shapes, "--chunks", groups, "--seconds",
                       "6", "--sms", SMS, "--cut", SMS, "--lists", "2", "--turns", "10"), 45, out=out,
              env={"NCCL_MAX_CTAS": str(ctas)} if ctas else {})
        line(m, f"SMs {SMS}, cuts in proportion, NCCL's CTAs {ctas or 'as it likes'}, prices by {cluster}")
        table(m, f"uneven.{ctas}", out, cluster, "--cut")


def rows_for(m, model, rows, tokens):
    path = m.path(f"{model}.npy")
    np.save(path, np.random.default_rng(0).integers(0, 50257, (rows, tokens), dtype=np.int64))
    return models.token_rows(path)


XL_PINS = ["--pin", "transformer.h.*.mlp.c_fc=S(2)", "--pin", "transformer.h.*.add*=S(0)"]


def e2e(m):
    """GPT-2 XL and blocks of 8192: plans with overlapped pairs on and off, predicted and measured"""
    if not several(m):
        return
    cluster = cluster_file(m)
    cases = [("gpt2-8k", "auto", 4, 2048, []),
             ("gpt2-xl", "sp", 16, 1024, [*XL_PINS, "--pin", "transformer.h.*.attn.c_attn=S(2)"])]
    for model, how, batch, tokens, pins in cases:
        rows = rows_for(m, model, 2 * batch, tokens)
        folders = {}
        for pairs_on in ("off", "auto"):
            name = f"e2e.{model}.{how}.{pairs_on}"
            folders[name] = plan(m, name, f"examples/{model}/graph.json", cluster, "--batch", str(batch),
                                 "--precision", "bf16", *pins, "--pairs", pairs_on)
        for name, folder in list(folders.items()) * 2:
            if not folder:
                continue
            run = go(m, name, folder, "--steps", "18", "--seed", "1", *rows, limit=40)
            with open(os.path.join(folder, "program.c")) as f:
                count = f.read().count("hap_overlap(")
            line(m, f"{name}: {run.median(9)} ms/step, predicted {models.predicted_ms(folder):.1f} ms, "
                    f"{count} pairs in program.c, losses {run.some_losses()}")


def e2e_trace(m):
    """where a step of GPT-2 XL goes, pairs off: ms by class of instruction, predicted and measured, of
    two plans: as planned (by heads), and one planned as if short runs of bytes cost nothing"""
    if not several(m):
        return
    cluster = cluster_file(m)
    folder = os.path.dirname(cluster) or "."
    with open(cluster) as f:
        text = f.read()
    curves_name = re.search(r'(?m)^measured: *"?([^"\n]*)"?', text)
    if not curves_name:
        print("e2e-trace: wants a measured cluster")
        return
    with open(os.path.join(folder, curves_name.group(1))) as f:
        curves = json.load(f)
    curves["runs"] = [{"class": c, "push": 1e-13, "pack": 0} for c in curves["classes"]]
    free = m.path("free.yaml")
    with open(m.path("free.curves.json"), "w") as f:
        json.dump(curves, f)
    with open(free, "w") as f:
        f.write(re.sub(r"(?m)^measured:.*", 'measured: "free.curves.json"', text))
    rows = rows_for(m, "trace", 32, 1024)
    for what, by, heads in (("short", free, "e"), ("heads", cluster, "h")):
        name, events = f"e2e-trace.{what}", m.path("trace.json")
        made = plan(m, name, "examples/gpt2-xl/graph.json", by, "--batch", "16", "--precision", "bf16",
                    "--pairs", "off", *XL_PINS, "--pin", f"transformer.h.*.attn.c_attn=S({heads})")
        if not made:
            continue
        run = go(m, name, made, "--steps", "14", "--seed", "1", *rows, limit=30)
        line(m, f"{name}: {run.median(9)} ms/step, predicted {models.predicted_ms(made):.1f} ms")
        go(m, f"{name}.traced", made, "--steps", "4", "--trace", events, "--seed", "1", *rows, limit=30)
        done = m.run(f"{name}.classes", ["python3", "bench/planner/plan_classes.py", made, events, "4"], 60)
        print(done.text(), flush=True)
        if os.path.exists(events):
            os.remove(events)
