#!/usr/bin/env python3
"""What the planner of alibaba/hap, as released, takes for one of its models: processor seconds of `hap.main`
(searches, ratios, code), without tracing.

    /usr/bin/python3 bench/planner/released_hap.py DIR MODEL LAYERS GPUS

DIR holds hap.so (`cargo build --release` there), models.py and collectives.py. MODEL is a name of its
config.py: Vvgg, Vtransformer, Rtransformer, Rmoe. A quarter of the GPUs are V100s, the rest P100s, with the
rates and bandwidths that HAP's profiler measured (clusters/hap-profiled.yaml). Runs with torch 1.13, on
Python 3.11 too: torch.fx of that version can neither follow torch's fast path of an encoder layer nor a
tuple that is unpacked, so both are written around here, to the same graph.

How it was built without a registry of crates: Debian's packages librust-{smallvec,float-ord,ctrlc,libc,
num-traits,paste,lazy-static,regex,pkg-config}-dev, and dgrunwald/rust-cpython and KardinalAI/coin_cbc as
path dependencies; hap.rs as of edition 2024, where chained lets are no feature (one pattern needs an &).
"""

import math
import re
import sys
import time

import torch
import torch.nn.functional as F

folder, name, layers, gpus = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
sys.path.insert(0, folder)

WIDTH, HEADS, VOCAB, DROPOUT = 768, 12, 33278, 0.1
V100, P100 = 3858755112937, 2149250936815  # HAP's flops a second
BANDWIDTHS = {  # bytes a second, of the whole tensor
    "all_gather": 815.4e6, "all_gather_by_group_call": 549.8e6, "all_reduce": 476.8e6, "reduce_scatter": 876.5e6,
    "reduce_scatter_by_group_call": 512.4e6, "all_to_all": 7504.5e6,
}  # fmt: skip


def attention(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, **_):
    x = query.transpose(1, 0)
    made = F.multi_head_attention_forward(
        x, x, x, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
        self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training,
        key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
    )  # fmt: skip
    return made[0].transpose(1, 0), made[1]


def layer(self, src, src_mask=None, src_key_padding_mask=None, **_):
    y = self.self_attn(src, src, src, attn_mask=src_mask, key_padding_mask=src_key_padding_mask, need_weights=False)
    x = self.norm1(src + self.dropout1(y[0]))
    return self.norm2(x + self._ff_block(x))


torch.nn.MultiheadAttention.forward = attention
torch.nn.TransformerEncoderLayer.forward = layer


def haps_models():
    """Its models.py, with the one tuple that is unpacked taken apart by index."""
    with open(f"{folder}/models.py") as f:
        text = f.read()
    text = re.sub(r"dispatch_tensor, combine_tensor = (top_2_gating\(.*\)) #", r"gated = \1; dispatch_tensor, combine_tensor = gated[0], gated[1] #", text)
    module = type(sys)("models")
    sys.modules["models"] = module
    exec(compile(text, f"{folder}/models.py", "exec"), module.__dict__)
    return module


def model_and_shapes():
    models, rows = haps_models(), 32 * gpus
    vocab = gpus * (VOCAB // gpus + 1)
    common = dict(emsize=WIDTH, nheads=HEADS, nhid=4 * WIDTH, dropout=DROPOUT, nlayers=layers, segmentation=False)
    text = {"x": (rows, 128), "y": (rows, 128)}
    image = {"x": (rows, 3, 32, 32), "y": (rows,)}
    if name == "Vvgg":
        return models.VVGG(nclasses=10, dropout=DROPOUT), image
    if name == "Vtransformer":
        return models.VTransformer(nclasses=10, seqlen=64, **common), image
    if name == "Rtransformer":
        return models.RTransformer(ntokens=vocab, seqlen=128, **common), text
    capacity = math.ceil(128 / (2 * gpus) * 2.5)
    return models.RMoE(ntokens=vocab, seqlen=128, n_expert=2 * gpus, capacity=capacity, **common), text


model, shapes = model_and_shapes()
import hap  # noqa: E402: it imports models

traced = hap.trace(model)
before = time.process_time()
hap.main(traced, {
    "input_shape": shapes, "device_flops": [V100] * (gpus // 4) + [P100] * (gpus - gpus // 4),
    **{f"{k}_bandwidth": v for k, v in BANDWIDTHS.items()}, "extra_ps": False, "group_collective": False, "rank": 0,
})  # fmt: skip
print(f"cpu_seconds {time.process_time() - before:.3f}")
