"""Which kernels take the device's time: bars by kernel, coloured by what they do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render._svg import Svg, colour
from tracelens.render.views import Picture, View
from tracelens.report import Report

__all__ = ["DeviceKernels"]

#: Bars at most.
MAX_BARS = 20
#: Pixels: of the drawing, of a bar's line, of the words at its left, of the number at its right.
WIDTH, LINE, LEFT, RIGHT = 900, 24, 400, 130
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
        svg = Svg(WIDTH, LINE * len(shown) + 4, f"Time of kernels; {first} takes most")
        scale = (WIDTH - LEFT - RIGHT) / number(shown[0], "sum_ms")
        for line, row in enumerate(shown):
            _draw(svg, line, row, scale, total)
        legend = dict.fromkeys((_colour(row), _class(row)) for row in shown)
        rest = len(rows) - len(shown)
        caption = f"{_words.plural(rest, 'more kernel')} in the table." if rest else ""
        yield Picture(svg, caption, tuple(legend))


def _class(row: dict[str, Any]) -> str:
    kind = word(row, "class")
    return kind if kind in CLASSES else "other"


def _colour(row: dict[str, Any]) -> str:
    kind = _class(row)
    return colour(CLASSES.index(kind)) if kind in CLASSES else "c7"


def _draw(svg: Svg, line: int, row: dict[str, Any], scale: float, total: float) -> None:
    y = line * LINE + 2
    ms, name = number(row, "sum_ms"), word(row, "name")
    time = _words.milliseconds(ms)
    tip = f"{name}: {time} in {_words.plural(int(number(row, 'n')), 'run')}"
    svg.text(0, y + 14, name, "label", LEFT - 12)
    svg.rect(LEFT, y, ms * scale, LINE - 6, _colour(row), tip)
    svg.text(LEFT + ms * scale + 6, y + 14, f"{time}, {_words.percent(ms / total)}", "label")
