"""One torch.export trace -> one Graph.

Walks the traced program once. A value that depends on no input is computed on the spot and stays a
torch tensor until an op needs it; everything else goes through the op rules of lower_*.py. What has
no rule is noted, and the walk goes on with a value of the same shape: a refusal lists it all.
"""

from __future__ import annotations

import inspect
import operator
import os
import re
import warnings

import torch
from torch.export.graph_signature import InputKind, OutputKind

from . import lower_dense, lower_loss, lower_points, lower_views  # noqa: F401 (they register rules)
from .front import INNER
from .graph import MAX_RANK, ExportError, Graph, Node, Tensor
from .refuse import Refusals
from .rules import RANDOM, detach, rule_for

_TORCH_DIR = os.path.dirname(torch.__file__) + os.sep
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_SILENT = {"_assert_tensor_metadata", "_assert_scalar", "sym_constrain_range", "sym_constrain_range_for_size"}
_NO_GRAD, _AUTOCAST = "wrap_with_set_grad_enabled", "wrap_with_autocast"


class Unsupported(Exception):
    """Raised by a rule: what it cannot say, and what to do about it."""

    def __init__(self, why: str, advice: str = ""):
        super().__init__(why)
        self.why, self.advice = why, advice


def is_torch(file: str) -> bool:
    return file.startswith(_TORCH_DIR)


def source_line(fx) -> str:
    """The innermost line of the user's own code (not torch's, nor ours) that made a traced node."""
    frames = _FRAME.findall(fx.meta.get("stack_trace") or "")
    here = os.path.dirname(os.path.abspath(__file__))
    own = [f for f in frames if not is_torch(f[0]) and os.path.dirname(f[0]) != here] or frames
    return f"{os.path.basename(own[-1][0])}:{own[-1][1]}" if own else ""


def module_path(fx) -> str:
    stack = list((fx.meta.get("nn_module_stack") or {}).values())
    return own_name(stack[-1][0]) if stack else ""


def own_name(path: str) -> str:
    """A name inside Front as the user's module has it."""
    return "" if path == INNER else path.removeprefix(INNER + ".")


