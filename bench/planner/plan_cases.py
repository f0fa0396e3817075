"""The named cases of plan_table.py: what an audit found slow, missed or out of order, and the best step that
is known for it (of any option, any set of devices)."""


def case(graph, cluster, best=None, options="", why="time"):
    row = {"graph": graph, "cluster": cluster, "options": options.split(), "why_here": why}
    if best:
        row["best"] = best
    return row


BF16 = "--precision bf16"
CASES = [
    # deep graphs: fewer devices
    case("gptc16", "tiers3", 182.7, why="subsets"),
    case("gptc17", "tiers3", 189.5, why="subsets"),
    case("gpt24", "wan", 1655, why="subsets, variants"),
    case("gpt2-xl", "tiers3", 549, why="subsets"),
    case("gpt2-xl", "hap-paper", 2308, why="subsets with recomputation"),
    case("gpt3-175b", "gpu1024", 51898, why="subsets"),
    # a fast device of M GB beside a slow one of 96 GB
    case("gpt2-xl", "f16s96in", 5992, why="memory"),
    case("gpt2-xl", "f18s96in", 5992, why="memory"),
    case("gpt2-xl", "f20s96in", 5526, why="memory"),
    case("gpt2-xl", "f24s96in", 5300, why="memory"),
    case("gpt2-xl", "f32s96in", 5052, why="memory"),
    case("gpt2-xl", "f48s96in", 4848, why="memory"),
    # deep, where memory costs much: equal layers, layers of growing width
    case("gpt40", "v100x2-p100x6", 14975, why="memory"),
    case("gpt40", "a100x2-v100x2", 15924, why="memory"),
    case("gpt64", "a100x2-v100x2", 2978, why="memory"),
    case("llama24", "a100x2-v100x2", 9588, why="memory"),
    case("llama32", "rtx4x2", 11947, why="memory"),
    case("bert24", "h8a16", 178.8, why="subsets"),
    case("gpt2-xl", "a100x64-v100x64", 968, why="states fixed in the best plan"),
    case("gptg48", "v100x2-p100x6", 30487, why="layers that all differ"),
    case("gptg48", "hap-paper", 11015, why="layers that all differ"),
    # one more device
    case("bert-moe", "mono1_7_0", why="a device more"),
    case("bert-moe", "mono1_7_3", 348, why="a device more"),
    case("gpt2", "mono1_6_0", why="a device more"),
    case("gpt2", "mono1_6_2", 24.5, why="a device more"),
    # time
    case("br16v", "laptop2x2", why="a ratio LP that stalls"),
    case("moe6b", "v2x4", options="--mesh machine --micro-batches 8", why="certificate"),
    case("bert-hap", "mono1_11_0"),
    case("gptv96", "gpu64", 6334, why="layers that all differ"),
    case("dense12", "laptop", why="dense skips"),
    case("gpt2-xl", "a100x2-v100x2"),
    case("gpt24", "alldiff32", why="many device classes"),
    case("ll128k8", "h8", options=BF16, why="long sequences"),
    # found by --recompute all, in one micro-batch
    case("gpt3-175b", "a100x64-v100x64", 456878, why="few layers that count more than their neighbours"),
    # less batch
    case("gpt3-175b", "gpu1024", options=f"{BF16} --batch 128", why="batch"),
    case("gpt3-175b", "gpu1024", 28000, f"{BF16} --batch 512", why="batch"),
    case("gpt3-175b", "gpu1024", options=f"{BF16} --batch 1536", why="batch"),
]

# Steps that must not fall from left to right.
LADDERS = [
    [f"gpt3-175b@gpu1024 {BF16} --batch {b}" for b in (128, 512, 1536)],
    [f"gpt2-xl@f{m}s96in" for m in (48, 32, 24, 20, 18, 16)],
    ["bert-moe@mono1_7_3", "bert-moe@mono1_7_0"],
    ["gpt2@mono1_6_2", "gpt2@mono1_6_0"],
]

# Names of cases that may take 3 s.
EXCEPTIONS = set()
