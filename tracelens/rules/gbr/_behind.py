"""Functions that are compiled by themselves since the graph breaks on the way through them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tracelens.dynamo import user_code
from tracelens.logs.recompiles import GlobalState, Recompile
from tracelens.report.stories import RESUMED
from tracelens.rules.gbr._break_data import Line

if TYPE_CHECKING:
    from tracelens.dynamo.breaks import BreakSite
    from tracelens.evidence import Table
    from tracelens.frames import Frame

__all__ = ["Codes", "begun_in", "behind_of", "codes_of"]


class Codes(NamedTuple):
    """The functions that are compiled, by process and number."""

    lines: dict[tuple[str, str, str], Line]
    #: How many entries of each there are, without those for a state of torch alone: training, and
    #: then inference.
    entries: Counter[tuple[str, str, str]]
    #: How many of the functions each process compiled.
    pieces: Counter[tuple[str, str]]


def codes_of(frames: Table[Frame]) -> Codes:
    """Return the functions that are compiled, each with the number of its entries."""
    codes = Codes({}, Counter(), Counter())
    for row in frames:
        number = (*row.first.process, row.record.id.partition("/")[0])
        codes.entries[number] += not (codes.entries[number] and _is_of_mode(row.record))
        if row.record.file and row.record.line and row.record.function:
            codes.lines[number] = Line(
                file=row.record.file, line=row.record.line, function=row.record.function
            )
    codes.pieces.update(number[:2] for number in codes.lines)
    return codes


def _is_of_mode(frame: Frame) -> bool:
    failures = [one for row in frame.of(Recompile) for one in row.record.failures]
    return bool(failures) and all(isinstance(one.check, GlobalState) for one in failures)


def behind_of(site: BreakSite, codes: Codes) -> tuple[Line, ...]:
    """Return the functions on the way to a line that break there again, compiled by themselves.

    The first that broke there called them: they would be part of its graph. They are of the package
    that the line is in, or of the program, where the first was compiled once: what they differ by
    from call to call is then in one call of it. What resumes behind a break is cut out of a
    function by another rule.
    """
    numbers = list(
        dict.fromkeys((*place.process, place.frame.partition("/")[0]) for place, _ in site.events)
    )
    first = {number[:2]: number for number in reversed(numbers)}.values()
    package = user_code.package(site.line.file)
    found = (codes.lines.get(number) for number in numbers if number not in first)
    inner = [one for one in found if one is not None and not one.function.startswith(RESUMED)]
    if not package and any(codes.entries[number] > 1 for number in first):
        return ()
    return tuple(
        one
        for one in inner
        if user_code.package(one.file) == package and user_code.distance(one.file) == 0
    )


def begun_in(site: BreakSite, codes: Codes) -> str:
    """Return the package whose function is compiled, where the log names it; else nothing.

    The lines of a program that lead to it are then outside of what is compiled.
    """
    for place, _ in site.events[:1]:
        line = codes.lines.get((*place.process, place.frame.partition("/")[0]))
        if line is not None and not line.function.startswith(RESUMED):
            return user_code.package(line.file)
    return ""
