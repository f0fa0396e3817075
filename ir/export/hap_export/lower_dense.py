"""Op rules: matmuls, attention, lookups, patches, normalisation."""

from __future__ import annotations

import math

import torch

from .consts import mask_meaning
from .graph import Tensor
from .lower_points import scale
from .rules import along, cast, detach, iota, reshape, rule, shape_of, slice_, swap, transpose


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


@rule("matmul", "mm", "bmm", "mv", "dot")
def _matmul(g, a, b):
    a, b = cast(g, a, g.out.dtype), cast(g, b, g.out.dtype)
    if min(len(shape_of(a)), len(shape_of(b))) < 2:  # a vector is a row or a column
        row = reshape(g, a, (1,) + tuple(a.shape)) if len(a.shape) == 1 else a
        column = reshape(g, b, tuple(b.shape) + (1,)) if len(b.shape) == 1 else b
        shape = torch.broadcast_shapes(row.shape[:-2], column.shape[:-2]) + (row.shape[-2], column.shape[-1])
        return reshape(g, g.emit("matmul", [row, column], shape, g.out.dtype, trans=0), g.out.shape)
    if isinstance(b, Tensor) and b.kind == "param" and len(b.shape) == 2:
        return g.emit("linear", [a, b], g.out.shape, g.out.dtype, trans=0)
    return g.emit("matmul", [a, b], g.out.shape, g.out.dtype, trans=0)


@rule("baddbmm")
def _baddbmm(g, c, a, b, beta=1, alpha=1):
    def times(x, k):
        if isinstance(x, torch.Tensor):
            return x * k
        return x if k == 1 else g.emit("scale", [x], x.shape, x.dtype, c=float(k))

    y = times(g.emit("matmul", [a, b], g.out.shape, g.out.dtype, trans=0), alpha)
    return y if beta == 0 else g.emit("add", [y, times(c, beta)], g.out.shape, g.out.dtype)


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


@rule("hap.expert_linear")
def _expert_linear(g, x, index, weight, trans):
    if isinstance(weight, torch.Tensor):
        weight = g.tensor(weight)
    ins = [cast(g, x, g.out.dtype), cast(g, index, torch.int64), cast(g, weight, g.out.dtype)]
    return g.emit("expert_linear", ins, g.out.shape, g.out.dtype, trans=int(trans))


