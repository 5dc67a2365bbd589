"""Callers that a graph break gave up, where the log does not say who called whom."""

from __future__ import annotations

from collections import defaultdict

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.remedies import Remedy
from tracelens.rules.rcp._changes import Group
from tracelens.rules.rcp._data import LostCaller

__all__ = ["MEND_BREAK", "callers_of"]

#: Functions that may be the caller, of those that are named.
MAX_NAMED = 2


def _advised(callers: tuple[LostCaller, ...]) -> str:
    """Name the functions, and where to mend what makes each of them run eagerly."""
    names = " or ".join(f"`{one.function}`" for one in callers)
    places = " or ".join(
        dict.fromkeys(
            f"at {user_code.short(one.file, one.line)}" if one.file else "in it" for one in callers
        )
    )
    it = "it runs" if len(callers) > 1 else f"{names} runs"
    return (
        f"If {names} calls it, mend the graph break {places} first, for which {it} eagerly: "
        "calls from there are then compiled within it, once."
    )


MEND_BREAK = Remedy(
    "mend-break",
    lambda data: _advised(data.callers),
    when="a graph break gave up a function of the same file before, which is no package's",
    applies=lambda data: bool(data.callers) and not (data.package or data.is_of_library),
    basis="tested",
    proof="tests/advice/RCP014/mend-break.py",
)


def callers_of(group: Group, breaks: Table[GraphBreak]) -> tuple[LostCaller, ...]:
    """Return functions of the same file that were given up before this one was compiled.

    Dynamo numbers functions as it first compiles them: what it compiles because its caller runs
    eagerly has a higher number. The last that was given up before is the nearest: it comes first.
    """
    frame = group.history.frame
    if not frame.isdecimal():
        return ()
    given_up = breaks.derived(_given_up).get(group.history.file, {})
    before = sorted((number for number in given_up if number < int(frame)), reverse=True)
    return tuple(dict.fromkeys(given_up[number] for number in before))[:MAX_NAMED]


def _given_up(breaks: Table[GraphBreak]) -> dict[str, dict[int, LostCaller]]:
    """Return the functions of each file that were given up, by their numbers."""
    found: defaultdict[str, dict[int, LostCaller]] = defaultdict(dict)
    for place, seen in breaks.events():
        number = place.frame.partition("/")[0]
        if not seen.record.skips_frame or not number.isdecimal():
            continue
        line = user_code.best(seen.record.stack)
        file, at = (line.file, line.line) if line else (seen.record.file, seen.record.line)
        for lost in (seen.record.skipped, *(cause.context for cause in seen.record.causes)):
            if lost is not None and lost.function:
                known = LostCaller(function=lost.function, file=file, line=at)
                found[lost.file].setdefault(int(number), known)
    return found
