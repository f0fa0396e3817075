"""Steps that find faults: the tests of tests/ that need devices, and comparisons bit for bit."""

import collections
import filecmp
import json
import re

import numpy as np

from steps import models
from steps.models import go, plan

OPS = ["chains", "tile", "ops_bf16", "op_blocks", "op_values", "op_cuts"]


def given(options):
    """The variable by which test programs of the runtime take options of emitted programs."""
    return {"HAP_TEST_OPTIONS": options}


def op_tests(m):
    """{name: (command, environment)}, a GPU after the other."""
    heads = [f"attention={way}" for way in ("cudnn", "heads", "shared", "together")]
    ways = {f"ops_bf16.{way.replace('=', '.')}": ("ops_bf16", {**given(f"--cuda {way}"), **({"HAP_TEST_OP": "sdpa"} if way in heads else {})})
            for way in ("tiles=all", "conv=blocks", *heads)}
    every = {**{t: (t, {}) for t in OPS}, **ways}
    return {name: ([m.test(f"{t}_cuda_test")], {"CUDA_VISIBLE_DEVICES": str(i % m.gpus), **env})
            for i, (name, (t, env)) in enumerate(every.items())}


def ops(m):
    """ops of the table, chains and bf16 against the CPU, PyTorch and every cut; by tile kernels, in blocks"""
    m.together(op_tests(m), 200)


def generated(m):
    """The command of a rank of a plan whose kernels.cu is built: NVRTC takes long."""
    graph, rows = m.path("rows.json"), m.path("rows.npy")
    made = m.run("rows", ["python3", "tests/graphs/make_groups.py", "64", graph, rows], 30)
    folder = made.ok and plan(m, "rows", graph, models.cluster(m, 1), "-q")
    if not folder:
        return None
    command = [m.hapc, "run", folder, "--backend", "cuda", "--steps", "4", "--seed", "1", "--input",
               f"x={rows}", "--cuda", "fusions=all,attention=own,tune=off"]
    m.run("rows.built", command, 60)
    shown = m.run("rows.command", [*command, "--dry-run"], 30).text().splitlines()
    return ["bash", "-c", shown[-1]] if shown else None


def sanitize(m):
    """ops, chains and generated kernels under compute-sanitizer: memcheck, and racecheck on few calls"""
    memcheck = ["compute-sanitizer", "--tool", "memcheck", "--error-exitcode", "9"]
    racecheck = ["compute-sanitizer", "--tool", "racecheck", "--error-exitcode", "9"]
    # What cuBLAS and cuDNN run is left out of racecheck.
    few = {"HAP_TEST_FEW": "1", **given("--cuda attention=own,tune=off")}
    commands = {}
    for t in OPS:
        commands[f"racecheck.{t}"] = ([*racecheck, m.test(f"{t}_cuda_test")], few)
        commands[f"memcheck.{t}"] = ([*memcheck, m.test(f"{t}_cuda_test")], given("--cuda tune=off"))
    program = generated(m)
    if program:
        every = ["--target-processes", "all"]
        commands["memcheck.generated"] = ([*memcheck, *every, *program], {})
        commands["racecheck.generated"] = ([*racecheck, *every, *program], few)
    m.together(commands, 150)


def nan(m):
    """what --check-nan says"""
    m.check("nan", ["tests/cli/cli_run_test.sh", "cuda", "nan"], 60)


def fail(m):
    """ranks killed and stopped, devices full or hidden: one message each; the same with puts"""
    m.check("fail", ["tests/cli/cli_run_test.sh", "cuda"], 300)
    if m.gpus >= 4:
        m.check("fail-puts", ["tests/cli/cli_run_test.sh", "cuda", "pushes"], 100)


def faults(m):
    """20 faults at random times in jobs of one rank each, four jobs at once: killed, stopped, in saves"""
    commands = {f"faults.{seed}": (["tests/cli/faults.sh", "5", str(seed), m.backend], {})
                for seed in range(2026, 2046, 5)}
    m.together(commands, 200)


def faults_several(m):
    """8 faults at random times in jobs of 4 ranks, four jobs at once: killed, stopped, in saves"""
    if m.gpus >= 4:
        commands = {f"faults4.{seed}": (["tests/cli/faults.sh", "2", str(seed), m.backend, "4"], {})
                    for seed in (2026, 2028, 2030, 2032)}
        m.together(commands, 120)


def calls(m):
    """a rank with another program than program.c is named in its first step"""
    m.check("calls", ["tests/train/other_program.sh", "cuda"] + ([] if m.backend == "cuda" else [str(m.gpus)]), 100)


