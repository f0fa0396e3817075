"""Steps that measure: hapc and PyTorch on the same models in one call, predictions against both."""

import json
import os
import re
import shutil
import statistics
import time

from steps import models
from steps.models import go, plan, rows_of, size_of

WAYS = ["graph=on,fuse=on", "graph=on,fuse=off", "graph=off,fuse=off"]


def line(m, text):
    print(text, flush=True)
    with open(m.path("figures.txt"), "a") as f:
        f.write(text + "\n")


def counts(m):
    return [1] + ([m.gpus] if m.gpus > 1 else [])


def trace(m, model, folder, name, cuda=""):
    """Milliseconds by op of a step, each call waited for."""
    events = m.path("trace.json")
    go(m, f"{name}.traced", folder, "--steps", "3", "--trace", events, "--seed", "1",
       *models.inputs(m, model), cuda=cuda, limit=120)
    done = m.run(f"{name}.ops", ["python3", "bench/steps/trace_ops.py", events, m.path(f"{name}.tsv")], 60)
    print("\n".join("    " + x for x in done.tail(26)), flush=True)
    if os.path.exists(events):
        os.remove(events)


def speed(m):
    """steps of the models in bf16, on one GPU and on all, and the time by op on one"""
    for model in m.models:
        rows, folder = models.inputs(m, model), None
        for n in counts(m):
            name = f"{model}.{n}"
            folder = plan(m, name, models.graph_of(m, model), models.cluster(m, n), "--batch",
                          str(rows_of(model) * n), "--precision", "bf16")
            if not folder:
                continue
            print("\n".join("    " + x for x in models.plan_said(folder, "memory of .* arena")))
            for way in m.o.ways or WAYS[:1]:
                run = go(m, f"run.{name}.{way}", folder, "--steps", str(m.o.steps), "--seed", "1", *rows,
                         cuda=way)
                line(m, f"hapc {model}, {n} GPU, {size_of(model, n)}, {way}: {run.median()} ms/step, predicted "
                        f"{models.predicted_ms(folder):.1f} ms, losses {run.some_losses()}")
                print("\n".join("    " + x for x in run.said("^rank.*workspace|segments|device 0|rehearsed|attention|turned", 8)))
                print("\n".join("    " + x for x in run.said("channels, .*: (?!by cuDNN, channels last)", 8)))
        first = m.path(f"plan.{model}.1")
        if os.path.isdir(first):
            trace(m, model, first, f"trace.{model}")


def torch_warm(m):
    """compiles what `torch` runs, all models at once, so that it starts from inductor's cache"""
    command = ["python3", "bench/torch/torch_step.py"]
    started = [m.start(f"warm.{model}", [*command, model, str(rows_of(model)), "any", "2"], plain=True)
               for model in m.models]
    for p in started:
        m.wait(p, 200)


def torch(m):
    """compiled PyTorch on the models of `speed`, DDP on several GPUs"""
    for model in m.models:
        for n in counts(m):
            start = ["python3"] if n == 1 else ["torchrun", "--nproc-per-node", str(n)]
            for kernels in ("flash", "cudnn") if model == "long" else ("any",):
                done = m.run(f"torch.{model}.{n}.{kernels}",
                             [*start, "bench/torch/torch_step.py", model, str(rows_of(model) * n), kernels], 240,
                             plain=True)
                for x in [x for x in done.text().splitlines() if "ms/step" in x or "Error" in x or " calls " in x][-9:]:
                    line(m, x)


def gemm(m):
    """the matmuls of the language model's head, odd and padded, by torch"""
    done = m.run("gemm", ["python3", "bench/torch/torch_gemm.py"], 60, plain=True)
    print("\n".join(done.tail(12)))


def tile(m):
    """tile kernels beside cuBLASLt, matmul by matmul: of bench/overlap's list, drawn at random, of models; sm_80's too"""
    for name, kernels in (("tile", []), ("tile.mma", ["mma"])):
        done = m.run(name, [os.path.join(m.pack, "bin/tile-bench"), "bench/overlap/shapes.txt",
                            str(int(time.time())), "120", *kernels], 150)
        for x in done.text().splitlines():
            line(m, x)
        if not done.ok:
            m.failed(name, done.tail(3))


