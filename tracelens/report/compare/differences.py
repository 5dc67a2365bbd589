"""What makes two inputs less comparable: other software, another machine, other evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tracelens.report.compare.measures import rows
from tracelens.report.compare.model import Difference
from tracelens.report.compare.modes import modes
from tracelens.report.model import Report

__all__ = ["differences"]

#: What the logs say of software and machine, and what a difference in it means.
_SAID = {
    "torch": "the versions of torch differ",
    "onednn": "the versions of oneDNN differ",
    "isa": "oneDNN had other instruction sets: another machine, or a cap",
    "cpu": "the processors differ",
    "threads": "the numbers of threads differ: times are not comparable",
    "device": "the code was generated for different devices",
}
#: Operators that do the same work in eager and compiled code.
_WORK = ("aten::addmm", "aten::mm", "aten::bmm", "aten::convolution", "aten::_convolution")
#: What is understood of a log below which its counters are doubtful.
ENOUGH = 0.9


def differences(reports: Sequence[Report]) -> Iterator[Difference]:
    """Yield what a reader must know before believing a comparison."""
    for name, says in _SAID.items():
        yield from _unlike(name, [getattr(report.environment, name) for report in reports], says)
    yield from _program(reports)
    yield from _work(reports)
    yield from _once(reports)
    yield from _evidence(reports)
    yield from _ended(reports)
    says = "the reports were made by different versions of tracelens: analyze the logs again"
    yield from _unlike("tracelens", [report.tool.version for report in reports], says)


def _unlike(name: str, values: Sequence[Any], says: str) -> Iterator[Difference]:
    """Yield the difference of the values that are known."""
    if len({value for value in values if value is not None}) > 1:
        texts = tuple(None if value is None else str(value) for value in values)
        yield Difference(name=name, values=texts, says=says)


def _program(reports: Sequence[Report]) -> Iterator[Difference]:
    """Yield a difference where the first and the last have no compiled function in common."""
    found = [_functions(report) for report in (reports[0], reports[-1])]
    if all(found) and found[0].isdisjoint(found[1]):
        names = [", ".join(sorted(_functions(report))[:3]) or None for report in reports]
        says = "no function was compiled in both: these may be different programs"
        yield Difference(name="program", values=tuple(names), says=says)


def _functions(report: Report) -> set[str]:
    return {
        str(row["function"]).removeprefix("torch_dynamo_resume_in_").partition("_at_")[0]
        for row in rows(report, "frames")
        if row.get("function")
    }


def _work(reports: Sequence[Report]) -> Iterator[Difference]:
    """Yield a difference where traces hold different numbers of the same products."""
    counts = [
        {row["name"]: row["count"] for row in rows(report, "operators") if row["name"] in _WORK}
        for report in reports
    ]
    for name in _WORK:
        values = [count.get(name) for count in counts]
        if None not in values and len(set(values)) > 1:
            says = f"`{name}` was called so often: the traces may not hold the same steps"
            yield Difference(name="work", values=tuple(map(str, values)), says=says)
            return


def _once(reports: Sequence[Report]) -> Iterator[Difference]:
    """Yield that eager and compiled code were timed as a whole, which has no spread."""
    timed = modes(reports, [""] * len(reports))
    if timed and all(row.time.n == 1 for row in timed):
        says = (
            "each was timed once, as a whole: there is no spread, and a slow first call may be in "
            "it; with prof.step() after each step, steps are compared"
        )
        yield Difference(name="spread", values=tuple(row.mode for row in timed), says=says)


def _evidence(reports: Sequence[Report]) -> Iterator[Difference]:
    """Yield what was recorded in some of the inputs only."""
    held = [{name for run in report.runs for name in run.watched} for report in reports]
    missing = [sorted(set.union(*held) - one) for one in held]
    if any(missing):
        names = ", ".join(sorted({name for one in missing for name in one}))
        values = tuple(f"without {', '.join(one)}" if one else "all" for one in missing)
        says = f"not recorded in all: {names}; what only one side shows is not compared"
        yield Difference(name="evidence", values=values, says=says)


def _ended(reports: Sequence[Report]) -> Iterator[Difference]:
    ended = ["error" if any(run.ended == "error" for run in r.runs) else "ok" for r in reports]
    says = "not all of them ran to their end: what is missing was not fixed by that"
    yield from _unlike("ended", ended, says)
    cut = ["cut" if any(source.truncated for source in r.inputs) else "whole" for r in reports]
    yield from _unlike("truncated", cut, "not all of them are whole")
    shares = [report.coverage.share for report in reports]
    if min(shares) < ENOUGH:
        values = tuple(f"{share:.1%}" for share in shares)
        says = "not all lines were understood: a finding that is gone may not have been seen"
        yield Difference(name="coverage", values=values, says=says)
