"""Compare reports: what is new, fixed, worse and better, and every counter side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from tracelens.report.compare.counters import counters, winners
from tracelens.report.compare.differences import differences
from tracelens.report.compare.matching import compared
from tracelens.report.compare.model import (
    Change,
    Compared,
    Comparison,
    Counter,
    Difference,
    Findings,
    Mode,
    Side,
    Spread,
)
from tracelens.report.compare.modes import mode, modes
from tracelens.report.model import Report, Severity, Tool
from tracelens.version import __version__

__all__ = [
    "Change",
    "Compared",
    "Comparison",
    "Counter",
    "Difference",
    "Findings",
    "Mode",
    "Side",
    "Spread",
    "compare",
]


def compare(reports: Sequence[Report], paths: Sequence[str] = ()) -> Comparison:
    """Compare reports, the first of which is before and the last of which is after.

    Args:
        reports: Two or more.
        paths: What each was made from, as the user calls it; else its first input.
    """
    given = list(paths) or [report.inputs[0].path for report in reports]
    names = ["before", "after"] if len(reports) == 2 else _names(given)
    return Comparison(
        tool=Tool(version=__version__),
        runs=tuple(map(_side, reports, names, given)),
        findings=compared(reports[0], reports[-1]),
        counters=tuple(counters(reports)),
        winners=tuple(winners(reports)),
        modes=tuple(modes(reports, names)),
        differs=tuple(differences(reports)),
    )


def _side(report: Report, name: str, path: str) -> Side:
    ended = {run.ended for run in report.runs}
    shown = [finding.severity for finding in report.told]
    return Side(
        name=name,
        path=path,
        inputs=tuple(source.path for source in report.inputs),
        tool=report.tool,
        environment=report.environment,
        watched=tuple(sorted({name for run in report.runs for name in run.watched})),
        ended="error" if "error" in ended else "ok" if ended == {"ok"} else "unknown",
        share=report.coverage.share,
        mode=mode(report),
        errors=shown.count(Severity.ERROR),
        warnings=shown.count(Severity.WARNING),
        notes=shown.count(Severity.INFO),
    )


def _names(paths: Sequence[str]) -> list[str]:
    """Return the shortest ends of the paths that tell them apart."""
    parts = [PurePath(path).parts or (path,) for path in paths]
    for length in range(1, max(map(len, parts)) + 1):
        short = ["/".join(part[-length:]) for part in parts]
        if len(set(short)) == len(short):
            return short
    return [str(number) for number in range(1, len(paths) + 1)]
