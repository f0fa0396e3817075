#!/usr/bin/env python3
"""Values and gradients of the op table's user rows, by PyTorch: ops/FAMILY.*

    op_fixtures.py            writes ops/

A family is one graph (FAMILY.json, a hap.graph like any other) that holds many cases. A case's
operands are parameters CASE.a, CASE.b, ... and its result y is weighted by a parameter of y's shape,
CASE.out: loss = sum over cases of sum(CASE.out * y). So the gradient of CASE.out is y itself, the
gradients of CASE.a, ... are the op's, and one run with --save-grads checks both. An output that is
not f32 is cast. Written beside it: FAMILY.init.safetensors (the parameters), FAMILY.INPUT.npy,
FAMILY.grads.safetensors (expected, computed in f64), and losses.json.

Covered: every user row and composite except dropout, whose mask is the runtime's own.
"""

from __future__ import annotations

import json
import os
import sys
import zlib

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import interp  # noqa: E402
from hap_export import document, safetensors  # noqa: E402

BATCH = 4


def _random(name: str, shape) -> np.random.Generator:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return rng.normal(size=shape).astype(np.float32)


class Family:
    """Collects cases into one graph."""

    def __init__(self, name: str):
        self.name = name
        self.tensors: dict = {}
        self.nodes: list = []
        self.values: dict[str, torch.Tensor] = {}
        self.terms: list[str] = []

    def param(self, name: str, shape, low: float | None = None) -> str:
        """A parameter; at least `low` if that is given (for log, sqrt, div)."""
        x = _random(name, shape)
        if low is not None:
            x = np.abs(x) + np.float32(low)
        self.tensors[name] = {"kind": "param", "dtype": "f32", "shape": list(shape), "init": {"const": 0}}
        self.values[name] = torch.from_numpy(x)
        return name

    def input(self, name: str, shape, low: int, high: int, ignore: float = 0) -> str:
        """An i64 input; dim 0 is the batch."""
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        x = rng.integers(low, high, shape)
        x[rng.random(shape) < ignore] = -100
        self.tensors[name] = {"kind": "input", "dtype": "i64", "shape": ["B", *shape[1:]], "batch": 0}
        self.values[name] = torch.from_numpy(x)
        return name

    def data(self, name: str, shape) -> str:
        """Numbers that have no gradient."""
        self.tensors[name] = {"kind": "input", "dtype": "f32", "shape": ["B", *shape[1:]], "batch": 0}
        self.values[name] = torch.from_numpy(_random(name, shape))
        return name

    def node(self, name: str, op: str, ins, n_out: int = 1, outs=None, **attrs) -> str:
        outs = outs or [name] + [f"{name}.{i}" for i in range(1, n_out)]
        node = {"name": name, "op": op, "in": list(ins), "out": outs}
        if attrs:
            node["attrs"] = attrs
        self.nodes.append(node)
        return outs[0]

    def case(self, name: str, op: str, ins, n_out: int = 1, **attrs) -> None:
        """One op, all its outputs weighted."""
        outs = [f"{name}.y"] + [f"{name}.y{i}" for i in range(1, n_out)]
        self.node(name, op, ins, outs=outs, **attrs)
        weighted = outs[:1] if op == "sdpa" else outs  # the logsumexp has no gradient of its own
        for i, y in enumerate(weighted):
            self.weigh(name + (f".{i}" if i else ""), y)

    def weigh(self, name: str, y: str) -> None:
        doc = {"tensors": self.tensors, "batch": {"B": BATCH}, "nodes": self.nodes}
        value = interp.run(doc, self.values)[y]
        if value.dtype != torch.float32:
            y = self.node(f"{name}.cast", "cast", [y], dtype="f32")
        w = self.param(f"{name}.out", value.shape)
        term = self.node(f"{name}.weighted", "mul", [w, y])
        dims = list(range(value.dim()))
        if dims:
            term = self.node(f"{name}.term", "sum", [term], dims=dims)
        self.terms.append(term)

    def document(self) -> dict:
        nodes, total = list(self.nodes), self.terms[0]
        for i, term in enumerate(self.terms[1:], 1):
            out = "loss" if i == len(self.terms) - 1 else f"total.{i}"
            nodes.append({"name": out, "op": "add", "in": [total, term], "out": [out]})
            total = out
        return {
            "format": "hap.graph",
            "version": 1,
            "producer": "op_fixtures.py",
            "tensors": self.tensors,
            "batch": {"B": BATCH},
            "nodes": nodes,
            "loss": total,
            "optimizer": {"name": "sgd", "lr": 0.0},
        }


