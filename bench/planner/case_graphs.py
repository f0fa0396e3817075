"""The graphs of plan_table.py's named cases, as hap.graph: GPTs of any depth, equal or unlike layers,
long sequences, experts, chains side by side, layers that read all before them.

    bench/planner/case_graphs.py NAME > NAME.json
"""

import json
import math
import sys

ADAMW = {"name": "adamw", "lr": 0.0003, "betas": [0.9, 0.95], "eps": 1e-08, "weight_decay": 0.1}


class Graph:
    def __init__(self, batch):
        self.tensors, self.nodes, self.batch = {}, [], batch

    def param(self, name, shape, init=None):
        self.tensors[name] = {"kind": "param", "dtype": "f32", "shape": shape, "init": init or {"normal": 0.02}}
        return name

    def input(self, name, dtype, *shape):
        self.tensors[name] = {"kind": "input", "dtype": dtype, "shape": ["B", *shape], "batch": 0}
        return name

    def const(self, name, dtype, shape, value):
        self.tensors[name] = {"kind": "const", "dtype": dtype, "shape": shape, "value": value}
        return name

    def op(self, op, name, *operands, out=None, **attrs):
        node = {"name": name, "op": op, "in": list(operands), "out": out or [name]}
        if attrs:
            node["attrs"] = attrs
        self.nodes.append(node)
        return name

    def linear(self, name, x, n_in, n_out, bias=True):
        operands = [x, self.param(f"{name}.weight", [n_out, n_in])]
        if bias:
            operands.append(self.param(f"{name}.bias", [n_out], {"const": 0.0}))
        return self.op("linear", name, *operands, trans=1)

    def norm(self, name, x, n):
        self.param(f"{name}.weight", [n], {"const": 1.0})
        self.param(f"{name}.bias", [n], {"const": 0.0})
        return self.op("layer_norm", name, x, f"{name}.weight", f"{name}.bias", eps=1e-05)

    def done(self, clip=False):
        optimizer = {**ADAMW, "clip_norm": 1.0} if clip else ADAMW
        return {"format": "hap.graph", "version": 1, "producer": "bench/planner/case_graphs.py",
                "tensors": self.tensors, "batch": {"B": self.batch}, "nodes": self.nodes, "loss": "loss",
                "optimizer": optimizer}  # fmt: skip


