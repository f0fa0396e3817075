"""Mixture of experts in plain PyTorch, as one op each in a trace.

    p = gate(x).softmax(-1)                                    # [b, s, e]
    combine = expert_slots(top_gates(p), capacity)             # [b, s, e, c]
    y = torch.einsum("bsec,bsd->ebcd", (combine != 0).to(x.dtype), x)
    ...                                                        # y[e] through expert e
    out = torch.einsum("bsec,ebcd->bsd", combine, y)

The semantics are GShard's (arXiv 2006.16668, algorithm 1) without its auxiliary loss and without a
random second choice; ir/ops.def states them. Without slots, every row goes to the experts it chooses:

    weight, index = gate(x).softmax(-1).topk(2)                # [b, s, 2]
    y = expert_linear(x[..., None, :], index, w1).relu()       # [b, s, 2, hidden], w1 [e, d, hidden]
    out = (expert_linear(y, index, w2) * weight[..., None]).sum(-2)

All these functions run and differentiate as the PyTorch below; torch.export keeps them whole
(hap::top_gates, hap::expert_slots, hap::expert_linear), because a row of the op table each is what the
planner can reason about.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager

import torch
import torch.nn.functional as F

_LIB = torch.library.Library("hap", "DEF")
_LIB.define("top_gates(Tensor p, int k) -> Tensor")
_LIB.define("expert_slots(Tensor gates, int capacity) -> Tensor")
_LIB.define("expert_linear(Tensor x, Tensor index, Tensor weight, bool trans) -> Tensor")


def _top_gates(p: torch.Tensor, k: int) -> torch.Tensor:
    order = p.argsort(dim=-1, descending=True, stable=True)[..., :k]
    chosen = p * F.one_hot(order, p.shape[-1]).sum(-2)
    return chosen / chosen.sum(-1, keepdim=True)


def _expert_slots(gates: torch.Tensor, capacity: int) -> torch.Tensor:
    n = gates.shape[-1]
    order = gates.argsort(dim=-1, descending=True, stable=True)
    chosen = F.one_hot(order, n) * (gates.gather(-1, order) != 0)[..., None]  # [b, s, choice, e]
    turns = chosen.transpose(1, 2).flatten(1, 2)  # all first choices by s, then all second ones, ...
    slot = (turns.cumsum(1) - 1).unflatten(1, (n, -1)).transpose(1, 2)
    slot = (slot * chosen).sum(2)  # [b, s, e]
    taken = (gates != 0) & (slot < capacity)
    mask = F.one_hot(slot.clamp(max=capacity - 1), capacity) * taken[..., None]
    return gates[..., None] * mask


def _expert_linear(x: torch.Tensor, index: torch.Tensor, weight: torch.Tensor, trans: bool) -> torch.Tensor:
    own = weight[index]
    return (x.unsqueeze(-2) @ (own.mT if trans else own)).squeeze(-2)


_LIB.impl("top_gates", _top_gates, "CompositeImplicitAutograd")
_LIB.impl("expert_slots", _expert_slots, "CompositeImplicitAutograd")
_LIB.impl("expert_linear", _expert_linear, "CompositeImplicitAutograd")


def top_gates(p: torch.Tensor, k: int = 2) -> torch.Tensor:
    """The k largest entries of each row over their sum, 0 elsewhere."""
    return torch.ops.hap.top_gates(p, k)


def expert_slots(gates: torch.Tensor, capacity: int) -> torch.Tensor:
    """[b, s, e] -> [b, s, e, c]: each gate at the slot its token has in that expert, 0 elsewhere."""
    return torch.ops.hap.expert_slots(gates, capacity)


def expert_linear(x: torch.Tensor, index: torch.Tensor, weight: torch.Tensor, trans: bool = False) -> torch.Tensor:
    """Each row by the matrix of its expert: x [*, k], index [*] of integers, weight [e, k, n] (with trans
    [e, n, k]) -> [*, n]; leading dims broadcast."""
    return torch.ops.hap.expert_linear(x, index, weight, trans)


# -- transformers ----------------------------------------------------------------------------------

_HAP = "hap_export"  # our name among transformers' ways to run experts


def _experts_forward(self, hidden, index, weights):
    """What transformers' own functions of this signature compute (integrations/moe.py): hidden [rows, width],
    index and weights [rows, k]."""

    def linear(x, weight, bias):
        y = expert_linear(x, index, weight, not self.is_transposed)
        return y + bias[index] if self.has_bias else y

    name = "gate_up_proj" if self.has_gate else "up_proj"
    y = linear(hidden.unsqueeze(1), getattr(self, name), getattr(self, name + "_bias", None))
    y = self._apply_gate(y) if self.has_gate else self.act_fn(y)
    y = linear(y, self.down_proj, getattr(self, "down_proj_bias", None))
    if self.has_post_expert_norm:
        y = self.post_expert_norm(y)
    return (y * weights.unsqueeze(-1)).sum(1).to(hidden.dtype)


@contextmanager
def experts_by_rows(module: torch.nn.Module):
    """Inside, transformers' experts run by expert_linear, through its own interface for that."""
    known = sys.modules.get("transformers.integrations.moe")
    configs = []
    if known is not None:
        known.ExpertsInterface.register(_HAP, _experts_forward)
        experts = [m for m in module.modules() if getattr(m, "_is_expert_parallel", None) is False]
        configs = list({id(m.config): m.config for m in experts}.values())
    before = [c._experts_implementation for c in configs]
    try:
        for c in configs:
            c._experts_implementation = _HAP
        yield
    finally:
        for c, name in zip(configs, before):
            c._experts_implementation = name
