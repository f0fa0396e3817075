"""Values that depend on no input: closed forms, and what an attention mask means."""

from __future__ import annotations

import math

import torch
from torch.utils.weak import WeakIdKeyDictionary

_MEANINGS = WeakIdKeyDictionary()  # of masks: all layers read one


def uniform_value(t: torch.Tensor):
    """The one number that every element equals, or None."""
    if t.numel() == 0:
        return None
    first = t.reshape(-1)[0]
    return first.item() if bool((t == first).all()) else None


def closed_form(t: torch.Tensor) -> dict | None:
    """{"const": c} or {"iota": [start, step]} along the last dim; None if the value must be stored."""
    c = uniform_value(t)
    if c in (math.inf, -math.inf):
        return None  # no number of JSON
    if c is not None:
        return {"const": int(c) if t.dtype == torch.bool else c}
    if t.dtype == torch.bool or t.dim() == 0 or t.shape[-1] < 2:
        return None
    row = t.reshape(-1, t.shape[-1])[0]
    start, step = row[0].item(), row[1].item() - row[0].item()
    line = (torch.arange(t.shape[-1], dtype=torch.float64) * step + start).to(t.dtype)
    return {"iota": [start, step]} if bool((t == line).all()) else None


def mask_meaning(mask: torch.Tensor) -> str:
    """What a constant attention mask [..., q, k] says: "all" (no mask), "causal", or "other".

    A float mask is additive: 0 lets a pair through, anything at or below -1e30 (or the dtype's
    smallest number) hides it."""
    if mask not in _MEANINGS:
        _MEANINGS[mask] = _meaning(mask)
    return _MEANINGS[mask]


def _meaning(mask: torch.Tensor) -> str:
    if mask.dtype == torch.bool:
        seen = mask
    else:
        hidden = mask <= max(-1e30, torch.finfo(mask.dtype).min / 2)
        if not bool(((mask == 0) | hidden).all()):
            return "other"
        seen = ~hidden
    if bool(seen.all()):
        return "all"
    if mask.dim() >= 2:
        q, k = mask.shape[-2:]
        if q == k and bool((seen == torch.ones(q, k, dtype=torch.bool).tril()).all()):
            return "causal"
    return "other"
