"""How a parameter starts, as a rule instead of bytes: {"normal": std}, {"uniform": [a, b]}, {"const": c}.

Rules come from the caller (globs over parameter names, first match wins) or are read off the weights:
all equal -> const; within ±1/sqrt(fan in) and spread evenly -> PyTorch's default for Linear and its
bias; else normal with the observed deviation, two digits of it. On the meta device, where there is
nothing to read, a matrix is normal 0.02, a bias 0 and any other vector 1.
"""

from __future__ import annotations

import math
from fnmatch import fnmatchcase

import torch

from .consts import uniform_value


def init_rules(module: torch.nn.Module, given: dict | None) -> dict[str, dict]:
    """Rule by name for every parameter and buffer."""
    out = {}
    items = list(module.named_parameters()) + list(module.named_buffers())
    for name, p in items:
        rule = next((r for glob, r in (given or {}).items() if fnmatchcase(name, glob)), None)
        out[name] = rule or _read(module, name, p.detach())
    return out


def _read(module, name: str, p: torch.Tensor) -> dict:
    if p.is_meta:
        if p.dim() >= 2:
            return {"normal": 0.02}
        return {"const": 0.0 if name.endswith("bias") else 1.0}
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
