"""The optimizer of a graph file, checked: the keys of docs/formats.md and no others."""

from __future__ import annotations

from fnmatch import fnmatchcase

from .graph import ExportError

_NAMES = ("sgd", "momentum", "adam", "adamw")
_REALS = ("lr", "eps", "weight_decay", "momentum", "clip_norm")
_KEYS = ("name", "lr", "betas", "eps", "weight_decay", "momentum", "nesterov", "clip_norm", "groups", "schedule")


def _only(d: dict, keys, what: str) -> None:
    for k in d:
        if k not in keys:
            raise ExportError(f"{what}: unknown key {k!r} (one of {', '.join(keys)})")


def checked(optimizer: dict, params: list[str]) -> dict:
    """The optimizer with its keys in order. Every glob of a group must match a parameter."""
    _only(optimizer, _KEYS, "optimizer")
    if optimizer.get("name") not in _NAMES:
        raise ExportError(f"optimizer: name must be one of {', '.join(_NAMES)}")
    if "lr" not in optimizer:
        raise ExportError("optimizer: lr is missing")
    for key in _REALS:
        if key in optimizer and not (isinstance(optimizer[key], (int, float)) and optimizer[key] >= 0):
            raise ExportError(f"optimizer: {key} must be a number that is not negative")
    for group in optimizer.get("groups", ()):
        _only(group, ("match", "lr_scale", "weight_decay"), "optimizer group")
        for glob in group.get("match", ()):
            if not any(fnmatchcase(p, glob) for p in params):
                raise ExportError(f"optimizer group: no parameter matches {glob!r}")
    _only(optimizer.get("schedule", {}), ("warmup", "cosine", "min_lr"), "schedule")
    return {k: optimizer[k] for k in _KEYS if k in optimizer}