def dense(f: Family) -> None:
    for name, x, w, b, trans in (
        ("linear_nn", (4, 3, 5), (5, 7), (7,), 0),
        ("linear_nt", (4, 5), (7, 5), (7,), 1),
        ("linear_no_bias", (4, 3, 5), (6, 5), None, 1),
    ):
        ins = [f.param(f"{name}.x", x), f.param(f"{name}.w", w)]
        f.case(name, "linear", ins + ([f.param(f"{name}.b", b)] if b else []), trans=trans)
    for trans, a, b in ((0, (3, 5), (5, 7)), (1, (3, 5), (7, 5)), (2, (5, 3), (5, 7))):
        name = f"matmul_{('nn', 'nt', 'tn')[trans]}"
        f.case(name, "matmul", [f.param(f"{name}.a", (4, 2, *a)), f.param(f"{name}.b", (4, 2, *b))], trans=trans)
    name = "matmul_broadcast"
    f.case(name, "matmul", [f.param(f"{name}.a", (4, 2, 3, 5)), f.param(f"{name}.b", (1, 2, 5, 3))], trans=0)


def attention(f: Family) -> None:
    def qkv(name, heads=4, kv=4, tq=6, tk=6, e=8, d=8):
        shapes = {"q": (4, heads, tq, e), "k": (4, kv, tk, e), "v": (4, kv, tk, d)}
        return [f.param(f"{name}.{n}", s) for n, s in shapes.items()]

    f.case("sdpa", "sdpa", qkv("sdpa"), 2, scale=0.3)
    f.case("sdpa_causal", "sdpa", qkv("sdpa_causal"), 2, causal=True)
    f.case("sdpa_groups", "sdpa", qkv("sdpa_groups", kv=2), 2, causal=True, scale=0.25)
    f.case("sdpa_cross", "sdpa", qkv("sdpa_cross", tq=3, tk=7, d=5), 2)
    bias = {"kind": "const", "dtype": "f32", "shape": [1, 1, 1, 6], "value": {"iota": [0.5, -0.4]}}
    f.tensors["sdpa_mask.row"] = bias
    f.case("sdpa_mask", "sdpa", qkv("sdpa_mask") + ["sdpa_mask.row"], 2)
    f.tensors["sdpa_bool.limit"] = {"kind": "const", "dtype": "i64", "shape": [], "value": {"const": 1}}
    f.input("mask_ids", (4, 6), 0, 5)
    f.values["mask_ids"][:, 0] = 3  # every row sees something
    f.node("sdpa_bool.row", "reshape", ["mask_ids"], shape=["B", 1, 1, 6])
    f.node("sdpa_bool.seen", "ge", ["sdpa_bool.row", "sdpa_bool.limit"])
    f.case("sdpa_bool", "sdpa", qkv("sdpa_bool") + ["sdpa_bool.seen"], 2)


def windows(f: Family) -> None:
    def images(name, *shape):
        return f.param(f"{name}.x", shape)

    for name, size, weight, attrs in (
        ("conv", (4, 3, 6, 5), (4, 3, 3, 2), dict(stride=[1, 1], padding=[1, 0], dilation=[1, 1])),
        ("conv_groups", (4, 4, 7, 6), (6, 2, 3, 2), dict(stride=[2, 1], padding=[2, 1], dilation=[1, 2], groups=2)),
        ("conv_depth", (4, 3, 5, 5), (6, 1, 2, 3), dict(stride=[1, 2], padding=[0, 1], dilation=[2, 1], groups=3)),
    ):
        bias = f.param(f"{name}.b", weight[:1])
        f.case(name, "conv", [images(name, *size), f.param(f"{name}.w", weight), bias], **attrs)
    for name, size, weight, attrs in (
        ("transposed", (4, 3, 4, 3), (3, 2, 3, 2), dict(stride=[2, 1], padding=[1, 0], dilation=[1, 2], size=[8, 5])),
        ("transposed_groups", (4, 4, 2, 3), (4, 3, 2, 2), dict(stride=[2, 2], padding=[0, 1], dilation=[1, 1], size=[4, 4], groups=2)),
    ):
        f.case(name, "conv_transposed", [images(name, *size), f.param(f"{name}.w", weight)], **attrs)
    for name, attrs in (
        ("max_pool", dict(window=[2, 2], stride=[2, 2], padding=[0, 0], dilation=[1, 1])),
        ("max_pool_wide", dict(window=[3, 2], stride=[2, 1], padding=[1, 1], dilation=[1, 2], ceil=True)),
    ):
        f.case(name, "max_pool", [images(name, 4, 2, 7, 5)], **attrs)


