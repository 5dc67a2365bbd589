"""When a comparison fails: on new and worse findings, and on counters beyond a limit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from tracelens.cli._terminal import say
from tracelens.errors import UsageError, closest
from tracelens.report import Severity
from tracelens.report.compare import Comparison, Counter

__all__ = ["Limit", "exceeded", "limits"]

_LIMIT = re.compile(r"([a-z0-9_]+)=(\+)?(\d+(?:\.\d+)?)(%)?")


#: Counters that are none of these are misspelt, or of some finer table.
KNOWN = {
    "frames", "entries", "recompiles", "graph_breaks", "compile_s", "guards", "kernels",
    "fallbacks", "onednn_ms", "reference_share", "device_ms", "idle_ms", "step_ms", "throughput",
}  # fmt: skip


class Limit(NamedTuple):
    """The most that a counter may be, or may grow by."""

    name: str
    amount: float
    #: Whether it is what the counter may grow by, and that in percent.
    grows: bool
    percent: bool
    text: str

    def allows(self, before: float | None, after: float) -> bool:
        """Tell whether the value is within the limit."""
        if not self.grows:
            return after <= self.amount
        if before is None:
            return False
        most = before * (1 + self.amount / 100) if self.percent else before + self.amount
        return after <= most


def limits(values: Sequence[str]) -> list[Limit]:
    """Return what ``--at-most NAME=LIMIT`` says.

    Raises:
        UsageError: A value says nothing of the kind.
    """
    out = []
    for value in values:
        match = _LIMIT.fullmatch(value)
        if match is None or (match[4] and not match[2]):
            hint = "--at-most compile_s=+10%, graph_breaks=+0 or kernels=40"
            raise UsageError(f"--at-most {value}: not a counter and its limit", hint=hint)
        out.append(Limit(match[1], float(match[3]), bool(match[2]), bool(match[4]), value))
    return out


def exceeded(comparison: Comparison, bar: str, found: Sequence[Limit]) -> bool:
    """Tell whether the comparison fails, and say on standard error which limit was passed.

    Raises:
        UsageError: No counter of the comparison has this name.
    """
    over = [not _within(comparison, limit) for limit in found]
    return any(over) or _above(comparison, bar)


def _above(comparison: Comparison, bar: str) -> bool:
    if bar == "never":
        return False
    found = comparison.findings
    worst = (entry.after for entry in (*found.new, *found.worse))
    return any(one is not None and one.severity.rank <= Severity(bar).rank for one in worst)


def _within(comparison: Comparison, limit: Limit) -> bool:
    totals: dict[str, Counter] = {one.name: one for one in comparison.counters if one.of is None}
    if limit.name not in totals:
        known = sorted(totals)
        held = f"they hold {', '.join(known)}" if known else "they hold none"
        hint = held if limit.name in KNOWN else closest(limit.name, known, held)
        raise UsageError(f"--at-most {limit.text}: no such counter in the inputs", hint=hint)
    one = totals[limit.name]
    if one.after is None or (limit.grows and one.before is None):
        side = "before" if one.before is None else "after"
        say(f"--at-most {limit.text}: {limit.name} was not recorded {side}")
        return False
    if limit.allows(one.before, one.after):
        return True
    say(f"--at-most {limit.text}: {limit.name} {one.before:g} -> {one.after:g}")
    return False
