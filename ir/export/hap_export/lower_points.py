"""Op rules: pointwise ops and reductions."""

from __future__ import annotations

import math

import torch

from .graph import Tensor
from .rules import cast, detach, last, reshape, rule, scalar, shape_of


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
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Tensor) and x.kind == "uniform" and scalar(y) is not None and alpha == 1:
            return Tensor("uniform", x.dtype, x.shape, value=x.value + scalar(y))
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


@rule("div", "true_divide")
def _div(g, a, b, rounding_mode=None):
    if rounding_mode is not None:
        g.fail("a division that rounds, of computed values")
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


@rule("pow.Tensor_Scalar", "float_power.Tensor_Scalar")
def _pow(g, x, c):
    if not g.out.dtype.is_floating_point:
        if c not in (1, 2):
            g.fail(f"an integer to the power {c}")
        return x if c == 1 else g.emit("mul", [x, x], x.shape, x.dtype)
    return cast(g, x, g.out.dtype) if c == 1 else pow_scalar(g, x, c)


@rule("pow.Scalar")
def _pow_of_scalar(g, c, x):
    if c <= 0:
        g.fail(f"{c} to a computed power")
    x = scale(g, x, math.log(c))
    return g.emit("exp", [x], x.shape, x.dtype)


@rule("pow.Tensor_Tensor")
def _pow_of_tensor(g, x, y):
    c = scalar(x)
    if c is not None:
        return _pow_of_scalar(g, c, y)
    c = scalar(y, shape_of(x))
    if c is not None:
        return _pow(g, x, c)
    g.fail("a computed value to a computed power", "write exp(y * log(x)) where x is positive")


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


for _name in ("neg", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "relu", "silu", "logical_not", "sin", "cos"):
    _unary(_name)


@rule("abs")
def _abs(g, x):
    if x.dtype.is_floating_point:
        return g.emit("abs", [x], x.shape, x.dtype)
    below = compare(g, "lt", x, torch.zeros((), dtype=x.dtype))
    return g.emit("where", [below, g.emit("neg", [x], x.shape, x.dtype), x], x.shape, x.dtype)


@rule("sign", "sgn")
def _sign(g, x):
    zero = torch.zeros((), dtype=x.dtype)
    up, down = compare(g, "gt", x, zero), compare(g, "lt", x, zero)
    return g.emit("sub", [cast(g, up, x.dtype), cast(g, down, x.dtype)], x.shape, x.dtype)


@rule("floor", "ceil", "trunc")
def _floor(g, x):
    name = str(g.fx.target).split(".")[1]
    if x.kind == "uniform" and name == "floor" and 0 < x.value < 1:  # 1 with probability `value`
        ones = g.emit("full", [], x.shape, x.dtype, shape=list(x.shape), value=1.0, dtype=x.dtype)
        return scale(g, g.emit("dropout", [ones], x.shape, x.dtype, p=1 - x.value), x.value)
    y = g.emit("cast", [g.emit("cast", [x], x.shape, torch.int64, dtype=torch.int64)], x.shape, x.dtype, dtype=x.dtype)
    if name == "trunc":
        return y
    other = compare(g, "lt" if name == "floor" else "gt", x, y)  # a cast goes towards 0
    return g.emit("sub" if name == "floor" else "add", [y, cast(g, other, x.dtype)], x.shape, x.dtype)


@rule("log1p")
def _log1p(g, x):
    x = add_scalar(g, x, 1.0)
    return g.emit("log", [x], x.shape, x.dtype)


@rule("expm1")
def _expm1(g, x):
    x = cast(g, x, g.out.dtype)
    return add_scalar(g, g.emit("exp", [x], x.shape, x.dtype), -1.0)


@rule("softplus")
def _softplus(g, x, beta=1, threshold=20):
    y = g.emit("softplus", [scale(g, x, beta)], x.shape, x.dtype)
    return scale(g, y, 1 / beta)


@rule("log_sigmoid", "log_sigmoid_forward")
def _log_sigmoid(g, x):
    x = g.emit("neg", [x], x.shape, x.dtype)
    x = g.emit("softplus", [x], x.shape, x.dtype)
    return g.emit("neg", [x], x.shape, x.dtype)


@rule("leaky_relu")
def _leaky_relu(g, x, slope=0.01):
    above = compare(g, "gt", x, torch.zeros((), dtype=x.dtype))
    return g.emit("where", [above, x, scale(g, x, slope)], x.shape, x.dtype)


@rule("prelu")
def _prelu(g, x, slope):
    """A slope for all, or one a channel: dim 1."""
    n = slope.shape[0] if slope.shape else 1
    slope = reshape(g, slope, (n,) + (1,) * max(0, len(x.shape) - 2) if n > 1 else (1,) * len(x.shape))
    above = compare(g, "gt", x, torch.zeros((), dtype=x.dtype))
    low = g.emit("mul", [slope, x], x.shape, x.dtype)
    return g.emit("where", [above, x, low], x.shape, x.dtype)