def elastic(m):
    """a rank of 4 is killed, its GPU taken in again and lost for good: hapc run --on-failure replan"""
    if m.gpus >= 4:
        m.check("elastic", ["tests/cuda/elastic_cuda.sh", m.backend], 120)


def fail_tiles(m):
    """ranks killed and stopped while pairs run as lists of tiles, on 2 GPUs or more: one message each"""
    if m.gpus >= 2:
        m.check("fail-tiles", ["tests/cli/cli_run_test.sh", "cuda", "tiles"], 200)


def litmus(m):
    """a million rounds of each signal of lists of tiles, and protocols spoilt on purpose"""
    m.check("litmus", [m.test("tile_litmus_cuda_test"), "1000000"], 120)


def train(m):
    """tiny models against PyTorch on 1 and 4 GPUs, and each way to run a step"""
    m.check("train", ["tests/cuda/train_cuda.sh", *m.o.parts], 600)


def trainer(m):
    """hapc run as a trainer on one GPU: evaluation, metrics, checkpoints, Ctrl-C, the plan's backend"""
    m.check("trainer", ["tests/cuda/trainer_cuda.sh"], 200)


def coll(m):
    """every collective on 1, 2 and 4 ranks, and overlapped pairs"""
    for n in (1, 2, 4):
        if n <= m.gpus:
            m.check(f"coll.np{n}", m.mpirun(n, m.test("coll_cuda_test"), "6"), 200)
            m.check(f"pair.np{n}", m.mpirun(n, m.test("pair_cuda_test"), "2", "1", "200", "1000"), 100)


def coll_alone(m):
    """the same on all GPUs, as if none reached another"""
    alone = given("--cuda peers=off")
    m.check("coll-alone", m.mpirun(m.gpus, m.test("coll_cuda_test"), "6"), 100, env=alone)
    m.check("pair-alone", m.mpirun(m.gpus, m.test("pair_cuda_test"), "2", "1", "200", "200"), 100,
            env=alone)


def coll_sockets(m):
    """every collective on 4 ranks, as two emulated hosts"""
    if m.gpus >= 4:
        hosts = ("export NCCL_HOSTID=h$((OMPI_COMM_WORLD_RANK / 2)) NCCL_NET=Socket "
                 'NCCL_SOCKET_IFNAME=lo; exec "$0" 6')
        m.check("coll-sockets", m.mpirun(4, "bash", "-c", hosts, m.test("coll_cuda_test")), 120)


def hashes(m, names):
    """How often each hash stands in the logs: one, if programs end with the same bits."""
    found = collections.Counter()
    for name in names:
        with open(m.path(name + ".log"), errors="replace") as f:
            found.update(re.findall(r"hash ([0-9a-f ]*),", f.read()))
    text = ", ".join(f"{h} x {k}" for h, k in found.items()) or "none"
    print("    hashes:", text)
    if len(found) != 1:
        m.failed("puts.hashes", [f"not one: {text}"])


def puts(m):
    """programs of one-sided puts run in each way: the same bits; without credits, which is noticed"""
    stress = m.test("put_stress_cuda")
    for n in (1, 2, 4):
        if n > m.gpus:
            continue
        ways = {"on": "graph=on", "live": "graph=on,litmus=off", "list": "graph=list",
                "off": "graph=off"}
        for way, cuda in ways.items():
            m.check(f"puts.np{n}.{way}", m.mpirun(n, stress, "24", "8", "1", "300"), 60,
                    env=given(f"-v --cuda {cuda}"))
        hashes(m, [f"puts.np{n}.{way}" for way in ways])
        trials = {"auto": "graph=auto", "fail": "graph=on,litmus=fail"}
        for way, cuda in trials.items():
            m.check(f"puts.np{n}.{way}", m.mpirun(n, stress, "6", "8", "1", "300"), 100,
                    env=given(f"-v --cuda {cuda}"))
    n = min(m.gpus, 4)
    if n > 1:  # no check: it is to fail
        done = m.run("puts.nocredit", m.mpirun(n, stress, "12", "4", "3", "300"), 30,
                     env={"HAP_TEST_CREDITS": "0"})
        if done.code == 1 and re.search("is .* not", done.text()):
            print("    without credits: noticed")
        else:
            m.failed("puts.nocredit", [f"exit {done.code}: not noticed"])