def losses(m):
    """GPT-2 on 8 x 1024 tokens of a text, bf16 and fp32, against PyTorch: 50 steps"""
    text, tokens, rows = m.path("text"), m.path("tokens"), m.path("gpt2.npy")
    sources = "cat docs/*.md README.md runtime/*/*.c runtime/*/*/*.c runtime/*/*/*.cu synth/*/*.c ir/*.c"
    made = m.run("tokens.made", ["bash", "-c", f"{sources} >{text} && cc -O2 -o {tokens} examples/tokens.c && "
                                               f"{tokens} {text} 1024 {rows}"], 60)
    if not made.ok:
        m.failed("losses", made.tail(3))
        return
    with open(models.graph_of(m, "gpt2")) as f:
        graph = json.load(f)
    graph["optimizer"]["schedule"] = {"warmup": 20}
    warm = m.path("warm.json")
    with open(warm, "w") as f:
        json.dump(graph, f)
    start = m.path("start.safetensors")
    for precision in ("fp32", "bf16"):
        folder = plan(m, f"warm.{precision}", warm, models.cluster(m, 1), "--batch", "8", "--precision",
                      precision, "-q")
        if not folder:
            return
        if precision == "fp32":
            go(m, "start", folder, "--steps", "0", "--seed", "1", "--save", start, *models.token_rows(rows))
        go(m, f"hapc.{precision}", folder, "--steps", "50", "--init", start, *models.token_rows(rows),
           cuda="tune=off")
    done = m.run("losses", ["python3", "bench/torch/torch_losses.py", m.work], 150, plain=True)
    print("\n".join(done.tail(60 if m.o.verbose else 5)))
    for path in (start, text, rows):
        os.remove(path)


def profile(m):
    """hapc profile on all GPUs: the cluster file that later steps plan by"""
    measured(m, "profiled", ["-n", str(m.gpus)])


def measured(m, name, what):
    path = m.path(name + ".yaml")
    done = m.run(f"profile.{name}", [m.hapc, "profile", "--backend", m.backend, *what, "-o", path], 170)
    print("\n".join(x[:300] for x in done.tail(8)))
    line(m, f"hapc profile {' '.join(what)}: exit {done.code}, {done.seconds:.0f} s")
    return path if done.ok else None


def profile_mixed(m):
    """hapc profile with half of the GPUs on 64 SMs (emulated); the others' curves serve for equal GPUs, too"""
    path = measured(m, "mixed", [models.cluster(m, m.gpus, 64)])
    if not path:
        return
    with open(path) as f:
        lines = [x for x in f if "sms:" not in x]
    with open(m.path("profiled.yaml"), "w") as to:
        to.writelines(x.replace(f"count: {m.gpus - m.gpus // 2}", f"count: {m.gpus}") if "model:" in x else x for x in lines)


def cluster_file(m):
    """--cluster, or what `profile` measured, measured now if it was not."""
    path = m.o.cluster or m.path("profiled.yaml")
    if not os.path.exists(path):
        profile(m)
    return path


def predicted(m):
    """plans of several strategies by the measured cluster: predicted and measured ms"""
    cluster = cluster_file(m)
    single = m.path("profiled1.yaml")
    with open(cluster) as f, open(single, "w") as to:
        for x in f:
            if "link:" not in x:
                to.write(x.replace(f"count: {m.gpus}", "count: 1"))
    for curves in [x for x in os.listdir(os.path.dirname(cluster)) if x.endswith(".curves.json")]:
        if os.path.dirname(cluster) != m.work:
            shutil.copy(os.path.join(os.path.dirname(cluster), curves), m.work)
    for n in reversed(counts(m)):
        for model in m.models:
            rows = [f"--run={x}" for x in models.inputs(m, model)]
            strategies = "auto" if n == 1 else "auto,dp-even,dp-prop,zero,tp"
            done = m.run(f"predicted.{model}.{n}",
                         ["python3", "bench/planner/predicted.py", m.hapc, models.graph_of(m, model),
                          single if n == 1 else cluster, "--strategies", strategies, "--backend", m.backend,
                          f"--plan=--batch={rows_of(model) * n}", "--plan=--precision=bf16", "--timeout", "60",
                          *rows], 300)
            for x in done.text().splitlines():
                line(m, x)


def corrected(m):
    """one traced plan a model corrects the cluster (hapc compare -o); predictions of other plans before and after"""
    for model in m.models:
        errors = ([], [])
        for n in reversed(counts(m)):
            errors = [x + y for x, y in zip(errors, corrected_on(m, model, n))]
        for name, x in zip(("as profiled", "corrected"), errors):
            if x:
                line(m, f"{model}: {len(x)} plans that were not traced, {name}: median error {statistics.median(x):.1f} %, "
                        f"largest {max(x):.1f} %")


