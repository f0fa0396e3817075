"""Steps on several GPUs: pairs as lists of tiles. What must be right; the list of shapes and shapes
drawn at random, beside bare cuBLASLt with NCCL and pushes and torch's fused operators; unequal GPUs;
whole models in chunks and by tiles."""

import json
import math
import os
import random
import re
import shutil
import time

from overlap import list_report
from steps import models
from steps.checks import given
from steps.models import go, plan
from steps.overlap import SHAPES, SMS, XL_PINS, groups_of, rows_for, several
from steps.speed import cluster_file, line

# Published by others: Triton-distributed's figure is of this one.
MORE = "RS 8192 8192 29568 2,4,8 triton-down\n"
# Of the list, and fewer of them: for unequal GPUs.
UNEVEN = r"70b-(square|qkv|o|o-4k)$|8b-gate-up$|8b-down-columns$|gpt3-o$|AR .* 8b-down$"
# How much longer matmuls take on few processors is taken from these, of 132 and 64.
MEASURED_SMS = "bench/results/2026-11-21-h200x4-mixed.curves.json"


def seeds_of(m):
    """--seeds, or a fresh one."""
    if not m.o.seeds:
        m.o.seeds = [str(int(time.time()))]
    return m.o.seeds


def shapes_of(m, seed, count=24):
    """The list and what others have published, or shapes at random: a file."""
    path = m.path(f"shapes{seed}.txt")
    if seed:
        m.run(f"shapes{seed}", ["python3", "bench/overlap/random_shapes.py", seed, str(count), str(m.gpus)], 10, out=path)
        return path
    with open(SHAPES) as f, open(path, "w") as to:
        to.write(f.read() + MORE)
    return path


def measure(m, name, shapes, cluster, sms="", stores=True):
    """What list_report.py takes of the shapes: jsonl:planned[:forms[:planned with lists by stores]]."""
    cut, run_as = (["--cut"], ["--cut", sms, "--sms", sms]) if sms else ([], [])
    planned, also = groups_of(m, cluster, f"{name}.planned.txt", *cut, shapes=shapes), []
    if stores or m.o.forms:
        also.append(groups_of(m, cluster, f"{name}.forms.txt", *cut, "--each" if m.o.forms else "--stored", shapes=shapes))
    if stores:
        also.append(groups_of(m, cluster, f"{name}.stores.txt", *cut, "--stores", shapes=shapes))
        with open(also[0], "a") as to, open(also[1]) as f:
            to.writelines(x for x in f if list_report.new(x.partition("#")[0]))
    out, bench = m.path(f"{name}.jsonl"), os.path.join(m.pack, f"bin/overlap-bench-{m.backend}")
    small = ["--scale", "64"] if m.backend == "cpu" else []
    done = m.run(name, m.mpirun(m.gpus, bench, shapes, "--chunks", planned, *[x for f in also[:1] for x in ("--also", f)],
                                *run_as, *([] if stores else ["--no-stores"]), *small, "--lists", "1", "--seconds",
                                str(m.o.each)), m.o.each + 60, out=out)  # fmt: skip
    if not done.ok:
        m.failed(name, [f"exit {done.code}", *done.tail(4)])
    return ":".join([out, planned, *also])


def report(m, name, sets, beside=()):
    done = m.run(f"{name}.table", ["python3", "bench/overlap/list_report.py", *sets,
                                   *[x for path in beside for x in ("--beside", path)]], 30)
    for x in done.text().splitlines():
        line(m, x)


def lists(m):
    """pairs as lists of tiles: planned, and the best of each form of tiles (--forms); shapes of
    bench/overlap/shapes.txt and at random (--seeds); on other devices (--sms, --mixed), cut in proportion"""
    if not several(m):
        return
    cluster = (m.o.sms and m.o.mixed) or cluster_file(m)
    line(m, f"== prices by {cluster}, {f'SMs {m.o.sms}, emulated' if m.o.sms else 'equal ranks'}, "
            f"seeds {' '.join(m.o.seeds) or 'none'}")
    report(m, "lists", [measure(m, f"lists{seed}{'.sms' if m.o.sms else ''}", shapes_of(m, seed), cluster, m.o.sms)
                        for seed in ["", *m.o.seeds]])


