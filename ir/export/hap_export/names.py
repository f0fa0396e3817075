"""Names of nodes and values.

The one node of a leaf module goes by the module's path: h.0.ln_1. Where a module holds more, each adds
its op, and the second of the same op a number: h.0.attn.split, h.0.attn.reshape, h.0.attn.reshape.2.
Nothing outside the module decides this, so repeated blocks have the same names up to the index.
A value has its node's name; several outputs are NAME.0, NAME.1 (sdpa: NAME and NAME.lse).
A constant that is no buffer is PATH.const; the node that computes the loss is "loss".
"""

from __future__ import annotations

from collections import Counter

from .graph import Graph


def assign(g: Graph, buffer_names: dict[int, str]) -> None:
    """Names every node, value and constant of g. `buffer_names`: name by id of a buffer's tensor."""
    leaves = g.leaves()
    taken = {t.name for t in leaves if t.name is not None} | set(g.alias)

    def fresh(name: str) -> str:
        base, k = name, 2
        while name in taken:
            name = f"{base}.{k}"
            k += 1
        taken.add(name)
        return name

    if g.loss is not None and g.loss.producer is not None:
        taken.add("loss")
    in_module: Counter = Counter()  # nodes in a module and below it
    for node in g.nodes:
        parts = node.path.split(".")
        in_module.update(".".join(parts[: i + 1]) for i in range(len(parts)))
    for node in g.nodes:
        if node.outs[0] is g.loss:
            node.name = "loss"
        else:
            alone = in_module[node.path] == 1 and node.path
            node.name = fresh(node.path if alone else f"{node.path}.{node.op}".lstrip("."))
    for node in g.nodes:
        if len(node.outs) == 1:
            node.outs[0].name = node.name
        elif node.op == "sdpa":
            node.outs[0].name, node.outs[1].name = node.name, fresh(node.name + ".lse")
        else:
            for i, t in enumerate(node.outs):
                t.name = fresh(f"{node.name}.{i}")
    for t in leaves:
        if t.kind == "const":
            own = buffer_names.get(id(t.value))
            t.name = fresh(own or f"{t.path}.const".lstrip("."))
