"""Rewrites of one traced graph that leave its meaning alone and make it say it shorter.

    linear on rows flattened by a view       ->  linear on the unflattened tensor
    view, linear on rows, view               ->  view, linear
    cross entropy over flattened rows        ->  over [batch, length, vocabulary]
    cross entropy of a log_softmax           ->  of what it normalises
    reshape of reshape, transpose twice      ->  one, or none
    matmul or linear of a transposed matrix  ->  its `trans` attribute
    x/2 (1 + tanh(sqrt(2/pi)(x + .044715x³))) ->  gelu(tanh=true)

and those of patterns.py. Then nodes that no result needs are dropped. Every rewrite looks at a node and its producers only, so
one sweep in program order sees operands that are already rewritten; sweeps repeat until nothing
changes.
"""

from __future__ import annotations

import math

from . import patterns
from .consts import closed_form, uniform_value
from .graph import Graph, Node, Tensor
from .patterns import emit, made_by


def simplify(g: Graph) -> None:
    while _sweep(g):
        pass
    drop_dead(g)
    shrink_constants(g)


def _sweep(g: Graph) -> bool:
    changed = False
    n_uses = {t: len(users) for t, users in g.users().items()}
    old, g.nodes = g.nodes, []
    subst: dict[Tensor, Tensor] = {}
    for node in old:
        node.ins = [_resolve(subst, t) for t in node.ins]
        for rewrite in _REWRITES.get(node.op, ()):
            made = rewrite(g, node, n_uses)
            if made is not None:
                subst[node.outs[0]] = made
                changed = True
                break
        else:
            g.nodes.append(node)
    if g.loss is not None:
        g.loss = _resolve(subst, g.loss)
    g.updates = {k: (b, _resolve(subst, t)) for k, (b, t) in g.updates.items()}
    return changed


def _resolve(subst, t: Tensor) -> Tensor:
    while t in subst:
        t = subst[t]
    return t


def drop_dead(g: Graph) -> None:
    live, kept = set(g.roots()), []
    for node in reversed(g.nodes):
        if any(t in live for t in node.outs):
            live.update(node.ins)
            kept.append(node)
    g.nodes = kept[::-1]


def shrink_constants(g: Graph) -> None:
    """A constant to be stored that only repeats itself along a dim which another operand of a
    broadcasting op spans is stored once: a mask expanded to [B, 1, T, T] as [1, 1, T, T]."""
    made: dict[tuple[Tensor, tuple[int, ...]], Tensor] = {}
    for node in g.nodes:
        for i, t in enumerate(node.ins):
            if t.kind != "const" or closed_form(t.value) is not None or not _broadcasts(node, i):
                continue
            value = t.value
            for d in range(value.dim()):
                if value.shape[d] > 1 and _spanned(node, i, d - value.dim()):
                    one = value.narrow(d, 0, 1)
                    value = one if bool((value == one).all()) else value
            key = t, tuple(value.shape)
            if key[1] != t.shape:
                if key not in made:
                    made[key] = Tensor("const", t.dtype, key[1], value=value, path=t.path)
                node.ins[i] = made[key]


_POINTWISE = {
    "add", "sub", "mul", "div", "where", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or",
}  # fmt: skip


def _broadcasts(node: Node, i: int) -> bool:
    return node.op in _POINTWISE or (node.op == "sdpa" and i == 3)


def _spanned(node: Node, i: int, d: int) -> bool:
    """Another operand has the full size of the result's dim d (counted from the right)."""
    if node.op == "sdpa":
        return d < -2
    size = node.outs[0].shape[d]
    others = (t.shape for k, t in enumerate(node.ins) if k != i)
    return any(len(s) >= -d and s[d] == size for s in others)


# -- helpers -------------------------------------------------------------------------------------


def _swaps_last(node: Node | None) -> bool:
    """A transpose of the last two dims alone."""
    if node is None:
        return False
    perm = node.attrs["perm"]
    n = len(perm)
    return n >= 2 and perm == list(range(n - 2)) + [n - 1, n - 2]


