"""The JSON of a graph file: one tensor, node or setting a line, checked against the op table."""

from __future__ import annotations

import json

from . import ops
from .graph import ExportError

_KINDS = {
    "i": ("int", lambda v: _whole(v)),
    "f": ("real", lambda v: isinstance(v, (int, float)) and not isinstance(v, bool)),
    "b": ("bool", lambda v: isinstance(v, bool)),
    "d": ("dtype", lambda v: v in ("f32", "bf16", "f16", "i64", "i32", "bool")),
    "I": ("ints", lambda v: isinstance(v, list) and all(_whole(x) for x in v)),
}


def _whole(v) -> bool:
    return isinstance(v, str) or (isinstance(v, int) and not isinstance(v, bool))


def _dump(v) -> str:
    return json.dumps(v, ensure_ascii=False)


def write(doc: dict) -> str:
    lines = []
    for key, value in doc.items():
        if key == "tensors":
            body = ",\n".join(f"  {_dump(k)}: {_dump(v)}" for k, v in value.items())
            lines.append(f" {_dump(key)}: {{\n{body}}}")
        elif key == "nodes":
            body = ",\n".join("  " + _dump(v) for v in value)
            lines.append(f" {_dump(key)}: [\n{body}]")
        else:
            lines.append(f" {_dump(key)}: {_dump(value)}")
    return "{" + ",\n".join(lines).lstrip() + "}\n"


def check(doc: dict) -> None:
    """Every node against the op table: op, operand counts, attributes."""
    for node in doc["nodes"]:
        _check_node(node)


def _check_node(node: dict) -> None:
    def fail(why):
        raise ExportError(f"node {node['name']} ({node.get('from', '')}): {why}")

    op = ops.table().get(node["op"])
    if op is None:
        fail(f"op {node['op']} may not stand in a graph file")
    if not op.min_in <= len(node["in"]) <= op.max_in:
        fail(f"{node['op']} takes {op.min_in} to {op.max_in} operands, not {len(node['in'])}")
    attrs = node.get("attrs", {})
    outs = len(attrs["sizes"]) if op.outs is None else op.outs
    if len(node["out"]) != outs:
        fail(f"{node['op']} has {outs} outputs, not {len(node['out'])}")
    for name, value in attrs.items():
        if name not in op.attrs:
            fail(f"{node['op']} has no attribute {name}")
        kind, fits = _KINDS[op.attrs[name].type]
        if not fits(value):
            fail(f"attribute {name} = {value!r} is no {kind}")
    for name, attr in op.attrs.items():
        if attr.default is None and name not in attrs:
            fail(f"{node['op']} needs attribute {name}")
