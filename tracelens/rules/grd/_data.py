"""What findings about guards hold for programs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tracelens.frames.guard_entries import GuardedEntry
from tracelens.report import Finding, FindingData
from tracelens.report.stories import Story

if TYPE_CHECKING:
    from tracelens.evidence import Table
    from tracelens.logs.recompiles import Recompile

__all__ = ["GuardData", "guard_data", "modules_changed", "slow_guards"]

#: A guard on a module, or on what it holds.
_ON_MODULE = re.compile(r"\bself\b|\bG\[|_modules\b|_hooks\b|\btraining\b")

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
    #: Whether such a guard failed in the run: to leave them out changes results.
    changed: bool = False
    #: Compiled functions of the run whose guards the log has.
    functions: int = 1
    #: Whether graph breaks make functions of what is compiled as a whole.
    broken: bool = False


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


def modules_changed(recompiles: Table[Recompile]) -> bool:
    """Tell whether something was compiled again because of a module, or of what one holds."""
    failures = (failure for row in recompiles for failure in row.record.failures)
    return any(_ON_MODULE.search(str(failure.check)) for failure in failures)


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
