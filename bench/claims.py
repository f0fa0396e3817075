"""The figures of docs/benchmarks.md that bench/closing measures again: what is claimed, by which command, and
how it is found in what that prints. Figures are of the machines that docs/benchmarks.md names: milliseconds of
a GPU's step differ by some percent from device to device, processor seconds with what else runs."""

from typing import NamedTuple, Optional, Union

LESS, MORE = "less", "more"  # is better


class Claim(NamedTuple):
    name: str
    pattern: Union[str, tuple]  # one number; of two patterns, their quotient
    figure: float
    better: str = LESS
    goal: Optional[float] = None


class Run(NamedTuple):
    where: str
    command: str
    claims: list


def model(name, ms, factor, goal=None, gpus=1):
    """Two figures of a model: its step, and how much quicker that is than compiled PyTorch's (DDP)."""
    ours = rf"hapc {name}, {gpus} GPU, .*?: ([\d.]+) ms/step"
    torch = rf"compiled, {name}, .*?{gpus} GPU, .*?: ([\d.]+) ms/step"
    on = "" if gpus == 1 else f" on {gpus}"
    return [Claim(f"{name}{on}, ms a step", ours, ms),
            Claim(f"{name}{on}, times as fast as PyTorch", (torch, ours), factor, MORE, goal)]  # fmt: skip


def unequal(link, grad, ms, factor, goal):
    """GPT-2 with two of four GPUs on 64 processors (emulated): its step, and that of the better DDP."""
    ours = rf"hapc gpt2 {link} auto,{grad}: ([\d.]+) ms/step"
    ddp = rf"DDP compiled, gpt2 .*{link}, .*prop .*gradients {grad}: ([\d.]+) ms/step"
    return [Claim(f"gpt2 on unequal four, {link}, ms a step", ours, ms),
            Claim(f"gpt2 on unequal four, {link}, times DDP", (ddp, ours), factor, MORE, goal)]  # fmt: skip


def llama8b(what, torch, ms, factor, goal):
    ours = rf"hapc llama8b .*, {what}.*pairs auto: ([\d.]+) ms/step"
    return [Claim(f"llama8b, {what} GPUs, ms a step", ours, ms),
            Claim(f"llama8b, {what} GPUs, times FSDP2", (rf"FSDP2 compiled, {torch}: ([\d.]+) ms/step", ours), factor,
                  MORE, goal)]  # fmt: skip


def staged(batch, sec, goal):
    return Run("cpu", "build-release/bin/hapc examples/gpt3-175b/graph.json clusters/gpu1024.yaml --precision bf16 "
               f"--stages auto --json --batch {batch}",
               [Claim(f"GPT-3 175B in stages, batch {batch}, ms", r'"predicted_ms": ?([\d.]+)', sec * 1e3, LESS,
                      goal * 1e3)])  # fmt: skip


def planned(name, graph, cluster, sec, goal, make=""):
    """Processor seconds of a search to certificate."""
    return Run("cpu", f"{make}bench/plan graph {graph} clusters/{cluster}.yaml 1",
               [Claim(f"{name} planned on {cluster}, s", r"cpu_seconds median ([\d.]+)", sec, LESS, goal)])  # fmt: skip


def planned_model(name, model, cluster, sec, goal):
    """The same of a model of bench/torch/bench_models.py, 64 rows."""
    return planned(name, f"build-release/{model}.json", cluster, sec, goal,
                   f".venv/bin/python bench/torch/model_graph.py {model} build-release/{model}.json 64 && ")  # fmt: skip


GPU = "bench/gpu --steps 30 --seconds {seconds}"
SPEED = f"{GPU} --gpus 1 torch speed --models"

