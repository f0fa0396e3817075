"""Op rules: what each ATen op is in the words of ops.def.

A rule takes the tracer (its context) and the op's arguments: Tensor (computed), torch.Tensor (a
constant) or Python values. It returns the result, emitting nodes on the way. An op without a rule
is an error that names it.
"""

from __future__ import annotations

import math

import torch

from .consts import mask_meaning, uniform_value
from .graph import Tensor

# Ops whose result shares memory with their first operand.
VIEWS = {
    "view", "reshape", "_unsafe_view", "view_as", "flatten", "unflatten", "squeeze", "unsqueeze",
    "transpose", "permute", "t", "numpy_T", "mT", "expand", "expand_as", "slice", "select", "narrow",
    "split", "split_with_sizes", "chunk", "unbind", "alias", "detach", "contiguous", "to",
}  # fmt: skip
RANDOM = {
    "rand", "randn", "randint", "randperm", "bernoulli", "normal", "uniform", "rand_like",
    "randn_like", "randint_like", "multinomial", "exponential",
}  # fmt: skip

_RULES: dict = {}


def rule(*names):
    def register(f):
        for name in names:
            _RULES[name] = f
        return f

    return register


def rule_for(target: str):
    """The rule of "aten.op.overload"; "op_" (in place) has the rule of "op"."""
    parts = target.split(".")
    if parts[0] == "hap":  # moe.py
        return _RULES.get(".".join(parts[:2]))
    if len(parts) < 2 or parts[0] != "aten":
        return None
    for name in (".".join(parts[1:]), parts[1]):
        if name in _RULES:
            return _RULES[name]
    if parts[1].endswith("_") and not parts[1].endswith("__"):
        return _RULES.get(parts[1][:-1])
    return None


# -- helpers -------------------------------------------------------------------------------------


def scalar(v, like_shape=None) -> float | None:
    """The number an operand is, if it is one everywhere and does not widen the result."""
    if isinstance(v, (bool, int, float)):
        return v
    if isinstance(v, torch.Tensor):
        if v.numel() != 1 and (like_shape is None or v.dim() > len(like_shape)):
            return None
        if like_shape is not None and tuple(torch.broadcast_shapes(v.shape, like_shape)) != tuple(like_shape):
            return None
        return uniform_value(v)
    return None


def shape_of(v) -> tuple[int, ...]:
    return tuple(v.shape) if isinstance(v, (Tensor, torch.Tensor)) else ()


def cast(g, x, dtype):
    if isinstance(x, torch.Tensor):
        return x if x.dtype == dtype else x.to(dtype)
    if not isinstance(x, Tensor):
        return torch.tensor(x, dtype=dtype)
    if x.dtype == dtype:
        return x
    return g.emit("cast", [x], x.shape, dtype, dtype=dtype)


def reshape(g, x, shape):
    shape = tuple(shape)
    if isinstance(x, torch.Tensor):
        return x.reshape(shape)
    return x if x.shape == shape else g.emit("reshape", [x], shape, x.dtype, shape=list(shape))


def transpose(g, x, perm):
    perm = list(perm)
    if isinstance(x, torch.Tensor):
        return x.permute(perm)
    if perm == sorted(perm):
        return x
    return g.emit("transpose", [x], [x.shape[p] for p in perm], x.dtype, perm=perm)


def expand(g, x, shape):
    shape = tuple(shape)
    if isinstance(x, torch.Tensor):
        return x.expand(shape)
    return x if x.shape == shape else g.emit("expand", [x], shape, x.dtype, shape=list(shape))


def slice_(g, x, dim, start, stop):
    if isinstance(x, torch.Tensor):
        return x.narrow(dim, start, stop - start)
    if start == 0 and stop == x.shape[dim]:
        return x
    shape = list(x.shape)
    shape[dim] = stop - start
    return g.emit("slice", [x], shape, x.dtype, dim=dim, start=start, stop=stop)


def swap(rank, a, b) -> list[int]:
    perm = list(range(rank))
    perm[a], perm[b] = perm[b], perm[a]
    return perm


# -- views ---------------------------------------------------------------------------------------


@rule(
    "view.default", "reshape", "_unsafe_view", "view_as", "reshape_as", "flatten", "unflatten", "squeeze",
    "unsqueeze",
)  # fmt: skip
def _reshape(g, x, *_, **__):
    return reshape(g, x, g.out.shape)


