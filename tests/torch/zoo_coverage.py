#!/usr/bin/env python3
"""Prints docs/coverage.md: which families zoo_run.py trains, and what each op of PyTorch becomes.

    PYTHONPATH=ir/export python tests/torch/zoo_coverage.py >docs/coverage.md
"""

from __future__ import annotations

import inspect
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (HERE, os.path.join(os.path.dirname(os.path.dirname(HERE)), "ir", "export")):
    sys.path.insert(0, folder)

import zoo  # noqa: E402
from hap_export import lower_dense, lower_loss, lower_points, lower_views, ops, rules  # noqa: E402

_FILES = {"Views and indexing": lower_views, "Dense": lower_dense, "Pointwise and reductions": lower_points, "Losses": lower_loss}

_HEAD = """# Coverage: which models, which ops

What can be exported, planned and trained equal to PyTorch. This page is generated; a test compares
it with its sources:

```sh
PYTHONPATH=ir/export python tests/torch/zoo_coverage.py >docs/coverage.md
```

## Families

`tests/torch/zoo_run.py` exports each of them, tiny, with its configuration class's defaults but for
sizes. It plans them for 4 unequal CPU ranks under the strategies auto, dp-prop, zero and tp, proves
each plan with `hapc check`, and trains 10 steps of AdamW (SGD where zoo.py says so). Losses are
PyTorch's to 1e-5 of themselves (with batch norm to 1e-4), gradients of step 1 to 1e-4 of their
norms; so are the loss of an evaluation behind the last step, and the buffers that steps update. It
takes some 10 processor seconds a family:

```sh
python tests/torch/zoo_run.py                  # all of them
python tests/torch/zoo_run.py Llama ViT --strategies auto
```

Versions: transformers 5.24.0, torch 2.13.
"""


def families() -> str:
    by_group: dict[str, list[str]] = {}
    refused = []
    for name, (group, _, how) in zoo.FAMILIES.items():
        if "refused" in how:
            refused.append((name, how["refused"]))
        else:
            by_group.setdefault(group, []).append(name)
    lines = ["| what | trained equal to PyTorch |", "|---|---|"]
    lines += [f"| {group} | {'; '.join(names)} |" for group, names in by_group.items()]
    if refused:
        lines += ["", "Refused, with every op named that is missing:", ""]
        lines += [f"- {name}: {why}" for name, why in refused]
    return "\n".join(lines)


def _rows(f, seen: set) -> set[str]:
    """Rows that a rule may become: those that its source names, and that of what it calls."""
    if f in seen:
        return set()
    seen.add(f)
    source = inspect.getsource(f)
    table = ops.table()
    found = {s for s in re.findall(r'"(\w+)"', source.partition("):\n")[2]) if s in table}
    cells = inspect.getclosurevars(f)
    found |= {v for v in cells.nonlocals.values() if isinstance(v, str) and v in table}
    for name, g in cells.globals.items():
        if inspect.isfunction(g) and g.__module__.startswith("hap_export") and name not in ("rule",):
            found |= _rows(g, seen)
    return found


def _unary_row(name: str, f) -> set[str]:
    cells = inspect.getclosurevars(f).nonlocals
    return {v for v in (cells.get("op"), cells.get("aten")) if isinstance(v, str) and v in ops.table()}


def op_tables() -> str:
    out = []
    for title, module in _FILES.items():
        by_rows: dict[str, list[str]] = {}
        for name, f in rules._RULES.items():
            if f.__module__ != module.__name__:
                continue
            rows = _rows(f, set()) - {"cast", "reshape", "expand", "transpose"} or _unary_row(name, f)
            key = ", ".join(sorted(rows)) or "views alone"
            by_rows.setdefault(key, []).append(name if name.startswith("hap.") else name.partition(".")[0])
        out += [f"### {title}", "", "| ops of PyTorch | rows of `ir/ops.def` |", "|---|---|"]
        for rows, names in sorted(by_rows.items()):
            names = ", ".join(f"`{n}`" for n in sorted(set(names)))
            out.append(f"| {names} | {rows} |")
        out.append("")
    return "\n".join(out)


_OPS = """## Ops

What each op of ATen may become, beside casts, reshapes, transposes and expands. Where a rule covers
a part of an op alone, its refusal says so. A value that depends on no input is computed by PyTorch
at the export: any op will do there. Writes in place, `no_grad` blocks and
`torch.utils.checkpoint` are supported; what torch.export cannot trace is not.
"""


def text() -> str:
    return f"{_HEAD}\n{families()}\n\n{_OPS}\n{op_tables()}".rstrip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