def lookup(f: Family) -> None:
    ids = f.input("ids", (4, 5), 0, 9)
    f.case("embedding", "embedding", [f.param("embedding.w", (9, 6)), ids])
    f.tensors["positions"] = {"kind": "const", "dtype": "i64", "shape": [1, 5], "value": {"iota": [1, 2]}}
    f.case("embedding_const", "embedding", [f.param("embedding_const.w", (11, 6)), "positions"])
    f.case("gather", "gather", [f.param("gather.x", (4, 9)), ids])
    f.case("gather_heads", "gather", [f.param("gather_heads.x", (3, 4, 9)), ids])
    f.case("gather_const", "gather", [f.param("gather_const.x", (2, 3, 11)), "positions"])
    labels = f.input("labels", (4, 5), 0, 7, ignore=0.3)
    f.case("ce_sum", "ce_sum", [f.param("ce_sum.x", (4, 5, 7)), labels])
    row = f.input("row_labels", (4,), 0, 7)
    f.case("ce_sum_rows", "ce_sum", [f.param("ce_sum_rows.x", (4, 7)), row], ignore=3)
    f.case("count", "count", [labels])
    f.node("mean_loss.sum", "ce_sum", [f.param("mean_loss.x", (4, 5, 7)), labels])
    f.node("mean_loss.count", "count", [labels])
    f.case("mean_loss", "div", ["mean_loss.sum", "mean_loss.count"])


def pointwise(f: Family) -> None:
    for op in ("add", "sub", "mul", "div"):
        for kind, other in (("", (4, 3, 5)), ("_row", (5,)), ("_column", (1, 3, 1))):
            name = op + kind
            low = 0.5 if op == "div" else None
            f.case(name, op, [f.param(f"{name}.a", (4, 3, 5)), f.param(f"{name}.b", other, low)])
    f.case("add_both", "add", [f.param("add_both.a", (4, 1, 5)), f.param("add_both.b", (3, 1))])
    for op in ("eq", "ne", "lt", "le", "gt", "ge"):
        f.case(op, op, [f.input(f"{op}.a", (4, 6), 0, 3), f.input(f"{op}.b", (4, 6), 0, 3)])
    for name in ("p", "q"):
        f.node(name, "gt", [f.param(f"{name}.a", (4, 6)), f.param(f"{name}.b", (6,))])
    f.case("logical_and", "logical_and", ["p", "q"])
    f.case("logical_or", "logical_or", ["p", "q"])
    f.case("logical_not", "logical_not", ["p"])
    f.case("where", "where", ["p", f.param("where.a", (4, 6)), f.param("where.b", (1, 6))])
    f.case("cast", "cast", ["p"], dtype="f32")
    low = {"log": 0.3, "sqrt": 0.3, "rsqrt": 0.3}
    for op in ("neg", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "relu", "gelu", "silu"):
        f.case(op, op, [f.param(f"{op}.x", (4, 7), low.get(op))])
    f.case("clamp", "clamp", [f.param("clamp.x", (4, 7))], min=-0.5, max=0.8)
    f.case("clamp_min", "clamp", [f.param("clamp_min.x", (4, 7))], min=0.2)
    f.case("gelu_tanh", "gelu", [f.param("gelu_tanh.x", (4, 7))], tanh=True)
    for op in ("sin", "cos", "abs", "softplus"):
        f.case(op, op, [f.param(f"{op}.x", (4, 7))])
    f.node("detach.still", "detach", [f.param("detach.x", (4, 7))])
    f.case("detach", "mul", ["detach.still", "detach.x"])
    f.case("scale", "scale", [f.param("scale.x", (4, 7))], c=-1.7)
    f.case("add_scalar", "add_scalar", [f.param("add_scalar.x", (4, 7))], c=0.3)
    for name, c, at_least in (("pow_3", 3.0, None), ("pow_2", 2.0, None), ("pow_half", -0.5, 0.3)):
        f.case(name, "pow_scalar", [f.param(f"{name}.x", (4, 7), at_least)], c=c)


