"""What was compiled, as an icicle: functions and their compilations, as wide as they took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render._svg import Svg, colour
from tracelens.render.views import Picture, View
from tracelens.report import Report

__all__ = ["Frames"]

#: Frames that are drawn, those that took longest first; the table has more.
MAX_DRAWN = 400
#: Runs that have a picture.
MAX_RUNS = 12
#: Pixels of the drawing, of a layer, and of the narrowest box that is worth a place.
WIDTH, LAYER, LEAST = 960, 24, 1.0


class _Box(NamedTuple):
    """A compiled function with its compilations, each of which is a row of the table."""

    name: str
    rows: list[dict[str, Any]]
    seconds: float


class Frames(View):
    """Icicle of compile time."""

    name = "frames"
    title = "Compiled frames"
    says = (
        "Upper row: functions, as wide as their compilation took. Lower row: each compilation of "
        "it; from the second on they are recompiles. Red: a graph break ended it early."
    )
    order = 10
    tables: ClassVar[tuple[str, ...]] = ("frames", "recompiles", "graph_breaks")

    @classmethod
    def pictures(cls, report: Report) -> Iterator[Picture]:
        """Yield one icicle for each run whose compile times are known."""
        by_run: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in report.tables.get("frames", ()):
            if _seconds(row) > 0:
                by_run[word(row, "run")].append(row)
        for run, rows in list(by_run.items())[:MAX_RUNS]:
            title = run if len(report.runs) > 1 else ""
            yield _picture(rows, title)


def _seconds(row: dict[str, Any]) -> float:
    return number(row, "compile_s") + number(row, "backward_s")


def _picture(rows: list[dict[str, Any]], title: str) -> Picture:
    boxes = _boxes(sorted(rows, key=lambda row: -_seconds(row))[:MAX_DRAWN])
    total = sum(box.seconds for box in boxes)
    said = f"{_words.plural(len(rows), 'compilation')} took {_words.milliseconds(1000 * total)}"
    svg = Svg(WIDTH, 3 * LAYER + 6, f"Compile time by function: {said}")
    svg.rect(0, 0, WIDTH, LAYER - 2, "soft")
    svg.text(6, LAYER - 8, said, "label", WIDTH)
    x = 0.0
    for position, box in enumerate(boxes):
        width = WIDTH * box.seconds / total
        if width >= LEAST:
            _draw(svg, box, x, width, colour(position))
        x += width
    left_out = len(rows) - sum(len(box.rows) for box in boxes)
    caption = f"{_words.plural(left_out, 'shorter one')} not drawn." if left_out else ""
    return Picture(svg, caption, title=title)


def _boxes(rows: list[dict[str, Any]]) -> list[_Box]:
    """Return the functions, the longest first, with their compilations in order."""
    found: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        function = word(row, "frame").partition("/")[0]
        found[word(row, "writer"), function].append(row)
    boxes = [
        _Box(_name(held), sorted(held, key=_attempt), sum(map(_seconds, held)))
        for held in found.values()
    ]
    return sorted(boxes, key=lambda box: -box.seconds)


def _name(rows: list[dict[str, Any]]) -> str:
    named = next((row for row in rows if row.get("function")), rows[0])
    return word(named, "function") or f"frame {word(named, 'frame')}"


def _attempt(row: dict[str, Any]) -> tuple[int, str]:
    after = word(row, "frame").partition("/")[2]
    return (int(after) if after.isdecimal() else 0, after)


def _draw(svg: Svg, box: _Box, x: float, width: float, kind: str) -> None:
    seconds = _words.milliseconds(1000 * box.seconds)
    places = (f" {word(row, 'file')}:{word(row, 'line')}" for row in box.rows if word(row, "file"))
    place = next(places, "")
    tip = f"{box.name}{place}: {seconds} in {_words.plural(len(box.rows), 'compilation')}"
    svg.rect(x, LAYER, width - 1, LAYER - 2, kind, tip)
    svg.text(x + 5, 2 * LAYER - 8, f"{box.name} {seconds}", "inside", width - 8)
    for row in box.rows:
        part = width * _seconds(row) / box.seconds
        if part >= LEAST:
            frame = word(row, "frame")
            svg.rect(
                x,
                2 * LAYER,
                part - 1,
                LAYER - 2,
                "bad" if number(row, "breaks") else kind,
                _tip(row),
            )
            svg.text(x + 5, 3 * LAYER - 8, frame, "inside", part - 8)
        x += part


def _tip(row: dict[str, Any]) -> str:
    parts = [f"{word(row, 'frame')}: {_words.milliseconds(1000 * _seconds(row))}"]
    for key, noun in (("breaks", "graph break"), ("guards", "guard"), ("kernels", "kernel")):
        if (count := number(row, key, -1)) >= 0:
            parts.append(_words.plural(int(count), noun))
    return ", ".join(parts)
