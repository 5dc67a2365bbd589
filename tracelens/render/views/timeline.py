"""When what was compiled: one bar for each compilation, on the clock of its process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, ClassVar

from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render._svg import Svg
from tracelens.render.views import Picture, View
from tracelens.report import Report

__all__ = ["Timeline"]

#: Bars of a picture, and pixels: of the drawing, of a bar's line, and of the words at its left.
MAX_BARS, WIDTH, LINE, LEFT = 40, 960, 20, 240


class Timeline(View):
    """Bars of compilations in time."""

    name = "timeline"
    title = "Time line of compilation"
    says = (
        "Each bar is one compilation, from its first record on; red ones are recompiles. A "
        "compilation inside of another one is the rest of a function after a graph break."
    )
    order = 20
    tables: ClassVar[tuple[str, ...]] = ("compile_phases",)

    @classmethod
    def applies(cls, report: Report) -> bool:
        """Whether there are two compilations with a time, or sums of phases."""
        return bool(_processes(report) or report.tables.get("compile_phases"))

    @classmethod
    def pictures(cls, report: Report) -> Iterator[Picture]:
        """Yield one picture for each process, the longest first."""
        for (run, writer), rows in sorted(_processes(report).items())[:4]:
            several = len(report.runs) > 1 or bool(writer)
            yield _picture(rows, f"{run} {writer}".strip() if several else "")


def _processes(report: Report) -> dict[tuple[str, str], list[dict[str, Any]]]:
    found: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in report.tables.get("frames", ()):
        if number(row, "at_s", -1) >= 0 and number(row, "compile_s") > 0:
            found[word(row, "run"), word(row, "writer")].append(row)
    return {process: rows for process, rows in found.items() if len(rows) > 1}


def _picture(rows: list[dict[str, Any]], title: str) -> Picture:
    drawn = sorted(rows, key=lambda row: -number(row, "compile_s"))[:MAX_BARS]
    drawn.sort(key=lambda row: number(row, "at_s"))
    end = max(number(row, "at_s") + number(row, "compile_s") for row in drawn)
    height = LINE * len(drawn)
    said = f"{_words.plural(len(rows), 'compilation')} in {_words.milliseconds(1000 * end)}"
    svg = Svg(WIDTH, height + 22, f"Time line of compilation: {said}")
    scale = (WIDTH - LEFT - 60) / end
    for part in range(5):
        x = LEFT + scale * end * part / 4
        svg.line(x, 0, x, height, "faint")
        svg.text(x, height + 15, _words.milliseconds(250 * end * part), "small mid")
    for line, row in enumerate(drawn):
        _draw(svg, line * LINE, row, scale)
    left_out = len(rows) - len(drawn)
    caption = f"{_words.plural(left_out, 'shorter one')} not drawn." if left_out else ""
    legend = (("c0", "first compilation"), ("bad", "recompile"))
    return Picture(svg, caption, legend, title)


def _draw(svg: Svg, y: float, row: dict[str, Any], scale: float) -> None:
    seconds, frame = number(row, "compile_s"), word(row, "frame")
    again = frame.partition("/")[2].partition("_")[0] not in {"", "0"}
    name = f"{word(row, 'function')} {frame}".strip()
    time = _words.milliseconds(1000 * seconds)
    x = LEFT + scale * number(row, "at_s")
    svg.text(0, y + 14, name, "label", LEFT - 8)
    svg.rect(x, y + 3, scale * seconds, LINE - 6, "bad" if again else "c0", f"{name}: {time}")
    svg.text(x + scale * seconds + 4, y + 14, time, "small")
