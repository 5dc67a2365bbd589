"""What is known of a line that reads a number out of a tensor, and of what comes behind it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tracelens.rules.gbr._break_data import BreakData
from tracelens.rules.gbr._values import counts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tracelens.dynamo.breaks import BreakSite

__all__ = ["ScalarData", "becomes_size", "scalar_data", "used_by"]

#: A part of what an object keeps that is handed on: ``block(x, self.k[i])``.
_PART = re.compile(r"[(,] {0,4}(self\.\w{1,60}\[\w{1,60}\])(?=[,)])")


class ScalarData(BreakData):
    """A line that reads a number."""

    #: The setting that captures it reaches other code, too, which fails with a symbol.
    shared: bool = False
    #: It bounds a slice of what attention is computed of, which fails in Inductor with a symbol.
    bounds: bool = False
    #: A part of a larger tensor that a line on the way hands on: ``self.k[i]``.
    part: str = ""
    #: The loop over a range for which what comes behind the line is given up.
    goes_round: str = ""
    #: A later line that makes the size of a tensor of it.
    sized: str = ""
    #: A later line with a slice that begins or ends at it.
    cut: str = ""
    #: What comes behind the line loops over the list of numbers that it leaves.
    listed: bool = False
    #: Python decides by numbers of that list, as in `max(lengths)`.
    steers: bool = False
    #: A later line of the same function that computes with it, or decides by it.
    used: str = ""


def becomes_size(data: BreakData) -> bool:
    """Whether the number is a size further on: a later line says so, or that it counts something.

    No tensor can take its place there, and the graph breaks where one does.
    """
    return bool(isinstance(data, ScalarData) and data.sized) or counts(data.code)


def used_by(data: BreakData) -> str:
    """Return a later line of the function that needs the number; empty where none is known."""
    return data.used if isinstance(data, ScalarData) else ""


def scalar_data(data: BreakData, site: BreakSite) -> BreakData:
    """Return the data with what is known beyond it, if anything is."""
    known = site.shared or site.bounds or site.rest or site.sized or site.listed or site.steers
    if not (known or site.used or site.cut):
        return data
    return ScalarData(
        **data.model_dump(),
        shared=site.shared,
        bounds=site.bounds,
        part=_part_of(frame.code for frame in site.stack[:-1]) if site.bounds else "",
        goes_round=site.rest,
        sized=site.sized,
        cut=site.cut,
        listed=site.listed,
        steers=site.steers,
        used=site.used,
    )


def _part_of(lines: Iterable[str]) -> str:
    found = (_PART.search(line) for line in lines)
    return next((one[1] for one in found if one), "")
