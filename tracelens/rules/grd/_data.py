"""What findings about guards hold for programs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tracelens.frames.guard_entries import GuardedEntry
from tracelens.report import Finding, FindingData
from tracelens.report.stories import Story

if TYPE_CHECKING:
    from tracelens.evidence import Seen, Table
    from tracelens.frames import Frame
    from tracelens.logs.recompiles import Recompile

__all__ = [
    "MIN_US",
    "GuardData",
    "calls_of",
    "guard_data",
    "is_lost_in",
    "modules_changed",
    "slow_guards",
]

#: One check of all guards of an entry, microseconds, from which on it is a part of small steps.
MIN_US = 800.0
#: Share of a call below which it is nothing, where the log tells what a call takes at least.
MIN_SHARE = 0.02
#: What a call of an entry runs, as traces and oneDNN's lines have it.
_RUNS = frozenset({"CompiledRegion", "PrimitiveExec"})
#: Files of torch, as comments of guards name them.
_OF_TORCH = re.compile(r"(?:^|/)(?:torch|_dynamo|nn/modules)/")

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
    #: The same of those that lines of the program's own read.
    own_values: int | None = None
    #: Whether it is the first entry of its function: no size had changed when it was compiled.
    is_first: bool = False
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
        own_values=_own_values(entry),
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


def _own_values(entry: GuardedEntry) -> int | None:
    """Count guards on values that lines of the program's own read; torch's layers have others."""
    if entry.tree is None:
        return None
    return sum(
        guard.kind in _OF_VALUES
        and guard.comment is not None
        and not _OF_TORCH.search(guard.comment.file or "")
        for guard in entry.tree.guards
        if not guard.is_manager
    )


def calls_of(frames: Table[Frame]) -> dict[tuple[str, str, str], float]:
    """Return what a call of each entry takes at least, in microseconds, by process and entry."""
    return {(*row.first.process, row.record.id): _call_us(row.record) for row in frames}


def is_lost_in(
    us: float, one: Seen[GuardedEntry], calls: Mapping[tuple[str, str, str], float]
) -> bool:
    """Whether a call of the entry is known to take so long that its guards are nothing."""
    writer, process = one.first.process
    return us < MIN_SHARE * calls.get((writer, process, one.record.id), 0.0)


def _call_us(frame: Frame) -> float:
    """Return what a call of an entry takes at least, in microseconds; 0 where nothing tells.

    By a trace it is the region of the call; else each of oneDNN's primitives runs once or more.
    """
    ran = [seen for _, seen in frame.sightings if type(seen.record).__name__ in _RUNS and seen.ms]
    each: defaultdict[str, float] = defaultdict(float)
    for seen in ran:
        each[type(seen.record).__name__] += seen.ms / seen.count
    return 1000 * max(each.values(), default=0.0)