@rule("transpose", "swapaxes", "swapdims")
def _transpose(g, x, a, b):
    rank = len(x.shape)
    return transpose(g, x, swap(rank, a % rank, b % rank)) if rank else x


@rule("t", "numpy_T", "mT")
def _t(g, x):
    rank = len(x.shape)
    return transpose(g, x, swap(rank, rank - 2, rank - 1)) if rank >= 2 else x


@rule("permute")
def _permute(g, x, dims, *_):
    return transpose(g, x, [d % len(x.shape) for d in dims])




@rule("expand", "expand_as", "broadcast_to")
def _expand(g, x, *_, **__):
    return expand(g, x, g.out.shape)


@rule("slice")
def _slice(g, x, dim=0, start=None, end=None, step=1):
    n = x.shape[dim]
    if step != 1:
        g.fail(f"slice with step {step}")
    start, stop, _ = slice(start, end).indices(n)
    return slice_(g, x, dim % len(x.shape), start, max(start, stop))


@rule("narrow")
def _narrow(g, x, dim, start, length):
    return slice_(g, x, dim % len(x.shape), start, start + length)


@rule("select.int")
def _select(g, x, dim, index):
    dim %= len(x.shape)
    index %= x.shape[dim]
    return reshape(g, slice_(g, x, dim, index, index + 1), g.out.shape)


def split(g, x, sizes, dim):
    dim %= len(x.shape)
    if len(sizes) == 1:
        return [x]
    shapes = [x.shape[:dim] + (n,) + x.shape[dim + 1 :] for n in sizes]
    return g.emit_many("split", [x], [(s, x.dtype) for s in shapes], dim=dim, sizes=list(sizes))


@rule("split", "split_with_sizes", "chunk", "tensor_split")
def _split(g, x, _sizes, dim=0):
    return split(g, x, [t.shape[dim] for t in g.out], dim)


@rule("unbind")
def _unbind(g, x, dim=0):
    parts = split(g, x, [1] * x.shape[dim], dim)
    return [reshape(g, p, t.shape) for p, t in zip(parts, g.out)]


@rule("cat", "concat")
def _cat(g, xs, dim=0):
    xs = [cast(g, x, g.out.dtype) for x in xs if shape_of(x) != (0,)]
    if len(xs) == 1:
        return xs[0]
    return g.emit("concat", xs, g.out.shape, g.out.dtype, dim=dim % len(g.out.shape))


@rule("stack")
def _stack(g, xs, dim=0):
    dim %= len(g.out.shape)
    one = g.out.shape[:dim] + (1,) + g.out.shape[dim + 1 :]
    return _cat(g, [reshape(g, cast(g, x, g.out.dtype), one) for x in xs], dim)


@rule("pad", "constant_pad_nd")
def _pad(g, x, pad, mode="constant", value=None):
    if not isinstance(mode, str):  # constant_pad_nd(x, pad, value)
        mode, value = "constant", mode
    if mode != "constant":
        g.fail(f"pad mode {mode}")
    for i in range(0, len(pad), 2):
        before, after = pad[i], pad[i + 1]
        dim = len(x.shape) - 1 - i // 2
        if before < 0 or after < 0:
            x = slice_(g, x, dim, max(0, -before), x.shape[dim] - max(0, -after))
            before, after = max(0, before), max(0, after)
        if before or after:
            shape = list(x.shape)
            shape[dim] += before + after
            x = g.emit("pad", [x], shape, x.dtype, dim=dim, before=before, after=after, value=float(value or 0))
    return x


@rule("alias", "contiguous", "clone", "lift_fresh_copy", "positive", "detach")
def _identity(g, x, *_, **__):
    if str(g.fx.target).startswith("aten.detach") and x.trained:
        g.fail("detach of a value that depends on a parameter")
    return x


@rule("to", "_to_copy", "type_as", "float")
def _to(g, x, *_, **__):
    return cast(g, x, g.out.dtype)


@rule("view.dtype")
def _view_dtype(g, x, dtype):
    if dtype != x.dtype:
        g.fail(f"view({dtype}) of a {x.dtype} tensor: its bits as another type (`.to` converts values)")
    if x.trained:
        g.fail(f"view({dtype}), which stops the gradient of a value that depends on a parameter")
    return x


