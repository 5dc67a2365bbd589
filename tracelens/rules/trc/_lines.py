"""Which function of the program most of a trace is in, where stacks were recorded."""

from __future__ import annotations

import math

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import DataLoading, PythonFunction
from tracelens.traces.own_frames import mine
from tracelens.words import percent, plural

__all__ = ["MAX_SHARE", "busiest", "holding", "in_loading", "told"]

#: Share of the trace that a function has at least; beyond the second it is the program itself.
MIN_SHARE = 0.4
MAX_SHARE = 0.95


def busiest(
    called: Table[PythonFunction], source: str, ms: float, *, most: float = math.inf
) -> Seen[PythonFunction] | None:
    """Return the innermost function that has much of the trace, ``ms`` milliseconds.

    The time of a function holds that of what it calls: the innermost has the least.
    It has at most the share ``most``.
    """
    rows = [
        row
        for row in called.within(source)
        if MIN_SHARE * ms <= row.ms <= most * ms
        and not row.record.function.startswith("<")
        and mine([str(row.record)])
    ]
    return min(rows, key=lambda row: row.ms, default=None)


def holding(
    called: Table[PythonFunction], source: str, whole: float, ms: float
) -> Seen[PythonFunction] | None:
    """Return the innermost function in which at least half of ``ms`` is, whatever else it does."""
    row = busiest(called, source, whole)
    return row if row is not None and row.ms - (whole - ms) >= ms / 2 else None


#: Functions that make samples.
_MAKING = frozenset({"__getitem__", "__getitems__"})


def in_loading(
    loads: Table[DataLoading],
    frames: Table[PythonFunction],
    source: str,
    whole: float,
    ms: float,
) -> bool:
    """Tell whether at least half of ``ms``, of the trace ``whole``, is where samples are made.

    What a ``DataLoader`` without workers takes is the data set's; so is what ``__getitem__`` takes.
    """
    rows = loads.within(source)
    alone = sum(row.ms for row in rows if "SingleProcess" in row.record.iterator)
    made = max(
        (row.ms for row in frames.within(source) if row.record.function in _MAKING), default=0.0
    )
    return alone > 0 and max(alone, made) - (whole - ms) >= ms / 2


def told(row: Seen[PythonFunction] | None, ms: float) -> str:
    """Say where it is, as part of a sentence; nothing where it is not known."""
    if row is None:
        return ""
    place = f"{row.record.file}, line {row.record.line}"
    calls = plural(row.count, "call")
    share = percent(min(1.0, row.ms / ms))
    return f"{share} of the trace is in `{row.record.function}`, {place}, in {calls}"
