"""What models write as many small ops and a hap.graph says in one, found in a traced graph.

    x rsqrt(mean(x²) + eps) (w)                      ->  rms_norm
    x cos + concat(-second half, first half) sin     ->  rotary
    rotary of swapped dims                           ->  swapped dims of a rotary
    sdpa of keys and values repeated by head         ->  of the keys and values

A rewrite returns the tensor that replaces the node's output, or None (passes.py).
"""

from __future__ import annotations

from .graph import Graph, Node, Tensor


def emit(g: Graph, like: Node, op: str, ins, shape, /, **attrs) -> Tensor:
    """A node that stands where `like` stood; its output."""
    node = Node(op, list(ins), [], attrs, like.path, like.src)
    t = Tensor("value", like.outs[0].dtype, tuple(shape), producer=node)
    t.trained = any(x.trained for x in ins)
    node.outs = [t]
    g.nodes.append(node)
    return t


def made_by(t: Tensor, op: str) -> Node | None:
    return t.producer if t.producer is not None and t.producer.op == op else None


def _either_way(node: Node):
    return node.ins, node.ins[::-1]


def _is_square(t: Tensor, x: Tensor) -> bool:
    power, times = made_by(t, "pow_scalar"), made_by(t, "mul")
    if power is not None:
        return power.ins[0] is x and power.attrs["c"] == 2
    return times is not None and times.ins[0] is x and times.ins[1] is x


def rms_norm(g: Graph, node: Node, n_uses):
    for x, r in _either_way(node):
        rsqrt = made_by(r, "rsqrt")
        add = made_by(rsqrt.ins[0], "add_scalar") if rsqrt is not None else None
        mean = made_by(add.ins[0], "mean") if add is not None else None
        if mean is None or not _is_square(mean.ins[0], x) or not mean.attrs["keepdim"]:
            continue
        if list(mean.attrs["dims"]) == [len(x.shape) - 1] and add.attrs["c"] > 0:
            return emit(g, node, "rms_norm", [x], x.shape, eps=add.attrs["c"])
    return None


def rms_norm_weight(g: Graph, node: Node, n_uses):
    for y, w in _either_way(node):
        norm = made_by(y, "rms_norm")
        if norm is None or len(norm.ins) > 1 or n_uses.get(y) != 1 or w.shape != y.shape[-1:]:
            continue
        if w.dtype == y.dtype:
            return emit(g, node, "rms_norm", [norm.ins[0], w], y.shape, **norm.attrs)
    return None


def _half(t: Tensor, x: Tensor, second: bool) -> bool:
    """t is one half of x's rows."""
    last, d = len(x.shape) - 1, x.shape[-1]
    cut, split = made_by(t, "slice"), made_by(t, "split")
    if cut is not None:
        want = (d // 2, d) if second else (0, d // 2)
        a = cut.attrs
        return cut.ins[0] is x and a["dim"] == last and (a["start"], a["stop"]) == want
    if split is None or split.ins[0] is not x or split.attrs["dim"] != last:
        return False
    return list(split.attrs["sizes"]) == [d // 2, d // 2] and t is split.outs[int(second)]


def _is_turned(t: Tensor, x: Tensor) -> bool:
    both = made_by(t, "concat")
    if both is None or len(both.ins) != 2 or both.attrs["dim"] != len(x.shape) - 1 or x.shape[-1] % 2:
        return False
    minus = made_by(both.ins[0], "neg")
    return minus is not None and _half(minus.ins[0], x, True) and _half(both.ins[1], x, False)


def rotary(g: Graph, node: Node, n_uses):
    for a, b in _either_way(node):
        straight, turned = made_by(a, "mul"), made_by(b, "mul")
        if straight is None or turned is None:
            continue
        for x, cos in _either_way(straight):
            for y, sin in _either_way(turned):
                tables = cos.shape[-1:] == sin.shape[-1:] == x.shape[-1:] == node.outs[0].shape[-1:]
                if tables and x.shape == node.outs[0].shape and _is_turned(y, x):
                    return emit(g, node, "rotary", [x, cos, sin], x.shape)
    return None


def _viewed(g: Graph, like: Node, t: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The same entries in another shape: of a constant, another constant, made once."""
    if t.shape == shape:
        return t
    if t.kind != "const":
        return emit(g, like, "reshape", [t], shape, shape=list(shape))
    if shape not in t.views:
        t.views[shape] = Tensor("const", t.dtype, shape, value=t.value.reshape(shape), path=t.path)
    return t.views[shape]


def rotary_transpose(g: Graph, node: Node, n_uses):
    """Attention reads its heads with strides, but what is between a transpose and attention does not."""
    swap = made_by(node.ins[0], "transpose")
    rank = len(node.outs[0].shape)
    if swap is None or swap.attrs["perm"][-1] != rank - 1:
        return None
    perm, tables = swap.attrs["perm"], []
    for t in node.ins[1:]:
        full = (1,) * (rank - len(t.shape)) + t.shape
        shape = tuple(full[perm.index(d)] for d in range(rank))
        if [n for n in shape if n > 1] != [n for n in full if n > 1] or sum(n > 1 for n in full) > 2:
            return None  # its entries would change their order
        tables.append(_viewed(g, node, t, shape))
    x = emit(g, node, "rotary", [swap.ins[0], *tables], swap.ins[0].shape, **node.attrs)
    return emit(g, swap, "transpose", [x], node.outs[0].shape, perm=perm)


def _of_few_heads(t: Tensor) -> Tensor | None:
    """k, if t is reshape(expand(reshape k)): each head of k several times in a row."""
    merged = made_by(t, "reshape")
    repeated = made_by(merged.ins[0], "expand") if merged is not None else None
    one = made_by(repeated.ins[0], "reshape") if repeated is not None else None
    if one is None or len(t.shape) != 4 or len(one.ins[0].shape) != 4:
        return None
    b, h, s, e = one.ins[0].shape
    wide = repeated.outs[0].shape
    if one.outs[0].shape != (b, h, 1, s, e) or wide[:2] + wide[3:] != (b, h, s, e):
        return None
    return one.ins[0] if t.shape == (b, h * wide[2], s, e) else None


def few_heads(g: Graph, node: Node, n_uses):
    k, v = (_of_few_heads(t) for t in node.ins[1:3])
    if k is not None and v is not None and k.shape[:3] == v.shape[:3]:
        node.ins[1:3] = [k, v]
    return None
