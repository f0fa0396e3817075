"""Op rules: losses. A loss is a sum over a count, so that parts of a batch add up."""

from __future__ import annotations

import torch

from .graph import Tensor
from .lower_points import compare
from .rules import cast, iota, reshape, rule, shape_of, transpose

_NONE, _MEAN, _SUM = 0, 1, 2


def _total(g, x):
    return g.emit("sum", [x], (), torch.float32, dims=list(range(len(x.shape))), keepdim=False)


def reduced(g, x, reduction):
    """A loss by element as torch's `reduction` wants it."""
    if reduction == _NONE:
        return x
    dims = list(range(len(x.shape)))
    return g.emit("mean" if reduction == _MEAN else "sum", [x], (), torch.float32, dims=dims, keepdim=False)


@rule("cross_entropy_loss")
def _cross_entropy(g, x, labels, weight=None, reduction=_MEAN, ignore_index=-100, label_smoothing=0.0):
    if len(shape_of(x)) > 2:  # classes stand in dim 1
        perm = [0] + list(range(2, len(x.shape))) + [1]
        soft = len(shape_of(labels)) == len(x.shape)
        x, labels = transpose(g, x, perm), transpose(g, labels, perm) if soft else labels
    if labels.dtype.is_floating_point:
        return _cross_entropy_of_shares(g, x, labels, weight, reduction, label_smoothing)
    if weight is not None or reduction == _NONE:
        return _cross_entropy_by_row(g, x, labels, weight, reduction, ignore_index, label_smoothing)
    labels = cast(g, labels, torch.int64)
    total = g.emit("ce_sum", [x, labels], (), torch.float32, ignore=ignore_index)
    if label_smoothing:  # a share of it goes to all classes alike
        rows = _minus_log(g, x)
        rows = g.emit("mean", [rows], rows.shape[:-1], rows.dtype, dims=[len(rows.shape) - 1], keepdim=False)
        counts = compare(g, "ne", labels, torch.tensor(ignore_index))
        spread = _total(g, g.emit("where", [counts, rows, torch.zeros(())], rows.shape, rows.dtype))
        total = g.emit("scale", [total], (), torch.float32, c=1 - label_smoothing)
        spread = g.emit("scale", [spread], (), torch.float32, c=label_smoothing)
        total = g.emit("add", [total, spread], (), torch.float32)
    if reduction == _SUM:
        return total
    count = g.emit("count", [labels], (), torch.float32, ignore=ignore_index)
    return g.emit("div", [total, count], (), torch.float32)


def _minus_log(g, x):
    x = g.emit("log_softmax", [cast(g, x, torch.float32)], x.shape, torch.float32)
    return g.emit("neg", [x], x.shape, x.dtype)


def _cross_entropy_of_shares(g, x, labels, weight, reduction, smoothing):
    """Labels that are probabilities: the mean is over rows."""
    n = x.shape[-1]
    if smoothing:
        labels = g.emit("scale", [labels], labels.shape, labels.dtype, c=1 - smoothing)
        labels = g.emit("add_scalar", [labels], labels.shape, labels.dtype, c=smoothing / n)
    rows = g.emit("mul", [_minus_log(g, x), labels], x.shape, torch.float32)
    rows = rows if weight is None else g.emit("mul", [rows, weight], x.shape, torch.float32)
    rows = g.emit("sum", [rows], x.shape[:-1], torch.float32, dims=[len(x.shape) - 1], keepdim=False)
    return reduced(g, rows, reduction)


def _cross_entropy_by_row(g, x, labels, weight, reduction, ignore_index, smoothing):
    """One loss a row, each times its class's weight; the mean is over the weights."""
    if smoothing:
        g.fail("cross_entropy_loss with label smoothing and class weights, or by row")
    labels = reshape(g, cast(g, labels, torch.int64), shape_of(labels) + (1,))
    hit = compare(g, "eq", iota(x.shape[-1]), labels, x.shape)  # none, where the label is ignored
    if ignore_index >= 0:
        counts = compare(g, "ne", labels, torch.tensor(ignore_index))
        hit = g.emit("logical_and", [hit, counts], x.shape, torch.bool)

    def picked(values):
        y = g.emit("where", [hit, values, torch.zeros(())], x.shape, torch.float32)
        return g.emit("sum", [y], x.shape[:-1], torch.float32, dims=[len(x.shape) - 1], keepdim=False)

    loss = _minus_log(g, x)
    loss = loss if weight is None else g.emit("mul", [loss, weight], x.shape, torch.float32)
    rows = picked(loss)
    if reduction == _NONE:
        return reshape(g, rows, g.out.shape)
    if reduction == _SUM:
        return _total(g, rows)
    weights = picked(torch.ones(()) if weight is None else weight)
    return g.emit("div", [_total(g, rows), _total(g, weights)], (), torch.float32)


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


