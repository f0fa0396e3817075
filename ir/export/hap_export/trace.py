"""One torch.export trace -> one Graph.

Walks the traced program once. A value that depends on no input is computed on the spot and stays a
torch tensor until an op needs it; everything else goes through the op rules of lower.py.
"""

from __future__ import annotations

import operator
import os
import re
import warnings

import torch
from torch.export.graph_signature import InputKind, OutputKind

from .graph import ExportError, Graph, Node, Tensor
from .lower import RANDOM, VIEWS, rule_for

_TORCH_DIR = os.path.dirname(torch.__file__) + os.sep
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def is_torch(file: str) -> bool:
    return file.startswith(_TORCH_DIR)


def source_line(fx) -> str:
    """The innermost line of the user's own code (not torch's) that made a traced node."""
    frames = _FRAME.findall(fx.meta.get("stack_trace") or "")
    own = [f for f in frames if not is_torch(f[0])] or frames
    return f"{os.path.basename(own[-1][0])}:{own[-1][1]}" if own else ""


def module_path(fx) -> str:
    stack = list((fx.meta.get("nn_module_stack") or {}).values())
    return stack[-1][0] if stack else ""


def _meta(fx) -> torch.Tensor:
    return fx.meta["val"]


class Tracer:
    """Walks one ExportedProgram. The op rules see it as their context."""

    def __init__(self, program, module, batch: int, batch_inputs, notes: set[str]):
        self.program, self.module = program, module
        self.batch, self.batch_inputs = batch, batch_inputs
        self.notes = notes  # what the user should be told
        self.graph = Graph()
        self.env: dict = {}  # fx node -> Tensor | torch.Tensor (constant) | number | list of these
        self.fx = None
        self.made: dict[int, tuple[torch.Tensor, Tensor]] = {}  # constants already turned into Tensors
        self.base: dict = {}  # fx node -> fx node whose memory it shares

    # -- what op rules call -------------------------------------------------------------------

    def emit(self, op, ins, shape, dtype, /, **attrs) -> Tensor:
        return self.emit_many(op, ins, [(tuple(shape), dtype)], **attrs)[0]

    def emit_many(self, op, ins, outs, /, **attrs) -> list[Tensor]:
        ins = [self.tensor(t) for t in ins]
        node = Node(op, ins, [], attrs, module_path(self.fx), source_line(self.fx))
        trained = any(t.trained for t in ins)
        node.outs = [
            Tensor("value", dtype, tuple(shape), producer=node, trained=trained)
            for shape, dtype in outs
        ]
        self.graph.nodes.append(node)
        return node.outs

    def tensor(self, v) -> Tensor:
        """An operand as a Tensor; constants and numbers become const tensors."""
        if isinstance(v, Tensor):
            return v
        if not isinstance(v, torch.Tensor):
            v = torch.tensor(v)
        if id(v) not in self.made:
            t = Tensor("const", v.dtype, tuple(v.shape), value=v, path=module_path(self.fx))
            self.made[id(v)] = (v, t)
        return self.made[id(v)][1]

    def fail(self, why: str):
        where = source_line(self.fx) or "unknown line"
        path = module_path(self.fx)
        raise ExportError(f"not supported: {why} ({where}{', in ' + path if path else ''})")

    @property
    def out(self) -> torch.Tensor:
        """Fake tensor with the shape and dtype of the traced node's result."""
        return _meta(self.fx)

    # -- the walk -----------------------------------------------------------------------------

    def run(self) -> Graph:
        nodes = list(self.program.graph.nodes)
        self.order = {fx: i for i, fx in enumerate(nodes)}
        self.placeholders(nodes)
        for fx in nodes:
            self.fx = fx
            if fx.op == "call_function":
                self.call(fx)
            elif fx.op == "output":
                self.outputs(fx)
            elif fx.op == "get_attr":
                self.env[fx] = getattr(self.program.graph_module, fx.target)
            elif fx.op != "placeholder":
                self.fail(f"{fx.op} {fx.target}")
        return self.graph

    def placeholders(self, nodes) -> None:
        sig = self.program.graph_signature
        named = dict(self.module.named_parameters(remove_duplicate=False))
        named.update(self.module.named_buffers(remove_duplicate=False))
        first: dict[int, str] = {}  # a tied parameter goes by its first name
        for name, p in self.module.named_parameters(remove_duplicate=False):
            if id(p) not in first:
                first[id(p)] = name
            else:
                self.graph.alias[name] = first[id(p)]
        mutated = self.mutated_placeholders(nodes) | set(sig.buffers_to_mutate.values())
        params: dict[str, Tensor] = {}
        for fx, spec in zip([n for n in nodes if n.op == "placeholder"], sig.input_specs):
            self.fx = fx
            value = fx.meta.get("val")
            if spec.kind == InputKind.PARAMETER:
                p = named[spec.target]
                name = first[id(p)]
                if name not in params:
                    kind = "param" if p.requires_grad else "buffer"
                    params[name] = Tensor(
                        kind, p.dtype, tuple(p.shape), name=name, trained=kind == "param"
                    )
                self.env[fx] = params[name]
            elif spec.kind == InputKind.BUFFER:
                b = named[spec.target]
                if spec.target in mutated or fx.name in mutated:
                    self.env[fx] = Tensor("buffer", b.dtype, tuple(b.shape), name=spec.target)
                else:
                    self.env[fx] = self.graph.buffers[spec.target] = b.detach()
            elif spec.kind == InputKind.CONSTANT_TENSOR:
                self.env[fx] = self.program.constants[spec.target].detach()
            elif spec.kind == InputKind.USER_INPUT and isinstance(value, torch.Tensor):
                if self.batch_inputs is not None:
                    batched = fx.name in self.batch_inputs
                else:
                    batched = value.dim() > 0 and value.shape[0] == self.batch
                self.env[fx] = Tensor(
                    "input", value.dtype, tuple(value.shape), name=fx.name, batch=0 if batched else None
                )
            elif spec.kind == InputKind.USER_INPUT:
                self.env[fx] = value
            else:
                self.fail(f"an input of kind {spec.kind.name}")

    @staticmethod
    def mutated_placeholders(nodes) -> set[str]:
        return {
            n.args[0].name
            for n in nodes
            if n.op == "call_function" and _in_place(n) and n.args[0].op == "placeholder"
        }

    def value(self, a):
        if isinstance(a, torch.fx.Node):
            return self.env[a]
        if isinstance(a, (list, tuple)):
            return [self.value(x) for x in a]
        return a

    def call(self, fx) -> None:
        args = [self.value(a) for a in fx.args]
        kwargs = {k: self.value(a) for k, a in fx.kwargs.items()}
        if fx.target is operator.getitem:
            self.env[fx] = args[0][args[1]]
            self.base[fx] = fx.args[0]
            return
        name = str(fx.target)
        if name.split(".")[1:2] in (["_assert_tensor_metadata"], ["_assert_scalar"], ["sym_constrain_range"]):
            return
        packet = name.split(".")[1] if name.startswith("aten.") else name
        if packet.rstrip("_") in VIEWS and fx.args and isinstance(fx.args[0], torch.fx.Node):
            self.base[fx] = fx.args[0]
        if not _graph_tensors(args) and not _graph_tensors(list(kwargs.values())):
            if packet.rstrip("_") in RANDOM:
                self.fail(f"{name}: a random value")
            if _in_place(fx):
                args[0] = args[0].clone()
            kwargs.pop("device", None)
            kwargs.pop("pin_memory", None)
            if any(isinstance(a, torch.device) for a in args):
                args = [torch.device("cpu") if isinstance(a, torch.device) else a for a in args]
            if any(t.is_meta for t in _torch_tensors(args)):
                self.fail(f"{name}: a constant on the meta device (create buffers on the CPU)")
            with torch.no_grad():
                result = fx.target(*args, **kwargs)
        else:
            rule = rule_for(name)
            if any(isinstance(a, torch.fx.GraphModule) for a in args):
                self.fail(f"{name} (a no_grad or autocast block) of computed values")
            if rule is None:
                self.fail(f"op {name}")
            result = rule(self, *args, **kwargs)
        self.env[fx] = result
        if _in_place(fx):
            self.write_back(fx, result)

    def write_back(self, fx, result) -> None:
        """Later uses of what an in-place op wrote see the new value."""
        target = fx.args[0]
        self.base[fx] = target
        root = self.root(target)
        for other in self.order:
            if other is not fx and other is not target and self.root(other) is root:
                if any(self.order[u] > self.order[fx] for u in other.users):
                    self.fail(f"{fx.target}: writes to memory that a later op reads through a view")
        old = self.env[target]
        self.env[target] = result
        if isinstance(old, Tensor) and old.kind == "buffer":
            self.graph.updates[old.name] = (old, result)
        elif isinstance(old, Tensor) and old.name in self.graph.updates:
            self.graph.updates[old.name] = (self.graph.updates[old.name][0], result)
        elif isinstance(old, Tensor) and old.kind == "param":
            self.fail(f"{fx.target}: writes to a parameter")
        for name, (buffer, value) in list(self.graph.updates.items()):
            if value is old:
                self.graph.updates[name] = (buffer, result)

    def root(self, fx):
        while fx in self.base:
            fx = self.base[fx]
        return fx

    def outputs(self, fx) -> None:
        specs = self.program.graph_signature.output_specs
        for spec, v in zip(specs, fx.args[0]):
            if spec.kind == OutputKind.BUFFER_MUTATION:
                buffer = next(
                    t for t in self.env.values() if isinstance(t, Tensor) and t.name == spec.target
                )
                self.graph.updates[spec.target] = (buffer, self.tensor(self.env[v]))
            elif spec.kind == OutputKind.USER_OUTPUT and self.graph.loss is None:
                loss = self.env[v] if isinstance(v, torch.fx.Node) else None
                if isinstance(loss, Tensor) and loss.shape == () and loss.dtype.is_floating_point:
                    self.graph.loss = loss
        if self.graph.loss is None:
            raise ExportError("no loss: the module's first scalar output is taken as the loss, and it has none")
        if not self.graph.loss.trained:
            raise ExportError("the loss depends on no parameter")


def _in_place(fx) -> bool:
    schema = getattr(fx.target, "_schema", None)
    if schema is None or not schema.arguments:
        return False
    alias = schema.arguments[0].alias_info
    return bool(alias is not None and alias.is_write)


def _torch_tensors(v) -> list[torch.Tensor]:
    if isinstance(v, torch.Tensor):
        return [v]
    return [x for a in v for x in _torch_tensors(a)] if isinstance(v, (list, tuple)) else []


def _graph_tensors(v) -> bool:
    if isinstance(v, Tensor):
        return True
    return any(_graph_tensors(a) for a in v) if isinstance(v, (list, tuple)) else False


def trace(module, args, kwargs, batch: int, batch_inputs, notes: set[str]) -> Graph:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(module, tuple(args), dict(kwargs), strict=False)
    return Tracer(program, module, batch, batch_inputs, notes).run()