class Tracer:
    """Walks one ExportedProgram. The op rules see it as their context."""

    def __init__(self, program, module, inputs: list[tuple[str, bool]], trained, buffers: dict, notes: set[str]):
        self.program, self.module = program, module
        self.inputs = inputs  # name, and whether dim 0 is the batch
        self.trained = trained  # ids of the parameters that the optimizer moves
        self.buffers = buffers  # values of buffers, where the module has none
        self.notes = notes  # what the user should be told
        self.refused = Refusals()
        self.graph = Graph()
        self.env: dict = {}  # fx node -> Tensor | torch.Tensor (constant) | number | list of these
        self.fx = None
        self.made: dict[int, tuple[torch.Tensor, Tensor]] = {}  # constants already turned into Tensors

    # -- what op rules call -------------------------------------------------------------------

    def emit(self, op, ins, shape, dtype, /, **attrs) -> Tensor:
        return self.emit_many(op, ins, [(tuple(shape), dtype)], **attrs)[0]

    def emit_many(self, op, ins, outs, /, **attrs) -> list[Tensor]:
        ins = [self.tensor(t) for t in ins]
        for shape, _ in outs:
            if len(shape) > MAX_RANK:
                self.fail(f"a tensor of {len(shape)} dims {list(shape)}", f"a hap.graph has at most {MAX_RANK}")
        node = Node(op, ins, [], attrs, module_path(self.fx), source_line(self.fx))
        trained = any(t.trained for t in ins)
        node.outs = [
            Tensor("value", dtype, tuple(shape), producer=node, trained=trained and dtype.is_floating_point)
            for shape, dtype in outs
        ]
        self.graph.nodes.append(node)
        return node.outs

    def tensor(self, v) -> Tensor:
        """An operand as a Tensor; constants and numbers become const tensors."""
        if isinstance(v, Tensor):
            if v.kind == "uniform":
                self.fail("a random value", "draw it outside of the module and give it as an input")
            return v
        if not isinstance(v, torch.Tensor):
            v = torch.tensor(v)
        if id(v) not in self.made:
            t = Tensor("const", v.dtype, tuple(v.shape), value=v, path=module_path(self.fx))
            self.made[id(v)] = (v, t)
        return self.made[id(v)][1]

    def fail(self, why: str, advice: str = ""):
        raise Unsupported(why, advice)

    @property
    def out(self) -> torch.Tensor:
        """Fake tensor with the shape and dtype of the traced node's result."""
        return self.fx.meta["val"]

    # -- the walk -----------------------------------------------------------------------------

    def run(self) -> Graph:
        graph = self.program.graph
        self.placeholders([n for n in graph.nodes if n.op == "placeholder"])
        self.walk(self.program.graph_module)
        self.refused.check()
        return self.graph

    def walk(self, owner: torch.fx.GraphModule):
        """Every node but placeholders; what the graph returns."""
        for fx in owner.graph.nodes:
            self.fx = fx
            if fx.op == "call_function":
                self.env[fx] = self.call(fx)
            elif fx.op == "get_attr":
                self.env[fx] = getattr(owner, fx.target)
            elif fx.op == "output":
                if owner is self.program.graph_module:
                    self.outputs(fx)
                return self.value(fx.args[0])

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
        mutated = {own_name(n) for n in sig.buffers_to_mutate.values()}
        params: dict[str, Tensor] = {}
        inputs = iter(self.inputs)
        for fx, spec in zip(nodes, sig.input_specs):
            self.fx, value, target = fx, fx.meta.get("val"), own_name(spec.target or "")
            if spec.kind == InputKind.PARAMETER:
                p = named[target]
                name = first[id(p)]
                if name not in params:
                    params[name] = self.parameter(name, p)
                self.env[fx] = params[name]
            elif spec.kind == InputKind.BUFFER:
                b = self.buffers.get(target, named[target])
                if target in mutated:
                    self.env[fx] = Tensor("buffer", b.dtype, tuple(b.shape), name=target)
                else:
                    self.env[fx] = self.graph.buffers[target] = b.detach()
            elif spec.kind == InputKind.CONSTANT_TENSOR:
                self.env[fx] = self.program.constants[spec.target].detach()
            elif spec.kind == InputKind.USER_INPUT and isinstance(value, torch.Tensor):
                name, batched = next(inputs)
                self.env[fx] = Tensor(
                    "input", value.dtype, tuple(value.shape), name=name, batch=0 if batched else None
                )
            else:
                raise ExportError(f"not supported: an input of kind {spec.kind.name}")

    def parameter(self, name: str, p) -> Tensor:
        trained = p.requires_grad and (self.trained is None or id(p) in self.trained)
        if trained and p.dtype != torch.float32:
            self.refused.add(
                f"{name}: a parameter of {p.dtype}",
                "parameters are f32: module.float(); hapc --precision bf16 computes in bf16",
                "",
                "",
            )
        return Tensor("param" if trained else "buffer", p.dtype, tuple(p.shape), name=name, trained=trained)

    def value(self, a):
        if isinstance(a, torch.fx.Node):
            return self.env[a]
        if isinstance(a, (list, tuple)):
            return [self.value(x) for x in a]
        return a

    def call(self, fx):
        args = [self.value(a) for a in fx.args]
        kwargs = {k: self.value(a) for k, a in fx.kwargs.items()}
        if fx.target is operator.getitem:
            return args[0][args[1]]
        name = str(fx.target)
        if name.split(".")[1:2] and name.split(".")[1] in _SILENT:
            return None
        try:
            if name in (_NO_GRAD, _AUTOCAST):
                return self.inline(name, args)
            if not _graph_tensors(args) and not _graph_tensors(list(kwargs.values())):
                return self.constant(fx, name, args, kwargs)
            rule = rule_for(name)
            if rule is None:
                self.fail(f"op {name}")
            self.takes(rule, name, args, kwargs)
            return rule(self, *args, **kwargs)
        except Unsupported as e:
            self.refused.add(e.why, e.advice, source_line(fx), module_path(fx), name)
        return self.unknown(fx.meta.get("val"), args)

    def takes(self, rule, name: str, args, kwargs) -> None:
        try:
            inspect.signature(rule).bind(self, *args, **kwargs)
        except TypeError as e:
            self.fail(f"op {name} with other arguments than its rule knows ({e})")

    def unknown(self, value, args):
        """In place of a value that no rule could make: the walk goes on to find the others."""
        if isinstance(value, (list, tuple)):
            return [self.unknown(v, args) for v in value]
        if not isinstance(value, torch.Tensor):
            return value
        trained = value.dtype.is_floating_point and any(t.trained for t in _graph_tensors(args))
        return Tensor("value", value.dtype, tuple(value.shape), trained=trained)

    def constant(self, fx, name: str, args, kwargs):
        """Computed now, on the CPU."""
        packet = name.split(".")[1] if name.startswith("aten.") else name
        if packet == "rand":
            return Tensor("uniform", self.out.dtype, tuple(self.out.shape), value=0.0)
        if packet.rstrip("_") in RANDOM:
            self.fail(f"{name}: a random value", "draw it outside of the module and give it as an input")
        kwargs.pop("pin_memory", None)
        cpu = torch.device("cpu")
        args = [cpu if isinstance(a, torch.device) else a for a in args]
        kwargs = {k: cpu if isinstance(a, torch.device) else a for k, a in kwargs.items()}
        if any(t.is_meta for t in _torch_tensors(args)):
            self.fail(f"{name}: of a buffer without a value (meta device)", "create buffers on the CPU")
        with torch.no_grad():
            return fx.target(*args, **kwargs)

    def inline(self, name: str, args):
        """The body of a no_grad or autocast block."""
        at = next(i for i, a in enumerate(args) if isinstance(a, torch.fx.GraphModule))
        if name == _AUTOCAST and args[2]:
            self.fail("an autocast block", "leave it out: hapc --precision bf16 says what is computed in bf16")
        body, given = args[at], args[at + 1 :]
        if name == _NO_GRAD and not args[0]:
            given = [detach(self, x) if isinstance(x, Tensor) else x for x in given]
        outer = self.fx
        inner = [n for n in body.graph.nodes if n.op == "placeholder"]
        self.env.update(zip(inner, given))
        result = self.walk(body)
        self.fx = outer
        return result

    def outputs(self, fx) -> None:
        specs = self.program.graph_signature.output_specs
        for spec, v in zip(specs, fx.args[0]):
            if spec.kind == OutputKind.BUFFER_MUTATION:
                target = own_name(spec.target)
                buffer = next(t for t in self.env.values() if isinstance(t, Tensor) and t.name == target)
                self.graph.updates[target] = (buffer, self.tensor(self.env[v]))
            elif spec.kind == OutputKind.USER_OUTPUT:
                self.graph.loss = self.env[v]
            else:
                self.refused.add(f"a write to {spec.target or 'an input'}", "write to a copy", "", "")
        if not isinstance(self.graph.loss, Tensor):
            raise ExportError("the loss depends on no input")


