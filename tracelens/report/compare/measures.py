"""What is counted of one report: a number with its name, its unit and which way is better."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tracelens.report.compare.model import Spread, State
from tracelens.report.model import Report

__all__ = ["MAX_ROWS", "NOISE", "Measure", "close", "judged", "named", "rows", "summed", "watched"]

#: Relative change below which two times of different runs count as the same.
NOISE = 0.1
#: Rows at which the tables of a report are cut.
MAX_ROWS = 200

Row = dict[str, Any]


@dataclass(frozen=True)
class Measure:
    """One number of one report; None where nobody looked."""

    name: str
    value: float | None
    of: str | None = None
    unit: Literal["", "ms", "s", "us", "share", "per s"] = ""
    better: Literal["less", "more"] | None = "less"
    spread: Spread | None = None
    at_least: bool = False
    #: The counter of the work that it grows with: where that differs, less is not better.
    grows_with: str | None = None


def watched(report: Report, *names: str) -> bool:
    """Tell whether one of these artifacts was recorded: none of it then means zero."""
    held = {name for run in report.runs for name in run.watched}
    return not held.isdisjoint(names)


def rows(report: Report, name: str) -> list[Row]:
    """Return a table of the report; empty where it has none."""
    return report.tables.get(name, [])


def summed(found: Iterable[Row], key: str) -> float | None:
    """Return the sum of a column; None where no row has a value."""
    values = [row[key] for row in found if row.get(key) is not None]
    return sum(values) if values else None


def named(name: str, found: Sequence[Row], part: str, key: str, **more: Any) -> list[Measure]:
    """Return the sum of the column ``key`` for each value of the column ``part``."""
    sums: dict[str, float] = {}
    for row in found:
        if row.get(key) is not None:
            of = str(row.get(part) or "unknown")
            sums[of] = sums.get(of, 0) + row[key]
    return [Measure(name, float(f"{value:.6g}"), of=of, **more) for of, value in sums.items()]


def judged(before: float | None, after: float | None, better: str | None, unit: str) -> State:
    """Say what a change is: a count changes by one, a time by more than noise."""
    if before is None or after is None:
        return "unknown"
    if before == after or (unit and close(before, after)):
        return "same"
    if better is None:
        return "changed"
    return "better" if (after < before) == (better == "less") else "worse"


def close(before: float, after: float) -> bool:
    """Tell whether two times of different runs are the same."""
    return abs(after - before) <= NOISE * max(abs(before), abs(after))
