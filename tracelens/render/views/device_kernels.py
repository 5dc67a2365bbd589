"""Which kernels take the device's time: bars by kernel, coloured by what they do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from tracelens.render import _words
from tracelens.render._bars import Bars, Piece
from tracelens.render._rows import number, word
from tracelens.render._svg import colour
from tracelens.render.views import Picture, Sheet, View
from tracelens.report import Report

__all__ = ["DeviceKernels"]

#: Bars at most.
MAX_BARS = 20
#: Classes with a colour of their own; all others share the last one.
CLASSES = (
    "gemm",
    "attention",
    "convolution",
    "elementwise",
    "reduction",
    "normalization",
    "collective",
)


class DeviceKernels(View):
    """Bars of kernels that a trace has timed."""

    name = "device-kernels"
    title = "Kernels on the device"
    says = "Each bar is a kernel, with all of its runs, the longest first."
    order = 22
    tables: ClassVar[tuple[str, ...]] = ("kernels",)

    @classmethod
    def applies(cls, report: Report) -> bool:
        """Whether the kernels are those of a trace: generated code has no times."""
        return any(number(row, "sum_ms") for row in report.tables.get("kernels", ()))

    @classmethod
    def pictures(cls, report: Report) -> Iterator[Picture]:
        """Yield the bars."""
        rows = [row for row in report.tables["kernels"] if number(row, "sum_ms")]
        rows.sort(key=lambda row: -number(row, "sum_ms"))
        total = sum(number(row, "sum_ms") for row in rows)
        shown = rows[:MAX_BARS]
        first = word(shown[0], "name")
        said = f"Time of kernels; {first} takes most"
        drawn = Bars(said, len(shown), number(shown[0], "sum_ms"))
        for row in shown:
            _draw(drawn, row, total)
        legend = dict.fromkeys((_colour(row), _class(row)) for row in shown)
        rest = len(rows) - len(shown)
        caption = f"{_words.plural(rest, 'more kernel')} in the table." if rest else ""
        yield Picture(drawn.svg, caption, tuple(legend))

    @classmethod
    def sheets(cls, report: Report) -> Iterator[Sheet]:
        """Yield the table; what has no time was written, and is listed with the generated code."""
        rows = [row for row in report.tables["kernels"] if number(row, "sum_ms")]
        yield Sheet(cls.title, rows, "Times of all runs of a kernel, from the trace.")


def _class(row: dict[str, Any]) -> str:
    kind = word(row, "class")
    return kind if kind in CLASSES else "other"


def _colour(row: dict[str, Any]) -> str:
    kind = _class(row)
    return colour(CLASSES.index(kind)) if kind in CLASSES else "c7"


def _draw(drawn: Bars, row: dict[str, Any], total: float) -> None:
    ms, name = number(row, "sum_ms"), word(row, "name")
    time = _words.milliseconds(ms)
    tip = f"{name}: {time} in {_words.plural(int(number(row, 'n')), 'run')}"
    drawn.add(name, f"{time}, {_words.percent(ms / total)}", [Piece(ms, _colour(row), tip)])
