"""A hap.graph computed by PyTorch, one row of the op table at a time.

    doc = json.load(open("graph.json"))
    values = run(doc, {"input_ids": ids, ..., "transformer.wte.weight": w, ...})
    values[doc["loss"]].backward()

The meaning of every user row of ir/ops.def and of every composite, as the compiler's and runtime's
tests use it. Autograd gives the gradients. dropout is not here: its mask is the runtime's own.
"""

from __future__ import annotations

import os
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "ir", "export"))
from hap_export import safetensors  # noqa: E402

DTYPES = {
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "i64": torch.int64,
    "i32": torch.int32,
    "bool": torch.bool,
    "u8": torch.uint8,
}


def integer(v, batch: int) -> int:
    """7, "B", "2*B", "2*B+1" -> a number."""
    if isinstance(v, int):
        return v
    product, _, more = v.partition("+")
    times, _, symbol = product.rpartition("*")
    assert symbol == "B", v
    return int(times or 1) * batch + int(more or 0)


def shape_of(shape, batch: int) -> list[int]:
    return [integer(n, batch) for n in shape]


def constant(tensor: dict, batch: int, folder: str, dtypes) -> torch.Tensor:
    value, dtype, shape = tensor["value"], dtypes[tensor["dtype"]], shape_of(tensor["shape"], batch)
    value = value.get("stored", value) if isinstance(value, dict) else value
    if isinstance(value, str):
        file, _, name = value.partition("#")
        return safetensors.load(os.path.join(folder, file))[name].to(dtype)
    if "const" in value:
        return torch.full(shape, value["const"], dtype=dtype)
    start, step = value["iota"]
    line = torch.arange(shape[-1], dtype=torch.float64) * step + start
    return line.to(dtype).expand(shape)


def run(doc: dict, leaves: dict, batch: int | None = None, folder: str = ".", f32=torch.float32) -> dict:
    """Every value by name. `leaves`: inputs, parameters and buffers; `f32`: what f32 stands for
    (torch.float64 for references that are to be exact)."""
    dtypes = {**DTYPES, "f32": f32}
    batch = batch or doc["batch"]["B"]
    values = {}
    for name, t in doc["tensors"].items():
        if t["kind"] == "const":
            values[name] = constant(t, batch, folder, dtypes)
            continue
        values[name] = leaves[name]
        want = shape_of(t["shape"], batch)
        assert list(leaves[name].shape) == want, f"{name} is {list(leaves[name].shape)}, not {want}"
    for node in doc["nodes"]:
        attrs = {k: _attr(v, batch, dtypes) for k, v in node.get("attrs", {}).items()}
        outs = _ROWS[node["op"]](*(values[n] for n in node["in"]), **attrs)
        outs = outs if isinstance(outs, (list, tuple)) else [outs]
        assert len(outs) == len(node["out"]), node["name"]
        values.update(zip(node["out"], outs))
    return values


def _attr(v, batch, dtypes):
    if isinstance(v, list):
        return shape_of(v, batch)
    if isinstance(v, str):
        return dtypes[v] if v in dtypes else integer(v, batch)
    return v


# -- rows ----------------------------------------------------------------------------------------


def linear(x, w, b=None, trans=0):
    return F.linear(x, w if trans else w.T, b)


def matmul(a, b, trans=0):
    return (a.mT if trans == 2 else a) @ (b.mT if trans == 1 else b)


def sdpa(q, k, v, mask=None, causal=False, scale=0.0, dropout=0.0, key=0):
    assert dropout == 0
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    score = q @ k.mT * (scale or q.shape[-1] ** -0.5)
    if mask is not None:
        score = score.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else score + mask
    if causal:
        seen = torch.ones(score.shape[-2:], dtype=torch.bool).tril()
        score = score.masked_fill(~seen, -torch.inf)
    return [score.softmax(-1) @ v, score.logsumexp(-1)]


def ce_sum(x, labels, ignore=-100):
    return F.cross_entropy(x.flatten(0, -2), labels.flatten(), ignore_index=ignore, reduction="sum")


def rms_norm(x, g=None, eps=1e-6):
    return F.rms_norm(x, x.shape[-1:], g, eps)


def rotary(x, cos, sin, pairs=False):
    if pairs:
        turned = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    else:
        first, second = x.chunk(2, -1)
        turned = torch.cat((-second, first), -1)
    return x * cos + turned * sin


def gather(x, index):
    lead = torch.broadcast_shapes(x.shape[:-1], index.shape[:-1])
    return x.expand(*lead, -1).gather(-1, index.expand(*lead, -1))


def layer_norm(x, g=None, b=None, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], g, b, eps)


def slice_(x, dim, start, stop):
    return x.narrow(dim, start, stop - start)


def pad(x, dim, before, after, value=0.0):
    widths = [0, 0] * (x.dim() - 1 - dim) + [before, after]
    return F.pad(x, widths, value=value)


