"""What a graph break costs in compile time: what follows it is compiled as a function of its own.

That is a bound: without the break the same code is compiled as a part of the function before it.
What it costs in each step, less to fuse and Python in between, no log of the compiler tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracelens.frames import Frame
from tracelens.logs.recompiles import GlobalState, Recompile
from tracelens.report import Cost

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tracelens.dynamo.breaks import BreakSite
    from tracelens.evidence import Place, Table

__all__ = ["cost_of_break", "cost_of_breaks", "cost_of_calls", "cost_of_later"]


def cost_of_break(site: BreakSite, frames: Table[Frame]) -> Cost | None:
    """Return what the functions that resume after ``site`` took to compile; None if none is known.

    Dynamo names such a function after the one that it is cut out of, and the line of the break.
    """
    return _cost(_resumed([site], frames), "compiling what comes after the break")


def cost_of_breaks(sites: Iterable[BreakSite], frames: Table[Frame]) -> Cost | None:
    """Return the same of several breaks; what resumes after two of them counts once."""
    return _cost(_resumed(sites, frames), "compiling what comes after the breaks")


def cost_of_calls(functions: Iterable[tuple[str, str]], frames: Table[Frame]) -> Cost | None:
    """Return what functions took that are compiled one by one, each given by file and name."""
    found = _of(functions, frames)
    return _cost(found, "compiling the functions that it calls one by one")


def cost_of_later(file: str, places: Iterable[Place], frames: Table[Frame]) -> Cost | None:
    """Return what functions of a file took to compile again that came after one was given up.

    They are numbered as they are first compiled: what it calls has a higher number than itself.
    Their first entries are no loss: the code is compiled with the caller, where that is compiled.
    """
    firsts: dict[tuple[str, str], int] = {}
    for place in places:
        number = place.frame.partition("/")[0]
        if number.isdecimal():
            at = firsts.get(place.process, int(number))
            firsts[place.process] = min(at, int(number))
    found = [
        row.record
        for row in frames.by(_file).get(file, ())
        if (first := firsts.get(row.first.process)) is not None
        and row.record.id.partition("/")[0].isdecimal()
        and int(row.record.id.partition("/")[0]) > first
        and row.record.id.partition("/")[2] != "0"
        and not _is_of_a_mode(row.record)
    ]
    return _cost(found, "recompiles in its file, of what came after it")


def _file(frame: Frame) -> str | None:
    return frame.file


def _resumed(sites: Iterable[BreakSite], frames: Table[Frame]) -> list[Frame]:
    names = {
        (frame.file, f"torch_dynamo_resume_in_{frame.function.rpartition('.')[2]}_at_{frame.line}")
        for site in sites
        for frame in (*site.stack, site.line)
        if frame.function
    }
    return _of(names, frames)


def _of(functions: Iterable[tuple[str, str]], frames: Table[Frame]) -> list[Frame]:
    """Return the frames of some functions, in the order of the table."""
    index = frames.by(_function)
    wanted = sorted(index.keys() & set(functions), key=str)
    rows = [row for one in wanted for row in index[one] if not _is_of_a_mode(row.record)]
    return [row.record for row in sorted(rows, key=lambda row: (row.first.input, row.first.line))]


def _is_of_a_mode(frame: Frame) -> bool:
    """Whether it was compiled once more for another global mode, as it is without a break."""
    records = (one.seen.record for one in frame.sightings)
    again = (record.newest for record in records if isinstance(record, Recompile))
    return any(one is not None and isinstance(one.check, GlobalState) for one in again)


def _function(frame: Frame) -> tuple[str | None, str | None]:
    return frame.file, frame.function


def _cost(found: list[Frame], what: str) -> Cost | None:
    seconds = [frame.compile_seconds or 0.0 for frame in found]
    if not sum(seconds):
        return None
    entries = "1 entry" if len(found) == 1 else f"{len(found)} entries"
    return Cost(
        ms=sum(seconds) * 1000,
        basis="upper_bound",
        of=f"{what}, {entries}",
    )
