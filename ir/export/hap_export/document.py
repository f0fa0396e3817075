"""The JSON of a graph file: one tensor, node or setting a line, checked against the op table."""

from __future__ import annotations

import json
from pathlib import Path

from .graph import ExportError

_OPS = Path(__file__).with_name("ops.json")
_KINDS = {
    "int": lambda v: _whole(v),
    "real": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "bool": lambda v: isinstance(v, bool),
    "dtype": lambda v: v in ("f32", "bf16", "f16", "i64", "i32", "bool"),
    "ints": lambda v: isinstance(v, list) and all(_whole(x) for x in v),
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
    """Every node against ops.json (generated from ir/ops.def): op, operand counts, attributes."""
    table = json.loads(_OPS.read_text())["ops"]
    for node in doc["nodes"]:
        _check_node(node, table)


def _check_node(node: dict, table: dict) -> None:
    def fail(why):
        raise ExportError(f"node {node['name']} ({node.get('from', '')}): {why}")

    row = table.get(node["op"])
    if row is None:
        fail(f"op {node['op']} may not stand in a graph file")
    if not row["min_in"] <= len(node["in"]) <= row["max_in"]:
        fail(f"{node['op']} takes {row['min_in']} to {row['max_in']} operands, not {len(node['in'])}")
    attrs = node.get("attrs", {})
    outs = len(attrs["sizes"]) if row["outs"] == "sizes" else row["outs"]
    if len(node["out"]) != outs:
        fail(f"{node['op']} has {outs} outputs, not {len(node['out'])}")
    known = row["attrs"]
    for name, value in attrs.items():
        if name not in known:
            fail(f"{node['op']} has no attribute {name}")
        if not _KINDS[known[name]["type"]](value):
            fail(f"attribute {name} = {value!r} is no {known[name]['type']}")
    for name, a in known.items():
        if "default" not in a and name not in attrs:
            fail(f"{node['op']} needs attribute {name}")
