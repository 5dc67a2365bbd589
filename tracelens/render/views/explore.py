"""The what-if table as a picture: what each setting makes of a step, with its spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render._svg import Svg
from tracelens.render.views import Picture, Sheet, View
from tracelens.report import Report

__all__ = ["Explore", "fastest"]

#: Pixels of the drawing, of a setting's two lines, and of its name.
WIDTH, LINE, NAME = 620, 42, 190
#: The longest spread that is drawn, in medians of the slowest setting.
MAX_SPREAD = 3
#: Columns of the table that is looked at first, and of the one that says what each row is.
COLUMNS = (
    "setting", "step_ms", "speedup", "interval", "verdict", "compile_s", "break_even_calls",
    "peak_mb", "error",
)  # fmt: skip
ABOUT = ("setting", "how", "note")
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
    unfolded = 2

    @classmethod
    def pictures(cls, report: Report) -> Iterator[Picture]:
        """Yield the bars, in the order of the table."""
        rows = [row for row in report.tables.get("explore", ()) if number(row, "step_ms") > 0]
        if not rows:
            return
        best = fastest(report)
        said = f"; {best}" if best else ""
        svg = Svg(WIDTH, LINE * len(rows) + 4, f"Step time by setting{said}", fits=True)
        most = MAX_SPREAD * max(number(row, "step_ms") for row in rows)
        longest = max(max(number(row, "step_ms"), min(number(row, "p90_ms"), most)) for row in rows)
        for line, row in enumerate(rows):
            _draw(svg, line * LINE, row, (WIDTH - 4) / longest)
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
            yield sheet._replace(rows=_only(sheet.rows, COLUMNS))
            told = [row for row in sheet.rows if row.get("how") or row.get("note")]
            if told:
                yield Sheet("What was set, and what there is to say", _only(told, ABOUT))
            keys = dict.fromkeys(key for row in sheet.rows for key in row)
            rest = [key for key in keys if key not in {*COLUMNS, *ABOUT}]
            if rest:
                said = "Times by the wall clock; the first call compiles."
                yield Sheet("All that was measured", _only(sheet.rows, ("setting", *rest)), said)


def _only(rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> list[dict[str, Any]]:
    """Return these columns, where some row has a value."""
    there = [
        key for key in keys if any(row.get(key) is not None and row.get(key) != "" for row in rows)
    ]
    return [{key: row[key] for key in there if key in row} for row in rows]


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
    svg.text(0, y + 14, name, "label", NAME)
    svg.text(WIDTH, y + 14, ", ".join(facts[:2]), "small end", WIDTH - NAME)
    svg.rect(0, y + 20, scale * step, LINE - 28, kind, f"{name}: {said}")
    if high > step:
        middle, end = y + 20 + (LINE - 28) / 2, min(scale * high, WIDTH)
        svg.line(scale * step, middle, end, middle)
        if end < WIDTH:  # else it goes on
            svg.line(end, middle - 5, end, middle + 5)