def short(m):
    """tiny models in bf16 with cuDNN's attention below its tile, with and without memcheck"""
    for model in ("gpt2-tiny", "bert-tiny"):
        rows = models.inputs(m, model)
        folder = plan(m, f"short.{model}", models.graph_of(m, model), models.cluster(m, 1),
                      "--precision", "bf16", "-q")
        if not folder:
            continue
        for way in ("graph=off,fuse=off", "graph=on,fuse=on"):
            cuda = way + ",attention=short,tune=off"
            name = f"short.{model}.{way.replace(',', '.')}"
            run = go(m, name, folder, "--steps", "20", "--seed", "1", *rows, cuda=cuda)
            print(f"short {model} {way}: {len(run.losses)} of 20 steps")
            m.check(f"{name}.memcheck",
                    ["compute-sanitizer", "--tool", "memcheck", "--error-exitcode", "9",
                     "--target-processes", "all", "--print-limit", "20", m.hapc, "run", folder,
                     "--backend", "cuda", "--steps", "3", "--seed", "1", *rows, "--cuda", cuda], 120)


def write_losses(m, name, run):
    path = m.path(name + ".losses")
    with open(path, "w") as f:
        f.write("\n".join(json.dumps(x) for x in run.losses))
    return path


def bits(m):
    """GPT-2 on one GPU with fixed algorithms: whether each way to run a step gives the same losses"""
    rows = models.inputs(m, "gpt2")
    folder = plan(m, "bits", models.graph_of(m, "gpt2"), models.cluster(m, 1), "--batch", "32",
                  "--precision", "bf16")
    if not folder:
        return
    first = None
    for way in ("graph=off,fuse=off", "graph=on,fuse=off", "graph=list,fuse=on", "graph=on,fuse=on",
                "graph=off,fuse=off"):
        run = go(m, f"bits.{way}", folder, "--steps", "40", "--seed", "1", *rows, cuda=way + ",tune=off")
        first = first or run.losses
        differ = [i for i, (a, b) in enumerate(zip(first, run.losses)) if a != b]
        print(f"bits {way}: {len(run.losses)} losses,",
              f"from step {differ[0]} on others" if differ else "the same as called", flush=True)


def same_groups(m, name, folder, *options):
    """Runs of a plan with groups off, on and all: losses and parameters are the same bits."""
    kept = {}
    for on in ("off", "on", "all"):
        saved = m.path(f"{name}.{on}.safetensors")
        run = go(m, f"{name}.{on}", folder, "--seed", "1", "--steps", "8", "--save", saved, *options,
                 cuda=f"fusions={on},tune=off")
        kept[on] = (write_losses(m, f"{name}.{on}", run), saved, run.losses)
        for line in run.said("note|left out", 3):
            print("   ", line)
    alike = True
    for on in ("on", "all"):
        try:
            same = all(filecmp.cmp(a, b, shallow=False) for a, b in zip(kept["off"][:2], kept[on][:2]))
        except OSError:
            same = False
        far = max((abs(a - b) / abs(a) for a, b in zip(kept["off"][2], kept[on][2])), default=0)
        if same and kept[on][2]:
            print(f"groups {on} {name}: the same bits", flush=True)
        else:  # rows of bf16 may differ in rounding (docs/cuda.md)
            print(f"groups {on} {name}: {len(kept[on][2])} losses, {far:.2g} apart at most", flush=True)
            alike = False
    return alike


def scores(m):
    """attention with trained biases in bf16, fused and not: the same bits"""
    for tokens, heads in ((13, 8), (64, 8), (128, 8), (197, 8), (512, 8), (520, 8), (1024, 2), (1032, 2)):
        name = f"scores{tokens}"
        graph, rows = m.path(name + ".json"), m.path(name + ".npy")
        made = m.run(name, ["python3", "tests/graphs/make_scores.py", str(tokens), str(heads), graph, rows], 60)
        folder = made.ok and plan(m, name, graph, models.cluster(m, 1), "--precision", "bf16", "-q")
        if folder and not same_groups(m, name, folder, "--input", f"x={rows}"):
            m.failed(name, ["other bits"])


def groups(m):
    """fused groups of kernels.cu on and off: the same bits"""
    host = models.cluster(m, 1)
    for cols in (13, 64, 2500):
        name = f"rows{cols}"
        graph, rows = m.path(name + ".json"), m.path(name + ".npy")
        made = m.run(name, ["python3", "tests/graphs/make_groups.py", str(cols), graph, rows], 30)
        folder = made.ok and plan(m, name, graph, host, "-q")
        if folder:
            same_groups(m, name, folder, "--input", f"x={rows}")
    tiny = m.path("tiny.npy")
    np.save(tiny, np.random.default_rng(3).integers(1, 190, (32, 32), dtype=np.int64))
    for name, graph, precision in [(f"{x}.{p}", f"examples/{x}/graph.json", p)
                                   for x in ("gpt2-tiny", "bert-tiny") for p in ("fp32", "bf16")] + [
                                       ("dropout", "tests/graphs/gpt2-dropout.json", "bf16")]:
        folder = plan(m, name, graph, host, "--precision", precision, "-q")
        if folder:
            same_groups(m, name, folder, *models.token_rows(tiny))
