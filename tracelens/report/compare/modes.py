"""Eager beside compiled: the same program's steps, timed in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tracelens.report.compare.measures import rows
from tracelens.report.compare.model import Mode, Spread
from tracelens.report.model import Report

__all__ = ["mode", "modes"]

#: Tables that only a compiled program fills.
_COMPILED = ("frames", "regions", "kernels", "compile_phases", "autotune")
#: The row of the what-if table of the program as it is.
UNCHANGED = "unchanged"
#: What may have been timed, best first, and in which words.
_KINDS = {"step": "one step", "trace": "the whole trace"}


def mode(report: Report) -> Literal["eager", "compiled", "unknown"]:
    """Tell whether the program was compiled; unknown where nobody can tell."""
    found = {name for name in _COMPILED if report.tables.get(name)}
    # Kernels of a device are no sign: eager programs run them, too.
    if rows(report, "kernels") and "kernel" not in rows(report, "kernels")[0]:
        found.discard("kernels")
    if found:
        return "compiled"
    return "eager" if rows(report, "operators") or rows(report, "primitives") else "unknown"


def modes(reports: Sequence[Report], names: Sequence[str]) -> list[Mode]:
    """Return a row for each report, where some are eager, some compiled, and all were timed."""
    said = [mode(report) for report in reports]
    if not {"eager", "compiled"} <= set(said):
        return []
    for kind, what in _KINDS.items():
        times = [_time(report, kind) for report in reports]
        if all(times):
            errors = [_error(report) for report in reports]
            return _rows(names, said, what, [time for time in times if time is not None], errors)
    return []


def _error(report: Report) -> float | None:
    """Return how far results are from those of eager, where a what-if table has compared them."""
    found = (row for row in rows(report, "explore") if row.get("setting") == UNCHANGED)
    error = next((row.get("error") for row in found), None)
    return float(error) if isinstance(error, int | float) else None


def _rows(
    names: Sequence[str],
    said: Sequence[Literal["eager", "compiled", "unknown"]],
    what: str,
    times: Sequence[Spread],
    errors: Sequence[float | None],
) -> list[Mode]:
    base = times[said.index("eager")]
    return [
        Mode(
            side=name,
            mode=how,
            what=what,
            time=time,
            speedup=round(base.mean / time.mean, 3) if time is not base and time.mean else None,
            error=error if how == "compiled" else None,
        )
        for name, how, time, error in zip(names, said, times, errors, strict=True)
    ]


def _time(report: Report, kind: str) -> Spread | None:
    for row in rows(report, "steps"):
        if row["kind"] == kind:
            return Spread(
                n=row["n"],
                mean=row["mean_ms"],
                std=row.get("std_ms"),
                min=row.get("min_ms"),
                max=row.get("max_ms"),
                median=row.get("median_ms"),
            )
    return None
