"""Functions that are compiled by themselves since the graph breaks on the way through them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.report.stories import RESUMED
from tracelens.rules.gbr._break_data import Line

if TYPE_CHECKING:
    from tracelens.dynamo.breaks import BreakSite
    from tracelens.evidence import Table
    from tracelens.frames import Frame

__all__ = ["behind_of", "codes_of"]


def codes_of(frames: Table[Frame]) -> dict[tuple[str, str, str], Line]:
    """Return the functions that are compiled again, by process and number."""
    return {
        (*row.first.process, row.record.id.partition("/")[0]): Line(
            file=row.record.file, line=row.record.line, function=row.record.function
        )
        for row in frames
        if row.record.file and row.record.line and row.record.function
    }


def behind_of(site: BreakSite, codes: dict[tuple[str, str, str], Line]) -> tuple[Line, ...]:
    """Return the functions of a package on the way to a line in it that break there again.

    The first that broke there called them: they would be part of its graph. What resumes behind a
    break is cut out of a function by another rule.
    """
    numbers = list(
        dict.fromkeys((*place.process, place.frame.partition("/")[0]) for place, _ in site.events)
    )
    first = {number[:2]: number for number in reversed(numbers)}.values()
    package = user_code.package(site.line.file)
    found = (codes.get(number) for number in numbers if number not in first)
    return tuple(
        one
        for one in found
        if one is not None
        and package
        and user_code.package(one.file) == package
        and not one.function.startswith(RESUMED)
    )
