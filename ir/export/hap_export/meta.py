"""Tracing without memory: parameters on the meta device stand in as fake CPU tensors."""

from __future__ import annotations

from contextlib import contextmanager

import torch
from torch._subclasses.fake_tensor import FakeTensorMode


class Fakes(dict):
    """Id of a meta parameter -> id of what stands in for it; the mode they live in, if there are any."""

    mode: FakeTensorMode | None = None


@contextmanager
def fake_weights(module: torch.nn.Module, buffers: dict[str, torch.Tensor]):
    """Within, every meta parameter of the module is a fake CPU tensor (one that is tied stays one), and
    every meta buffer is its value of `buffers`."""
    fakes, changed = Fakes(), []
    stand_ins: dict[int, torch.nn.Parameter] = {}
    for name, p in module.named_parameters(remove_duplicate=False):
        if not p.is_meta:
            continue
        fakes.mode = fakes.mode or FakeTensorMode(allow_non_fake_inputs=True)
        if id(p) not in stand_ins:
            with fakes.mode:
                t = torch.empty(p.shape, dtype=p.dtype, device="cpu")
            stand_ins[id(p)] = torch.nn.Parameter(t, requires_grad=p.requires_grad)
            fakes[id(p)] = id(stand_ins[id(p)])
        changed.append((module.get_submodule(name.rpartition(".")[0])._parameters, name.rpartition(".")[2], p))
    tables = [(module.get_submodule(n.rpartition(".")[0])._buffers, n.rpartition(".")[2], b) for n, b in buffers.items()]
    try:
        for table, name, p in changed:
            table[name] = stand_ins[id(p)]
        before = [(table, name, table[name]) for table, name, _ in tables]
        for table, name, b in tables:
            table[name] = b
        yield fakes
    finally:
        for table, name, p in changed:
            table[name] = p
        for table, name, b in before:
            table[name] = b


def inputs(fakes: Fakes, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """The inputs as the trace takes them: on the CPU, fake where the parameters are."""
    if fakes.mode is None:
        if any(t.is_meta for t in tensors):
            fakes.mode = FakeTensorMode(allow_non_fake_inputs=True)
        else:
            return tensors
    with fakes.mode:
        return [torch.empty(t.shape, dtype=t.dtype, device="cpu") for t in tensors]
