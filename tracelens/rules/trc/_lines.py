"""Which function of the program most of a trace is in, where stacks were recorded."""

from __future__ import annotations

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import PythonFunction
from tracelens.traces.own_frames import mine
from tracelens.words import percent, plural

__all__ = ["busiest", "told"]

#: Share of the trace that a function has at least, and at most: else it is the program itself.
MIN_SHARE = 0.4
MAX_SHARE = 0.95


def busiest(called: Table[PythonFunction], source: str, ms: float) -> Seen[PythonFunction] | None:
    """Return the innermost function that has much of the trace, ``ms`` milliseconds.

    The time of a function holds that of what it calls: the innermost has the least.
    """
    rows = [
        row
        for row in called.within(source)
        if MIN_SHARE * ms <= row.ms <= MAX_SHARE * ms
        and not row.record.function.startswith("<")
        and mine([str(row.record)])
    ]
    return min(rows, key=lambda row: row.ms, default=None)


def told(row: Seen[PythonFunction] | None, ms: float) -> str:
    """Say where it is, as part of a sentence; nothing where it is not known."""
    if row is None:
        return ""
    place = f"{row.record.file}, line {row.record.line}"
    calls = plural(row.count, "call")
    return f"{percent(row.ms / ms)} of the trace is in `{row.record.function}`, {place}, in {calls}"