def some(m, n):
    """The measured cluster with n of its devices."""
    path = m.path(f"some{n}.yaml")
    with open(cluster_file(m)) as f, open(path, "w") as to:
        for x in f:
            if n > 1 or "link:" not in x:
                to.write(re.sub(r"count: \d+", f"count: {n}", x))
    return path


def corrected_on(m, model, n):
    """Errors in % of the plans, as profiled and corrected."""
    rows, each, graph = models.inputs(m, model), rows_of(model), models.graph_of(m, model)
    measured, mended, events = some(m, n), m.path(f"mended.{model}.{n}.yaml"), m.path("trace.json")
    options = ["--precision", "bf16"]
    traced = plan(m, f"traced.{model}.{n}", graph, measured, *options, "--batch", str(each * n))
    if not traced:
        return [], []
    go(m, f"traced.{model}.{n}", traced, "--steps", "40", "--trace", events, "--seed", "1", *rows, limit=90)
    done = m.run(f"compare.{model}.{n}", [m.hapc, "compare", traced, events, "-o", mended], 60)
    shutil.copy(events, m.path(f"trace.{model}.{n}.txt"))
    shutil.copy(os.path.join(traced, "plan.json"), m.path(f"traced.{model}.{n}.txt"))
    print("\n".join("    " + x for x in done.text().splitlines()), flush=True)
    found = ([], [])
    plans = [("auto", 1), ("auto", 0.5), ("auto", 2)] + [(x, 1) for x in ("dp-even", "zero", "tp") if n > 1]
    for strategy, share in plans:
        batch = ["--batch", str(int(each * n * share)), "--strategy", strategy]
        ms = []
        for which, cluster in ((0, measured), (1, mended)):
            name = f"{strategy}.{share}.{which}.{model}.{n}"
            folder = plan(m, name, graph, cluster, *options, *batch)
            if not folder:
                break
            with open(os.path.join(folder, "plan.json")) as f:
                ms.append(json.load(f)["predicted_ms"])
        if len(ms) < 2:
            continue
        steps = max(20, int(3000 / ms[1])) # seconds: until clocks are those of training
        run = go(m, f"run.{strategy}.{share}.{model}.{n}", folder, "--steps", str(steps), "--seed", "1", *rows, limit=60)
        took = float(run.median(steps // 2))
        kind = "traced" if (strategy, share) == ("auto", 1) else "not traced"
        line(m, f"{model}, {n} GPU, batch {batch[1]}, {strategy} ({kind}): measured {took:.2f} ms, as profiled {ms[0]:.2f} "
                f"({100 * (ms[0] / took - 1):+.1f} %), corrected {ms[1]:.2f} ({100 * (ms[1] / took - 1):+.1f} %)")
        for x, y in zip(found, ms) if kind == "not traced" else ():
            x.append(abs(100 * (y / took - 1)))
    return found


def groups_speed(m):
    """the models with fused groups of kernels.cu off, on and all, in turns"""
    for model in m.models:
        rows = models.inputs(m, model)
        folder = plan(m, f"groups.{model}", models.graph_of(m, model), models.cluster(m, 1), "--batch",
                      str(rows_of(model)), "--precision", "bf16")
        for on in ("off", "on", "all") * 2 if folder else ():
            run = go(m, f"groups.{model}.{on}", folder, "--steps", str(m.o.steps), "--seed", "1", *rows,
                     cuda=f"fusions={on}")
            line(m, f"groups {on} {model}: {run.median()} ms/step, losses {run.some_losses()}")
        for on in ("off", "all") if folder else ():
            trace(m, model, folder, f"groups.{model}.{on}", cuda=f"fusions={on}")


def put_speed(m):
    """one-sided puts and the library on 2 and 4 GPUs, captured"""
    for n in [n for n in (2, 4) if n <= m.gpus]:
        done = m.run(f"put-speed.{n}", m.mpirun(n, os.path.join(m.pack, "bin/push-bench-cuda"), "--graph",
                                                "on", "--seconds", str(m.o.each)), m.o.each + 60)
        report = m.run(f"put-speed.{n}.table", ["python3", "bench/overlap/put_report.py", done.log], 30)
        for x in report.text().splitlines():
            line(m, x)
