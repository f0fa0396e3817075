"""Op rules: what each ATen op is in the words of ops.def. Their register, and what they share.

A rule takes the tracer (its context) and the op's arguments: Tensor (computed), torch.Tensor (a
constant) or Python values. It returns the result, emitting nodes on the way. An op without a rule
is an error that names it.
"""

from __future__ import annotations

import torch

from .consts import uniform_value
from .graph import Tensor

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
    if dtype == torch.uint8:
        g.fail("a computed value of type uint8", "make it of another type first: x.float()")
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
    if start == stop:
        return torch.zeros(shape, dtype=x.dtype)  # nothing: a value without entries depends on none
    return g.emit("slice", [x], shape, x.dtype, dim=dim, start=start, stop=stop)


def detach(g, x):
    """x, through which no gradient passes."""
    if isinstance(x, torch.Tensor) or not x.trained:
        return x
    y = g.emit("detach", [x], x.shape, x.dtype)
    y.trained = False
    return y


def iota(n: int) -> torch.Tensor:
    return torch.arange(n)


def last(g, x, dim):
    """x with `dim` moved to its end by a swap, and the swap."""
    rank = len(shape_of(x))
    perm = swap(rank, dim % rank, rank - 1)
    return transpose(g, x, perm), perm


def swap(rank, a, b) -> list[int]:
    perm = list(range(rank))
    perm[a], perm[b] = perm[b], perm[a]
    return perm


def along(g, x, dim, weight: torch.Tensor):
    """x times a constant matrix along `dim`: [n, m] turns its n entries into m."""
    if weight.shape[0] == weight.shape[1] and torch.equal(weight, torch.eye(len(weight), dtype=weight.dtype)):
        return x
    x, perm = last(g, x, dim)
    y = g.emit("matmul", [x, weight], tuple(x.shape[:-1]) + (weight.shape[1],), x.dtype, trans=0)
    return transpose(g, y, perm)