@rule("mse_loss")
def _mse_loss(g, x, y, reduction=_MEAN):
    d = _difference(g, x, y)
    return reduced(g, g.emit("pow_scalar", [d], d.shape, d.dtype, c=2.0), reduction)


def _difference(g, x, y):
    shape = tuple(torch.broadcast_shapes(shape_of(x), shape_of(y)))
    return g.emit("sub", [cast(g, x, torch.float32), cast(g, y, torch.float32)], shape, torch.float32)


@rule("l1_loss")
def _l1_loss(g, x, y, reduction=_MEAN):
    d = _difference(g, x, y)
    return reduced(g, g.emit("abs", [d], d.shape, d.dtype), reduction)


@rule("huber_loss")
def _huber_loss(g, x, y, reduction=_MEAN, delta=1.0):
    return reduced(g, _huber(g, _difference(g, x, y), delta), reduction)


@rule("smooth_l1_loss")
def _smooth_l1_loss(g, x, y, reduction=_MEAN, beta=1.0):
    if beta == 0:
        return _l1_loss(g, x, y, reduction)
    d = _huber(g, _difference(g, x, y), beta)
    return reduced(g, g.emit("scale", [d], d.shape, d.dtype, c=1 / beta), reduction)


def _huber(g, d, delta):
    """c |d| - c^2 / 2 with c = min(|d|, delta): a square near 0, a line of slope delta beyond."""
    a = g.emit("abs", [d], d.shape, d.dtype)
    c = g.emit("clamp", [a], d.shape, d.dtype, max=float(delta))
    square = g.emit("pow_scalar", [c], d.shape, d.dtype, c=2.0)
    half = g.emit("scale", [square], d.shape, d.dtype, c=0.5)
    return g.emit("sub", [g.emit("mul", [c, a], d.shape, d.dtype), half], d.shape, d.dtype)


@rule("binary_cross_entropy_with_logits")
def _bce_with_logits(g, x, y, weight=None, pos_weight=None, reduction=_MEAN):
    """softplus(x) - x y; with a weight of positives p, (1 - y) x + (1 + (p - 1) y) softplus(-x)."""
    x, y = cast(g, x, torch.float32), cast(g, y, torch.float32)
    if pos_weight is None:
        loss = g.emit("softplus", [x], x.shape, x.dtype)
        loss = g.emit("sub", [loss, g.emit("mul", [x, y], x.shape, x.dtype)], x.shape, x.dtype)
    else:
        log = g.emit("softplus", [g.emit("neg", [x], x.shape, x.dtype)], x.shape, x.dtype)
        more = g.emit("add_scalar", [pos_weight], shape_of(pos_weight), torch.float32, c=-1.0)
        more = g.emit("mul", [y, more], x.shape, x.dtype)
        more = g.emit("add_scalar", [more], x.shape, x.dtype, c=1.0)
        rest = g.emit("sub", [x, g.emit("mul", [x, y], x.shape, x.dtype)], x.shape, x.dtype)
        loss = g.emit("add", [rest, g.emit("mul", [more, log], x.shape, x.dtype)], x.shape, x.dtype)
    loss = loss if weight is None else g.emit("mul", [loss, weight], x.shape, x.dtype)
    return reduced(g, loss, reduction)


@rule("binary_cross_entropy")
def _bce(g, p, y, weight=None, reduction=_MEAN):
    """-(y log p + (1 - y) log(1 - p)), the logarithms no less than -100, as torch has it."""

    def log(v):
        v = g.emit("log", [v], v.shape, v.dtype)
        return g.emit("clamp", [v], v.shape, v.dtype, min=-100.0)

    def other(v):
        v = g.emit("neg", [v], v.shape, v.dtype)
        return g.emit("add_scalar", [v], v.shape, v.dtype, c=1.0)

    ones = g.emit("mul", [log(p), y], p.shape, p.dtype)
    loss = g.emit("add", [ones, g.emit("mul", [log(other(p)), other(y)], p.shape, p.dtype)], p.shape, p.dtype)
    loss = g.emit("neg", [loss], p.shape, p.dtype)
    loss = loss if weight is None else g.emit("mul", [loss, weight], p.shape, p.dtype)
    return reduced(g, loss, reduction)


@rule("kl_div")
def _kl_div(g, x, y, reduction=_MEAN, log_target=False):
    """y (log y - x), 0 where y is 0."""
    if log_target:
        t = g.emit("exp", [y], y.shape, y.dtype)
        loss = g.emit("mul", [t, g.emit("sub", [y, x], x.shape, x.dtype)], x.shape, x.dtype)
    else:
        some = compare(g, "gt", y, torch.zeros(()))
        safe = g.emit("where", [some, y, torch.ones(())], x.shape, x.dtype)
        t = g.emit("log", [safe], x.shape, x.dtype)
        loss = g.emit("mul", [y, g.emit("sub", [t, x], x.shape, x.dtype)], x.shape, x.dtype)
    return reduced(g, loss, reduction)
