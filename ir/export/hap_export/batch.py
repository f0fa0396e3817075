"""Two traces at two batch sizes -> one description with integers in B.

The two graphs must be the same but for integers; an integer n(B) that differs is a*B + b with whole
a > 0, b >= 0 (a product of two batch dims fails this: its b is negative).
"""

from __future__ import annotations

import itertools
import math

import torch

from . import safetensors
from .consts import closed_form
from .graph import DTYPES, ExportError, Graph, Node, Tensor


def reconcile(g1: Graph, g2: Graph, b1: int, b2: int) -> None:
    """Rewrites what differs between the two graphs by more than integers, where it can be said in B:
    a factor c/B or c*B, and a constant that every row of the batch repeats."""
    if len(g1.nodes) != len(g2.nodes):
        return
    for n1, n2 in zip(list(g1.nodes), list(g2.nodes)):
        if n1.op == n2.op == "scale" and n1.attrs["c"] != n2.attrs["c"]:
            _scale_by_batch(g1, n1, g2, n2, b1, b2)
    for t1, t2 in zip(g1.leaves(), g2.leaves()):
        if t1.kind == t2.kind == "const" and t1.shape != t2.shape:
            form = closed_form(t1.value)
            if form is None or form != closed_form(t2.value):
                _row_of_batch(g1, t1, g2, t2, b1, b2)


def _scale_by_batch(g1: Graph, n1: Node, g2: Graph, n2: Node, b1: int, b2: int) -> None:
    c1, c2 = n1.attrs["c"], n2.attrs["c"]
    if math.isclose(c1 * b1, c2 * b2, rel_tol=1e-9):
        op, rest = "div", c1 * b1
    elif math.isclose(c1 / b1, c2 / b2, rel_tol=1e-9):
        op, rest = "mul", c1 / b1
    else:
        return
    for g, node, b in ((g1, n1, b1), (g2, n2, b2)):
        at, f32 = g.nodes.index(node), torch.float32
        ones = Node("full", [], [], {"shape": [b], "value": 1.0, "dtype": f32}, node.path, node.src)
        ones.outs = [Tensor("value", f32, (b,), producer=ones)]
        rows = Node("sum", ones.outs, [], {"dims": [0], "keepdim": False}, node.path, node.src)
        rows.outs = [Tensor("value", f32, (), producer=rows)]
        by = Node(op, [node.ins[0], rows.outs[0]], [], {}, node.path, node.src)
        by.outs = [Tensor("value", f32, node.ins[0].shape, producer=by, trained=node.ins[0].trained)]
        node.ins, node.attrs["c"] = [by.outs[0]], rest
        g.nodes[at:at] = [ones, rows, by]


def _row_of_batch(g1: Graph, t1: Tensor, g2: Graph, t2: Tensor, b1: int, b2: int) -> None:
    """[B*a, …] of the same `a` entries in every row: a constant [1, a, …] (or [a, 1, …], if it is each
    entry that repeats), expanded and reshaped."""
    dims = [d for d, (x, y) in enumerate(zip(t1.shape, t2.shape)) if x != y]
    if t1.value.dim() != t2.value.dim() or len(dims) != 1:
        return
    d = dims[0]
    a, rest = divmod(t1.shape[d], b1)
    if rest or t2.shape[d] != a * b2 or t1.value.dim() > 5:
        return
    for at in (d, d + 1):
        parts = []
        for t, b in ((t1, b1), (t2, b2)):
            sizes = (b, a) if at == d else (a, b)
            parts.append(t.value.reshape(t.shape[:d] + sizes + t.shape[d + 1 :]))
        ones = [p.narrow(at, 0, 1) for p in parts]
        if torch.equal(*ones) and all(bool((p == o).all()) for p, o in zip(parts, ones)):
            for g, t, p, o in zip((g1, g2), (t1, t2), parts, ones):
                _expanded(g, t, tuple(p.shape), o)
            return


def _expanded(g: Graph, t: Tensor, shape: tuple, one: torch.Tensor) -> None:
    user = next(n for n in g.nodes if t in n.ins)
    base = Tensor("const", t.dtype, tuple(one.shape), value=one, path=t.path)
    grow = Node("expand", [base], [], {"shape": list(shape)}, user.path, user.src)
    grow.outs = [Tensor("value", t.dtype, shape, producer=grow)]
    flat = Node("reshape", grow.outs, [], {"shape": list(t.shape)}, user.path, user.src)
    flat.outs = [Tensor("value", t.dtype, t.shape, producer=flat)]
    at = g.nodes.index(user)
    g.replace(t, flat.outs[0])
    g.nodes[at:at] = [grow, flat]


def share_constants(g1: Graph, g2: Graph) -> None:
    """Constants to be stored that are equal in both graphs become one, as the rotary tables that every
    layer makes for itself. It belongs to the module that holds all that read it."""
    l1, l2 = g1.leaves(), g2.leaves()
    if len(l1) != len(l2):
        return
    held: dict[tuple, tuple[Tensor, Tensor]] = {}
    subst: tuple[dict, dict] = {}, {}
    for t1, t2 in zip(l1, l2):
        if t1.kind != "const" or t2.kind != "const" or closed_form(t1.value) is not None:
            continue
        key = tuple((t.dtype, t.shape, safetensors.sha256(t.value)) for t in (t1, t2))
        first = held.setdefault(key, (t1, t2))
        for s, t, one in zip(subst, (t1, t2), first):
            if t is not one:
                s[t], one.path = one, common_path(one.path, t.path)
    for g, s in zip((g1, g2), subst):
        g.replace_all(s)


def common_path(a: str, b: str) -> str:
    both = zip(a.split("."), b.split("."))
    return ".".join(x for x, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], both))


class Two:
    """Compares the graphs of batch sizes b1 and b2."""

    def __init__(self, b1: int, b2: int, consts: str):
        self.b1, self.b2 = b1, b2
        self.consts = consts  # file name of what is stored
        self.stored: dict[str, torch.Tensor] = {}
        self.held: dict[tuple, str] = {}  # by content: which of them holds it

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
            digest = safetensors.sha256(t1.value)
            held = self.held.setdefault((digest, t1.dtype, t1.shape), t1.name)
            self.stored.setdefault(held, t1.value)
            return {"stored": f"{self.consts}#{held}", "sha256": digest}
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

    def document(self, g1: Graph, g2: Graph, rows: int) -> dict:
        """The "tensors", "batch", "nodes", "loss", "updates" and "alias" of a hap.graph; `rows` is B."""
        l1, l2 = g1.leaves(), g2.leaves()
        if len(l1) != len(l2) or len(g1.nodes) != len(g2.nodes):
            raise ExportError("not supported: the number of ops depends on the batch size")
        order = {"input": 0, "param": 1, "buffer": 2, "const": 3}
        pairs = sorted(zip(l1, l2), key=lambda p: order[p[0].kind])
        doc = {"tensors": {a.name: self.tensor(a, b) for a, b in pairs}}
        doc["batch"] = {"B": rows}
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
