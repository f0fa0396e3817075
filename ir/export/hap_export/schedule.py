"""A torch learning rate scheduler as the `schedule` of a graph file (docs/formats.md).

What a scheduler is called says little, so it is not trusted: a candidate is read off its parameters, or
off the names that transformers gives them, or off its first rates, and compared with the rates that the
scheduler itself gives, step by step. What differs is refused.
"""

from __future__ import annotations

import copy
import functools
import math

import torch
from torch.optim import lr_scheduler as lrs

from .graph import ExportError

_STEPS = 20_000  # the longest run that is compared step by step
_NAMES = {"num_warmup_steps", "num_training_steps", "num_decay_steps", "timescale"}  # of transformers
_PROBED = 4_000  # rates that are looked at where names say nothing


def factor(schedule: dict, step: int) -> float:
    """The share of lr at a step, as runtime/core/learning_rate.c has it."""
    warmup, least = schedule.get("warmup", 0), schedule.get("min_lr", 0.0)
    if step < warmup:
        start = schedule.get("start")
        return (step + 1) / warmup if start is None else start + (1 - start) * step / warmup
    if "inverse_sqrt" in schedule:
        scale = schedule["inverse_sqrt"]
        return math.sqrt(scale / (step - warmup + scale))
    begin = warmup + schedule.get("stable", 0)
    end = schedule.get("cosine") or schedule.get("linear")
    if not end or step < begin:
        return 1.0
    done = min(1.0, (step - begin) / max(1, end - begin))
    part = 0.5 * (1 + math.cos(math.pi * done)) if schedule.get("cosine") else 1 - done
    return least + (1 - least) * part


def read_schedule(scheduler) -> dict:
    """The schedule, {} of a constant rate."""
    rates = _rates(scheduler, 1)
    found = _which(scheduler, list(_candidates(scheduler, rates[0])))
    if found is None:
        found = _which(scheduler, list(_of_rates(_rates(scheduler, _PROBED))), _PROBED - 1)
    if found is not None:
        return found
    raise ExportError(
        f"scheduler: {type(scheduler).__name__} gives rates that no schedule of docs/formats.md gives (warm-up, "
        "then constant, linear, cosine, inverse square root, or a stable part and a decay). One of these as a "
        'dict is taken as well: scheduler={"warmup": 100, "cosine": 10000}'
    )


def _which(scheduler, candidates: list[dict], least: int = 2) -> dict | None:
    """The candidate whose rates are the scheduler's, up to the last one's end and step `least`."""
    if not candidates:
        return None
    last = max([least] + [_end(c) for c in candidates])
    if last > _STEPS:
        steps = sorted({int(last * i / 500) for i in range(501)} | {0, 1, 2, 3})
    else:
        steps = list(range(last + 1))
    wants = _rates(scheduler, steps[-1] + 1)
    for c in candidates:
        if all(math.isclose(factor(c, s), wants[s], rel_tol=1e-6, abs_tol=1e-9) for s in steps):
            return c
    return None


def _of_rates(rates: list[float]):
    """What gives such rates at its first steps: a warm-up to 1, and what stands behind it."""
    one = next((i for i, r in enumerate(rates) if math.isclose(r, 1, rel_tol=1e-9)), None)
    if one is None:
        return
    stay = one
    while stay + 1 < len(rates) and math.isclose(rates[stay + 1], 1, rel_tol=1e-9):
        stay += 1
    warm = [{"warmup": one, "start": rates[0]}, {"warmup": one + 1}] if one else [{}]
    for base in warm:
        begin = base.get("warmup", 0)
        yield base
        if stay + 2 >= len(rates):
            continue
        more = base | ({"stable": stay - begin} if stay > begin else {})
        end = stay + 1
        while end + 1 < len(rates) and rates[end + 1] < rates[end]:
            end += 1
        if any(r != rates[end] for r in rates[end:]):
            continue  # it goes up again
        low = rates[end] if end + 1 < len(rates) else 0.0
        floor = {"min_lr": low} if low else {}
        if end + 1 == len(rates):  # longer than what was looked at: as the rates fall to 0
            fallen = min(1.0, max(-1.0, 2 * rates[-1] - 1))
            yield more | {"linear": stay + round((len(rates) - 1 - stay) / max(1e-12, 1 - rates[-1]))}
            yield more | {"cosine": stay + round((len(rates) - 1 - stay) * math.pi / max(1e-12, math.acos(fallen)))}
        yield more | {"linear": end} | floor
        yield more | {"cosine": end} | floor
        if stay == begin and rates[stay + 1] < 1:
            square = rates[stay + 1] ** 2
            yield base | {"inverse_sqrt": round(square / (1 - square))}


def _end(c: dict) -> int:
    """The last step to compare: behind the decay a cosine of torch's goes up again."""
    return c.get("cosine") or c.get("linear") or 2 * c.get("warmup", 0) + c.get("inverse_sqrt", 0) + 8