def _order(row) -> list[int]:
    """Entries of a row, the largest first; of equal ones the first."""
    return sorted(range(len(row)), key=lambda e: (-float(row[e].detach()), e))


def top_gates(p, k=2):
    """Row by row, as ops.def says it."""
    rows = []
    for row in p.flatten(0, -2):
        chosen = _order(row)[:k]
        total = sum(row[e] for e in chosen)
        rows.append(torch.stack([row[e] / total if e in chosen else row[e] * 0 for e in range(len(row))]))
    return torch.stack(rows).reshape(p.shape)


def expert_slots(g, capacity):
    """Slots given out one after the other."""
    n_seq, n_tok, n_exp = g.shape
    mask = torch.zeros(n_seq, n_tok, n_exp, capacity, dtype=g.dtype)
    for b in range(n_seq):
        choices = [[e for e in _order(row) if row[e] != 0] for row in g[b]]
        given = [0] * n_exp
        for choice in range(n_exp):
            for s in range(n_tok):
                if choice >= len(choices[s]):
                    continue
                e = choices[s][choice]
                if given[e] < capacity:
                    mask[b, s, e, given[e]] = 1
                    given[e] += 1
    return g[..., None] * mask


def conv(x, w, b=None, *, stride, padding, dilation, groups=1):
    return F.conv2d(x, w, b, stride, padding, dilation, groups)


def batch_norm(x, w, b, mean, var, eps=1e-5, momentum=0.1):
    now, old = x.detach(), 1 - momentum
    y = F.batch_norm(x, None, None, w, b, True, momentum, eps)
    return y, old * mean + momentum * now.mean((0, 2)), old * var + momentum * now.var((0, 2))


def conv_transposed(y, w, stride, padding, dilation, size, groups=1):
    least = F.conv_transpose2d(y, w, None, stride, padding, 0, groups, dilation).shape[2:]
    more = [n - m for n, m in zip(size, least)]
    return F.conv_transpose2d(y, w, None, stride, padding, more, groups, dilation)


def max_pool(x, window, stride, padding, dilation, ceil=False):
    return F.max_pool2d(x, window, stride, padding, dilation, ceil)


def top_index(x, k):
    rows = [_order(row)[:k] for row in x.reshape(-1, x.shape[-1])]
    return torch.tensor(rows).reshape(*x.shape[:-1], k)


def expert_linear(x, index, w, trans=0):
    """Row by row."""
    lead = torch.broadcast_shapes(x.shape[:-1], index.shape)
    rows = zip(x.expand(*lead, -1).flatten(0, -2), index.expand(lead).flatten())
    made = [row @ (w[i].T if trans else w[i]) for row, i in rows]
    return torch.stack(made).reshape(*lead, -1)


_ROWS = {
    "linear": linear,
    "conv": conv,
    "conv_transposed": conv_transposed,
    "max_pool": max_pool,
    "matmul": matmul,
    "sdpa": sdpa,
    "embedding": lambda w, ids: F.embedding(ids, w),
    "gather": gather,
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "where": torch.where,
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_not": torch.logical_not,
    "cast": lambda x, dtype: x.to(dtype),
    "neg": torch.neg,
    "scale": lambda x, c: x * c,
    "add_scalar": lambda x, c: x + c,
    "pow_scalar": lambda x, c: x**c,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "clamp": lambda x, min=None, max=None: x.clamp(min, max),
    "sin": torch.sin,
    "cos": torch.cos,
    "abs": torch.abs,
    "softplus": F.softplus,
    "detach": torch.Tensor.detach,
    "row_max": lambda x: x.amax(-1).detach(),
    "cumsum": lambda x, reverse=False: x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1),
    "gelu": lambda x, tanh=False: F.gelu(x, approximate="tanh" if tanh else "none"),
    "silu": F.silu,
    "sum": lambda x, dims, keepdim=False: x.sum(dims, keepdim) if dims else x,
    "mean": lambda x, dims, keepdim=False: x.mean(dims, keepdim) if dims else x,
    "count": lambda labels, ignore=-100: (labels != ignore).sum().to(torch.get_default_dtype()),
    "reshape": lambda x, shape: x.reshape(shape),
    "transpose": lambda x, perm: x.permute(perm),
    "split": lambda x, dim, sizes: x.split(sizes, dim),
    "concat": lambda *xs, dim: torch.cat(xs, dim),
    "slice": slice_,
    "pad": pad,
    "expand": lambda x, shape: x.expand(shape),
    "full": lambda shape, value, dtype: torch.full(shape, value, dtype=dtype),
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "batch_norm": batch_norm,
    "rotary": rotary,
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "ce_sum": ce_sum,
    "top_gates": top_gates,
    "expert_slots": expert_slots,
    "top_index": top_index,
    "expert_linear": expert_linear,
    "dispatch": lambda w, x: torch.einsum("bsec,bsd->ebcd", w, x),
    "combine": lambda w, y: torch.einsum("bsec,ebcd->bsd", w, y),
}