# -- rewrites: each returns the tensor that replaces the node's output, or None --------------------


def _reshape(g: Graph, node: Node, n_uses):
    if node.ins[0].shape == node.outs[0].shape:
        return node.ins[0]
    inner = made_by(node.ins[0], "reshape")
    if inner is None:
        return None
    if inner.ins[0].shape == node.outs[0].shape:
        return inner.ins[0]
    return emit(g, inner, "reshape", inner.ins, node.outs[0].shape, shape=node.attrs["shape"])


def _reshape_linear(g: Graph, node: Node, n_uses):
    """A view after a linear on viewed rows: one view before it."""
    linear = made_by(node.ins[0], "linear")
    flat = made_by(linear.ins[0], "reshape") if linear is not None else None
    out = node.outs[0].shape
    if flat is None or n_uses.get(linear.outs[0]) != 1 or out[-1:] != linear.outs[0].shape[-1:]:
        return None
    rows = out[:-1] + flat.outs[0].shape[-1:]
    x = emit(g, flat, "reshape", flat.ins, rows, shape=list(rows))
    return emit(g, linear, "linear", [x] + linear.ins[1:], out, **linear.attrs)


def _transpose(g: Graph, node: Node, n_uses):
    inner = made_by(node.ins[0], "transpose")
    if inner is None:
        return None
    perm = [inner.attrs["perm"][p] for p in node.attrs["perm"]]
    if perm == sorted(perm):
        return inner.ins[0]
    return emit(g, node, "transpose", inner.ins, node.outs[0].shape, perm=perm)


def _linear_rows(g: Graph, node: Node, n_uses):
    flat = made_by(node.ins[0], "reshape")
    if flat is None or flat.ins[0].shape[-1:] != flat.outs[0].shape[-1:]:
        return None
    x, out = flat.ins[0], node.outs[0]
    y = emit(g, node, "linear", [x] + node.ins[1:], x.shape[:-1] + out.shape[-1:], **node.attrs)
    return emit(g, node, "reshape", [y], out.shape, shape=list(out.shape))


def _linear_trans(g: Graph, node: Node, n_uses):
    w = made_by(node.ins[1], "transpose")
    if not _swaps_last(w):
        return None
    ins = [node.ins[0], w.ins[0]] + node.ins[2:]
    return emit(g, node, "linear", ins, node.outs[0].shape, trans=1 - node.attrs["trans"])


def _matmul_trans(g: Graph, node: Node, n_uses):
    if node.attrs["trans"]:
        return None
    for i, trans in ((1, 1), (0, 2)):
        t = made_by(node.ins[i], "transpose")
        perm = list(t.attrs["perm"]) if t is not None else []
        perm[-2:] = perm[-2:][::-1]
        if not perm or perm[-1] != len(perm) - 1:  # would not leave the last dim where it is
            continue
        ins = list(node.ins)
        ins[i] = t.ins[0]
        if perm != sorted(perm):
            ins[i] = emit(g, t, "transpose", t.ins, [t.ins[0].shape[p] for p in perm], perm=perm)
        return emit(g, node, "matmul", ins, node.outs[0].shape, trans=trans)
    return None


def _ce_rows(g: Graph, node: Node, n_uses):
    x, labels = (made_by(t, "reshape") for t in node.ins)
    if x is None or labels is None:
        return None
    x, labels = x.ins[0], labels.ins[0]
    if x.shape[-1:] != node.ins[0].shape[-1:] or x.shape[:-1] != labels.shape:
        return None
    return emit(g, node, "ce_sum", [x, labels], (), **node.attrs)


def _ce_log_softmax(g: Graph, node: Node, n_uses):
    inner = made_by(node.ins[0], "log_softmax")
    return None if inner is None else emit(g, node, "ce_sum", inner.ins + node.ins[1:], (), **node.attrs)


def _count_rows(g: Graph, node: Node, n_uses):
    labels = made_by(node.ins[0], "reshape")
    return None if labels is None else emit(g, node, "count", labels.ins, (), **node.attrs)


def _near(c: float, want: float) -> bool:
    return abs(c - want) <= 1e-6 * abs(want)


