"""Two traces at two batch sizes -> one description with integers in B.

The two graphs must be the same but for integers; an integer n(B) that differs is a*B + b with whole
a > 0, b >= 0 (a product of two batch dims fails this: its b is negative).
"""

from __future__ import annotations

import torch

from . import safetensors
from .consts import closed_form
from .graph import DTYPES, ExportError, Graph, Node, Tensor


class Two:
    """Compares the graphs of batch sizes b1 and b2."""

    def __init__(self, b1: int, b2: int, consts: str):
        self.b1, self.b2 = b1, b2
        self.consts = consts  # file name of what is stored
        self.stored: dict[str, torch.Tensor] = {}

    def integer(self, n1: int, n2: int, what: str):
        if n1 == n2:
            return n1
        a, rest = divmod(n2 - n1, self.b2 - self.b1)
        b = n1 - a * self.b1
        if rest or a <= 0 or b < 0:
            raise ExportError(
                f"not supported: {what} is {n1} at batch {self.b1} and {n2} at batch {self.b2}: not a*B + b"
            )
        return ("B" if a == 1 else f"{a}*B") + (f"+{b}" if b else "")

    def integers(self, v1, v2, what: str) -> list:
        if len(v1) != len(v2):
            raise ExportError(f"not supported: the rank of {what} depends on the batch size")
        return [self.integer(x, y, what) for x, y in zip(v1, v2)]

    def attr(self, v1, v2, what: str):
        if isinstance(v1, bool) or isinstance(v1, float):
            if v1 != v2:
                raise ExportError(f"not supported: {what} depends on the batch size ({v1}, {v2})")
            return v1
        if isinstance(v1, int):
            return self.integer(v1, v2, what)
        if isinstance(v1, torch.dtype):
            return DTYPES[v1]
        return self.integers(v1, v2, what)

    def tensor(self, t1: Tensor, t2: Tensor) -> dict:
        if (t1.kind, t1.dtype, t1.name) != (t2.kind, t2.dtype, t2.name):
            raise ExportError(f"not supported: the trace changes with the batch size at {t1.name}")
        if t1.dtype not in DTYPES:
            raise ExportError(f"not supported: {t1.name} is {t1.dtype}")
        out = {"kind": t1.kind, "dtype": DTYPES[t1.dtype]}
        out["shape"] = self.integers(t1.shape, t2.shape, f"a dim of {t1.name}")
        if t1.kind == "input":
            out["batch"] = -1 if t1.batch is None else t1.batch
        elif t1.kind == "const":
            out["value"] = self.value(t1, t2)
        else:
            out["init"] = t1.init
        return out

    def value(self, t1: Tensor, t2: Tensor):
        form, form2 = closed_form(t1.value), closed_form(t2.value)
        if form != form2 or (form is None and not torch.equal(t1.value, t2.value)):
            raise ExportError(f"not supported: the constant {t1.name} depends on the batch size")
        if form is None:
            self.stored[t1.name] = t1.value
            return {"stored": f"{self.consts}#{t1.name}", "sha256": safetensors.sha256(t1.value)}
        return form

    def node(self, n1: Node, n2: Node) -> dict:
        if (n1.op, n1.name, len(n1.ins)) != (n2.op, n2.name, len(n2.ins)) or set(n1.attrs) != set(n2.attrs):
            raise ExportError(f"not supported: the trace changes with the batch size at {n1.name} ({n1.src})")
        out = {
            "name": n1.name,
            "op": n1.op,
            "in": [t.name for t in n1.ins],
            "out": [t.name for t in n1.outs],
        }
        attrs = {k: self.attr(v, n2.attrs[k], f"{k} of {n1.name}") for k, v in n1.attrs.items()}
        if attrs:
            out["attrs"] = attrs
        if n1.src:
            out["from"] = n1.src
        return out

    def document(self, g1: Graph, g2: Graph) -> dict:
        """The "tensors", "nodes", "loss", "updates" and "alias" of a hap.graph."""
        l1, l2 = g1.leaves(), g2.leaves()
        if len(l1) != len(l2) or len(g1.nodes) != len(g2.nodes):
            raise ExportError("not supported: the number of ops depends on the batch size")
        order = {"input": 0, "param": 1, "buffer": 2, "const": 3}
        pairs = sorted(zip(l1, l2), key=lambda p: order[p[0].kind])
        doc = {"tensors": {a.name: self.tensor(a, b) for a, b in pairs}}
        doc["batch"] = {"B": self.b1}
        doc["nodes"] = [self.node(a, b) for a, b in zip(g1.nodes, g2.nodes)]
        for i, node in enumerate(doc["nodes"]):  # which random numbers a node reads: its own
            if node["op"] == "dropout" or "dropout" in node.get("attrs", {}):
                node["attrs"]["key"] = i + 1  # 0 asks the reader for this same number
        doc["loss"] = g1.loss.name
        if g1.updates:
            doc["updates"] = {name: t.name for name, (_, t) in g1.updates.items()}
        alias = {k: v for k, v in g1.alias.items() if v in doc["tensors"]}
        if alias:
            doc["alias"] = alias
        return doc
