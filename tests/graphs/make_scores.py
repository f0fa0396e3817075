#!/usr/bin/env python3
"""Writes a training step of attention with trained biases of its scores, and its input: in bf16 its softmax is
made again for the backward pass, and the biases' gradients are added up where it is made. The second layer has a
bias of three dims, scores that are scaled, and dropout.
Usage: make_scores.py TOKENS HEADS GRAPH.json X.npy"""

import json
import random
import struct
import sys

tokens, heads, graph, npy = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
batch, each = 6, 16
width = heads * each
nodes, tensors = [], {"x": {"kind": "input", "dtype": "f32", "shape": ["B", tokens, width], "batch": 0}}


def op(name, kind, *operands, **attrs):
    nodes.append({"name": name, "op": kind, "in": list(operands), "out": [name], **({"attrs": attrs} if attrs else {})})
    return name


def param(name, std, *shape):
    tensors[name] = {"kind": "param", "dtype": "f32", "shape": list(shape), "init": {"normal": std}}
    return name


def heads_of(layer, name, x):
    y = op(f"{layer}.{name}", "linear", x, param(f"{layer}.{name}.w", width**-0.5, width, width), trans=1)
    y = op(f"{layer}.{name}.parts", "reshape", y, shape=["B", tokens, heads, each])
    return op(f"{layer}.{name}.heads", "transpose", y, perm=[0, 2, 1, 3])


def layer(name, x, second):
    q, k, v = (heads_of(name, part, x) for part in "qkv")
    s = op(f"{name}.scores", "matmul", q, k, trans=1)
    if second:
        s = op(f"{name}.scaled", "scale", s, c=each**-0.5)
    s = op(f"{name}.sum", "add", s, param(f"{name}.bias", 0.5, *([] if second else [1]), heads, tokens, tokens))
    p = op(f"{name}.softmax", "softmax", s)
    if second:
        p = op(f"{name}.drop", "dropout", p, p=0.1)
    o = op(f"{name}.out", "matmul", p, v, trans=0)
    o = op(f"{name}.back", "transpose", o, perm=[0, 2, 1, 3])
    o = op(f"{name}.joined", "reshape", o, shape=["B", tokens, width])
    return op(f"{name}.res", "add", x, op(f"{name}.o", "linear", o, param(f"{name}.o.w", width**-0.5, width, width), trans=1))


y = layer("b", layer("a", "x", False), True)
op("loss", "scale", op("total", "sum", op("squares", "mul", y, y), dims=[0, 1, 2]), c=1.0 / (batch * tokens * width))
json.dump({"format": "hap.graph", "version": 1, "producer": "make_scores.py", "tensors": tensors, "batch": {"B": batch},
           "nodes": nodes, "loss": "loss",
           "optimizer": {"name": "adamw", "lr": 0.01, "betas": [0.9, 0.95], "eps": 1e-8}}, open(graph, "w"))
rng = random.Random(tokens)
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d, %d), }" % (2 * batch, tokens, width)
head += " " * (-(len(head) + 11) % 64) + "\n"
with open(npy, "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
    f.write(struct.pack("<%df" % (2 * batch * tokens * width), *(rng.gauss(0, 1) for _ in range(2 * batch * tokens * width))))
