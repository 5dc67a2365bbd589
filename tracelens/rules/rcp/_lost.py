"""A caller that a graph break gave up, where the log does not say who called whom."""

from __future__ import annotations

from tracelens.evidence import Table
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.remedies import Remedy
from tracelens.rules.rcp._changes import Group

__all__ = ["MEND_BREAK", "caller_of"]

MEND_BREAK = Remedy(
    "mend-break",
    lambda data: (
        f"If `{data.lost}` calls it, mend the graph break that makes `{data.lost}` run eagerly "
        "first: its calls are then compiled within it, once."
    ),
    when="a graph break gave up a function of the same file before",
    applies=lambda data: bool(data.lost),
    basis="tested",
    proof="tests/advice/RCP014/mend-break.py",
)


def caller_of(group: Group, breaks: Table[GraphBreak]) -> str:
    """Return the function of the same file that was given up before this one was compiled.

    Dynamo numbers functions as it first compiles them: what it compiles because its caller runs
    eagerly has a higher number.
    """
    frame = group.history.frame
    number, function = breaks.derived(_first_lost).get(group.history.file, (0, ""))
    return function if frame.isdecimal() and number < int(frame) else ""


def _first_lost(breaks: Table[GraphBreak]) -> dict[str, tuple[int, str]]:
    """Return the first function of each file that was given up, and its number."""
    found: dict[str, tuple[int, str]] = {}
    for place, seen in breaks.events():
        number = place.frame.partition("/")[0]
        if not seen.record.skips_frame or not number.isdecimal():
            continue
        for cause in seen.record.causes:
            lost = cause.context
            if lost is not None and lost.function:
                known = found.setdefault(lost.file, (int(number), lost.function))
                if int(number) < known[0]:
                    found[lost.file] = int(number), lost.function
    return found
