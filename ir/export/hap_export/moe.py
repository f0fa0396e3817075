"""Mixture of experts in plain PyTorch, as one op each in a trace.

    p = gate(x).softmax(-1)                                    # [b, s, e]
    combine = expert_slots(top_gates(p), capacity)             # [b, s, e, c]
    y = torch.einsum("bsec,bsd->ebcd", (combine != 0).to(x.dtype), x)
    ...                                                        # y[e] through expert e
    out = torch.einsum("bsec,ebcd->bsd", combine, y)

The semantics are GShard's (arXiv 2006.16668, algorithm 1) without its auxiliary loss and without a
random second choice; ir/ops.def states them. Both functions run and differentiate as the
PyTorch below; torch.export keeps them whole (hap::top_gates, hap::expert_slots), because a row of the
op table each is what the planner can reason about.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

_LIB = torch.library.Library("hap", "DEF")
_LIB.define("top_gates(Tensor p, int k) -> Tensor")
_LIB.define("expert_slots(Tensor gates, int capacity) -> Tensor")


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


_LIB.impl("top_gates", _top_gates, "CompositeImplicitAutograd")
_LIB.impl("expert_slots", _expert_slots, "CompositeImplicitAutograd")


def top_gates(p: torch.Tensor, k: int = 2) -> torch.Tensor:
    """The k largest entries of each row over their sum, 0 elsewhere."""
    return torch.ops.hap.top_gates(p, k)


def expert_slots(gates: torch.Tensor, capacity: int) -> torch.Tensor:
    """[b, s, e] -> [b, s, e, c]: each gate at the slot its token has in that expert, 0 elsewhere."""
    return torch.ops.hap.expert_slots(gates, capacity)
