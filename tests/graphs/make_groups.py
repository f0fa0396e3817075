#!/usr/bin/env python3
"""Writes a training step of every pointwise row and of softmax and layer norm on rows of COLUMNS entries, and its
input: what fused groups are tried with. Usage: make_groups.py COLUMNS GRAPH.json X.npy"""

import json
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../ir/export/hap_export"))
import ops  # the op table alone: hap_export wants PyTorch

cols, graph, npy = int(sys.argv[1]), sys.argv[2], sys.argv[3]
batch, tokens = 6, 5
nodes = []


def op(name, kind, *operands, **attrs):
    nodes.append({"name": name, "op": kind, "in": list(operands), "out": [name], **({"attrs": attrs} if attrs else {})})
    return name


a = op("a", "mul", "x", "w")
c = op("c", "add", op("a2", "add", a, "last"), "b")
g = op("g", "gelu", c, tanh=True)
h = op("h", "gelu", c)
s = op("s", "silu", op("nc", "neg", c))
t = op("t", "tanh", g)
p = op("p", "sigmoid", s)
wh = op("wh", "where", op("both", "logical_or", op("m", "gt", t, p), op("no", "logical_not", op("k", "le", h, "x"))), g, h)
e = op("e", "exp", op("tenth", "scale", wh, c=0.1))
l = op("l", "log", op("e1", "add_scalar", e, c=1.0))
q = op("q", "sqrt", op("l2", "add_scalar", op("lp", "pow_scalar", l, c=2.0), c=0.5))
r = op("r", "relu", op("qs", "sub", op("qr", "mul", q, op("rs", "rsqrt", q)), a))
d = op("d", "dropout", r, p=0.2)
n = op("n", "layer_norm", op("res2", "mul", op("res", "add", d, "x"), "last1"), "w2", "b2", eps=1e-5)
sm = op("sm", "softmax", n)
ls = op("ls", "log_softmax", n)
o = op("o", "div", op("sl", "mul", sm, ls), op("e2", "add_scalar", e, c=2.0))
for name, row in ops.table().items():  # every op that ops.def has a value for, at l, which is about 0.7
    if row.point:
        o = op(f"{name}.in", "add", o, op(f"{name}.at", name, l, **{k: 0.5 + i / 4 for i, k in enumerate(row.attrs)}))
op("loss", "scale", op("total", "sum", o, dims=[0, 1, 2]), c=1.0 / (batch * tokens))


def param(value, *lead):
    return {"kind": "param", "dtype": "f32", "shape": [*lead, cols], "init": value}


json.dump({
    "format": "hap.graph", "version": 1, "producer": "make_groups.py",
    "tensors": {"x": {"kind": "input", "dtype": "f32", "shape": ["B", tokens, cols], "batch": 0},
                "w": param({"normal": 0.5}), "b": param({"normal": 0.5}), "last": param({"normal": 0.5}, tokens),
                "last1": param({"uniform": [0.5, 1.5]}, 1, tokens), "w2": param({"const": 1}), "b2": param({"const": 0})},
    "batch": {"B": batch}, "nodes": nodes, "loss": "loss",
    "optimizer": {"name": "adamw", "lr": 0.01, "betas": [0.9, 0.95], "eps": 1e-8}}, open(graph, "w"))
rng = random.Random(cols)
count = batch * 2 * tokens * cols
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d, %d), }" % (2 * batch, tokens, cols)
head += " " * (-(len(head) + 11) % 64) + "\n"
with open(npy, "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
    f.write(struct.pack("<%df" % count, *(rng.gauss(0, 1) for _ in range(count))))