@rule("elu")
def _elu(g, x, alpha=1.0, scale_=1, input_scale=1):
    if scale_ != 1 or input_scale != 1:
        g.fail("elu with scales")
    above = compare(g, "gt", x, torch.zeros((), dtype=x.dtype))
    low = g.emit("clamp", [x], x.shape, x.dtype, max=0.0)
    low = scale(g, add_scalar(g, g.emit("exp", [low], x.shape, x.dtype), -1.0), alpha)
    return g.emit("where", [above, x, low], x.shape, x.dtype)


@rule("hardtanh", "relu6")
def _hardtanh(g, x, low=None, high=None):
    """Whose gradient is 0 at both limits, where clamp has one."""
    six = str(g.fx.target).startswith("aten.relu6")
    low, high = (0.0, 6.0) if six else (-1.0 if low is None else low, 1.0 if high is None else high)
    limits = [torch.tensor(float(v), dtype=x.dtype) for v in (low, high)]
    if low == 0:
        y = g.emit("relu", [x], x.shape, x.dtype)
    else:
        y = g.emit("where", [compare(g, "gt", x, limits[0]), x, limits[0]], x.shape, x.dtype)
    return g.emit("where", [compare(g, "lt", y, limits[1]), y, limits[1]], x.shape, x.dtype)


@rule("hardsigmoid", "hardswish")
def _hardsigmoid(g, x):
    y, six = g.emit("relu", [add_scalar(g, x, 3.0)], x.shape, x.dtype), torch.tensor(6.0, dtype=x.dtype)
    y = scale(g, g.emit("where", [compare(g, "lt", y, six), y, six], x.shape, x.dtype), 1 / 6)
    return g.emit("mul", [x, y], x.shape, x.dtype) if "swish" in str(g.fx.target) else y


@rule("mish")
def _mish(g, x):
    y = g.emit("softplus", [x], x.shape, x.dtype)
    return g.emit("mul", [x, g.emit("tanh", [y], x.shape, x.dtype)], x.shape, x.dtype)


@rule("maximum", "max.other", "minimum", "min.other", "fmax", "fmin")
def _maximum(g, a, b):
    """The gradient of equal entries is halved, as torch.maximum's is."""
    dtype, low = g.out.dtype, "min" in str(g.fx.target)
    for x, y in ((a, b), (b, a)):
        c = scalar(y, shape_of(x))
        if c is not None and isinstance(x, Tensor) and dtype.is_floating_point and not x.trained:
            return g.emit("clamp", [cast(g, x, dtype)], x.shape, dtype, **{"max" if low else "min": float(c)})
    a, b = cast(g, a, dtype), cast(g, b, dtype)
    first = compare(g, "lt" if low else "gt", a, b, g.out.shape)
    if not dtype.is_floating_point:
        return g.emit("where", [first, a, b], g.out.shape, dtype)
    both = scale(g, g.emit("add", [a, b], g.out.shape, dtype), 0.5)
    second = g.emit("where", [compare(g, "eq", a, b, g.out.shape), both, b], g.out.shape, dtype)
    return g.emit("where", [first, a, second], g.out.shape, dtype)


@rule("lerp")
def _lerp(g, a, b, weight):
    d = g.emit("sub", [b, a], g.out.shape, g.out.dtype)
    return g.emit("add", [a, _mul(g, weight, d)], g.out.shape, g.out.dtype)


@rule("addcmul")
def _addcmul(g, x, a, b, value=1):
    y = scale(g, g.emit("mul", [a, b], g.out.shape, g.out.dtype), value)
    return g.emit("add", [x, y], g.out.shape, g.out.dtype)


@rule("bitwise_not")
def _bitwise_not(g, x):
    if x.dtype != torch.bool:
        g.fail("bitwise_not of integers")
    return g.emit("logical_not", [x], x.shape, torch.bool)


@rule("clamp", "clip", "clamp_min", "clamp_max")
def _clamp(g, x, low=None, high=None):
    name = str(g.fx.target)
    if name.startswith("aten.clamp_max"):
        low, high = None, low
    limits = {"min": low, "max": high}
    limits = {k: scalar(v, shape_of(x)) for k, v in limits.items() if v is not None}
    if None in limits.values():
        g.fail("clamp by computed limits", "use torch.maximum and torch.minimum")
    if not g.out.dtype.is_floating_point:
        return _clamp_whole(g, x, limits)
    x, limits = cast(g, x, g.out.dtype), {k: float(v) for k, v in limits.items()}
    return g.emit("clamp", [x], x.shape, x.dtype, **limits)