def rivals(m):
    """`lists` of a fresh seed, bare cuBLASLt with NCCL and pushes, torch's fused operators: one after the other"""
    if not several(m):
        return
    cluster, every = cluster_file(m), m.path("shapes.all.txt")
    sets = {seed: shapes_of(m, seed) for seed in ["", *seeds_of(m)]}
    line(m, f"== prices by {cluster}, equal ranks, seeds {' '.join(m.o.seeds)}")
    with open(every, "w") as to:
        for path in sets.values():
            with open(path) as f:
                to.write(f.read())
    made = [measure(m, f"lists{seed}", path, cluster) for seed, path in sets.items()]
    seconds = str(2 * m.o.each // 3)
    torch, bare = m.path("rivals.torch.jsonl"), m.path("rivals.bare.jsonl")
    if shutil.which("torchrun"):
        m.run("rivals.torch", ["torchrun", "--nproc-per-node", str(m.gpus), "bench/torch/torch_overlap.py", every,
                               seconds, "fused"], m.o.each + 45, out=torch, plain=True)
    m.run("rivals.bare", m.mpirun(m.gpus, os.path.join(m.pack, "bin/overlap-base"), every, seconds), m.o.each + 45,
          out=bare, env={"CUDA_DEVICE_MAX_CONNECTIONS": "32"})
    report(m, "rivals", made, [x for x in (torch, bare) if os.path.exists(x)])


def stores(m):
    """`lists` and 8 shapes of a fresh seed, with the two best lists by stores beside, in one go"""
    if not several(m):
        return
    cluster, both = cluster_file(m), m.path("shapes.stores.txt")
    drawn = shapes_of(m, seeds_of(m)[0], 8)
    with open(both, "w") as to:
        for path in (SHAPES, drawn):
            with open(path) as f:
                to.write(f.read())
    line(m, f"== prices by {cluster}, equal ranks, 8 shapes of seed {m.o.seeds[0]}"
            + ("" if stores_hold(m) else ", no stores: they went wrong"))
    report(m, "stores", [measure(m, "stores", both, cluster, stores=stores_hold(m))])


# --- unequal GPUs ---


def slower(points, full, few, share):
    """A matmul's curve on fewer processors, as two measured curves differ between 132 and 64 of them."""
    ratio = {tuple(p[:2]): max(1, q[2] / p[2]) for p, q in zip(full, few)}
    return [[*p[:2], p[2] * ratio.get(tuple(p[:2]), 132 / 64) ** share] for p in points]


def emulated(m, cluster, sms):
    """The measured cluster with so many processors of each GPU. Matmuls of those that have fewer take as
    much longer as they did where that was measured."""
    with open(cluster) as f:
        text = f.read()
    name = re.search(r'(?m)^measured: *"?([^"\n]*)"?', text)
    model = re.search(r"model: ([^,}]*)", text).group(1)
    if not name:
        return None
    with open(os.path.join(os.path.dirname(cluster) or ".", name.group(1))) as f:
        curves = json.load(f)
    with open(MEASURED_SMS) as f:
        known = json.load(f)["classes"]
    full, few, of = known["H200"], known["H200/64sms"], curves["classes"][model]
    for n in sorted(set(sms) - {132}):
        share = math.log(132 / n) / math.log(132 / 64)
        its = curves["classes"][f"{model}/{n}sms"] = dict(of)
        for op in ("linear", "linear_dw", "matmul"):
            its[op] = dict(of[op], bf16=slower(of[op]["bf16"], full[op]["bf16"], few[op]["bf16"], share))
        for table in ("contention", "pairs", "runs"):
            curves[table] += [dict(x, **{"class": f"{model}/{n}sms"}) for x in curves[table] if x["class"] == model]
    label = "-".join(map(str, sms))
    path = m.path(f"uneven.{label}.yaml")
    with open(m.path(f"uneven.{label}.curves.json"), "w") as f:
        json.dump(curves, f)
    one = re.search(r"(?m)^ *- (\{model:.*\})", text).group(1)
    each = [re.sub(r"count: \d+", "count: 1" + (f", sms: {n}" if n < 132 else ""), one) for n in sms]
    text = re.sub(r"(?m)^( *- )\{model:.*\}", lambda x: "\n".join(x.group(1) + e for e in each), text)
    text = re.sub(r"(?m)^measured:.*", f'measured: "uneven.{label}.curves.json"', text)
    with open(path, "w") as f:
        f.write(text)
    return path


def sets_of_sms(m):
    """--sms, or 132,132,64,64 and two sets at random: half of the GPUs' worth of processors or more."""
    if m.o.sms:
        return [[int(x) for x in m.o.sms.split(",")]]
    rng = random.Random(int(seeds_of(m)[0]))
    drawn = [[rng.randrange(48, 129, 8) for _ in range(m.gpus)] for _ in range(2)]
    return [[132] * (m.gpus - m.gpus // 2) + [64] * (m.gpus // 2), *drawn]


def uneven_lists(m):
    """`lists` on 132,132,64,64 processors (emulated) and two sets at random, shapes cut in proportion"""
    if not several(m):
        return
    cluster, some = cluster_file(m), m.path("shapes.uneven.txt")
    with open(SHAPES) as f, open(some, "w") as to:
        to.writelines(x for x in f if re.search(UNEVEN, x.strip()))
    for i, sms in enumerate(sets_of_sms(m)):
        by = (i == 0 and m.o.mixed) or emulated(m, cluster, sms)
        if not by:
            print("uneven-lists: wants a measured cluster")
            return
        text = ",".join(map(str, sms))
        line(m, f"== SMs {text}, emulated, cuts in proportion, prices by {by}")
        report(m, f"uneven.{i}", [measure(m, f"uneven.{i}", some, by, text)])


# --- whole models ---


XL = ("gpt2-xl", 16, 1024, [*XL_PINS, "--pin", "transformer.h.*.attn.c_attn=S(2)"])


def in_ways(m, model, batch, tokens, pins, turns=2):
    """A model's plan, run in chunks, by lists of tiles and by stores, there and back."""
    cluster = cluster_file(m) if m.backend == "cuda" else models.cluster(m, m.gpus)
    name = f"e2e-tiles.{model}"
    rows = rows_for(m, model, 2 * batch, tokens) if m.backend == "cuda" else models.inputs(m, model)
    folder = plan(m, name, f"examples/{model}/graph.json", cluster, "--batch", str(batch), "--precision",
                  models.precision(m), *pins)
    if not folder:
        return
    with open(os.path.join(folder, "program.c")) as f:
        text = f.read()
    line(m, f"{name}: {text.count('hap_overlap(')} pairs, {text.count('hap_tiles(')} with lists, predicted "
            f"{models.predicted_ms(folder):.1f} ms")
    ways = ["tiles=off", "tiles=on", *(["tiles=on,stores=all"] if stores_hold(m) else [])]
    for turn in range(turns):
        for way in ways[:: 1 - 2 * turn]:
            run = go(m, f"{name}.{way}", folder, "--steps", "18", "--seed", "1", *rows, cuda=way, limit=40)
            line(m, f"{name} {way}: {run.median(9)} ms/step, losses {run.some_losses()}")
            for x in run.said("pair of line", 12) if turn == 0 and way != "tiles=off" else ():
                print("   ", x)


def e2e_tiles(m):
    """GPT-2 XL and blocks of 8192, the same plan: pairs in chunks and as lists of tiles, in turns"""
    if several(m):
        in_ways(m, "gpt2-8k", 4, 2048, [])
        in_ways(m, *XL)


def e2e_xl(m):
    """GPT-2 XL by heads alone, each way once: in chunks, as lists of tiles, by stores"""
    if several(m):
        in_ways(m, *(XL if m.backend == "cuda" else ("gpt2-tiny", 8, 32, [])), turns=1)


# --- what must be right ---


def stores_hold(m):
    """False once a check of this call found pairs or collectives by stores wrong, or they hung."""
    return not any(x.startswith("stores.") and (" FAILED" in x or "OUT OF TIME" in x) for x in m.summary)


def stores_checks(m):
    """tile kernels; signals of lists by copies and by stores, spoilt ones too; collectives, pairs, programs by stores"""
    seed, n = str(int(time.time()) % 1000000), min(m.gpus, 4)
    if m.backend == "cuda":
        on = lambda first, of: {"CUDA_VISIBLE_DEVICES": ",".join(str((first + i) % m.gpus) for i in range(of))}  # noqa: E731
        one = {"tile": ([m.test("tile_cuda_test")], on(0, 1)),
               "litmus.copies": ([m.test("tile_litmus_cuda_test"), "100000"], on(1, 1))}
        two = {"litmus.stores": ([m.test("stores_litmus_cuda_test"), "100000"], on(2, min(n, 2)))}
        # Programs that share a device wait for each other at every flag: a spoilt one may come out right.
        sets = [{**one, **two}] if n == 4 else [one, two] if n > 1 else [{name: x} for name, x in [*one.items(), *two.items()]]
        for beside in sets:
            m.together(beside, 60)
    if n < 2:
        return
    every = given("--cuda tiles=all,stores=all")
    m.check("stores.coll", m.mpirun(n, m.test("coll_cuda_test"), "4", seed), 40, env=every)
    m.check(f"stores.pairs.{seed}", m.mpirun(n, m.test("pair_cuda_test"), "2", seed, "200", "600"), 50, env=every)
    m.check("stores.puts", m.mpirun(n, m.test("put_stress_cuda"), "12", "8", "1", "300"), 40,
            env=given("-v --cuda graph=on,stores=all"))


def tile_checks(m):
    """lists of tiles: ranks killed and stopped, a million rounds of each signal beside it; 20,000 pairs with delays"""
    two = m.gpus >= 4
    litmus = "; ".join(f"{m.test(t)} 1000000 || rc=1" for t in ("tile_litmus_cuda_test", "stores_litmus_cuda_test"))
    checks = {"litmus": (["bash", "-c", f"rc=0; {litmus}; exit $rc"],
                         {"CUDA_VISIBLE_DEVICES": f"{m.gpus - 2},{m.gpus - 1}"} if two else {})}
    if two:
        checks["fail-tiles"] = (["tests/cli/cli_run_test.sh", "cuda", "tiles"],
                                {"CUDA_VISIBLE_DEVICES": "0,1", "HAP_TEST_GPUS": "2"})
    m.together(checks, 150)
    for way in ("off", "all") if m.gpus > 1 else ():
        seed = str(int(time.time()) % 1000000)
        m.check(f"pairs.stores-{way}.{seed}",
                m.mpirun(min(m.gpus, 4), m.test("pair_cuda_test"), "5", seed, "200", "2000"), 100,
                env=given(f"--cuda tiles=all,stores={way}"))
