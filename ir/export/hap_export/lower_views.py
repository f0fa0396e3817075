"""Op rules: views, copies, indexing."""

from __future__ import annotations

import math

import torch

from .consts import uniform_value
from .graph import MAX_IN, MAX_OUT, Tensor
from .lower_dense import conv_transposed
from .lower_points import compare
from .rules import along, cast, detach, expand, iota, last, reshape, rule, shape_of, slice_, swap, transpose


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
    dim, n = dim % len(x.shape), x.shape[dim]
    start, stop, _ = slice(start, end).indices(n)
    x = slice_(g, x, dim, start, max(start, stop))
    return x if step == 1 else every(g, x, dim, step)


def every(g, x, dim, step):
    """Entries 0, step, 2 step, … of dim: the first of each run of `step`."""
    n = x.shape[dim]
    runs = -(-n // step)
    if runs <= 1:
        return slice_(g, x, dim, 0, runs)
    if runs * step != n:
        x = pad(g, x, dim, 0, runs * step - n)
    before, after = x.shape[:dim], x.shape[dim + 1 :]
    x = reshape(g, x, before + (runs, step) + after)
    return reshape(g, slice_(g, x, dim + 1, 0, 1), before + (runs,) + after)


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
    if len(sizes) > MAX_OUT or 0 in sizes:
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        return [slice_(g, x, dim, a, a + n) for a, n in zip(starts, sizes)]
    shapes = [x.shape[:dim] + (n,) + x.shape[dim + 1 :] for n in sizes]
    return g.emit_many("split", [x], [(s, x.dtype) for s in shapes], dim=dim, sizes=list(sizes))


@rule("split", "split_with_sizes", "chunk", "tensor_split")
def _split(g, x, _sizes, dim=0):
    return split(g, x, [t.shape[dim] for t in g.out], dim)


@rule("glu")
def _glu(g, x, dim=-1):
    dim %= len(x.shape)
    a, b = split(g, x, [x.shape[dim] // 2] * 2, dim)
    return g.emit("mul", [a, g.emit("sigmoid", [b], b.shape, b.dtype)], a.shape, a.dtype)


@rule("unbind")
def _unbind(g, x, dim=0):
    parts = split(g, x, [1] * x.shape[dim], dim)
    return [reshape(g, p, t.shape) for p, t in zip(parts, g.out)]


def concat(g, xs, dim):
    """Parts of one dtype along dim; those without entries are nothing."""
    xs = [x for x in xs if 0 not in shape_of(x)]
    while len(xs) > 1:
        some, xs = xs[:MAX_IN], xs[MAX_IN:]
        shape = list(shape_of(some[0]))
        shape[dim] = sum(shape_of(x)[dim] for x in some)
        xs.insert(0, g.emit("concat", some, shape, some[0].dtype, dim=dim))
    return xs[0]


@rule("cat", "concat")
def _cat(g, xs, dim=0):
    return concat(g, [cast(g, x, g.out.dtype) for x in xs], dim % len(g.out.shape))


@rule("stack")
def _stack(g, xs, dim=0):
    dim %= len(g.out.shape)
    one = g.out.shape[:dim] + (1,) + g.out.shape[dim + 1 :]
    return _cat(g, [reshape(g, cast(g, x, g.out.dtype), one) for x in xs], dim)


def pad(g, x, dim, before, after, value=0.0):
    shape = list(x.shape)
    shape[dim] += before + after
    return g.emit("pad", [x], shape, x.dtype, dim=dim, before=before, after=after, value=float(value))


@rule("pad", "constant_pad_nd")
def _pad(g, x, pads, mode="constant", value=None):
    if not isinstance(mode, str):  # constant_pad_nd(x, pads, value)
        mode, value = "constant", mode
    if mode != "constant":
        g.fail(f"pad mode {mode}", "pad with constants")
    for i in range(0, len(pads), 2):
        before, after = pads[i], pads[i + 1]
        dim = len(x.shape) - 1 - i // 2
        if before < 0 or after < 0:
            x = slice_(g, x, dim, max(0, -before), x.shape[dim] - max(0, -after))
            before, after = max(0, before), max(0, after)
        if before or after:
            x = pad(g, x, dim, before, after, value or 0)
    return x


@rule("alias", "contiguous", "clone", "lift_fresh_copy", "positive")
def _identity(g, x, *_, **__):
    return x


@rule("detach")
def _detach(g, x):
    return detach(g, x)


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


def _in_order(i: torch.Tensor, n: int) -> bool:
    return torch.equal(i.reshape(-1), torch.arange(n))


def _is_reshape(g, x, indices) -> bool:
    """Every index runs over its whole dim in order, each on an axis of its own."""
    rank, axis = len(g.out.shape), -1
    for dim, i in enumerate(indices):
        if not isinstance(i, torch.Tensor) or not _in_order(i, x.shape[dim]):
            return False
        i = i.reshape((1,) * (rank - i.dim()) + tuple(i.shape))
        axes = [a for a in range(rank) if i.shape[a] != 1]
        if len(axes) > 1 or (axes and axes[0] <= axis):
            return False
        axis = axes[0] if axes else axis
    return len(indices) == len(x.shape)


def _at_dim(g, x, dim, index):
    """x with entries `index` of dim: [.., n, ..] -> [.., *index, ..]. The dim's entries become rows of a
    table, which are looked up."""
    before, after = x.shape[:dim], x.shape[dim + 1 :]
    shape = before + shape_of(index) + after
    if isinstance(index, torch.Tensor) and index.dim() == 1:
        n, index = len(index), index.where(index >= 0, index + x.shape[dim])
        step = int(index[1] - index[0]) if n > 1 else 1
        if step > 0 and torch.equal(index, index[0] + step * torch.arange(n)):
            first = int(index[0])
            part = slice_(g, x, dim, first, min(first + step * n, x.shape[dim]))
            return part if step == 1 else every(g, part, dim, step)
    if not x.dtype.is_floating_point:
        g.fail("a lookup in a computed table of integers")
    perm = [dim] + [d for d in range(len(x.shape)) if d != dim]
    table = transpose(g, x, perm)
    rest = [x.shape[d] for d in perm[1:]]
    width = 1
    for n in rest:
        width *= n
    table = reshape(g, table, (x.shape[dim], width))
    ids = shape_of(index)
    y = g.emit("embedding", [table, cast(g, index, torch.int64)], ids + (width,), x.dtype)
    y = reshape(g, y, ids + tuple(rest))
    k = len(ids)
    back = list(range(k, k + dim)) + list(range(k)) + list(range(k + dim, k + len(rest)))
    return reshape(g, transpose(g, y, back), shape)


@rule("index.Tensor")
def _index(g, x, indices):
    """What rearranges nothing (how transformers broadcasts a padding mask), a lookup along one dim or
    along neighbouring ones as one, and one entry a row: x[arange(n), i]."""
    indices = list(indices)
    if any(shape_of(i) and i.dtype == torch.bool for i in indices if i is not None):
        g.fail("indexing by a mask: the result's shape depends on the data", "use torch.where, or a loss mask")
    if isinstance(x, torch.Tensor) and uniform_value(x) is not None:
        return torch.full(g.out.shape, uniform_value(x), dtype=x.dtype)
    if _is_reshape(g, x, indices):
        return reshape(g, x, g.out.shape)
    dims = [d for d, i in enumerate(indices) if i is not None]
    if len(dims) == 1:
        return _at_dim(g, x, dims[0], indices[dims[0]])
    if len(dims) == 2 and dims == [0, 1] and isinstance(indices[0], torch.Tensor) and indices[0].dim() == 1:
        if _in_order(indices[0], x.shape[0]) and shape_of(indices[1]) == (x.shape[0],):
            return _one_of_each_row(g, x, indices[1])
    if dims == list(range(dims[0], dims[0] + len(dims))) and all(isinstance(indices[d], torch.Tensor) for d in dims):
        flat, merged = 0, 1
        for d in dims:
            i = indices[d]
            flat = flat * x.shape[d] + i.where(i >= 0, i + x.shape[d])
            merged *= x.shape[d]
        x = reshape(g, x, x.shape[: dims[0]] + (merged,) + x.shape[dims[-1] + 1 :])
        return _at_dim(g, x, dims[0], flat)
    g.fail("indexing by several computed tensors", "use torch.gather, or index one dim at a time")


def _one_of_each_row(g, x, index):
    """x[b, index[b]] of x [b, n, …]: one matmul with a one-hot row."""
    b, n = x.shape[:2]
    row = g.emit("eq", [iota(n), reshape(g, cast(g, index, torch.int64), (b, 1))], (b, n), torch.bool)
    width = 1
    for d in x.shape[2:]:
        width *= d
    row = reshape(g, cast(g, row, x.dtype), (b, 1, n))
    y = g.emit("matmul", [row, reshape(g, x, (b, n, width))], (b, 1, width), x.dtype, trans=0)
    return reshape(g, y, g.out.shape)


@rule("index_select")
def _index_select(g, x, dim, index):
    return _at_dim(g, x, dim % len(x.shape), index)


@rule("gather")
def _gather(g, x, dim, index, sparse_grad=False):
    value = uniform_value(x) if isinstance(x, torch.Tensor) else None
    if value is not None:
        return torch.full(g.out.shape, value, dtype=x.dtype)
    if not x.dtype.is_floating_point:
        g.notes.add("gather of integers: read as f32, exact below 2^24")
        x = cast(g, x, torch.float32)
    dim %= len(x.shape)
    for d, n in enumerate(shape_of(index)):
        if d != dim:
            x = slice_(g, x, d, 0, n)
    x, perm = last(g, x, dim)
    index, _ = last(g, cast(g, index, torch.int64), dim)
    shape = x.shape[:-1] + shape_of(index)[-1:]
    y = g.emit("gather", [x, _once(index)], shape, x.dtype)
    return cast(g, transpose(g, y, perm), g.out.dtype)


def _once(index):
    """A constant without the leading dims along which it repeats: they broadcast."""
    if isinstance(index, torch.Tensor):
        for d in range(index.dim() - 1):
            one = index.narrow(d, 0, 1)
            index = one.contiguous() if bool((index == one).all()) else index
    return index


@rule("topk")
def _topk(g, x, k, dim=-1, largest=True, sorted=True):
    """Of equal entries the first; PyTorch leaves open which."""
    x, perm = last(g, cast(g, x, g.out[0].dtype), dim)
    if not x.dtype.is_floating_point:
        g.fail("topk of integers", "of their floats: x.float().topk(…)")
    ordered = x if largest else g.emit("neg", [x], x.shape, x.dtype)
    shape = x.shape[:-1] + (k,)
    index = g.emit("top_index", [ordered], shape, torch.int64, k=k)
    value = g.emit("gather", [x, index], shape, x.dtype)
    return [transpose(g, value, perm), transpose(g, index, perm)]


def _one_hot(g, index, n, dtype):
    """[*] -> [*, n]"""
    index = reshape(g, cast(g, index, torch.int64), shape_of(index) + (1,))
    shape = shape_of(index)[:-1] + (n,)
    return cast(g, g.emit("eq", [index, iota(n)], shape, torch.bool), dtype)


@rule("one_hot")
def _one_hot_rule(g, index, n=-1):
    return _one_hot(g, index, g.out.shape[-1], torch.int64)


@rule("histc")
def _histc(g, x, bins=100, min=0, max=0):
    """Of whole numbers, one bin each: how often each of 0 … bins - 1 stands in x."""
    made = x.producer if isinstance(x, Tensor) else None
    whole = made is not None and made.op == "cast" and not made.ins[0].dtype.is_floating_point
    if not whole or min != 0 or max not in (bins - 1, bins):
        g.fail("histc but of integers 0 … n - 1, a bin each")
    x = made.ins[0]
    rows = _one_hot(g, reshape(g, x, (math.prod(x.shape),)), bins, torch.float32)
    return cast(g, g.emit("sum", [rows], (bins,), torch.float32, dims=[0]), g.out.dtype)


@rule("scatter.value")
def _scatter_value(g, x, dim, index, value):
    """x, and `value` at each entry of dim whose index stands in its row."""
    x, perm = last(g, cast(g, x, g.out.dtype), dim)
    index, _ = last(g, index, dim)
    if shape_of(index)[:-1] != shape_of(x)[:-1]:
        g.fail("scatter by an index of fewer rows")
    hot = _one_hot(g, index, shape_of(x)[-1], torch.float32)
    named = g.emit("sum", [hot], shape_of(x), torch.float32, dims=[len(hot.shape) - 2])
    named = g.emit("ne", [named, torch.tensor(0.0)], shape_of(x), torch.bool)
    put = torch.tensor(value, dtype=g.out.dtype)
    return transpose(g, g.emit("where", [named, put, x], shape_of(x), g.out.dtype), perm)


@rule("scatter_add")
def _scatter_add(g, x, dim, index, value):
    """x plus, at each place, the values whose index names it: a one-hot matmul."""
    if len(x.shape) != 1 or len(shape_of(index)) != 1:
        g.fail("scatter_add in more than one dim", "write it by a one-hot matmul")
    n, rows = x.shape[0], shape_of(index)[0]
    value = reshape(g, cast(g, slice_(g, value, 0, 0, rows), g.out.dtype), (1, rows))
    hot = _one_hot(g, index, n, g.out.dtype)
    sums = reshape(g, g.emit("matmul", [value, hot], (1, n), g.out.dtype, trans=0), (n,))
    return sums if uniform_value(x) == 0 else g.emit("add", [x, sums], (n,), g.out.dtype)


def _scattered(g, x, part, dim, start, stop):
    n = g.out.shape[dim]
    parts = [slice_(g, x, dim, 0, start), cast(g, part, g.out.dtype), slice_(g, x, dim, stop, n)]
    return concat(g, parts, dim)


@rule("slice_scatter")
def _slice_scatter(g, x, part, dim=0, start=None, end=None, step=1):
    dim %= len(x.shape)
    start, stop, _ = slice(start, end).indices(x.shape[dim])
    if step != 1:
        g.fail("writing to a strided slice", "write x = torch.stack([...], -1).flatten(-2) of the two halves")
    return _scattered(g, x, part, dim, start, max(start, stop))


@rule("select_scatter")
def _select_scatter(g, x, part, dim, index):
    dim %= len(x.shape)
    index %= x.shape[dim]
    one = tuple(x.shape[:dim]) + (1,) + tuple(x.shape[dim + 1 :])
    return _scattered(g, x, reshape(g, part, one), dim, index, index + 1)


@rule("copy", "fill.Tensor")
def _copy(g, _x, y, *_):
    return expand(g, cast(g, y, g.out.dtype), g.out.shape)


@rule("fill.Scalar")
def _fill(g, _x, value):
    return torch.full(g.out.shape, value, dtype=g.out.dtype)


@rule("repeat", "tile")
def _repeat(g, x, times):
    times = (1,) * (len(x.shape) - len(times)) + tuple(times)
    lead = len(times) - len(x.shape)
    shape = (1,) * lead + tuple(x.shape)
    for d, k in enumerate(times):
        if k > 1 and shape[d] == 1:
            x = expand(g, reshape(g, x, shape), shape[:d] + (k,) + shape[d + 1 :])
        elif k != 1:
            x = expand(g, reshape(g, x, shape[:d] + (1,) + shape[d:]), shape[:d] + (k,) + shape[d:])
        shape = shape[:d] + (k * shape[d],) + shape[d + 1 :]
        x = reshape(g, x, shape)
    return x


@rule("repeat_interleave.self_int")
def _repeat_interleave(g, x, k, dim=None, **_):
    x = reshape(g, x, (-1,)) if dim is None and isinstance(x, torch.Tensor) else x
    dim = (dim or 0) % len(x.shape)
    shape = tuple(x.shape[: dim + 1]) + (k,) + tuple(x.shape[dim + 1 :])
    x = expand(g, reshape(g, x, shape[: dim + 1] + (1,) + shape[dim + 2 :]), shape)
    return reshape(g, x, g.out.shape)


@rule("broadcast_tensors")
def _broadcast_tensors(g, xs):
    return [expand(g, x, t.shape) for x, t in zip(xs, g.out)]


@rule("cumsum")
def _cumsum(g, x, dim, dtype=None):
    x, perm = last(g, cast(g, x, g.out.dtype), dim)
    whole = not x.dtype.is_floating_point
    y = cast(g, x, torch.float32) if whole else x
    if whole:
        g.notes.add("cumsum of integers: computed in f32, exact below 2^24")
    y = g.emit("cumsum", [y], x.shape, y.dtype)
    return transpose(g, cast(g, y, g.out.dtype), perm)


def _row_max(g, x):
    return g.emit("row_max", [cast(g, x, torch.float32)], x.shape[:-1], torch.float32)


def _index_of_max(g, x):
    """Of the last dim: of equal entries the first, so n less the greatest of (n - index where x is
    the row's maximum)."""
    n = x.shape[-1]
    x = cast(g, x, torch.float32)
    highest = reshape(g, _row_max(g, detach(g, x)), x.shape[:-1] + (1,))
    rank = (n - iota(n)).float()
    left = g.emit("where", [compare(g, "eq", detach(g, x), highest), rank, torch.zeros(())], x.shape, torch.float32)
    left = _row_max(g, left)
    y = g.emit("add_scalar", [g.emit("neg", [left], left.shape, left.dtype)], left.shape, left.dtype, c=float(n))
    return g.emit("cast", [y], y.shape, torch.int64, dtype=torch.int64)


@rule("argmax")
def _argmax(g, x, dim=None, keepdim=False):
    if dim is None:
        g.fail("argmax over all entries", "give it a dim")
    if not x.dtype.is_floating_point:
        g.notes.add("argmax of integers: compared in f32, exact below 2^24")
    x, _ = last(g, x, dim)
    return reshape(g, _index_of_max(g, x), g.out.shape)


@rule("argmin")
def _argmin(g, x, dim=None, keepdim=False):
    if dim is None:
        g.fail("argmin over all entries", "give it a dim")
    x, _ = last(g, cast(g, x, torch.float32), dim)
    return reshape(g, _index_of_max(g, g.emit("neg", [x], x.shape, x.dtype)), g.out.shape)


def amax(g, x):
    """Over the last dim, which it keeps. The gradient is shared evenly by the entries that are the
    maximum, as torch.amax's is."""
    one = x.shape[:-1] + (1,)
    highest = reshape(g, cast(g, _row_max(g, x), x.dtype), one)
    if not x.trained:
        return highest
    is_highest = compare(g, "eq", x, highest)
    share = g.emit("where", [is_highest, x, torch.zeros((), dtype=x.dtype)], x.shape, x.dtype)
    total = g.emit("sum", [share], one, torch.float32, dims=[len(one) - 1], keepdim=True)
    count = g.emit("sum", [cast(g, is_highest, torch.float32)], one, torch.float32, dims=[len(one) - 1], keepdim=True)
    return cast(g, g.emit("div", [total, count], one, torch.float32), x.dtype)


@rule("amax", "amin")
def _amax(g, x, dims=(), keepdim=False):
    if not x.dtype.is_floating_point:
        g.fail("amax of integers")
    low = str(g.fx.target).startswith("aten.amin")
    rank = len(x.shape)
    dims = sorted(d % rank for d in ([dims] if isinstance(dims, int) else dims)) or list(range(rank))
    keep = [d for d in range(rank) if d not in dims]
    n = 1
    for d in dims:
        n *= x.shape[d]
    x = reshape(g, transpose(g, x, keep + dims), [x.shape[d] for d in keep] + [n])
    x = g.emit("neg", [x], x.shape, x.dtype) if low else x
    y = amax(g, x)
    y = g.emit("neg", [y], y.shape, y.dtype) if low else y
    return reshape(g, y, g.out.shape)


@rule("max.dim")
def _max_dim(g, x, dim, keepdim=False):
    """The gradient goes to the first maximum alone, as torch.max's does."""
    y, _ = last(g, x, dim)
    index = _index_of_max(g, y)
    one = reshape(g, index, y.shape[:-1] + (1,))
    chosen = compare(g, "eq", iota(y.shape[-1]), one, y.shape)
    value = g.emit("where", [chosen, y, torch.zeros((), dtype=y.dtype)], y.shape, y.dtype)
    value = g.emit("sum", [value], y.shape[:-1], x.dtype, dims=[len(y.shape) - 1], keepdim=False)
    return [reshape(g, value, g.out[0].shape), reshape(g, index, g.out[1].shape)]


@rule("tril", "triu")
def _tril(g, x, diagonal=0):
    n, m = x.shape[-2:]
    mask = getattr(torch.ones(n, m, dtype=torch.bool), str(g.fx.target).split(".")[1])(diagonal)
    return g.emit("where", [mask, x, torch.zeros((), dtype=x.dtype)], x.shape, x.dtype)


@rule("upsample_bicubic2d", "_upsample_bilinear2d_aa")
def _upsample_unchanged(g, x, *_, **__):
    if tuple(x.shape) != tuple(g.out.shape):
        g.fail("images or tables resized by a cubic or smoothed rule", "resize them before, or by nearest, bilinear")
    return x


# Of each op the rule of F.interpolate, and how many dims of places there are.
_RESIZED = {
    "aten.upsample_nearest1d": ("nearest", 1), "aten.upsample_nearest2d": ("nearest", 2),
    "aten.upsample_linear1d": ("linear", 1), "aten.upsample_bilinear2d": ("linear", 2),
}  # fmt: skip


@rule("upsample_nearest1d", "upsample_nearest2d", "upsample_linear1d", "upsample_bilinear2d")
def _upsample(g, x, *args):
    """Along each dim of places: where the result has a whole number of places for each, entries repeated or
    windows of weights; else a matmul by the weights that PyTorch gives the places."""
    mode, rank = _RESIZED[str(g.fx.target).rpartition(".")[0]]
    corners = bool(args[1]) if len(args) > 1 and isinstance(args[1], bool) else None
    by = args[-1] if isinstance(args[-1], (list, tuple)) else None  # the scale that was asked for, which steps places
    for i in range(rank):
        dim, n = 2 + i, x.shape[2 + i]
        want = g.out.shape[dim]
        if want % n == 0 and (by is None or by[i] == want // n) and not corners:
            x = (_repeated if mode == "nearest" else _blended)(g, x, dim, want // n)
        elif want != n or (by is not None and by[i] != 1):
            x = _resized(g, x, dim, want, mode, corners, by and by[i])
    return x


def _repeated(g, x, dim: int, times: int):
    if times == 1:
        return x
    shape = list(x.shape)
    one, many = (shape[: dim + 1] + [k] + shape[dim + 1 :] for k in (1, times))
    shape[dim] *= times
    return reshape(g, expand(g, reshape(g, x, one), many), shape)


def _blended(g, x, dim: int, times: int):
    """Each place becomes `times`, each a mean of the two places that are nearest, by their distance: windows
    whose weights fall off from the middle, over x with its ends doubled."""
    if times == 1:
        return x
    n, rank = x.shape[dim], len(x.shape) - 2
    x = concat(g, [slice_(g, x, dim, 0, 1), x, slice_(g, x, dim, n - 1, n)], dim)
    before = times // 2  # places of the result in a window, before those of its entry
    off = (torch.arange(times + 2 * before, dtype=torch.float64) - before + 0.5) / times - 0.5
    taps, of = [1] * rank, ([1] * rank, [0] * rank)
    taps[dim - 2], of[0][dim - 2], of[1][dim - 2] = len(off), times, before + times
    weight = (1 - off.abs()).to(x.dtype).reshape(1, 1, *taps).expand(x.shape[1], 1, *taps).contiguous()
    shape = list(x.shape)
    shape[dim] = n * times
    return conv_transposed(g, x, weight, tuple(shape), *of, [1] * rank, x.shape[1])


def _resized(g, x, dim: int, want: int, mode: str, corners, by):
    one = torch.eye(x.shape[dim], dtype=x.dtype)[:, None, :]  # what place i alone becomes
    more = {"scale_factor": float(by)} if by else {"size": want}
    weight = torch.nn.functional.interpolate(one, mode=mode, align_corners=corners, **more)[:, 0]
    return along(g, x, dim, weight)


@rule("zeros_like", "new_zeros")
def _zeros_like(g, *_, **__):
    return torch.zeros(g.out.shape, dtype=g.out.dtype)


@rule("ones_like", "new_ones")
def _ones_like(g, *_, **__):
    return torch.ones(g.out.shape, dtype=g.out.dtype)


@rule("full_like", "new_full")
def _full_like(g, _x, value, *more, **__):
    return torch.full(g.out.shape, more[0] if more else value, dtype=g.out.dtype)


@rule("empty_like", "new_empty")
def _empty_like(g, *_, **__):
    return torch.zeros(g.out.shape, dtype=g.out.dtype)