def _rates(scheduler, steps: int) -> list[float]:
    """Shares of the first group's initial rate at steps 0, 1, …, by a scheduler of its own."""
    old = scheduler.optimizer
    groups = [{**{k: v for k, v in g.items() if k != "params"}, "params": [torch.zeros(())]} for g in old.param_groups]
    for g in groups:
        g["lr"] = g.get("initial_lr", g["lr"])
    fresh = torch.optim.SGD([{"params": g["params"], "lr": float(g["lr"])} for g in groups])
    for g in fresh.param_groups:
        g["initial_lr"] = g["lr"]
    mine = _copied(scheduler, fresh)
    base, out = [g["initial_lr"] for g in fresh.param_groups], []
    for _ in range(steps):
        shares = [g["lr"] / b if b else 0.0 for g, b in zip(fresh.param_groups, base)]
        if any(b and not math.isclose(s, shares[0], rel_tol=1e-6, abs_tol=1e-12) for s, b in zip(shares, base)):
            raise ExportError("scheduler: groups whose rates do not change alike are not supported")
        out.append(shares[0])
        fresh.step()
        mine.step()
    return out


def _copied(scheduler, optimizer):
    """The scheduler again, from its first step, over another optimizer."""
    if isinstance(scheduler, lrs.LambdaLR):
        return lrs.LambdaLR(optimizer, scheduler.lr_lambdas)
    if isinstance(scheduler, lrs.SequentialLR):
        parts = [_copied(s, optimizer) for s in scheduler._schedulers]
        for g in optimizer.param_groups:
            g["lr"] = g["initial_lr"]
        return lrs.SequentialLR(optimizer, parts, list(scheduler._milestones))
    given = {
        lrs.LinearLR: ("start_factor", "end_factor", "total_iters"),
        lrs.ConstantLR: ("factor", "total_iters"),
        lrs.CosineAnnealingLR: ("T_max", "eta_min"),
        lrs.PolynomialLR: ("total_iters", "power"),
    }.get(type(scheduler))
    if given is None:
        raise ExportError(f"scheduler: {type(scheduler).__name__} is not supported; give a dict (docs/formats.md)")
    return type(scheduler)(optimizer, **{k: copy.copy(getattr(scheduler, k)) for k in given})


def _candidates(scheduler, first: float):
    """What the scheduler may be, by what it is called."""
    if isinstance(scheduler, lrs.LambdaLR):
        f = scheduler.lr_lambdas[0]
        if isinstance(f, functools.partial) and f.keywords.keys() & _NAMES:
            yield from _of_lambda(f.keywords, first)
        return
    yield {}
    parts = scheduler._schedulers if isinstance(scheduler, lrs.SequentialLR) else [scheduler]
    ends = list(scheduler._milestones) if isinstance(scheduler, lrs.SequentialLR) else []
    rate = float(scheduler.optimizer.param_groups[0].get("initial_lr") or 1)
    out, begin = {}, 0
    for i, s in enumerate(parts):
        until = ends[i] if i < len(ends) else None
        if isinstance(s, lrs.LinearLR) and s.end_factor == 1 and i == 0:
            out |= {"warmup": s.total_iters, "start": s.start_factor}
            if until is not None:
                out["stable"] = until - s.total_iters
        elif isinstance(s, lrs.ConstantLR) and s.factor == 1 and until is not None:
            out["stable"] = until - out.get("warmup", 0)
        elif isinstance(s, lrs.CosineAnnealingLR):
            out |= {"cosine": begin + s.T_max, "min_lr": s.eta_min / rate}
        elif isinstance(s, lrs.LinearLR):
            out |= {"linear": begin + s.total_iters, "min_lr": s.end_factor}
        elif isinstance(s, lrs.PolynomialLR):
            out |= {"linear": begin + s.total_iters}
        begin = until if until is not None else begin
    yield {k: v for k, v in out.items() if v or k == "start"}


def _of_lambda(k: dict, first: float):
    """The schedules of transformers, by their parameters' names."""
    warmup, end = k.get("num_warmup_steps", 0), k.get("num_training_steps", 0)
    least = k.get("min_lr_ratio") or k.get("min_lr_rate") or 0.0
    base = {"warmup": warmup, "start": first} if warmup else {}
    floor = {"min_lr": least} if least else {}
    yield base
    if "num_decay_steps" in k:
        stable = k.get("num_stable_steps", 0)
        base = base | ({"stable": stable} if stable else {})
        end = warmup + stable + k["num_decay_steps"]
    if "timescale" in k:
        yield base | {"inverse_sqrt": k["timescale"] or warmup or 10_000}
    if end:
        yield base | {"linear": end} | floor
        yield base | {"cosine": end} | floor
    lr_end = k.get("lr_end")
    if lr_end is not None and k.get("lr_init"):
        yield base | {"linear": end, "min_lr": lr_end / k["lr_init"]}