def attention(g, h, x, width, heads, tokens):
    qkv = g.linear(f"{h}.qkv", x, width, 3 * width)
    g.op("split", f"{h}.split", qkv, out=[f"{h}.{p}" for p in "qkv"], dim=2, sizes=[width] * 3)
    for p in "qkv":
        g.op("reshape", f"{h}.r{p}", f"{h}.{p}", shape=["B", tokens, heads, width // heads])
        g.op("transpose", f"{h}.t{p}", f"{h}.r{p}", perm=[0, 2, 1, 3])
    g.op("sdpa", f"{h}.sdpa", f"{h}.tq", f"{h}.tk", f"{h}.tv", out=[f"{h}.sdpa", f"{h}.sdpa.lse"],
         causal=True, scale=1 / math.sqrt(width // heads))  # fmt: skip
    g.op("transpose", f"{h}.to", f"{h}.sdpa", perm=[0, 2, 1, 3])
    g.op("reshape", f"{h}.ro", f"{h}.to", shape=["B", tokens, width])
    return g.linear(f"{h}.proj", f"{h}.ro", width, width)


def gelu_layer(g, h, x, width, hidden):
    g.linear(f"{h}.mlp.fc1", x, width, hidden)
    g.op("gelu", f"{h}.mlp.act", f"{h}.mlp.fc1", tanh=True)
    return g.linear(f"{h}.mlp.fc2", f"{h}.mlp.act", hidden, width)


def gated_layer(g, h, x, width, hidden):
    gate = g.linear(f"{h}.mlp.gate", x, width, hidden, bias=False)
    up = g.linear(f"{h}.mlp.up", x, width, hidden, bias=False)
    g.op("mul", f"{h}.mlp.mul", g.op("silu", f"{h}.mlp.act", gate), up)
    return g.linear(f"{h}.mlp.down", f"{h}.mlp.mul", hidden, width, bias=False)


def expert_layer(g, h, x, width, hidden, experts, tokens):
    room = -(-tokens * 5 // (2 * experts))  # two experts a token, a quarter spare
    g.linear(f"{h}.gate", x, width, experts, bias=False)
    g.op("softmax", f"{h}.softmax", f"{h}.gate")
    g.op("top_gates", f"{h}.top_gates", f"{h}.softmax", k=2)
    g.op("expert_slots", f"{h}.slots", f"{h}.top_gates", capacity=room)
    g.op("cast", f"{h}.cast", g.op("ne", f"{h}.ne", f"{h}.slots", "zero"), dtype="f32")
    g.op("dispatch", f"{h}.dispatch", f"{h}.cast", x)
    g.op("reshape", f"{h}.r", f"{h}.dispatch", shape=[experts, f"{room}*B", width])
    g.param(f"{h}.w1", [experts, width, hidden])
    g.param(f"{h}.w2", [experts, hidden, width])
    g.op("relu", f"{h}.relu", g.op("matmul", f"{h}.mm1", f"{h}.r", f"{h}.w1", trans=0))
    g.op("matmul", f"{h}.mm2", f"{h}.relu", f"{h}.w2", trans=0)
    g.op("reshape", f"{h}.r2", f"{h}.mm2", shape=[experts, "B", room, width])
    return g.op("combine", f"{h}.combine", f"{h}.slots", f"{h}.r2")


def transformer(layers, width, heads, tokens, vocabulary, batch, hidden=None, positions=False, gated=False,
                experts=0, tied=True, clip=True):  # fmt: skip
    """hidden: of layer i; experts: in every second layer."""
    hidden = hidden or (lambda i: 4 * width)
    g = Graph(batch)
    g.input("input_ids", "i64", tokens)
    x = g.op("embedding", "wte", g.param("wte.weight", [vocabulary, width]), "input_ids")
    if positions:
        g.const("pos.const", "i64", [1, tokens], {"iota": [0, 1]})
        g.op("embedding", "wpe", g.param("wpe.weight", [tokens, width]), "pos.const")
        x = g.op("add", "add0", "wte", "wpe")
    if experts:
        g.const("zero", "f32", [], {"const": 0.0})
    for i in range(layers):
        h = f"h.{i}"
        y = attention(g, f"{h}.attn", g.norm(f"{h}.ln_1", x, width), width, heads, tokens)
        x = g.op("add", f"{h}.add", y, x)
        y = g.norm(f"{h}.ln_2", x, width)
        if experts and i % 2:
            y = expert_layer(g, f"{h}.ffn", y, width, hidden(i), experts, tokens)
        else:
            y = (gated_layer if gated else gelu_layer)(g, h, y, width, hidden(i))
        x = g.op("add", f"{h}.add2", x, y)
    x = g.norm("ln_f", x, width)
    g.input("labels", "i64", tokens)
    table = "wte.weight" if tied else g.param("lm_head.weight", [vocabulary, width])
    g.op("linear", "lm_head", x, table, trans=1)
    g.op("ce_sum", "ce_sum", "lm_head", "labels", ignore=-100)
    g.op("count", "count", "labels", ignore=-100)
    g.op("div", "loss", "ce_sum", "count")
    return g.done(clip)


def gpt(layers):
    return transformer(layers, 1024, 16, 1024, 50257, 32, positions=True)


def chains(n, depth, width, batch):
    """n chains of the input, each as wide as no other, and their sum."""
    g = Graph(batch)
    g.input("x", "f32", width)
    for c in range(n):
        x, own = "x", width + 16 * (c + 1)
        sizes = [width] + [own] * (depth - 1) + [width]
        for k in range(depth):
            x = g.op("relu", f"relu.{c}.{k}", g.linear(f"chains.{c}.{k}", x, sizes[k], sizes[k + 1]))
        total = g.op("add", f"add.{c}", total, x) if c else x
    g.op("sum", "loss", total, dims=[0, 1], keepdim=False)
    return g.done()


def dense(n, width, batch):
    """Layer i reads the input and every layer before it."""
    g = Graph(batch)
    g.input("x", "f32", width)
    for i in range(n):
        of = ["x"] + [f"l.{k}.relu" for k in range(i)]
        for k in range(i + 1):
            g.linear(f"l.{i}.{k}", of[k], width, width, bias=k == 0)
        total = f"l.{i}.0"
        for k in range(1, i + 1):
            total = g.op("add", f"l.{i}.s{k}", total, f"l.{i}.{k}")
        g.op("relu", f"l.{i}.relu", total)
    g.op("sum", "loss", f"l.{n - 1}.relu", dims=[0, 1], keepdim=False)
    return g.done()


GRAPHS = {
    "gptc16": lambda: gpt(16),
    "gptc17": lambda: gpt(17),
    "gpt24": lambda: gpt(24),
    "gptv96": lambda: transformer(96, 2048, 16, 1024, 50257, 256, lambda i: 8192 + 16 * i, positions=True),
    "gpt12n": lambda: transformer(12, 64, 4, 64, 512, 16, positions=True),
    "gpt40": lambda: transformer(40, 2048, 16, 1024, 50257, 32),
    "gptg48": lambda: transformer(48, 2048, 16, 1024, 50257, 64, lambda i: 8192 + 32 * i, positions=True),
    "gpt64": lambda: transformer(64, 768, 12, 256, 50257, 128, positions=True),
    "gpti30": lambda: transformer(30, 1536, 24, 512, 32000, 32, lambda i: 1536 * (2 + i % 3)),
    "moe24": lambda: transformer(24, 1024, 16, 512, 32000, 32, experts=16),
    "llama24": lambda: transformer(24, 2048, 16, 2048, 32000, 16, lambda i: 5632, gated=True, tied=False),
    "gpt12w": lambda: transformer(12, 5120, 40, 1024, 50257, 16),
    "bert24": lambda: transformer(24, 1024, 16, 512, 30522, 64, positions=True),
    "llama32": lambda: transformer(32, 4096, 32, 2048, 32000, 16, lambda i: 11008, gated=True, tied=False),
    "ll128k8": lambda: transformer(8, 4096, 32, 131072, 32000, 1, lambda i: 11008, gated=True),
    "moe6b": lambda: transformer(6, 768, 12, 128, 33280, 256, experts=16, tied=False, clip=False),
    "br16v": lambda: chains(16, 3, 1024, 8192),
    "dense12": lambda: dense(12, 512, 512),
}


if __name__ == "__main__":
    json.dump(GRAPHS[sys.argv[1]](), sys.stdout)
