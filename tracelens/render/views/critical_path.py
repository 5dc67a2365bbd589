"""What each step waits for: a bar, cut into what its critical path consists of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render.views import Picture, View
from tracelens.render.views.device_time import Part, by_device, phase_bars
from tracelens.report import Report

__all__ = ["CriticalPaths"]

#: Columns that add up to the time of a step, in the order in which a step goes through them.
PARTS: tuple[Part, ...] = (
    ("data_ms", "c3", "waits for the next batch"),
    ("host_ms", "bad", "the host works, and the device waits"),
    ("launch_ms", "c4", "from a call to what it asked for"),
    ("compute_ms", "c0", "computes"),
    ("comm_ms", "c1", "communicates"),
    ("copy_ms", "c2", "copies"),
    ("pause_ms", "c7", "pauses between what was asked for in time"),
)


class CriticalPaths(View):
    """Bars of steps by what they wait for."""

    name = "critical-path"
    title = "Critical path of the steps"
    says = (
        "Each bar is a step, cut into what it waits for: only what is on this path makes the step "
        "longer. A device can be busy while every step waits for the host."
    )
    order = 22
    tables: ClassVar[tuple[str, ...]] = ("critical",)

    @classmethod
    def applies(cls, report: Report) -> bool:
        """Whether a step took any time."""
        return any(number(row, "ms") for row in report.tables.get("critical", ()))

    @classmethod
    def pictures(cls, report: Report) -> Iterator[Picture]:
        """Yield a picture for each device."""
        for title, rows in by_device(report, "critical", "ms"):
            yield phase_bars(rows, title, PARTS, "ms", _said(rows))


def _said(rows: list[dict[str, Any]]) -> str:
    """Return in words what most of the longest step's path is."""
    longest = max(rows, key=lambda row: number(row, "ms"))
    column, _, says = max(PARTS, key=lambda part: number(longest, part[0]))
    share = min(1.0, number(longest, column) / number(longest, "ms"))
    return f"Critical path: {word(longest, 'phase')}, {_words.percent(share)} {says}"
