"""The optimizer of a graph file: the keys of docs/formats.md, checked, or read off a torch.optim object
and its scheduler."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import torch

from .graph import ExportError
from .schedule import read_schedule

_NAMES = ("sgd", "momentum", "adam", "adamw")
_REALS = ("lr", "eps", "weight_decay", "momentum", "clip_norm")
_KEYS = ("name", "lr", "betas", "eps", "weight_decay", "momentum", "nesterov", "clip_norm", "groups", "schedule")
_SCHEDULE = ("warmup", "start", "stable", "cosine", "linear", "inverse_sqrt", "min_lr")


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
        _only(group, ("match", "lr", "lr_scale", "weight_decay"), "optimizer group")
        for glob in group.get("match", ()):
            if not any(fnmatchcase(p, glob) for p in params):
                raise ExportError(f"optimizer group: no parameter matches {glob!r}")
    _only(optimizer.get("schedule", {}), _SCHEDULE, "schedule")
    return {k: optimizer[k] for k in _KEYS if k in optimizer}


def trained_by(optimizer) -> set[int] | None:
    """Ids of the parameters that a torch.optim object moves; None: all that require a gradient."""
    if not isinstance(optimizer, torch.optim.Optimizer):
        return None
    return {id(p) for group in optimizer.param_groups for p in group["params"]}


def described(optimizer, scheduler, clip_norm, names: dict[int, str], params: list[str]) -> dict:
    """The "optimizer" of a graph file. `names`: of parameters by id, `params`: those in the graph."""
    out = dict(optimizer) if isinstance(optimizer, dict) else _read(optimizer, names, params)
    if clip_norm is not None:
        out["clip_norm"] = clip_norm
    if isinstance(scheduler, dict):
        out["schedule"] = scheduler
    elif scheduler is not None:
        if scheduler.optimizer is not optimizer:
            raise ExportError("scheduler: it is another optimizer's")
        schedule = read_schedule(scheduler)
        if schedule:
            out["schedule"] = schedule
    return checked(out, params)


_COMMON = {"maximize": False, "amsgrad": False, "dampening": 0}


def _read(optimizer, names: dict[int, str], params: list[str]) -> dict:
    kinds = {torch.optim.SGD: "sgd", torch.optim.Adam: "adam", torch.optim.AdamW: "adamw"}
    name = kinds.get(type(optimizer))
    if name is None:
        raise ExportError(f"optimizer: {type(optimizer).__name__} is not supported (SGD, Adam, AdamW are)")
    groups = [g for g in optimizer.param_groups if any(names.get(id(p)) in params for p in g["params"])]
    if not groups:
        raise ExportError("optimizer: none of its parameters is in the graph")
    first = max(groups, key=lambda g: len(g["params"]))
    for g in groups:
        for key, only in _COMMON.items():
            if g.get(key, only) != only:
                raise ExportError(f"optimizer: {key}={g[key]} is not supported")
        for key in ("betas", "eps", "momentum", "nesterov"):
            if g.get(key) != first.get(key):
                raise ExportError(f"optimizer: groups with different {key} are not supported")
    if name == "adam" and first.get("decoupled_weight_decay"):
        name = "adamw"
    rate = {id(g): float(g.get("initial_lr", g["lr"])) for g in groups}
    out = {"name": name, "lr": rate[id(first)]}
    if name == "sgd":
        if first["momentum"]:
            out |= {"momentum": first["momentum"]} | ({"nesterov": True} if first["nesterov"] else {})
    else:
        out |= {"betas": [float(b) for b in first["betas"]], "eps": first["eps"]}
    out["weight_decay"] = first["weight_decay"]
    rest = []
    for g in groups:
        if g is first:
            continue
        own = [names[id(p)] for p in g["params"] if names.get(id(p)) in params]
        entry = {"match": globs(own, params)}
        if rate[id(g)] != out["lr"]:
            if out["lr"] == 0:
                raise ExportError("optimizer: the largest group's lr is 0, another's is not")
            entry["lr_scale"] = rate[id(g)] / out["lr"]
        entry["weight_decay"] = g["weight_decay"]
        rest.append(entry)
    if rest:
        out["groups"] = rest
    return out


def globs(own: list[str], params: list[str]) -> list[str]:
    """Short globs that match `own` among `params` and nothing else: numbers become *, where that is so."""
    left, out = list(dict.fromkeys(own)), []
    while left:
        glob = re.sub(r"(?<=\.)\d+(?=\.)", "*", left[0])
        if any(fnmatchcase(p, glob) and p not in own for p in params):
            glob = left[0]
        out.append(glob)
        left = [n for n in left if not fnmatchcase(n, glob)]
    return out