def _scaled(t: Tensor, c: float) -> Tensor | None:
    node = made_by(t, "scale")
    return node.ins[0] if node is not None and _near(node.attrs["c"], c) else None


def _gelu_tanh(g: Graph, node: Node, n_uses):
    for half, one in (node.ins, node.ins[::-1]):
        x = _scaled(half, 0.5)
        one = made_by(one, "add_scalar")
        if x is None or one is None or one.attrs["c"] != 1:
            continue
        tanh = made_by(one.ins[0], "tanh")
        inner = _scaled(tanh.ins[0], math.sqrt(2 / math.pi)) if tanh else None
        add = made_by(inner, "add") if inner is not None else None
        if add is None or x not in add.ins:
            continue
        cube = _scaled(add.ins[1] if add.ins[0] is x else add.ins[0], 0.044715)
        power = made_by(cube, "pow_scalar") if cube is not None else None
        if power is not None and power.attrs["c"] == 3 and power.ins[0] is x:
            return emit(g, node, "gelu", [x], x.shape, tanh=True)
    return None


def _where_known(g: Graph, node: Node, n_uses):
    """By a condition that is the same everywhere."""
    cond, *branches = node.ins
    value = uniform_value(cond.value) if cond.kind == "const" else None
    if value is None:
        return None
    x, shape = branches[0 if value else 1], node.outs[0].shape
    return x if x.shape == shape else emit(g, node, "expand", [x], shape, shape=list(shape))


def _once(t: Tensor, d: int) -> Tensor | None:
    """t with one entry along dim d (counted from the right), if all are alike there."""
    if len(t.shape) < -d or t.shape[d] == 1:
        return t
    if t.kind != "const":
        return None
    if d not in t.narrow:
        one = t.value.narrow(d, 0, 1)
        same = bool((t.value == one).all())
        t.narrow[d] = Tensor("const", t.dtype, tuple(one.shape), value=one, path=t.path) if same else None
    return t.narrow[d]


def _alike(g: Graph, node: Node, n_uses):
    """What is the same along a dim, as constants repeat themselves there, is computed once: the masked
    bias of attention, which has a batch only by its mask."""
    out, ins = node.outs[0].shape, list(node.ins)
    small = list(out)
    for d in range(-len(out), 0):
        narrow = [_once(t, d) for t in ins] if out[d] > 1 else [None]
        if all(t is not None for t in narrow):
            ins, small[d] = narrow, 1
    if tuple(small) == out or all(t.kind == "const" for t in ins):
        return None
    y = emit(g, node, node.op, ins, small, **node.attrs)
    return emit(g, node, "expand", [y], out, shape=list(out))


def _unexpanded(g: Graph, node: Node, n_uses):
    """An operand that is expanded broadcasts by itself where another has the result's shape."""
    out, ins = node.outs[0].shape, list(node.ins)
    for i, t in enumerate(ins):
        grown = made_by(t, "expand")
        if grown is not None and any(o.shape == out for k, o in enumerate(ins) if k != i):
            ins[i] = grown.ins[0]
    if ins == node.ins:
        return None
    return emit(g, node, node.op, ins, out, **node.attrs)


def _scale_by_one(g: Graph, node: Node, n_uses):
    return node.ins[0] if node.attrs["c"] == 1 else None


_REWRITES = {
    "reshape": (_reshape, _reshape_linear),
    "transpose": (_transpose,),
    "linear": (_linear_rows, _linear_trans),
    "matmul": (_matmul_trans,),
    "ce_sum": (_ce_rows, _ce_log_softmax),
    "count": (_count_rows,),
    "mul": (_gelu_tanh, patterns.rms_norm, patterns.rms_norm_weight),
    "scale": (_scale_by_one,),
    "rotary": (patterns.rotary_transpose,),
    "sdpa": (patterns.few_heads,),
    "where": (_where_known,),
    "add": (patterns.rotary,),
}
for _op in _POINTWISE:
    _REWRITES[_op] = _REWRITES.get(_op, ()) + (_alike, _unexpanded)