def _torch_tensors(v) -> list[torch.Tensor]:
    if isinstance(v, torch.Tensor):
        return [v]
    return [x for a in v for x in _torch_tensors(a)] if isinstance(v, (list, tuple)) else []


def _graph_tensors(v) -> list[Tensor]:
    if isinstance(v, Tensor):
        return [v]
    return [x for a in v for x in _graph_tensors(a)] if isinstance(v, (list, tuple)) else []


# -- tracing -------------------------------------------------------------------------------------


def _in_place(fx) -> bool:
    schema = getattr(fx.target, "_schema", None)
    if schema is None or not schema.arguments or str(fx.target).startswith("aten.detach_"):
        return False
    if str(fx.target).startswith("aten.batch_norm") and fx.args[3] is not None:
        return bool(fx.args[5])  # in training; its schema does not say that it writes
    alias = schema.arguments[0].alias_info
    return bool(alias is not None and alias.is_write)


def _graphs(module: torch.fx.GraphModule):
    yield module.graph
    for child in module.children():
        if isinstance(child, torch.fx.GraphModule):
            yield from _graphs(child)


def _without_writes(program):
    """The program with every write in place as a new value (torch's own functionalisation). It forgets
    which blocks were under no_grad: what goes into them is detached before."""
    if not any(n.op == "call_function" and _in_place(n) for g in _graphs(program.graph_module) for n in g.nodes):
        return program
    graph = program.graph
    for fx in list(graph.nodes):
        if fx.op != "call_function" or str(fx.target) != _NO_GRAD or fx.args[0]:
            continue
        with graph.inserting_before(fx):
            for i, a in enumerate(fx.args):
                value = a.meta.get("val") if isinstance(a, torch.fx.Node) else None
                if isinstance(value, torch.Tensor) and value.dtype.is_floating_point:
                    stop = graph.call_function(torch.ops.aten.detach.default, (a,))
                    stop.meta = dict(a.meta)
                    fx.update_arg(i, stop)
    program.graph_module.recompile()
    return program.run_decompositions({})


def trace(front, tensors, module, inputs, trained, buffers, notes: set[str]) -> Graph:
    """`tensors`: what `front` is called with; `inputs`: their names, and whether dim 0 is the batch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = _without_writes(torch.export.export(front, tuple(tensors), strict=False))
    return Tracer(program, module, inputs, trained, buffers, notes).run()
