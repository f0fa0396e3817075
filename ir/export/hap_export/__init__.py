"""hap_export: a PyTorch module's training step as a hap.graph file.

    import torch, transformers
    from hap_export import export, load_into

    model = transformers.AutoModelForCausalLM.from_config(transformers.GPT2Config(n_layer=2))
    ids = torch.randint(0, 50257, (8, 128))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    export(model, (), "graph.json", kwargs=dict(input_ids=ids, labels=ids), optimizer=optimizer)

Then `hapc graph.json cluster.yaml`, `hapc run … --save trained.safetensors`, and in Python again
`load_into(model, "trained.safetensors")`.

The module is taken as it is: what it returns beside its loss (caches, hidden states) is ignored. A mixture
of experts is one of transformers', or written with the functions of moe.py. What is supported:
docs/coverage.md.
"""

from __future__ import annotations

import os
import traceback
import warnings

import torch

from . import batch as batches, document, front, meta, names, optimizer as opt, passes, safetensors
from .graph import ExportError
from .init import from_meta, init_rules
from .moe import expert_linear, expert_slots, experts_by_rows, top_gates
from .trace import is_torch, trace

__version__ = "0.1"
__all__ = ["export", "load_into", "save_weights", "top_gates", "expert_slots", "expert_linear", "ExportError"]

_ASK = object()  # no optimizer given


def export(
    module: torch.nn.Module,
    args: tuple,
    path,
    kwargs: dict | None = None,
    optimizer=_ASK,
    batch_inputs: list[str] | None = None,
    weights=None,
    init: dict | None = None,
    batch: int | None = None,
    loss=None,
    scheduler=None,
    clip_norm: float | None = None,
) -> dict:
    """Writes the training step of `module` on `args`, `kwargs` to `path`, and returns what it wrote.

    optimizer     a torch.optim object (SGD, Adam, AdamW; its groups too; parameters it does not hold are
                  not trained), the "optimizer" of docs/formats.md, or None: evaluation, no backward pass
    scheduler     its torch scheduler, or the "schedule" of docs/formats.md
    clip_norm     the greatest norm of all gradients together (torch.nn.utils.clip_grad_norm_)
    loss          which output is the loss, by name; or a function of what the module returns, whose
                  further parameters are inputs by name: loss=lambda out, target: …; None: the output
                  "loss", else the first number among the outputs
    batch_inputs  names of the inputs whose dim 0 is the batch; None: every tensor whose dim 0 is as
                  long as the first tensor's
    weights       a safetensors file to write the present weights to; constants without a closed form
                  go to NAME.consts.safetensors beside NAME.json, which says their hash
    init          {glob over parameter names: {"normal": s} | {"uniform": [a, b]} | {"const": c}};
                  what no glob matches is read off the weights, or, on the meta device, off the
                  module's init code
    batch         B of the file, if other than the inputs': a large batch need not be traced

    The module is traced at two batch sizes, so that its integers can be written in B. Parameters may be
    on the meta device: no memory is taken for them.
    """
    if optimizer is _ASK:
        raise ExportError(
            "no optimizer: give a torch.optim object or the dict of docs/formats.md; optimizer=None is a graph "
            "for evaluation, without a backward pass"
        )
    call = front.Call(module, tuple(args), dict(kwargs or {}), loss, batch_inputs)
    b1 = call.batch if 2 <= call.batch <= 8 else 3
    b2 = 2 * b1 + 1
    notes: set[str] = set()
    recorded, buffers = from_meta(module, notes)
    graphs = []
    with experts_by_rows(module), meta.fake_weights(module, buffers) as fakes:
        ids = {fakes.get(i, i) for i in opt.trained_by(optimizer) or ()} or None
        inputs = list(zip(call.names, call.batched))
        for b in (b1, b2):
            try:
                g = trace(front.Front(module, call), meta.inputs(fakes, call.tensors(b)), module, inputs, ids, buffers, notes)
            except Exception as e:
                if b == b1 or isinstance(e, ExportError):
                    raise
                raise ExportError(_why_not(e, call, b1, b2)) from e
            passes.simplify(g)
            graphs.append(g)
    batches.reconcile(*graphs, b1, b2)
    batches.share_constants(*graphs)
    for g in graphs:
        names.assign(g, {id(t): n for n, t in g.buffers.items()})
    if optimizer is not None and not graphs[0].loss.trained:
        raise ExportError("the loss depends on no parameter that is trained")
    wanted = list(dict.fromkeys(t.name for g in graphs for t in g.leaves() if t.kind in ("param", "buffer")))
    rules = init_rules(module, init, recorded, buffers, wanted)
    for g in graphs:
        for t in g.leaves():
            if t.kind in ("param", "buffer"):
                t.init = rules[t.name]
    consts = os.path.splitext(os.fspath(path))[0] + ".consts.safetensors"
    two = batches.Two(b1, b2, os.path.basename(consts))
    doc = {"format": "hap.graph", "version": 1}
    doc["producer"] = f"hap_export {__version__} (torch {torch.__version__.partition('+')[0]})"
    doc.update(two.document(*graphs, batch or call.batch))
    params = [n for n, t in doc["tensors"].items() if t["kind"] == "param"]
    if optimizer is not None:
        named = {id(p): n for n, p in module.named_parameters()}
        doc["optimizer"] = opt.described(optimizer, scheduler, clip_norm, named, params)
    document.check(doc)
    moved = opt.trained_by(optimizer)
    for name, p in module.named_parameters():
        if p.requires_grad and name not in doc["tensors"] and (moved is None or id(p) in moved):
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


def _why_not(e: Exception, call: front.Call, b1: int, b2: int) -> str:
    """The module runs at batch b1 and fails at b2: what was taken for the batch, where it failed."""
    lines = [f for f in traceback.extract_tb(e.__traceback__) if not is_torch(f.filename)]
    own = [f for f in lines if os.path.dirname(os.path.abspath(f.filename)) != os.path.dirname(__file__)]
    where = f" ({os.path.basename(own[-1].filename)}:{own[-1].lineno})" if own else ""
    what = str(e).strip().partition("\n")[0].rstrip(".")
    return (
        f"not supported: the module runs at batch {b1} and not at {b2}{where}: {what}. Dim 0 was taken "
        f"for the batch in {call.taken()}; where it is not, name those where it is: batch_inputs=[…]"
    )
