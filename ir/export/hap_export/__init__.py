"""hap_export: a PyTorch module's training step as a hap.graph file.

    from hap_export import export, load_into
    export(model, (), "graph.json", kwargs=dict(input_ids=ids, labels=ids),
           optimizer={"name": "adamw", "lr": 3e-4}, weights="init.safetensors")
    ...                                  # hapc graph.json cluster.yaml; hapc run ... --save trained
    load_into(model, "trained.safetensors")

The module's first output must be a scalar loss (a Hugging Face model given labels has one). A mixture
of experts is written with top_gates and expert_slots of moe.py.
"""

from __future__ import annotations

import inspect
import os
import warnings

import torch

from . import batch as batches, document, names, optimizer as opt, passes, safetensors
from .graph import ExportError
from .init import init_rules
from .moe import expert_slots, top_gates
from .trace import trace

__version__ = "0.1"
__all__ = ["export", "load_into", "save_weights", "top_gates", "expert_slots", "ExportError"]


def export(
    module: torch.nn.Module,
    args: tuple,
    path,
    kwargs: dict | None = None,
    optimizer: dict | None = None,
    batch_inputs: list[str] | None = None,
    weights=None,
    init: dict | None = None,
    batch: int | None = None,
) -> dict:
    """Writes the training step of `module` on `args`, `kwargs` to `path`, and returns what it wrote.

    optimizer     the "optimizer" of docs/formats.md
    batch_inputs  names of the inputs whose dim 0 is the batch; None: every tensor whose dim 0 is as
                  long as the first tensor's
    weights       a safetensors file to write the present weights to
    init          {glob over parameter names: {"normal": s} | {"uniform": [a, b]} | {"const": c}};
                  what no glob matches is read off the weights
    batch         B of the file, if other than the inputs': a large batch need not be traced

    The module is traced at two batch sizes, so that its integers can be written in B.
    """
    kwargs = dict(kwargs or {})
    named = dict(zip(inspect.signature(module.forward).parameters, args)) | kwargs
    b1 = _batch_size(named, batch_inputs)
    b2 = 2 * b1 + 1
    notes: set[str] = set()
    graphs = []
    for b in (b1, b2):
        k = _resize(named, b1, b, batch_inputs)
        a = tuple(k.pop(n) for n in list(k)[: len(args)])
        g = trace(module, a, k, b, batch_inputs, notes)
        passes.simplify(g)
        names.assign(g, {id(t): n for n, t in g.buffers.items()})
        graphs.append(g)
    rules = init_rules(module, init)
    for g in graphs:
        for t in g.leaves():
            if t.kind in ("param", "buffer"):
                t.init = rules[t.name]
    two = batches.Two(b1, b2)
    doc = {"format": "hap.graph", "version": 1}
    doc["producer"] = f"hap_export {__version__} (torch {torch.__version__.partition('+')[0]})"
    doc.update(two.document(*graphs))
    if batch is not None:
        doc["batch"]["B"] = batch
    params = [n for n, t in doc["tensors"].items() if t["kind"] == "param"]
    if optimizer is not None:
        doc["optimizer"] = opt.checked(optimizer, params)
    document.check(doc)
    for name, p in module.named_parameters():
        if p.requires_grad and name not in doc["tensors"]:
            notes.add(f"{name}: the loss does not depend on it; left out")
    for note in sorted(notes):
        warnings.warn(note, stacklevel=2)
    with open(path, "w") as f:
        f.write(document.write(doc))
    if two.stored:
        folder = os.path.dirname(os.path.abspath(path))
        safetensors.save(os.path.join(folder, "consts.safetensors"), two.stored)
    if weights is not None:
        save_weights(module, weights, doc)
    return doc


def save_weights(module: torch.nn.Module, file, doc: dict) -> None:
    """The module's present parameters and buffers, under the graph's names."""
    own = dict(module.named_parameters())
    own.update(module.named_buffers())
    kinds = ("param", "buffer")
    safetensors.save(file, {n: own[n] for n, t in doc["tensors"].items() if t["kind"] in kinds})


def load_into(module: torch.nn.Module, file) -> list[str]:
    """Copies the tensors of a safetensors checkpoint into the module's parameters and buffers of the
    same names (optimizer state and `hap.` entries are skipped). Returns the names that were not in the
    file. A tensor of the file that fits nothing in the module is an error."""
    stored = safetensors.load(file)
    own = dict(module.named_parameters(remove_duplicate=False))
    own.update(module.named_buffers(remove_duplicate=False))
    loaded: set[int] = set()
    for name, value in stored.items():
        if name.startswith("hap.") or name.endswith((".exp_avg", ".exp_avg_sq", ".momentum")):
            continue
        if name not in own:
            raise ExportError(f"{file}: {name} is no parameter or buffer of the module")
        if own[name].shape != value.shape:
            raise ExportError(f"{file}: {name} is {list(value.shape)}, the module's {list(own[name].shape)}")
        with torch.no_grad():
            own[name].copy_(value)
        loaded.add(id(own[name]))
    return [n for n, p in module.named_parameters() if id(p) not in loaded]


def _batch_size(inputs: dict, batch_inputs) -> int:
    for name in batch_inputs or inputs:
        t = inputs.get(name)
        if isinstance(t, torch.Tensor) and t.dim() > 0:
            return t.shape[0]
    raise ExportError("no input has a batch dim")


def _resize(inputs: dict, b1: int, b2: int, batch_inputs) -> dict:
    """The inputs at batch size b2: rows repeated."""
    out = dict(inputs)
    for name, t in inputs.items():
        batched = isinstance(t, torch.Tensor) and t.dim() > 0 and t.shape[0] == b1
        if batched and b1 != b2 and (batch_inputs is None or name in batch_inputs):
            out[name] = t[torch.arange(b2, device=t.device) % b1]
    return out
