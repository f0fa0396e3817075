"""The exporter's own graph: what one trace at one batch size says, in the words of ops.def.

Tensors are objects without names until names.py gives them some; nodes are in topological order.
Every integer is a plain number here; batch.py compares the graphs of two batch sizes and turns the
integers that differ into expressions in B.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

DTYPES = {
    torch.float32: "f32",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.bool: "bool",
    torch.uint8: "u8",
}


# Of ir/graph.h: operands and outputs of one node, dims of a tensor.
MAX_IN, MAX_OUT, MAX_RANK = 10, 8, 6


class ExportError(Exception):
    """The module holds something a hap.graph cannot say."""


@dataclass(eq=False)
class Tensor:
    kind: str  # input | param | buffer | const | value; while tracing also uniform: torch.rand() + value
    dtype: torch.dtype
    shape: tuple[int, ...]
    name: str | None = None
    value: torch.Tensor | None = None  # const: what it holds
    init: dict | None = None  # param, buffer
    batch: int | None = None  # input: which dim is the batch; None = none
    path: str = ""  # const: module it was made in
    producer: "Node | None" = None
    trained: bool = False  # depends on a parameter
    views: dict[tuple[int, ...], "Tensor"] = field(default_factory=dict)  # const: itself in other shapes
    narrow: dict[int, "Tensor | None"] = field(default_factory=dict)  # const: with one entry along a dim, if all are alike


@dataclass(eq=False)
class Node:
    op: str
    ins: list[Tensor]
    outs: list[Tensor]
    attrs: dict[str, Any]
    path: str  # module path, "" = the root module
    src: str  # "file.py:line" of the user's code
    name: str | None = None


@dataclass(eq=False)
class Graph:
    nodes: list[Node] = field(default_factory=list)
    loss: Tensor | None = None
    updates: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)  # buffer -> next value
    alias: dict[str, str] = field(default_factory=dict)  # other names of parameters
    buffers: dict[str, torch.Tensor] = field(default_factory=dict)  # constants that are buffers

    def users(self) -> dict[Tensor, list[Node]]:
        """Consumers of every tensor; an operand used twice counts twice."""
        users: dict[Tensor, list[Node]] = {}
        for node in self.nodes:
            for t in node.ins:
                users.setdefault(t, []).append(node)
        return users

    def roots(self) -> set[Tensor]:
        """Tensors that the step must compute."""
        out = {t for _, t in self.updates.values()}
        if self.loss is not None:
            out.add(self.loss)
        return out

    def replace(self, old: Tensor, new: Tensor) -> None:
        """Every use of `old` becomes a use of `new`."""
        self.replace_all({old: new})

    def replace_all(self, new: dict["Tensor", "Tensor"]) -> None:
        """Every use of a key becomes a use of its value."""
        for node in self.nodes:
            node.ins = [new.get(t, t) for t in node.ins]
        self.loss = new.get(self.loss, self.loss)
        self.updates = {k: (b, new.get(t, t)) for k, (b, t) in self.updates.items()}

    def leaves(self) -> list[Tensor]:
        """Inputs, parameters, buffers and constants in use, in order of first use."""
        seen: dict[Tensor, None] = {}
        for node in self.nodes:
            for t in node.ins:
                if t.producer is None:
                    seen.setdefault(t)
        for buffer, t in self.updates.values():
            seen.setdefault(buffer)
            if t.producer is None:
                seen.setdefault(t)
        return list(seen)
