"""A caller that a graph break gave up, where the log does not say who called whom."""

from __future__ import annotations

from tracelens.dynamo.breaks import sites
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
    history = group.history
    for site in sites(breaks):
        for place, seen in site.events:
            number = place.frame.partition("/")[0]
            if not seen.record.skips_frame or not _is_before(number, history.frame):
                continue
            for cause in seen.record.causes:
                lost = cause.context
                if lost is not None and lost.function and lost.file == history.file:
                    return lost.function
    return ""


def _is_before(number: str, frame: str) -> bool:
    return number.isdecimal() and frame.isdecimal() and int(number) < int(frame)
