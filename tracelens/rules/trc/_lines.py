"""Which function of the program most of a trace is in, or launches, where stacks were recorded."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import DataLoading, PythonFunction
from tracelens.report import Where
from tracelens.traces.own_frames import mine
from tracelens.traces.sites import LaunchedAt
from tracelens.traces.views import where_of
from tracelens.words import percent, plural

__all__ = ["MAX_SHARE", "Line", "busiest", "holding", "in_loading", "launching", "told"]

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


#: Share of some kernels that one line launches at least, to be their place; lines that are named
#: where none has as much, and the least share of one.
PLACE = 0.5
MOST_LINES = 3
MIN_LINE = 0.15


class Line(NamedTuple):
    """Where kernels are launched: as a sentence that can follow others, or empty; and the place."""

    told: str = ""
    where: Where | None = None


def launching(
    rows: Iterable[LaunchedAt], ms: float, mine: Callable[[LaunchedAt], bool] = lambda _: True
) -> Line:
    """Return which lines launch the kernels that are meant, which take ``ms`` milliseconds."""
    sums: defaultdict[tuple[str, bool], float] = defaultdict(float)
    for row in rows:
        if row.frame and mine(row):
            sums[row.frame, row.backward] += row.device_ms
    order = sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))
    order = [pair for pair in order if ms > 0 and pair[1] >= MIN_LINE * ms]
    if not order:
        return Line()
    main = order[0][0][0], sum(us for (frame, _), us in sums.items() if frame == order[0][0][0])
    named = order[: 1 if main[1] >= PLACE * ms else MOST_LINES]
    parts = [_launched(frame, us / ms, backward=back) for (frame, back), us in named]
    where = where_of(main[0]) if main[1] >= PLACE * ms else None
    return Line(f" Launched {', '.join(parts)}.", where)


def _launched(frame: str, share: float, *, backward: bool) -> str:
    place = where_of(frame)
    name = f"`{frame}`" if place is None else f"`{place.function}`, {place.file}, line {place.line}"
    of = "for the gradients of" if backward else "in"
    return f"{of} {name}: {percent(min(1.0, share))}"