@rule("index.Tensor")
def _index(g, x, indices):
    """Only the indexing that rearranges nothing: every index runs over its whole dim in order, each
    on an axis of its own (how transformers broadcasts a padding mask)."""
    if any(not isinstance(i, torch.Tensor) for i in indices) or len(indices) != len(x.shape):
        g.fail("op aten.index.Tensor with indices that are computed or leave a dim out")
    rank, last = len(g.out.shape), -1
    for dim, i in enumerate(indices):
        i = i.reshape((1,) * (rank - i.dim()) + tuple(i.shape))
        axes = [a for a in range(rank) if i.shape[a] != 1]
        in_order = torch.equal(i.reshape(-1), torch.arange(x.shape[dim]))
        if not in_order or len(axes) > 1 or (axes and axes[0] <= last):
            g.fail("op aten.index.Tensor that is not a reshape")
        last = axes[0] if axes else last
    return reshape(g, x, g.out.shape)


@rule("zeros_like", "new_zeros")
def _zeros_like(g, *_, **__):
    return torch.zeros(g.out.shape, dtype=g.out.dtype)


@rule("ones_like", "new_ones")
def _ones_like(g, *_, **__):
    return torch.ones(g.out.shape, dtype=g.out.dtype)


@rule("full_like")
def _full_like(g, _x, value, **__):
    return torch.full(g.out.shape, value, dtype=g.out.dtype)


# -- dense ---------------------------------------------------------------------------------------


@rule("linear")
def _linear(g, x, w, b=None):
    return g.emit("linear", [x, w] + ([b] if b is not None else []), g.out.shape, g.out.dtype, trans=1)


@rule("addmm")
def _addmm(g, b, x, w, beta=1, alpha=1):
    if beta != 1 or alpha != 1:
        g.fail(f"addmm with beta {beta}, alpha {alpha}")
    if len(shape_of(b)) == 1:
        return g.emit("linear", [x, w, b], g.out.shape, g.out.dtype, trans=0)
    return g.emit("add", [g.emit("matmul", [x, w], g.out.shape, g.out.dtype, trans=0), b], g.out.shape, g.out.dtype)


@rule("matmul", "mm", "bmm")
def _matmul(g, a, b):
    if min(len(shape_of(a)), len(shape_of(b))) < 2:
        g.fail("matmul with a vector")
    if isinstance(b, Tensor) and b.kind == "param" and len(b.shape) == 2:
        return g.emit("linear", [a, b], g.out.shape, g.out.dtype, trans=0)
    return g.emit("matmul", [a, b], g.out.shape, g.out.dtype, trans=0)


def _isomorphic(spec: list[str], pattern: list[str]) -> dict | None:
    """{letter of the pattern: letter of the spec}, if the operands are those of the pattern."""
    if [len(s) for s in spec] != [len(s) for s in pattern]:
        return None
    pairs = set(zip("".join(pattern), "".join(spec)))
    one_to_one = len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    return dict(pairs) if one_to_one else None


@rule("einsum")
def _einsum(g, equation, operands, path=None):
    """Two operands: a row of the mixture of experts, or one matmul between views."""
    spec, arrow, out = equation.replace(" ", "").partition("->")
    spec = spec.split(",")
    if not arrow or len(spec) != 2 or "." in equation or any(len(set(s)) < len(s) for s in [*spec, out]):
        g.fail(f'einsum "{equation}"')
    for op, pattern, result in (("dispatch", "bsec,bsd", "ebcd"), ("combine", "bsec,ebcd", "bsd")):
        for ins, letters in ((operands, spec), (operands[::-1], spec[::-1])):
            named = _isomorphic(letters, pattern.split(","))
            made = "".join(named.get(c, " ") for c in result) if named else ""
            if made and sorted(made) == sorted(out):
                size = dict(zip(out, g.out.shape))
                y = g.emit(op, [cast(g, t, g.out.dtype) for t in ins], [size[c] for c in made], g.out.dtype)
                return transpose(g, y, [made.index(c) for c in out])
    return _einsum_matmul(g, equation, operands, spec, out)


