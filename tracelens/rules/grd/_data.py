"""What findings about guards hold for programs."""

from __future__ import annotations

from tracelens.frames.guard_entries import GuardedEntry
from tracelens.report import Finding, FindingData
from tracelens.report.stories import Story

__all__ = ["GuardData", "guard_data", "slow_guards"]


#: Guards that plain attributes of a module would not have.
_OF_VALUES = frozenset(
    {
        "CONSTANT_MATCH",
        "DICT_CONTAINS",
        "DICT_LENGTH",
        "DICT_VERSION",
        "EQUALS_MATCH",
        "LENGTH_CHECK",
        "SEQUENCE_LENGTH",
    }
)


class GuardData(FindingData):
    """A compiled function with many guards, or slow ones."""

    function: str | None
    file: str | None
    line: int | None
    #: Guards of the entry, and microseconds of one check where torch measured it, and believably.
    guards: int
    us: float | None = None
    #: Conditions that Python evaluates, where those are what the finding is about.
    conditions: int = 0
    #: Guards on values and on containers, which configurations bring; None without the guards.
    values: int | None = None
    #: Whether most are on modules and what they hold.
    modules: bool = False
    #: Compiled functions of the run whose guards the log has.
    functions: int = 1


def guard_data(entry: GuardedEntry, conditions: int = 0) -> GuardData:
    """Return what the findings about ``entry`` hold."""
    return GuardData(
        function=entry.function,
        file=entry.file,
        line=entry.line,
        guards=entry.checks,
        us=entry.plausible_us,
        conditions=conditions,
        values=_values(entry),
        modules=_on_modules(entry),
    )


def slow_guards(finding: Finding) -> Story:
    """The time that the guards of a function take, for which there are so many."""
    data = finding.data
    return "slow guards", data.get("file"), data.get("line"), data.get("function")


def _on_modules(entry: GuardedEntry) -> bool:
    if entry.tree is None:
        return False
    held = sum("._modules" in at or at.startswith("L['self']") for at, _ in entry.tree.checks())
    return held > entry.checks / 2


def _values(entry: GuardedEntry) -> int | None:
    if entry.tree is None:
        return None
    return sum(guard.kind in _OF_VALUES for guard in entry.tree.guards if not guard.is_manager)
