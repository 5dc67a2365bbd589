"""The what-if table as a picture: what each setting makes of a step, with its spread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render._svg import Svg
from tracelens.render.views import Picture, Sheet, View
from tracelens.report import Report

__all__ = ["Explore", "fastest"]

#: Pixels of the drawing, of a setting's line, of the words at its left, and of those at its right.
WIDTH, LINE, LEFT, RIGHT = 960, 30, 210, 330
#: Columns of the table, in this order, before all others.
COLUMNS = (
    "setting", "step_ms", "speedup", "interval", "verdict", "mean_ms", "sigma_ms", "p50_ms",
    "p90_ms", "p99_ms", "steps_per_s", "compile_s", "break_even_calls", "peak_mb", "error",
)  # fmt: skip
_KINDS = {"faster": "good", "slower": "bad"}


class Explore(View):
    """Bars of step times."""

    name = "explore"
    title = "What if"
    says = (
        "The time of one step with each setting alone, and with those that help together; the line "
        "through a bar goes from the median to the 90th percentile. Faster and slower are said "
        "where the 99 % interval allows it."
    )
    order = 5
    tables: ClassVar[tuple[str, ...]] = ("explore",)
    unfolded = True

    @classmethod
    def pictures(cls, report: Report) -> Iterator[Picture]:
        """Yield the bars, in the order of the table."""
        rows = [row for row in report.tables.get("explore", ()) if number(row, "step_ms") > 0]
        if not rows:
            return
        best = fastest(report)
        said = f"; {best}" if best else ""
        svg = Svg(WIDTH, LINE * len(rows) + 4, f"Step time by setting{said}")
        longest = max(max(number(row, "step_ms"), number(row, "p90_ms")) for row in rows)
        for line, row in enumerate(rows):
            _draw(svg, line * LINE, row, (WIDTH - LEFT - RIGHT) / longest)
        untimed = [
            f"{word(row, 'setting')} ({word(row, 'note') or 'not timed'})"
            for row in report.tables["explore"]
            if not number(row, "step_ms")
        ]
        caption = f"Without a time: {_words.names(untimed)}." if untimed else ""
        kinds = (("good", "faster"), ("bad", "slower"), ("c7", "unchanged, or no clear answer"))
        yield Picture(svg, caption, kinds)

    @classmethod
    def sheets(cls, report: Report) -> Iterator[Sheet]:
        """Yield the table, what is asked for first at its left."""
        for sheet in super().sheets(report):
            rows = [
                {key: row[key] for key in dict.fromkeys((*COLUMNS, *row)) if key in row}
                for row in sheet.rows
            ]
            yield sheet._replace(rows=rows)


def fastest(report: Report) -> str:
    """Return which setting helps most, in words; empty where nothing was tried."""
    table = report.tables.get("explore", [])
    rows = [row for row in table if word(row, "verdict") == "faster"]
    if not rows:
        tried = [word(row, "setting") for row in table if word(row, "verdict")]
        said = f"none of {len(tried)} settings is" if len(tried) > 1 else f"{''.join(tried)} is not"
        return f"{said} clearly faster than the program as it is" if tried else ""
    best = max(rows, key=lambda row: number(row, "speedup"))
    return f"fastest is {word(best, 'setting')}, {number(best, 'speedup'):.2f} times as fast"


def _draw(svg: Svg, y: float, row: dict[str, Any], scale: float) -> None:
    step, high = number(row, "step_ms"), number(row, "p90_ms")
    name, time = word(row, "setting"), _words.milliseconds(step)
    facts = [time]
    if (speedup := number(row, "speedup")) and word(row, "interval"):
        facts.append(f"{speedup:.2f} x ({word(row, 'interval')})")
    for key, noun in (("compile_s", "s to compile"), ("peak_mb", "MB")):
        if (value := number(row, key)) > 0:
            facts.append(f"{_words.number(value)} {noun}")
    said = ", ".join(facts)
    kind = _KINDS.get(word(row, "verdict"), "c7")
    svg.text(0, y + 19, name, "label", LEFT - 8)
    svg.rect(LEFT, y + 6, scale * step, LINE - 12, kind, f"{name}: {said}")
    end = scale * step
    if high > step:
        end = scale * high
        svg.line(LEFT + scale * step, y + LINE / 2, LEFT + end, y + LINE / 2)
        svg.line(LEFT + end, y + 9, LEFT + end, y + LINE - 9)
    svg.text(LEFT + end + 8, y + 19, said, "small", WIDTH - LEFT - end - 8)