def _einsum_matmul(g, equation, operands, spec, out):
    """Letters of both operands and the result lead, those of both operands alone are summed."""
    a, b = spec
    size = dict(zip(a, shape_of(operands[0]))) | dict(zip(b, shape_of(operands[1])))
    lead = [c for c in a if c in b and c in out]
    k = [c for c in a if c in b and c not in out]
    m, n = [c for c in a if c not in b], [c for c in b if c not in a]
    if set(m + n + lead) != set(out):
        g.fail(f'einsum "{equation}": a letter is summed in one operand')

    def grouped(x, letters, groups):
        x = transpose(g, cast(g, x, g.out.dtype), [letters.index(c) for group in groups for c in group])
        return reshape(g, x, [size[c] for c in groups[0]] + [math.prod(size[c] for c in s) for s in groups[1:]])

    x, y = grouped(operands[0], a, (lead, m, k)), grouped(operands[1], b, (lead, k, n))
    shape = [size[c] for c in lead] + [shape_of(x)[-2], shape_of(y)[-1]]
    z = g.emit("matmul", [x, y], shape, g.out.dtype, trans=0)
    made = lead + m + n
    z = reshape(g, z, [size[c] for c in made])
    return transpose(g, z, [made.index(c) for c in out])


@rule("hap.top_gates")
def _top_gates(g, p, k):
    return g.emit("top_gates", [p], p.shape, p.dtype, k=k)


@rule("hap.expert_slots")
def _expert_slots(g, gates, capacity):
    return g.emit("expert_slots", [gates], g.out.shape, gates.dtype, capacity=capacity)


