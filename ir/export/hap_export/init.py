"""How a parameter starts, as a rule instead of bytes: {"normal": std}, {"uniform": [a, b]}, {"const": c}.

Rules come from the caller (globs over parameter names, first match wins), or are read off the weights:
all equal -> const; within ±1/sqrt(fan in) and spread evenly -> PyTorch's default for Linear and its
bias; else normal with the observed deviation, two digits of it.

A module on the meta device has no weights. There the module's own init code says the rules: it is run
(`_init_weights` of a Hugging Face model, `reset_parameters` of others) under a mode that writes down what
it does to meta tensors instead of doing it. Buffers it fills on the CPU, for real: they are the rotary
tables and masks that the trace computes with.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from fnmatch import fnmatchcase

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .consts import uniform_value
from .graph import ExportError


def init_rules(module: torch.nn.Module, given: dict | None, recorded: dict, filled: dict, wanted) -> dict[str, dict]:
    """Rule by name for each of the `wanted` parameters and buffers. `recorded`, `filled`: what from_meta
    says of parameters and buffers on the meta device."""
    out = {}
    own = dict(module.named_parameters()) | dict(module.named_buffers()) | filled
    missing = []
    for name in wanted:
        p = own[name].detach()
        rule = next((r for glob, r in (given or {}).items() if fnmatchcase(name, glob)), None)
        if rule is None and p.is_meta:
            rule = recorded.get(id(own[name]))
        elif rule is None:
            rule = _read(module, name, p)
        if rule is None:
            missing.append(name)
        else:
            out[name] = _checked(name, rule)
    if missing:
        raise ExportError(
            "no initial value is known of " + ", ".join(missing[:8]) + (", …" if len(missing) > 8 else "") + ": "
            "they are on the meta device, and the module's init code (_init_weights, reset_parameters) does not "
            'set them. Say how they start, init={"name or *": {"normal": 0.02}}; hapc run --init FILE loads '
            "others"
        )
    return out


def _checked(name: str, rule: dict) -> dict:
    for v in rule.values():
        for x in v if isinstance(v, (list, tuple)) else [v]:
            if not math.isfinite(x):
                raise ExportError(f"{name}: an initial value that is not finite: {rule}")
    return rule


def _read(module, name: str, p: torch.Tensor) -> dict:
    c = uniform_value(p)
    if c is not None or p.numel() == 0:
        return {"const": c or 0.0}
    if not p.dtype.is_floating_point:
        return {"const": 0}
    owner = module.get_submodule(name.rpartition(".")[0])
    weight = getattr(owner, "weight", None)
    if isinstance(weight, torch.Tensor) and weight.dim() >= 2:
        bound = 1 / math.sqrt(weight[0].numel())
        spread = float(p.float().square().mean().sqrt()) * math.sqrt(3)
        if float(p.abs().max()) <= bound and abs(spread / bound - 1) < 0.2:
            return {"uniform": [-bound, bound]}
    return {"normal": float(f"{float(p.float().std()):.2g}")}


class Recorder(TorchDispatchMode):
    """Writes down what init code does to whole meta tensors; lets all else happen."""

    def __init__(self, tensors, notes: set[str]):
        super().__init__()
        self.whole = {id(t): (name, t) for name, t in tensors.items()}
        self.rules: dict[int, dict | None] = {}
        self.parts: dict[int, str] = {}  # id of a view of a tensor -> its name
        self.keep: list = []  # what `parts` names: ids stay theirs
        self.notes = notes

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        op = func.__name__.partition(".")[0]
        x = args[0] if args else None
        if not isinstance(x, torch.Tensor) or not x.is_meta:
            return func(*args, **kwargs)
        if id(x) in self.whole:
            if op.endswith("_"):
                self.rules[self.of(x)] = self._after(op, args[1:], kwargs, self.rules.get(self.of(x)))
                return x
            out = func(*args, **kwargs)
            self._view(x, out, op)
            return out
        if op.endswith("_"):
            if id(x) in self.parts:
                self.notes.add(f"{self.parts[id(x)]}: the module starts a part of it otherwise ({op}); not kept")
            return x
        return func(*args, **kwargs)

    @contextmanager
    def truncated(self):
        """Of meta tensors torch.nn.init.trunc_normal_ returns before it does anything."""
        theirs = torch.nn.init._no_grad_trunc_normal_

        def mine(tensor, mean, std, a, b, generator=None):
            if not tensor.is_meta:
                return theirs(tensor, mean, std, a, b, generator=generator)
            if id(tensor) in self.whole:
                wide = mean == 0 and min(-a, b) >= 2 * std
                self.rules[self.of(tensor)] = {"normal": float(std)} if wide else None
            return tensor

        torch.nn.init._no_grad_trunc_normal_ = mine
        try:
            yield
        finally:
            torch.nn.init._no_grad_trunc_normal_ = theirs

    def of(self, x) -> int:
        """Id of the parameter that x is, or is a detached view of."""
        return id(self.whole[id(x)][1])

    def _view(self, x, out, op: str) -> None:
        if op == "detach":
            self.whole[id(out)] = self.whole[id(x)]
        self.parts[id(out)] = self.whole[id(x)][0]
        self.keep.append(out)

    def _after(self, op: str, more, kwargs, rule):
        """The rule after an in-place op; None: not one that a graph file can say."""
        given = dict(zip(_ARGUMENTS.get(op, ()), more)) | kwargs
        if op == "zero_":
            return {"const": 0.0}
        if op == "fill_":
            return {"const": float(given["value"])}
        if op == "normal_":
            mean, std = float(given.get("mean", 0)), float(given.get("std", 1))
            return {"const": mean} if std == 0 else {"normal": std} if mean == 0 else None
        if op == "uniform_":
            return {"uniform": [float(given.get("from", 0)), float(given.get("to", 1))]}
        if op == "copy_":
            value = given["src"]
            c = uniform_value(value) if not value.is_meta else None
            return None if c is None else {"const": float(c)}
        if rule is None:
            return None
        if op == "erfinv_":  # trunc_normal_: a uniform variable through the inverse of erf
            return {"normal": math.sqrt(0.5)} if "uniform" in rule else None
        if op in ("mul_", "div_"):
            c = float(given["other"])
            c = 1 / c if op == "div_" else c
            return {k: [c * a for a in v] if isinstance(v, list) else c * v for k, v in rule.items()}
        if op == "add_" and float(given["other"]) == 0:
            return rule
        if op == "clamp_" and "normal" in rule:
            low, high = float(given.get("min", -math.inf)), float(given.get("max", math.inf))
            return rule if min(-low, high) >= 2 * rule["normal"] else None
        return None


_ARGUMENTS = {
    "fill_": ("value",), "normal_": ("mean", "std"), "uniform_": ("from", "to"), "copy_": ("src",),
    "mul_": ("other",), "div_": ("other",), "add_": ("other",), "clamp_": ("min", "max"),
}  # fmt: skip


def from_meta(module: torch.nn.Module, notes: set[str]) -> tuple[dict, dict]:
    """Of a module on the meta device: rules by id of a parameter, and values of buffers by name. Both
    by the module's own init code; nothing of the module is changed."""
    tensors = {n: p for n, p in module.named_parameters() if p.is_meta}
    empty = {n: b for n, b in module.named_buffers(remove_duplicate=False) if b.is_meta}
    if not tensors and not empty:
        return {}, {}
    filled = {n: torch.full(b.shape, math.nan if b.dtype.is_floating_point else _UNSET.get(b.dtype, 0), dtype=b.dtype)
              for n, b in empty.items()}  # fmt: skip
    owners = {n: module.get_submodule(n.rpartition(".")[0]) for n in empty}
    recorder = Recorder(tensors, notes)
    flags = {m: m.__dict__.pop("_is_hf_initialized") for m in module.modules() if "_is_hf_initialized" in m.__dict__}
    try:
        for n, owner in owners.items():
            owner._buffers[n.rpartition(".")[2]] = filled[n]
        with torch.no_grad(), recorder, recorder.truncated():
            _initialise(module, None)
    finally:
        for n, owner in owners.items():
            owner._buffers[n.rpartition(".")[2]] = empty[n]
        for m, flag in flags.items():
            m._is_hf_initialized = flag
    lost = [n for n, b in filled.items() if _is_unset(b)]
    if lost:
        raise ExportError(
            f"buffers without a value, on the meta device: {', '.join(lost[:8])}. The module's init code does not "
            "fill them: build the module on the CPU, or fill them there before the export"
        )
    return recorder.rules, filled


_UNSET = {torch.int64: -(2**62), torch.int32: -(2**30)}


def _is_unset(b: torch.Tensor) -> bool:
    if b.dtype.is_floating_point:
        return bool(b.isnan().any())
    return b.dtype in _UNSET and bool((b == _UNSET[b.dtype]).any())


def _initialise(module, init) -> None:
    """The module's children first, as torch.nn.Module.apply goes; `init`: the nearest _init_weights."""
    init = getattr(module, "_init_weights", init)
    for child in module.children():
        _initialise(child, init)
    if init is not None:
        init(module)
    elif hasattr(module, "reset_parameters"):
        module.reset_parameters()
    elif hasattr(module, "_reset_parameters"):
        module._reset_parameters()