@rule("scaled_dot_product_attention")
def _sdpa(g, q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if len(q.shape) != 4:
        g.fail("attention whose operands are not [batch, heads, length, width]")
    if q.shape[1] != k.shape[1] and k.shape[1] != 1 and not enable_gqa:
        g.fail("attention with fewer key heads than query heads but without enable_gqa")
    causal = bool(is_causal)
    if isinstance(mask, torch.Tensor):
        meaning = mask_meaning(mask)
        if meaning != "other":
            causal, mask = causal or meaning == "causal", None
    if isinstance(mask, (Tensor, torch.Tensor)) and len(mask.shape) < 4:
        mask = reshape(g, mask, (1,) * (4 - len(mask.shape)) + tuple(mask.shape))
    if isinstance(mask, Tensor) and mask.trained:
        return _attention_spelt_out(g, q, k, v, mask, causal, scale, dropout_p)
    attrs = {"causal": causal, "scale": float(scale or 0) or 1 / math.sqrt(q.shape[-1])}
    if dropout_p:
        attrs["dropout"] = float(dropout_p)
    ins = [q, k, v] + ([mask] if mask is not None else [])
    outs = [(tuple(g.out.shape), g.out.dtype), (tuple(q.shape[:3]), torch.float32)]
    return g.emit_many("sdpa", ins, outs, **attrs)[0]


def _attention_spelt_out(g, q, k, v, bias, causal, scale, dropout_p):
    """sdpa has no gradient for its mask: with a trained bias, matmul, add, softmax, matmul."""
    b, h, n, e = q.shape
    if k.shape[1] != h:
        g.fail("grouped-query attention with a trained bias")
    s = g.emit("matmul", [q, k], (b, h, n, k.shape[2]), q.dtype, trans=1)
    s = g.emit("scale", [s], s.shape, s.dtype, c=float(scale or 1 / math.sqrt(e)))
    s = g.emit("add", [s, bias], s.shape, s.dtype)
    if causal:
        later = iota(k.shape[2]) > iota(n)[:, None]
        s = g.emit("where", [later, torch.tensor(torch.finfo(s.dtype).min), s], s.shape, s.dtype)
    p = g.emit("softmax", [s], s.shape, s.dtype)
    if dropout_p:
        p = g.emit("dropout", [p], p.shape, p.dtype, p=float(dropout_p))
    return g.emit("matmul", [p, v], g.out.shape, g.out.dtype, trans=0)


@rule("conv1d", "conv2d", "convolution")
def _conv(g, x, w, bias=None, stride=1, padding=0, dilation=1, *more):
    """Of patches that do not overlap, a linear of each patch; else, and of single places, a convolution."""
    groups = more[-1] if more else 1
    rank, kernel, transposed = len(w.shape) - 2, list(w.shape[2:]), len(more) == 3 and more[0]
    _plain_images(g, x, rank, "a convolution")
    if isinstance(padding, str):
        padding = [0 if padding == "valid" else d * (k - 1) for d, k in zip(per_dim(dilation, rank), kernel)]
        if any(n % 2 for n in padding):
            g.fail(f"padding that is not the same on both sides, of kernel {kernel}", "pad before: torch.nn.functional.pad")
        padding = [n // 2 for n in padding]
    step, pads, holes = (per_dim(v, rank) for v in (stride, padding, dilation))
    if transposed:
        return _conv_transposed(g, x, w, bias, step, pads, more[1], groups, holes)
    if step == kernel != [1] * rank and not any(pads) and holes == [1] * rank and groups == 1:
        return _patches(g, x, w, bias, kernel)
    ins = [_on_plane(g, x), _on_plane(g, w)] + ([] if bias is None else [bias])
    plane = tuple(g.out.shape[:2]) + (1,) * (2 - rank) + tuple(g.out.shape[2:])
    y = g.emit("conv", ins, plane, g.out.dtype, **_windows(step, pads, holes), groups=groups)
    return reshape(g, y, g.out.shape)


def per_dim(v, rank: int) -> list[int]:
    v = list(v) if isinstance(v, (list, tuple)) else [v]
    return v * rank if len(v) == 1 else v


def _plain_images(g, x, rank: int, what: str):
    if len(x.shape) != rank + 2 or rank > 2:
        g.fail(f"{what} of {len(x.shape)} dims, {rank} of them places", "give [batch, channels, places] or [..., h, w]")


def _on_plane(g, x):
    """Of one dim of places: two, the first of one place."""
    return reshape(g, x, tuple(x.shape[:2]) + (1,) * (4 - len(x.shape)) + tuple(x.shape[2:]))


def _windows(step, pads, holes) -> dict:
    rank = len(step)
    of = {"stride": (step, 1), "padding": (pads, 0), "dilation": (holes, 1)}
    return {k: [one] * (2 - rank) + list(v) for k, (v, one) in of.items()}


@rule("conv_transpose1d", "conv_transpose2d")
def _conv_transposed(g, x, w, bias=None, stride=1, padding=0, _output_padding=0, groups=1, dilation=1):
    rank = len(w.shape) - 2
    _plain_images(g, x, rank, "a transposed convolution")
    y = conv_transposed(g, x, w, g.out.shape, *(per_dim(v, rank) for v in (stride, padding, dilation)), groups)
    return y if bias is None else g.emit("add", [y, reshape(g, bias, tuple(bias.shape) + (1,) * rank)], y.shape, y.dtype)


def conv_transposed(g, x, w, shape, step, pads, holes, groups):
    """The transposed convolution of x with w, whose result has `shape`; a number a dim of places."""
    size = [1] * (4 - len(shape)) + list(shape[2:])
    of = dict(_windows(step, pads, holes), size=size, groups=groups)
    ins, plane = [_on_plane(g, x), _on_plane(g, w)], tuple(shape[:2]) + tuple(size)
    return reshape(g, g.emit("conv_transposed", ins, plane, x.dtype, **of), shape)


@rule("max_pool1d", "max_pool2d")
def _max_pool(g, x, kernel, stride=(), padding=0, dilation=1, ceil=False):
    rank = 1 if "1d" in str(g.fx.target) else 2
    if len(x.shape) < rank + 1:
        g.fail(f"max_pool{rank}d of {len(x.shape)} dims")
    kernel = per_dim(kernel, rank)
    of = _windows(per_dim(stride, rank) if stride else kernel, per_dim(padding, rank), per_dim(dilation, rank))
    lead, places = tuple(x.shape[:-rank]), (1,) * (2 - rank)
    x = reshape(g, x, lead + places + tuple(x.shape[-rank:]))
    shape = lead + places + tuple(g.out.shape[-rank:])
    y = g.emit("max_pool", [x], shape, x.dtype, window=list(places) + kernel, **of, ceil=bool(ceil))
    return reshape(g, y, g.out.shape)


@rule("avg_pool1d", "avg_pool2d")
def _avg_pool(g, x, kernel, stride=(), padding=0, ceil=False, count_pads=True, divisor=None):
    """A mean of each window: over dims of their own where windows tile the places, else by equal weights."""
    rank = 1 if "1d" in str(g.fx.target) else 2
    kernel = per_dim(kernel, rank)
    step, pads = per_dim(stride, rank) if stride else kernel, per_dim(padding, rank)
    _plain_images(g, x, rank, "avg_pool")
    if step == kernel and not any(pads) and divisor is None and not any(n % k for n, k in zip(x.shape[2:], kernel)):
        return _tiled_mean(g, x, kernel)
    if ceil or (any(pads) and not count_pads):
        return _clipped_means(g, x, kernel, step, pads, count_pads, divisor)
    w = torch.full((x.shape[1], 1, *kernel), 1 / (divisor or math.prod(kernel)), dtype=x.dtype)
    y = tuple(g.out.shape[:2]) + (1,) * (2 - rank) + tuple(g.out.shape[2:])
    ins = [_on_plane(g, x), _on_plane(g, w)]
    y = g.emit("conv", ins, y, g.out.dtype, **_windows(step, pads, [1] * rank), groups=x.shape[1])
    return reshape(g, y, g.out.shape)


def _clipped_means(g, x, kernel, step, pads, count_pads, divisor):
    """Of windows that are not all of one size: a matmul a dim."""
    for i, (k, s, p) in enumerate(zip(kernel, step, pads)):
        n = x.shape[2 + i]
        low = [j * s - p for j in range(g.out.shape[2 + i])]
        windows = [(at, min(at + k, n)) for at in low]
        over = [min(at + k, n + p) - at if count_pads else high - max(at, 0) for at, high in windows]
        x = along(g, x, 2 + i, _means(n, windows, x.dtype, [1] * len(low) if divisor else over))
    return scale(g, x, 1 / divisor) if divisor else x


def _tiled_mean(g, x, kernel):
    grid = [n // k for n, k in zip(x.shape[2:], kernel)]
    y = reshape(g, x, list(x.shape[:2]) + [n for pair in zip(grid, kernel) for n in pair])
    dims = [3 + 2 * i for i in range(len(kernel))]
    return g.emit("mean", [y], tuple(x.shape[:2]) + tuple(grid), g.out.dtype, dims=dims, keepdim=False)


@rule("adaptive_avg_pool1d", "adaptive_avg_pool2d")
def _adaptive_avg_pool(g, x, size):
    """Means of nearly equal windows: of equal ones as avg_pool, else a matmul a dim."""
    places, want = x.shape[2:], g.out.shape[2:]
    _plain_images(g, x, len(places), "adaptive_avg_pool")
    if not any(n % k for n, k in zip(places, want)):
        kernel = [n // k for n, k in zip(places, want)]
        return x if kernel == [1] * len(kernel) else _tiled_mean(g, x, kernel)
    for i, (n, k) in enumerate(zip(places, want)):
        x = along(g, x, 2 + i, _means(n, [(j * n // k, -(-(j + 1) * n // k)) for j in range(k)], x.dtype))
    return x


def _means(n: int, windows, dtype, over=None) -> torch.Tensor:
    """[n, windows]: of n places to the mean of each window [low, high); over: by what its sum is divided."""
    mean = torch.zeros(n, len(windows), dtype=dtype)
    for j, (low, high) in enumerate(windows):
        mean[max(low, 0) : high, j] = 1 / (over[j] if over else high - low)
    return mean


def _patches(g, x, w, bias, kernel):
    rank = len(kernel)
    b, c = x.shape[:2]
    grid = [n // k for n, k in zip(x.shape[2:], kernel)]
    for i, (n, k) in enumerate(zip(grid, kernel)):
        x = slice_(g, x, 2 + i, 0, n * k)
    parts = [n for pair in zip(grid, kernel) for n in pair]
    x = reshape(g, x, [b, c] + parts)
    x = transpose(g, x, [0] + [2 + 2 * i for i in range(rank)] + [1] + [3 + 2 * i for i in range(rank)])
    width = c * math.prod(kernel)
    x = reshape(g, x, [b] + grid + [width])
    ins = [x, reshape(g, w, (w.shape[0], width))] + ([bias] if bias is not None else [])
    y = g.emit("linear", ins, [b] + grid + [w.shape[0]], g.out.dtype, trans=1)
    return transpose(g, y, [0, rank + 1] + list(range(1, rank + 1)))


# -- lookups, normalisation ----------------------------------------------------------------------


@rule("embedding")
def _embedding(g, w, ids, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    if scale_grad_by_freq or sparse:
        g.fail("embedding with scale_grad_by_freq or sparse")
    ids = cast(g, ids, torch.int64)
    own = padding_idx >= 0 and isinstance(w, Tensor) and w.trained
    if own and isinstance(ids, Tensor) and ids.producer is not None:  # the model itself pads
        y = g.emit("embedding", [w, ids], g.out.shape, g.out.dtype)
        column = reshape(g, ids, tuple(ids.shape) + (1,))
        pads = g.emit("eq", [column, torch.tensor(padding_idx)], column.shape, torch.bool)
        return g.emit("where", [pads, detach(g, y), y], y.shape, y.dtype)
    if own:
        g.notes.add(
            f"{w.name}: row {padding_idx} is a padding row, which PyTorch gives no gradient through the "
            "lookup; a hap.graph gives it one: the same only if the inputs never hold this id"
        )
    return g.emit("embedding", [w, ids], g.out.shape, g.out.dtype)


@rule("embedding_bag", "_embedding_bag")
def _embedding_bag(g, w, ids, offsets, scale_grad=False, mode=0, sparse=False, weights=None, last=False, padding=None):
    n = offsets.shape[0] - int(bool(last)) if isinstance(offsets, torch.Tensor) else 0
    length = ids.shape[0] // n if n else 0
    even = isinstance(offsets, torch.Tensor) and torch.equal(offsets[:n].long(), length * torch.arange(n))
    if not even or n * length != ids.shape[0] or mode == 2 or scale_grad or (padding or -1) >= 0:
        g.fail("bags of unequal length, of maxima or with a padding id", "give ids as [batch, ids a bag]")
    ids = reshape(g, cast(g, ids, torch.int64), (n, length))
    y = g.emit("embedding", [w, ids], (n, length, w.shape[1]), w.dtype)
    if weights is not None:
        y = g.emit("mul", [y, reshape(g, weights, (n, length, 1))], y.shape, y.dtype)
    y = g.emit("mean" if mode == 1 else "sum", [y], (n, w.shape[1]), w.dtype, dims=[1], keepdim=False)
    return [y, None, None, None]


@rule("layer_norm")
def _layer_norm(g, x, shape, weight=None, bias=None, eps=1e-5, _cudnn=True):
    if len(shape) != 1:
        g.fail("layer_norm over more than the last dim")
    if weight is None and bias is not None:
        g.fail("layer_norm with a bias and no weight")
    ins = [x] + [t for t in (weight, bias) if t is not None]
    return g.emit("layer_norm", ins, g.out.shape, g.out.dtype, eps=eps)


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


@rule("rms_norm", "_fused_rms_norm")
def _rms_norm(g, x, shape, weight=None, eps=None):
    if len(shape) != 1:
        g.fail("rms_norm over more than the last dim")
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    return g.emit("rms_norm", [x] + ([] if weight is None else [weight]), g.out.shape, g.out.dtype, eps=eps)


@rule("group_norm", "native_group_norm")
def _group_norm(g, x, groups, weight=None, bias=None, eps=1e-5, *_):
    """Over a group's channels and places, which one row holds."""
    b, c = x.shape[:2]
    n = math.prod(x.shape[1:]) // groups
    y = reshape(g, x, (b, groups, n))
    y = reshape(g, g.emit("layer_norm", [y], y.shape, y.dtype, eps=eps), x.shape)
    one = (c,) + (1,) * (len(x.shape) - 2)
    y = y if weight is None else g.emit("mul", [y, reshape(g, weight, one)], y.shape, y.dtype)
    return y if bias is None else g.emit("add", [y, reshape(g, bias, one)], y.shape, y.dtype)


@rule("batch_norm")
def _batch_norm(g, x, weight, bias, mean, var, training, momentum, eps, _cudnn):
    if training:  # writes its statistics: trace.py has it as the functional one below
        g.fail("batch_norm without running statistics", "track_running_stats=True")
    return _frozen_norm(g, x, weight, bias, mean, var, momentum, eps)[0]


@rule("_native_batch_norm_legit_no_training")
def _frozen_norm(g, x, weight, bias, mean, var, _momentum, eps):
    """With given statistics: a map of each channel."""
    one = (x.shape[1],) + (1,) * (len(x.shape) - 2)
    if isinstance(var, torch.Tensor):
        over = torch.rsqrt(var + eps)
    else:
        over = g.emit("rsqrt", [g.emit("add_scalar", [var], var.shape, var.dtype, c=eps)], var.shape, var.dtype)
    y = x
    for op, by in (("sub", mean), ("mul", over), ("mul", weight), ("add", bias)):
        y = y if by is None else g.emit(op, [y, reshape(g, by, one)], x.shape, x.dtype)
    return [y, None, None]


@rule("_native_batch_norm_legit_functional")
def _batch_norm_training(g, x, weight, bias, mean, var, training, momentum, eps):
    """Statistics of the whole batch; what is kept of them, by `momentum`."""
    if not training:
        return _frozen_norm(g, x, weight, bias, mean, var, momentum, eps) + [mean, var]
    c = x.shape[1]
    flat = (x.shape[0], c, math.prod(x.shape[2:]))
    weight = torch.ones(c, dtype=x.dtype) if weight is None else weight
    bias = torch.zeros(c, dtype=x.dtype) if bias is None else bias
    outs = [(flat, x.dtype), ((c,), mean.dtype), ((c,), var.dtype)]
    ins = [reshape(g, x, flat), weight, bias, mean, var]
    y, mean, var = g.emit_many("batch_norm", ins, outs, eps=eps, momentum=float(momentum))
    return [reshape(g, y, x.shape), None, None, mean, var]


@rule("_native_batch_norm_legit")
def _batch_norm_alone(g, x, weight, bias, _training, _momentum, eps):
    """Of one image (so PyTorch writes an instance norm): over the places of each channel."""
    if x.shape[0] != 1:
        g.fail("batch_norm without running statistics", "track_running_stats=True")
    return [_group_norm(g, x, x.shape[1], weight, bias, eps), None, None]


@rule("instance_norm")
def _instance_norm(g, x, weight, bias, mean, _var, of_input, _momentum, eps, _cudnn):
    if not of_input or mean is not None:
        g.fail("instance_norm with running statistics", "track_running_stats=False")
    return _group_norm(g, x, x.shape[1], weight, bias, eps)


@rule("dropout", "native_dropout", "feature_dropout")
def _dropout(g, x, p, train=True):
    if not train or p == 0:
        return [x, None] if "native" in str(g.fx.target) else x
    if "feature" in str(g.fx.target):
        g.fail("dropout of whole features")
    y = g.emit("dropout", [x], x.shape, x.dtype, p=float(p))
    return [y, None] if "native" in str(g.fx.target) else y


@rule("bernoulli.p")
def _bernoulli(g, x, p):
    """1 with probability p, else 0: what PyTorch writes a dropout as, beside a batch norm in training."""
    ones = g.emit("full", [], x.shape, x.dtype, shape=list(x.shape), value=float(p), dtype=x.dtype)
    return g.emit("dropout", [ones], x.shape, x.dtype, p=1 - float(p))


@rule("_weight_norm")
def _weight_norm(g, v, length, dim=0):
    """v, scaled so that what stands at each place of `dim` has the length given."""
    dims = [d for d in range(len(v.shape)) if d != dim % len(v.shape)]
    square = g.emit("pow_scalar", [v], v.shape, v.dtype, c=2.0)
    square = g.emit("sum", [square], length.shape, v.dtype, dims=dims, keepdim=True)
    norm = g.emit("sqrt", [square], length.shape, v.dtype)
    by = g.emit("div", [length, norm], length.shape, v.dtype)
    return g.emit("mul", [v, by], v.shape, v.dtype)
