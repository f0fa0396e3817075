"""A call of the user's module as a function of its tensors alone, which returns the loss alone.

So caches, hidden states and other outputs are no business of the trace, settings that are no tensors
stay as they are, and one tensor that is given twice (ids and labels) is two inputs.
"""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass

import torch
from torch.utils import _pytree as pytree

from .graph import DTYPES, ExportError

INNER = "inner"  # what Front calls the user's module; trace.py takes it off the paths


class Call:
    """What a module is called with, and how the loss is found in what it returns."""

    def __init__(self, module, args: tuple, kwargs: dict, loss, batch_inputs):
        parameters = inspect.signature(module.forward).parameters
        positional = [f"args.{i}" for i in range(len(args))]
        positional[: len(parameters)] = list(parameters)[: len(args)]
        named = dict(zip(positional, args))
        for name in kwargs:
            if name in named:
                raise ExportError(f"{name} is given twice, in args and in kwargs")
        self.loss = loss
        self.extras = _extras(loss, kwargs)
        any_name = any(p.kind == p.VAR_KEYWORD for p in parameters.values())
        self.own = [n for n in kwargs if n not in self.extras or n in parameters]
        unknown = [n for n in self.own if n not in parameters and not any_name]
        if unknown:
            raise ExportError(f"neither forward nor loss has a parameter {', '.join(unknown)}")
        self.n_args = len(args)
        paths, self.tree = pytree.tree_flatten_with_path(named | kwargs)
        self.leaves = [v for _, v in paths]
        self.at = [i for i, v in enumerate(self.leaves) if isinstance(v, torch.Tensor)]
        self.names = [_name(paths[i][0]) for i in self.at]
        self.batch = self._batch(batch_inputs)
        self.batched = [self._is_batched(n, self.leaves[i], batch_inputs) for n, i in zip(self.names, self.at)]

    def _batch(self, batch_inputs) -> int:
        for name in batch_inputs or ():
            if name not in self.names:
                raise ExportError(f"batch_inputs: no input {name} (inputs are {', '.join(self.names)})")
        for name, i in zip(self.names, self.at):
            if self.leaves[i].dim() > 0 and (batch_inputs is None or name in batch_inputs):
                return self.leaves[i].shape[0]
        raise ExportError("no input has a batch dim")

    def _is_batched(self, name, t, batch_inputs) -> bool:
        if batch_inputs is not None and name not in batch_inputs:
            return False
        return t.dim() > 0 and t.shape[0] == self.batch

    def tensors(self, rows: int) -> list[torch.Tensor]:
        """The tensors at another batch size: rows repeated; each a tensor of its own."""
        out = []
        for i, batched in zip(self.at, self.batched):
            t = self.leaves[i].detach()
            out.append(t[torch.arange(rows, device=t.device) % self.batch] if batched else t.clone())
        return out

    def run(self, module, tensors) -> torch.Tensor:
        leaves = list(self.leaves)
        for i, t in zip(self.at, tensors):
            leaves[i] = t
        named = pytree.tree_unflatten(leaves, self.tree)
        args = list(named.values())[: self.n_args]
        out = module(*args, **{n: named[n] for n in self.own})
        return find_loss(out, self.loss, {n: named[n] for n in self.extras})

    def taken(self) -> str:
        """What dim 0 was taken for the batch in."""
        pairs = zip(self.names, self.at, self.batched)
        return ", ".join(f"{n} {list(self.leaves[i].shape)}" for n, i, batched in pairs if batched)


class Front(torch.nn.Module):
    def __init__(self, module, call: Call):
        super().__init__()
        setattr(self, INNER, module)
        self.call = call

    def forward(self, *tensors):
        return self.call.run(getattr(self, INNER), tensors)


def _name(path) -> str:
    """'input_ids', or 'batch.pixels' and 'images.0' of what is inside a dict or list."""
    return ".".join(str(getattr(k, "key", getattr(k, "idx", getattr(k, "name", k)))) for k in path)


def _extras(loss, kwargs) -> list[str]:
    """Inputs that the loss function asks for by name."""
    if loss is None or isinstance(loss, str):
        return []
    if not callable(loss):
        raise ExportError("loss is the name of an output, or a function of what the module returns")
    own = loss.forward if isinstance(loss, torch.nn.Module) else loss
    return [n for n in list(inspect.signature(own).parameters)[1:] if n in kwargs]


def _outputs(out) -> list[tuple[str, object]]:
    """What a module returned, by name."""
    if isinstance(out, torch.Tensor):
        return [("the tensor", out)]
    if isinstance(out, dict):
        return list(out.items())
    if isinstance(out, (list, tuple)):
        names = getattr(out, "_fields", range(len(out)))
        return [(str(n), v) for n, v in zip(names, out)]
    if is_dataclass(out):
        return [(f.name, getattr(out, f.name)) for f in fields(out)]
    return []


def find_loss(out, loss, extras: dict) -> torch.Tensor:
    outputs = _outputs(out)
    if callable(loss):
        found = loss(out, **extras)
    elif loss is not None:
        found = dict(outputs).get(loss)
    else:
        scalars = [v for _, v in outputs if _is_loss(v)]
        found = dict(outputs).get("loss", scalars[0] if scalars else None)
    if isinstance(found, torch.Tensor) and found.numel() == 1 and found.dtype.is_floating_point:
        return found.reshape(())
    if callable(loss):
        raise ExportError(f"no loss: loss=… gave {_say(found)}, not one number")
    said = ", ".join(f"{n} {_say(v)}" for n, v in outputs if v is not None) or type(out).__name__
    if loss is not None:
        raise ExportError(f"no loss: there is no number {loss!r} among what the module returns: {said}")
    raise ExportError(
        f"no loss: what the module returns has no number: {said}. Give the inputs that make it compute "
        "one (labels=…), name it (loss='…'), or give a function: loss=lambda out, labels: …"
    )


def _is_loss(v) -> bool:
    return isinstance(v, torch.Tensor) and v.shape == () and v.dtype.is_floating_point


def _say(v) -> str:
    if isinstance(v, torch.Tensor):
        return f"{DTYPES.get(v.dtype, v.dtype)}{list(v.shape)}"
    return type(v).__name__
