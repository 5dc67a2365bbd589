"""Whose pauses they are, in which a program on the CPU calls no operator."""

from __future__ import annotations

import re

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import PythonFunction
from tracelens.rules.trc._holding import GARBAGE
from tracelens.traces.host_kinds import REMOTE, host_kind
from tracelens.traces.rows import BetweenOperators

__all__ = ["called_away", "called_in", "is_stray", "named"]

#: How much more a function may take that is called before the first operator, too.
BEFORE = 1.3
#: Calls for each pause from which on it is not the function that takes long.
OFTEN = 10
#: Part of what a function takes that is most of it.
MOST = 0.5
_COMPREHENSION = re.compile(r"<(?:\w+comp|genexpr|lambda)>$")


def called_in(
    name: str, ms: float, frames: Table[PythonFunction], source: str
) -> Seen[PythonFunction] | None:
    """Return the function that a comprehension calls: its own name says nothing."""
    if not _COMPREHENSION.search(name):
        return None
    file = name.rpartition("(")[0]
    rows = [
        row
        for row in frames.within(source)
        if row.record.file == file
        and MOST * ms <= row.ms <= BEFORE * ms
        and not row.record.function.startswith("<")
    ]
    return min(rows, key=lambda row: row.ms, default=None)


def is_stray(row: BetweenOperators, calls: dict[str, int], took: dict[str, float]) -> bool:
    """Tell whether a function pauses in few of its calls: the machine did something else then.

    A comprehension has nothing before its loop: what it does, it does for each of its elements.
    """
    if row.called == GARBAGE:
        return False
    name = named(row)
    loops = _COMPREHENSION.search(name) is not None
    once = loops and row.count <= calls.get(name, 0) and row.ms < MOST * took.get(name, 0.0)
    return once or OFTEN * row.count < calls.get(row.frame, 0)


def named(row: BetweenOperators) -> str:
    return row.user_frame or row.frame or row.operator


def called_away(row: BetweenOperators) -> str:
    """Return the call of another process that a pause is in; empty for none."""
    return row.operator if host_kind(row.operator) == REMOTE else ""
