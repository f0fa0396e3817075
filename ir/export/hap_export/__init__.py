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
import traceback
import warnings

import torch

from . import batch as batches, document, names, optimizer as opt, passes, safetensors
from .graph import ExportError
from .init import init_rules
from .moe import expert_slots, top_gates
from .trace import is_torch, trace

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
    weights       a safetensors file to write the present weights to; constants without a closed form
                  go to NAME.consts.safetensors beside NAME.json, which says their hash
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
        try:
            g = trace(module, a, k, b, batch_inputs, notes)
        except Exception as e:
            if b == b1 or isinstance(e, ExportError):
                raise
            raise ExportError(_why_not(e, named, b1, b2, batch_inputs)) from e
        passes.simplify(g)
        names.assign(g, {id(t): n for n, t in g.buffers.items()})
        graphs.append(g)
    rules = init_rules(module, init)
    for g in graphs:
        for t in g.leaves():
            if t.kind in ("param", "buffer"):
                t.init = rules[t.name]
    consts = os.path.splitext(os.fspath(path))[0] + ".consts.safetensors"
    two = batches.Two(b1, b2, os.path.basename(consts))
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
    if two.stored:
        safetensors.save(consts, two.stored)
    with open(path, "w") as f:
        f.write(document.write(doc))
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


def _why_not(e: Exception, inputs: dict, b1: int, b2: int, batch_inputs) -> str:
    """The module runs at batch b1 and fails at b2: what was taken for the batch, where it failed."""
    taken = [f"{n} {list(t.shape)}" for n, t in inputs.items() if _batched(n, t, b1, batch_inputs)]
    lines = [f for f in traceback.extract_tb(e.__traceback__) if not is_torch(f.filename)]
    own = [f for f in lines if os.path.dirname(os.path.abspath(f.filename)) != os.path.dirname(__file__)]
    where = f" ({os.path.basename(own[-1].filename)}:{own[-1].lineno})" if own else ""
    what = str(e).strip().partition("\n")[0].rstrip(".")
    return (
        f"not supported: the module runs at batch {b1} and not at {b2}{where}: {what}. Dim 0 was taken "
        f"for the batch in {', '.join(taken)}; where it is not, name those where it is: batch_inputs=[…]"
    )


def _batched(name: str, t, b1: int, batch_inputs) -> bool:
    if not isinstance(t, torch.Tensor) or t.dim() == 0 or t.shape[0] != b1:
        return False
    return batch_inputs is None or name in batch_inputs


def _resize(inputs: dict, b1: int, b2: int, batch_inputs) -> dict:
    """The inputs at batch size b2: rows repeated."""
    out = dict(inputs)
    for name, t in inputs.items():
        if b1 != b2 and _batched(name, t, b1, batch_inputs):
            out[name] = t[torch.arange(b2, device=t.device) % b1]
    return out