def reductions(f: Family) -> None:
    x = lambda name: f.param(f"{name}.x", (4, 3, 5))  # noqa: E731
    for op in ("sum", "mean"):
        for what, dims, keep in (
            ("first", [0], False), ("last", [2], True), ("outer", [0, 1], False), ("all", [0, 1, 2], False),
        ):  # fmt: skip
            f.case(f"{op}_{what}", op, [x(f"{op}_{what}")], dims=dims, keepdim=keep)
    f.node("row_max.x", "cast", [f.input("row_max.i", (4, 3, 5), -9, 9)], dtype="f32")
    f.case("row_max", "row_max", ["row_max.x"])
    f.case("cumsum", "cumsum", [x("cumsum")])
    f.case("cumsum_back", "cumsum", [x("cumsum_back")], reverse=True)
    f.case("softmax", "softmax", [x("softmax")])
    f.case("log_softmax", "log_softmax", [x("log_softmax")])
    f.case("rms_norm", "rms_norm", [x("rms_norm"), f.param("rms_norm.g", (5,))])
    f.case("rms_norm_plain", "rms_norm", [x("rms_norm_plain")], eps=1e-2)
    for name, pairs in (("rotary", False), ("rotary_pairs", True)):
        tables = [f.data(f"{name}.{t}", (4, 1, 6)) for t in ("cos", "sin")]
        f.case(name, "rotary", [f.param(f"{name}.x", (4, 3, 6)), *tables], pairs=pairs)
    gain, bias = f.param("layer_norm.g", (5,)), f.param("layer_norm.b", (5,))
    f.case("layer_norm", "layer_norm", [x("layer_norm"), gain, bias])
    f.case("layer_norm_gain", "layer_norm", [x("layer_norm_gain"), f.param("layer_norm_gain.g", (5,))], eps=1e-12)
    for name, shape, attrs in (("batch_norm", (4, 3, 5), {}), ("batch_norm_rows", (4, 3, 1), dict(eps=1e-2, momentum=0.3))):
        of = [f.param(f"{name}.{k}", (3,), 0.1 if k == "var" else None) for k in ("w", "b", "mean", "var")]
        f.case(name, "batch_norm", [f.param(f"{name}.x", shape), *of], 3, **attrs)
    f.case("layer_norm_plain", "layer_norm", [x("layer_norm_plain")], eps=1e-3)


def views(f: Family) -> None:
    x = lambda name, *shape: f.param(f"{name}.x", shape or (4, 3, 6))  # noqa: E731
    f.case("reshape_merge", "reshape", [x("reshape_merge")], shape=[12, 6])
    f.case("reshape_split", "reshape", [x("reshape_split")], shape=[4, 3, 2, 3])
    f.case("reshape_odd", "reshape", [x("reshape_odd")], shape=[8, 9])
    f.case("transpose", "transpose", [x("transpose")], perm=[2, 0, 1])
    f.case("transpose_4", "transpose", [x("transpose_4", 4, 3, 2, 5)], perm=[0, 2, 1, 3])
    f.case("split", "split", [x("split")], 3, dim=2, sizes=[2, 3, 1])
    f.case("split_first", "split", [x("split_first")], 2, dim=0, sizes=[1, 3])
    f.case("concat", "concat", [x("concat.0", 4, 2, 6), x("concat.1", 4, 3, 6), x("concat.2", 4, 1, 6)], dim=1)
    f.case("slice", "slice", [x("slice")], dim=2, start=1, stop=5)
    f.case("pad", "pad", [x("pad")], dim=1, before=1, after=2, value=0.7)
    f.case("expand", "expand", [x("expand", 1, 3, 1)], shape=[4, 3, 6])
    f.case("expand_front", "expand", [x("expand_front", 6)], shape=[4, 3, 6])
    f.case("full", "full", [], shape=[4, 3], value=-2.5, dtype="f32")