RUNS = [
    Run("cpu", "bench/plan table --against bench/results/2026-11-24-steps.tsv", [
        Claim("plans slower than before", r"plans as in .*: (\d+) slower", 0),
        Claim("plans lost", r"(\d+) without a plan now", 0),
        Claim("slowest of them, times", r"; the slowest ([\d.]+) times", 1),
    ]),
    Run("cpu", "bench/plan evaluation", [
        Claim("HAP's evaluation, best case over DP", r"hap-paper: best case over data par.*: ([\d.]+) x", 13.53, MORE, 2.41),
        Claim("the same over DP and ZeRO", r"hap-paper: best case over the best of.*: ([\d.]+) x", 13.53, MORE, 2.41),
        Claim("by HAP's own measurements, over DP", r"hap-profiled: best case over data par.*: ([\d.]+) x", 4.33, MORE, 2.41),
        Claim("best case over HAP's strategy", r"hap-paper: best case over HAP.*: ([\d.]+) x", 5.66, MORE),
    ]),
    staged(128, 1.948, 2.9),
    staged(512, 5.672, 6.8),
    staged(1536, 14.433, 17.5),
    Run("cpu", "build-release/bin/hapc examples/bert-moe/graph.json clusters/hap-paper.yaml --stages auto --json", [
        Claim("BERT-MoE on hap-paper in stages, ms", r'"predicted_ms": ?([\d.]+)', 204.6, LESS, 215),
    ]),
    planned("VGG19", "examples/vgg19/graph.json", "hap-paper", 0.302, 0.02),
    planned("VGG19", "examples/vgg19/graph.json", "h200x4", 0.0945, 0.02),
    planned_model("U-Net of 12 levels", "wave_unet", "h200x4", 0.194, 1),
    planned_model("U-Net of 12 levels", "wave_unet", "hap-paper", 0.808, 1),
    planned_model("DenseNet-121", "densenet", "h200x4", 0.466, 1),
    planned_model("DenseNet-121", "densenet", "hap-paper", 0.642, 1),
    Run("cpu", "bench/plan page 7", [
        Claim("page of 96 layers x 1024 devices, ms to open", r"open: ([\d.]+) ms wall", 180, LESS, 200),
    ]),
    Run("cpu", "build-release/tests/ratio_grid_test 100 1000", [
        Claim("ratios within 1 % of a grid's best, %", r"grid's best \(([\d.]+) %\)", 97.5, MORE, 95),
    ]),
    Run("cpu", "build-release/tests/monotone_test 200 20261124", [
        Claim("kept cases that break monotony", r"(\d+) of \d+ kept cases are violated", 0, LESS, 0),
    ]),
    Run("cpu", "build-release/tests/subset_oracle_test 40 20261124", [
        Claim("kept sets of devices that are missed", r"(\d+) of \d+ kept cases are missed", 0, LESS, 0),
    ]),
    Run("gpu", f"{SPEED} gpt2,bert,qwen", [
        *model("gpt2", 53.7, 1.463, 1.45),
        *model("bert", 13.5, 1.58, 1.55),
        *model("qwen", 99.4, 1.335, 1.35),
    ]),
    Run("gpu", f"{SPEED} llama,t5,vit", [
        *model("llama", 227.5, 1.229, 1.15),
        *model("t5", 41.6, 1.393, 1.1),
        *model("vit", 17.6, 1.767, 1.3),
    ]),
    Run("gpu", f"{SPEED} vgg19,resnet50,convnext", [
        *model("vgg19", 16.6, 1.076, 1.05),
        *model("resnet50", 34.0, 1.138, 1.0),
        *model("convnext", 27.5, 1.119, 1.05),
    ]),
    Run("gpu", f"{SPEED} long", model("long", 286.6, 1.397)),
    Run("gpu", f"{GPU} --gpus 1 text", [
        Claim("2000 steps on a text, loss at the end", r"steps 1800 to 1999: hapc ([\d.]+)", 5.3227),
        Claim("2000 steps on a text, evaluation at the end", r"evaluation at 2000: hapc ([\d.]+)", 5.6972),
    ]),
    Run("gpu", f"{GPU} --gpus 1 tile", [
        Claim("tile kernel / cuBLASLt, list", r"\A(?:.|\n)*?\nlist: .*?mean ([\d.]+)", 0.989, MORE, 0.96),
        Claim("tile kernel / cuBLASLt, models", r"\A(?:.|\n)*?\nmodels: .*?mean ([\d.]+)", 0.968, MORE),
    ]),
    Run("gpu2", f"{GPU} --gpus 2 expert-grads crowded", [
        Claim("Mixtral, experts apart on two, wrong gradients", r"gradients of a step.*#wrong (\d+)", 0, LESS, 0),
        Claim("Mixtral, one of them crowded, ms a step", r"half of the tokens .*experts apart: ([\d.]+) ms/step", 124.7),
        Claim("Mixtral, times what its fullest rank computes", r"experts apart: .* ms/step, ([\d.]+) of what", 1.043, LESS,
              1.15),
        Claim("Mixtral, wrong losses", r"losses fell by.*#wrong (\d+)", 0, LESS, 0),
    ]),
    Run("gpu2", f"{GPU} --gpus 2 fsdp-torch fsdp --cluster bench/results/2026-11-21-h200x4-c.yaml "
        "--mixed bench/results/2026-11-21-h200x4-mixed.yaml", [
        *llama8b("equal", r"llama8b .*2 devices, even .*?", 552, 1.097, 1.15),
        *llama8b("emulated SMs", r"llama8b .*emulated SMs .*prop .*?", 670, 1.12, 1.1),
    ]),
    Run("gpu4", f"{GPU} --models gpt2,bert torch speed", [
        *model("gpt2", 62.8, 1.32, None, 4),
        *model("bert", 15.6, 1.5, None, 4),
    ]),
    Run("gpu4", f"{GPU} --models gpt2 --plans auto,f32:auto,bf16 unequal unequal-torch", [
        *unequal("nvlink", "f32", 78.9, 1.57, 1.3),
        *unequal("sockets", "bf16", 90.7, 1.73, 1.5),
    ]),
    Run("gpu4", f"{GPU} stages stages-speed", [
        Claim("GPT-2 XL in stages, two emulated hosts, ms a step", r"hapc stages.xl.auto: ([\d.]+) ms/step", 403.3),
        Claim("the same, times as fast as without stages", r"stages.xl: ([\d.]+) times", 1.56, MORE, 1.35),
    ]),
    Run("gpu4", f"{GPU} vgg-unequal", [
        Claim("VGG19 on unequal four, sockets, f32, times DDP", r"VGG19 on sockets.*gradients f32: ([\d.]+) times", 7.67,
              MORE, 3),
        Claim("the same, bf16", r"VGG19 on sockets.*gradients bf16: ([\d.]+) times", 4.04, MORE, 3),
    ]),
    Run("gpu4", f"{GPU} mixtral", [
        Claim("Mixtral, equal GPUs, times FSDP2", r"Mixtral, equal devices: ([\d.]+) times", 1.70, MORE, 1.3),
        Claim("Mixtral, emulated SMs, times FSDP2", r"Mixtral, emulated devices: ([\d.]+) times", 1.63, MORE, 1.3),
    ]),
    Run("gpu4", f"{GPU} pairs", [
        Claim("all-gather + matmul / limit", r"AG planner's / limit: geometric mean ([\d.]+)", 1.092, LESS, 1.06),
        Claim("matmul + reduce-scatter / limit", r"RS planner's / limit: geometric mean ([\d.]+)", 1.163, LESS,
              1.12),
    ]),
]
