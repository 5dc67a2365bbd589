"""The ways through a long page: its contents with counts, and how findings are narrowed down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tracelens.render._absent import missing
from tracelens.render._again import again
from tracelens.render._strings import elide, one_line
from tracelens.render.views import View
from tracelens.report import Outcome, Report

__all__ = ["Entry", "choices", "contents"]

#: Values of a selection, such as files, and characters of one.
MAX_CHOICES, MAX_CELL = 200, 300


class Entry(NamedTuple):
    """A line of the contents."""

    anchor: str
    title: str
    size: int = 0


def contents(
    report: Report, views: Sequence[type[View]], tables: int, explained: int
) -> Iterator[Entry]:
    absent = missing(report)
    yield Entry("findings", "Findings", len(report.told))
    if report.shown:
        yield Entry("details", "In detail")
    if again(report):
        yield Entry("again", "To see more")
    if report.folded:
        yield Entry("notes", "Notes", len(report.folded))
    for view in views:
        yield Entry(f"view-{view.name}", view.title)
    if tables:
        yield Entry("tables", "Summaries", tables)
    if explained:
        yield Entry("rules", "Rules that fired", explained)
    if absent.codes or any(v.verdict is Outcome.CRASHED for v in report.verdicts):
        yield Entry("unjudged", "Not judged", len(absent.codes))
    yield Entry("coverage", "What was read")


def choices(report: Report) -> list[tuple[str, list[str]]]:
    """Return what the findings can be narrowed down by, where they differ in it."""
    told = report.told
    values: dict[str, Iterable[str]] = {
        "family": (f.code[:3] for f in told),
        "run": (f.run for f in told if len(report.runs) > 1),
        "input": (elide(one_line(f.evidence[0].input), MAX_CELL) for f in told if f.evidence),
        "file": (elide(one_line(f.where.file), MAX_CELL) for f in told if f.where),
    }
    found = {name: sorted(set(said))[:MAX_CHOICES] for name, said in values.items()}
    return [(name, said) for name, said in found.items() if len(said) > 1]