def moe(f: Family) -> None:
    f.case("top_gates", "top_gates", [f.param("top_gates.x", (4, 5, 6), 0.1)])
    f.case("top_gates_3", "top_gates", [f.param("top_gates_3.x", (4, 6), 0.1)], k=3)
    f.case("expert_slots", "expert_slots", [f.param("expert_slots.x", (4, 6, 3))], capacity=4)
    x, w = f.param("expert_linear.x", (4, 1, 5)), f.param("expert_linear.w", (3, 6, 5))
    f.node("expert_linear.index", "top_index", [f.param("expert_linear.p", (4, 3))], k=2)
    f.case("top_index", "top_index", [f.param("top_index.x", (4, 2, 5))], k=3)
    f.case("expert_linear", "expert_linear", [x, "expert_linear.index", w], trans=1)
    x, gate = f.param("block.x", (4, 9, 5)), f.param("block.gate", (5, 4))
    w1, w2 = f.param("block.w1", (4, 5, 7)), f.param("block.w2", (4, 7, 5))
    f.node("block.logits", "linear", [x, gate], trans=0)
    f.node("block.p", "softmax", ["block.logits"])
    f.node("block.gates", "top_gates", ["block.p"])
    f.node("block.slots", "expert_slots", ["block.gates"], capacity=5)
    f.tensors["block.zero"] = {"kind": "const", "dtype": "f32", "shape": [], "value": {"const": 0}}
    f.node("block.used", "ne", ["block.slots", "block.zero"])
    f.node("block.mask", "cast", ["block.used"], dtype="f32")
    f.node("block.in", "dispatch", ["block.mask", x])
    f.node("block.rows", "reshape", ["block.in"], shape=[4, "5*B", 5])
    f.node("block.wide", "matmul", ["block.rows", w1], trans=0)
    f.node("block.relu", "relu", ["block.wide"])
    f.node("block.out_rows", "matmul", ["block.relu", w2], trans=0)
    f.node("block.out_slots", "reshape", ["block.out_rows"], shape=[4, "B", 5, 5])
    f.case("block", "combine", ["block.slots", "block.out_slots"])


FAMILIES = (dense, attention, windows, lookup, pointwise, reductions, views, moe)


def make(build) -> tuple[Family, dict, torch.Tensor, dict[str, torch.Tensor]]:
    """The family, its document, the loss and every parameter's gradient (computed in f64)."""
    f = Family(build.__name__)
    build(f)
    doc = f.document()
    document.check(doc)
    leaves = {
        n: v.double().requires_grad_() if doc["tensors"][n]["kind"] == "param" else v
        for n, v in f.values.items()
    }
    torch.set_default_dtype(torch.float64)
    try:
        loss = interp.run(doc, leaves, f32=torch.float64)[doc["loss"]]
    finally:
        torch.set_default_dtype(torch.float32)
    loss.backward()
    params = [n for n, t in doc["tensors"].items() if t["kind"] == "param"]
    grads = {n: torch.zeros_like(leaves[n]) if leaves[n].grad is None else leaves[n].grad for n in params}
    return f, doc, loss.detach(), {n: g.float() for n, g in grads.items()}


def main() -> None:
    folder = os.path.join(HERE, "ops")
    os.makedirs(folder, exist_ok=True)
    losses = {}
    for build in FAMILIES:
        f, doc, loss, grads = make(build)
        file = lambda s: os.path.join(folder, f"{f.name}{s}")  # noqa: E731
        with open(file(".json"), "w") as out:
            out.write(document.write(doc))
        params = {n: v for n, v in f.values.items() if n in grads}
        safetensors.save(file(".init.safetensors"), params)
        safetensors.save(file(".grads.safetensors"), grads)
        for n, v in f.values.items():
            if n not in grads:
                np.save(file(f".{n}.npy"), v.numpy())
        losses[f.name] = loss.item()
    with open(os.path.join(folder, "losses.json"), "w") as out:
        json.dump(losses, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