@rule("scaled_dot_product_attention")
def _sdpa(g, q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if len(q.shape) != 4:
        g.fail("attention whose operands are not [batch, heads, length, width]")
    if q.shape[1] != k.shape[1] and not enable_gqa:
        g.fail("attention with fewer key heads than query heads but without enable_gqa")
    causal = bool(is_causal)
    if isinstance(mask, torch.Tensor):
        meaning = mask_meaning(mask)
        if meaning != "other":
            causal, mask = causal or meaning == "causal", None
    if isinstance(mask, (Tensor, torch.Tensor)) and len(mask.shape) < 4:
        mask = reshape(g, mask, (1,) * (4 - len(mask.shape)) + tuple(mask.shape))
    attrs = {"causal": causal, "scale": float(scale or 0) or 1 / math.sqrt(q.shape[-1])}
    if dropout_p:
        attrs["dropout"] = float(dropout_p)
    ins = [q, k, v] + ([mask] if mask is not None else [])
    outs = [(tuple(g.out.shape), g.out.dtype), (tuple(q.shape[:3]), torch.float32)]
    return g.emit_many("sdpa", ins, outs, **attrs)[0]


# -- lookups, normalisation, losses --------------------------------------------------------------


@rule("embedding")
def _embedding(g, w, ids, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    if scale_grad_by_freq or sparse:
        g.fail("embedding with scale_grad_by_freq or sparse")
    if padding_idx >= 0:
        g.notes.add(
            f"{w.name}: row {padding_idx} is a padding row, which PyTorch gives no gradient through the "
            "lookup; a hap.graph gives it one: the same only if the inputs never hold this id"
        )
    return g.emit("embedding", [w, ids], g.out.shape, g.out.dtype)


@rule("layer_norm")
def _layer_norm(g, x, shape, weight=None, bias=None, eps=1e-5, _cudnn=True):
    if len(shape) != 1:
        g.fail("layer_norm over more than the last dim")
    if weight is None and bias is not None:
        g.fail("layer_norm with a bias and no weight")
    ins = [x] + [t for t in (weight, bias) if t is not None]
    return g.emit("layer_norm", ins, g.out.shape, g.out.dtype, eps=eps)


@rule("rms_norm")
def _rms_norm(g, x, shape, weight=None, eps=None):
    if len(shape) != 1:
        g.fail("rms_norm over more than the last dim")
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    return g.emit("rms_norm", [x] + ([] if weight is None else [weight]), g.out.shape, g.out.dtype, eps=eps)


def _last_dim(g, op, x, dim):
    rank = len(x.shape)
    x = cast(g, x, g.out.dtype)
    perm = swap(rank, dim % rank, rank - 1)
    y = transpose(g, x, perm)
    return transpose(g, g.emit(op, [y], y.shape, y.dtype), perm)


@rule("softmax", "_softmax")
def _softmax(g, x, dim, _dtype=None):
    return _last_dim(g, "softmax", x, dim)


@rule("log_softmax", "_log_softmax")
def _log_softmax(g, x, dim, _dtype=None):
    return _last_dim(g, "log_softmax", x, dim)


@rule("cross_entropy_loss")
def _cross_entropy(g, x, labels, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    if weight is not None or label_smoothing:
        g.fail("cross_entropy_loss with class weights or label smoothing")
    if reduction == 0:
        g.fail("cross_entropy_loss with reduction 'none'")
    if labels.dtype != torch.int64 or len(labels.shape) != len(x.shape) - 1:
        g.fail("cross_entropy_loss with probabilities as labels")
    if len(x.shape) > 2:  # classes stand in dim 1
        x = transpose(g, x, [0] + list(range(2, len(x.shape))) + [1])
    total = g.emit("ce_sum", [x, labels], (), torch.float32, ignore=ignore_index)
    if reduction == 2:
        return total
    count = g.emit("count", [labels], (), torch.float32, ignore=ignore_index)
    return g.emit("div", [total, count], (), torch.float32)


def _is_log_softmax(x, perm) -> bool:
    """x, its dims permuted, is a log_softmax over the last of them."""
    while x.producer is not None and x.producer.op == "transpose":
        perm = [x.producer.attrs["perm"][p] for p in perm]
        x = x.producer.ins[0]
    return x.producer is not None and x.producer.op == "log_softmax" and perm[-1] == len(perm) - 1


@rule("nll_loss", "nll_loss_nd", "nll_loss2d")
def _nll_loss(g, x, labels, weight=None, reduction=1, ignore_index=-100):
    """Of log probabilities, cross entropy is the same: their softmax's normaliser is 1."""
    rank = len(shape_of(x))
    perm = [0] + list(range(2, rank)) + [1] if rank > 2 else list(range(rank))
    if not isinstance(x, Tensor) or not _is_log_softmax(x, perm):
        g.fail("nll_loss of something else than a log_softmax over the classes")
    return _cross_entropy(g, x, labels, weight, reduction, ignore_index)


@rule("dropout", "native_dropout")
def _dropout(g, x, p, train=True):
    if not train or p == 0:
        return x
    return g.emit("dropout", [x], x.shape, x.dtype, p=float(p))


# -- pointwise -----------------------------------------------------------------------------------


def binary(g, op, a, b):
    dtype = g.out.dtype
    return g.emit(op, [cast(g, a, dtype), cast(g, b, dtype)], g.out.shape, dtype)


def scale(g, x, c):
    x = cast(g, x, g.out.dtype)
    return x if c == 1 else g.emit("scale", [x], x.shape, x.dtype, c=float(c))


def add_scalar(g, x, c):
    x = cast(g, x, g.out.dtype)
    return x if c == 0 else g.emit("add_scalar", [x], x.shape, x.dtype, c=float(c))


@rule("add")
def _add(g, a, b, alpha=1):
    for x, y, k in ((a, b, alpha), (b, a, 1)):
        c = scalar(y, shape_of(x))
        if c is not None and isinstance(x, Tensor):
            x = x if x is a else scale(g, x, alpha)
            return add_scalar(g, x, c * k)
    return binary(g, "add", a, scale(g, b, alpha) if isinstance(b, Tensor) else b * alpha)


@rule("sub")
def _sub(g, a, b, alpha=1):
    c = scalar(b, shape_of(a))
    if c is not None:
        return add_scalar(g, a, -c * alpha)
    c = scalar(a, shape_of(b))
    if c is not None:
        return add_scalar(g, scale(g, b, -alpha), c)
    return binary(g, "sub", a, scale(g, b, alpha) if isinstance(b, Tensor) else b * alpha)


@rule("rsub")
def _rsub(g, a, b, alpha=1):
    if alpha != 1:
        g.fail("rsub with alpha")
    return _sub(g, b, a)


@rule("mul")
def _mul(g, a, b):
    for x, y in ((a, b), (b, a)):
        c = scalar(y, shape_of(x))
        if c is not None and isinstance(x, Tensor) and g.out.dtype.is_floating_point:
            return scale(g, x, c)
    return binary(g, "mul", a, b)


@rule("div")
def _div(g, a, b, rounding_mode=None):
    if rounding_mode is not None:
        g.fail("div with a rounding mode")
    c = scalar(b, shape_of(a))
    if c is not None:
        return scale(g, a, 1 / c)
    c = scalar(a, shape_of(b))
    if c is not None:
        return scale(g, pow_scalar(g, b, -1.0), c)
    return binary(g, "div", a, b)


def pow_scalar(g, x, c):
    x = cast(g, x, g.out.dtype)
    return g.emit("pow_scalar", [x], x.shape, x.dtype, c=float(c))


@rule("pow.Tensor_Scalar")
def _pow(g, x, c):
    return x if c == 1 else pow_scalar(g, x, c)


@rule("square")
def _square(g, x):
    return pow_scalar(g, x, 2)


@rule("reciprocal")
def _reciprocal(g, x):
    return pow_scalar(g, x, -1)


def _unary(aten, op=None):
    @rule(aten)
    def _(g, x, *_, **__):
        x = cast(g, x, g.out.dtype)
        return g.emit(op or aten, [x], x.shape, x.dtype)


for _name in ("neg", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "relu", "silu", "logical_not"):
    _unary(_name)


@rule("bitwise_not")
def _bitwise_not(g, x):
    if x.dtype != torch.bool:
        g.fail("bitwise_not of integers")
    return g.emit("logical_not", [x], x.shape, torch.bool)


@rule("clamp")
def _clamp(g, x, low=None, high=None):
    limits = {"min": low, "max": high}
    limits = {k: scalar(v, shape_of(x)) for k, v in limits.items() if v is not None}
    if not g.out.dtype.is_floating_point or None in limits.values():
        g.fail("clamp of integers or by tensors")
    x, limits = cast(g, x, g.out.dtype), {k: float(v) for k, v in limits.items()}
    return g.emit("clamp", [x], x.shape, x.dtype, **limits)


@rule("gelu")
def _gelu(g, x, approximate="none"):
    return g.emit("gelu", [x], x.shape, x.dtype, tanh=approximate == "tanh")


def _compare(op):
    @rule(op)
    def _(g, a, b):
        types = [x.dtype if isinstance(x, (Tensor, torch.Tensor)) else None for x in (a, b)]
        a, b = ((x.dtype, x) if isinstance(x, Tensor) else (None, x) for x in (a, b))
        dtype = a[0] or b[0]
        if types[0] and types[1] and types[0] != types[1]:
            dtype = torch.promote_types(*types)
        return g.emit(op, [cast(g, a[1], dtype), cast(g, b[1], dtype)], g.out.shape, torch.bool)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _compare(_name)


def _logical(op, *names):
    @rule(*names)
    def _(g, a, b):
        if g.out.dtype != torch.bool:
            g.fail(f"bitwise {op} of integers")
        for x, y in ((a, b), (b, a)):
            c = scalar(y, shape_of(x))
            if c is not None and bool(c) == (op == "logical_and"):
                return cast(g, x, torch.bool)
        return g.emit(op, [cast(g, a, torch.bool), cast(g, b, torch.bool)], g.out.shape, torch.bool)


_logical("logical_and", "logical_and", "bitwise_and", "__and__")
_logical("logical_or", "logical_or", "bitwise_or", "__or__")


@rule("where.self", "where.ScalarSelf", "where.ScalarOther")
def _where(g, c, a, b):
    dtype = g.out.dtype
    return g.emit("where", [cast(g, c, torch.bool), cast(g, a, dtype), cast(g, b, dtype)], g.out.shape, dtype)


@rule("masked_fill")
def _masked_fill(g, x, mask, value):
    return _where(g, mask, value, x)


# -- reductions ----------------------------------------------------------------------------------


def _reduce(op):
    @rule(op)
    def _(g, x, dims=None, keepdim=False, dtype=None):
        x = cast(g, x, g.out.dtype)
        rank = len(x.shape)
        if dims is None or dims == []:
            dims = range(rank)
        dims = sorted(d % rank for d in ([dims] if isinstance(dims, int) else dims))
        return g.emit(op, [x], g.out.shape, g.out.dtype, dims=dims, keepdim=bool(keepdim))


for _name in ("sum", "mean"):
    _reduce(_name)
