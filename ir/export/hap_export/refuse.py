"""What of a module a hap.graph cannot say: all of it at once, with where, how often and what to do."""

from __future__ import annotations

from .graph import ExportError

_ADVICE = {  # by op, where a rule gives no advice of its own
    "sort": "a choice of experts is topk, or top_gates of hap_export",
    "nonzero": "the result's shape depends on the data: use torch.where with a mask",
    "masked_select": "the result's shape depends on the data: use torch.where with a mask",
    "fft_fft": "not planned: complex numbers",
}
_GENERAL = "write it with ops of docs/coverage.md, or compute it before and give it as an input"


class Refusals:
    """Collected by the trace; check() raises them together."""

    def __init__(self):
        self.found: dict[str, list] = {}  # what -> [advice, count, first line, first module]

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(self, what: str, advice: str, line: str, path: str, op: str = "") -> None:
        packet = op.split(".")[1] if op.startswith("aten.") else op
        entry = self.found.setdefault(what, [advice or _ADVICE.get(packet.strip("_"), _GENERAL), 0, line, path])
        entry[1] += 1

    def check(self) -> None:
        if not self.found:
            return
        lines = ["not supported:"]
        for what, (advice, count, line, path) in self.found.items():
            where = ", ".join(x for x in (line, f"in {path}" if path else "") if x)
            times = f"{count} times, first " if count > 1 else ""
            lines.append(f"  {what}" + (f" ({times}{where})" if times or where else ""))
            lines.append(f"    {advice}")
        raise ExportError("\n".join(lines))
