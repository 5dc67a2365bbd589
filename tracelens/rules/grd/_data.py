"""What findings about guards hold for programs."""

from __future__ import annotations

from tracelens.frames.guard_entries import GuardedEntry
from tracelens.report import FindingData

__all__ = ["GuardData", "guard_data"]


class GuardData(FindingData):
    """A compiled function with many guards, or slow ones."""

    function: str | None
    file: str | None
    line: int | None
    #: Guards of the entry, and microseconds of one check where torch measured it.
    guards: int
    us: float | None = None
    #: Conditions that Python evaluates, where those are what the finding is about.
    conditions: int = 0


def guard_data(entry: GuardedEntry, conditions: int = 0) -> GuardData:
    """Return what the findings about ``entry`` hold."""
    return GuardData(
        function=entry.function,
        file=entry.file,
        line=entry.line,
        guards=entry.checks,
        us=entry.us,
        conditions=conditions,
    )
