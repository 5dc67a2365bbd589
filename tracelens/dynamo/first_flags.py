"""Graph breaks under a flag of a module that holds in the first call, and not later."""

from __future__ import annotations

import re
from itertools import count
from typing import NamedTuple

from tracelens.dynamo.breaks import BreakSite
from tracelens.dynamo.setup_breaks import RESUMED, is_unset
from tracelens.evidence import Place, Table
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import GuardFailure, Recompile, Source, ValueCheck

__all__ = ["look_at_flags"]


class _Flip(NamedTuple):
    """A compilation of a function that another value of a flag made."""

    place: Place
    record: Recompile
    failure: GuardFailure
    check: ValueCheck

    @property
    def code(self) -> str:
        return self.place.frame.partition("/")[0]

    @property
    def entry(self) -> int:
        """The number of the new entry."""
        number = self.place.frame.rpartition("/")[2].partition("_")[0]
        return int(number) if number.isdecimal() else -1


def look_at_flags(
    found: list[BreakSite], recompiles: Table[Recompile], trees: Table[GuardTree]
) -> None:
    """Note of each line under which value of a flag alone it breaks, and whether that passes.

    Where an entry was compiled for a flag and breaks, and the next was compiled as the flag had
    changed, and neither it nor any later one breaks there, the line belongs to the flag. Its first
    value passes if it is none yet, or if the guards show the line that unsets it.
    """
    flips = recompiles.derived(_flips) if found else {}
    for site in found if flips else ():
        codes = {_code(place) for place, _ in site.events}
        near = sorted(one for code in codes for one in flips.get(code, ()))
        flip = next((one for _, one in near if _ends(one, site)), None)
        if flip is not None:
            site.only_if = str(flip.check)
            site.passes = is_unset(flip.check) or _is_taken_back(flip.check.source, trees)


def _flips(recompiles: Table[Recompile]) -> dict[tuple[str, str, str], list[tuple[int, _Flip]]]:
    """Return them, numbered in the order of the input, by the function that was compiled."""
    found: dict[tuple[str, str, str], list[tuple[int, _Flip]]] = {}
    numbers = count()
    for place, seen in recompiles.events():
        for failure in seen.record.failures:
            if isinstance(check := failure.check, ValueCheck) and _is_flag(check):
                flip = _Flip(place, seen.record, failure, check)
                found.setdefault(_code(place), []).append((next(numbers), flip))
    return found


def _code(place: Place) -> tuple[str, str, str]:
    return place.input, place.writer, place.frame.partition("/")[0]


def _is_flag(check: ValueCheck) -> bool:
    """Whether a module's own flag was compared; what it trains by changes with the mode."""
    source = check.source
    return (
        check.constant is not None
        and source.name == "self"
        and re.fullmatch(r"\.\w{1,80}", source.path) is not None
        and source.path != ".training"
    )


def _ends(flip: _Flip, site: BreakSite) -> bool:
    """Whether the line breaks in entries of that value, and in none of the new one, or later."""
    told = all(cause.explanation for _, seen in site.events for cause in seen.record.causes[:1])
    same = all(
        (place.input, place.writer) == (flip.place.input, flip.place.writer)
        and place.line < flip.place.line
        for place, _ in site.events
    )
    broken = {
        place.frame.rpartition("/")[2].partition("_")[0]
        for place, _ in site.events
        if place.frame.partition("/")[0] == flip.code
    }
    return (
        told
        and same
        and str(flip.failure.number) in broken
        and all(int(entry) < flip.entry for entry in broken if entry.isdecimal())
        and any(
            frame.file == flip.record.file
            and frame.function.removeprefix(RESUMED).partition("_at_")[0] == flip.record.function
            for frame in site.stack
        )
    )


def _is_taken_back(source: Source, trees: Table[GuardTree]) -> bool:
    """Whether a line that was traced sets the flag to False: ``self.init_required = False``."""
    assigned = re.compile(rf"self{re.escape(source.path)} *= *False\b")
    return any(
        guard.comment is not None and assigned.match(guard.comment.code)
        for row in trees
        for guard in row.record.guards
    )