def _clamp_whole(g, x, limits):
    for k, v in limits.items():
        v = torch.tensor(v, dtype=x.dtype)
        x = g.emit("where", [compare(g, "lt" if k == "min" else "gt", x, v), v, x], x.shape, x.dtype)
    return x


@rule("gelu")
def _gelu(g, x, approximate="none"):
    return g.emit("gelu", [x], x.shape, x.dtype, tanh=approximate == "tanh")


def compare(g, op, a, b, shape=None):
    """a op b of any two numbers of one dtype."""
    shape = tuple(shape or torch.broadcast_shapes(shape_of(a), shape_of(b)))
    return g.emit(op, [a, b], shape, torch.bool)


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


@rule("isnan")
def _isnan(g, x):
    return compare(g, "ne", x, x)


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


@rule("logical_xor", "bitwise_xor", "__xor__")
def _xor(g, a, b):
    if g.out.dtype != torch.bool:
        g.fail("bitwise xor of integers")
    return g.emit("ne", [cast(g, a, torch.bool), cast(g, b, torch.bool)], g.out.shape, torch.bool)


# -- reductions ----------------------------------------------------------------------------------


def _dims(x, dims) -> list[int]:
    rank = len(x.shape)
    if dims is None or dims == []:
        return list(range(rank))
    return sorted(d % rank for d in ([dims] if isinstance(dims, int) else dims))


def _reduce(op):
    @rule(op)
    def _(g, x, dims=None, keepdim=False, dtype=None):
        x = cast(g, x, g.out.dtype)
        return g.emit(op, [x], g.out.shape, g.out.dtype, dims=_dims(x, dims), keepdim=bool(keepdim))


for _name in ("sum", "mean"):
    _reduce(_name)


@rule("any", "all")
def _any(g, x, dims=None, keepdim=False):
    """Whether some, all of the entries are true: by their number."""
    every = str(g.fx.target).startswith("aten.all")
    x = cast(g, x, torch.bool)
    x = g.emit("logical_not", [x], x.shape, torch.bool) if every else x
    x = g.emit("cast", [x], x.shape, torch.float32, dtype=torch.float32)
    n = g.emit("sum", [x], g.out.shape, torch.float32, dims=_dims(x, dims), keepdim=bool(keepdim))
    return compare(g, "eq" if every else "ne", n, torch.zeros(()))


@rule("var", "std", "var_mean")
def _var(g, x, dims=None, correction=None, keepdim=False, unbiased=None):
    if isinstance(dims, bool):
        dims, correction = None, int(dims)
    dims = _dims(x, dims)
    n = math.prod(x.shape[d] for d in dims)
    free = n - (1 if correction is None else correction)
    kept = [1 if d in dims else s for d, s in enumerate(x.shape)]
    mean = g.emit("mean", [x], kept, x.dtype, dims=dims, keepdim=True)
    d = g.emit("sub", [x, mean], x.shape, x.dtype)
    square = g.emit("pow_scalar", [d], x.shape, x.dtype, c=2.0)
    y = g.emit("mean", [square], kept, x.dtype, dims=dims, keepdim=True)
    y = g.emit("scale", [y], kept, x.dtype, c=n / free) if n != free else y
    name = str(g.fx.target)
    if name.startswith("aten.std"):
        y = g.emit("sqrt", [y], kept, x.dtype)
    if name.startswith("aten.var_mean"):
        return [reshape(g, y, g.out[0].shape), reshape(g, mean, g.out[1].shape)]
    return reshape(g, y, g.out.shape)


@rule("logsumexp")
def _logsumexp(g, x, dims, keepdim=False):
    dims = _dims(x, dims)
    if len(dims) != 1:
        g.fail("logsumexp over several dims")
    x, _ = last(g, cast(g, x, torch.float32), dims[0])
    one = x.shape[:-1] + (1,)
    highest = reshape(g, g.emit("row_max", [detach(g, x)], x.shape[:-1], torch.float32), one)
    y = g.emit("exp", [g.emit("sub", [x, highest], x.shape, x.dtype)], x.shape, x.dtype)
    y = g.emit("log", [g.emit("sum", [y], one, x.dtype, dims=[len(one) - 1], keepdim=True)], one, x.dtype)
    return reshape(g, g.emit("add", [y, highest], one, x.dtype), g.out.shape)


@rule("linalg_vector_norm", "norm.ScalarOpt_dim", "norm.Scalar")
def _norm(g, x, p=2, dims=None, keepdim=False, dtype=None):
    if p != 2:
        g.fail(f"a norm of order {p}")
    x = cast(g, x, g.out.dtype)
    y = g.emit("pow_scalar", [x], x.shape, x.dtype, c=2.0)
    y = g.emit("sum", [y], g.out.shape, x.dtype, dims=_dims(x, dims), keepdim=bool(keepdim))
    return g.emit("sqrt", [y], y.shape, y.dtype)
