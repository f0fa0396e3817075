"""The ops that may stand in a graph file, as ir/ops.def has them.

ops.def stands in this folder as a link to the C sources' own; an installed package holds a copy.
opsgen prints the same list from C (`opsgen user`); a test compares the two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_TYPES = {"i": int, "f": float, "b": lambda v: v == "true"}
MAX_IN = 10  # operands of a list (IR_MAX_IN)


@dataclass(frozen=True)
class Attr:
    type: str  # i int, f real, b bool, d dtype, I ints
    default: int | float | bool | None


@dataclass(frozen=True)
class Op:
    min_in: int
    max_in: int
    outs: int | None  # None: as many as attribute `sizes` has entries
    attrs: dict[str, Attr]
    point: bool = False  # a pointwise value of one or two operands (.point)


def _attrs(text: str) -> dict[str, Attr]:
    attrs = {}
    for name, kind, default in re.findall(r"(\w+):(\w)(?:=(\S+))?", text):
        attrs[name] = Attr(kind, _TYPES[kind](default) if default else None)
    return attrs


def _arity(formula: str) -> tuple[int, int, int | None]:
    """Least and most operands, and outputs, of "*k,kn + [n] -> *n ; …"; "@rule" is a view."""
    if formula.startswith("@"):
        ins = {"@full": (0, 0), "@concat": (1, MAX_IN)}.get(formula, (1, 1))
        return (*ins, None if formula == "@split" else 1)
    left, right = formula.split(" ;")[0].split(" |")[0].split("->")
    ins = re.split("[,+]", left)
    needed = [x for x in ins if not re.fullmatch(r"\s*\[.+\]\s*", x)]
    return len(needed), len(ins), len(right.split(","))


@cache
def table() -> dict[str, Op]:
    source = Path(__file__).with_name("ops.def").read_text()
    ops = {}
    for name, body in re.findall(r"^OP\((\w+),(.*(?:\n +\..*)*)", source, re.MULTILINE):
        fields = dict(re.findall(r'\.(formula|attrs) = "([^"]*)"', body))
        if re.search(r"\.flags = [\w |]*\bIR_USER\b", body):
            ops[name] = Op(*_arity(fields["formula"]), _attrs(fields.get("attrs", "")), ".point = " in body)
    composite = r'^COMPOSITE\((\w+), *(\d+), *(\d+), *(\d+), *"([^"]*)"\)'
    for name, low, high, outs, attrs in re.findall(composite, source, re.MULTILINE):
        ops[name] = Op(int(low), int(high), int(outs), _attrs(attrs))
    return ops


def lines() -> list[str]:
    """As `opsgen user` prints them."""
    out = []
    for name, op in table().items():
        attrs = [f" {n}:{a.type}" + ("" if a.default is None else f"={a.default:.15g}") for n, a in op.attrs.items()]
        outs = "sizes" if op.outs is None else op.outs
        out.append(f"{name} {op.min_in} {op.max_in} {outs}" + "".join(attrs))
    return out


if __name__ == "__main__":
    print("\n".join(lines()))
