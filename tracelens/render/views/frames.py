"""What was compiled, as an icicle: functions, what breaks left of them, and each compilation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from tracelens.late import late
from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render._svg import Svg, colour
from tracelens.render.views import Picture, View
from tracelens.report import Report
from tracelens.report.compiling import is_measured, own_seconds

__all__ = ["Frames"]

#: Runs that have a picture, those that compiled longest.
MAX_RUNS = 12
#: Pixels of the drawing, of a layer, and of the narrowest box that is worth a place.
WIDTH, LAYER, LEAST = 960, 24, 1.0
#: How Dynamo names what is left of a function after a graph break, and the line of that.
_REST = late(r"torch_dynamo_resume_in_(.+)_at_(\d+)\Z")


class _Box(NamedTuple):
    """A function, a part of one, or one compilation, which has no parts."""

    name: str
    tip: str
    seconds: float
    parts: tuple[_Box, ...] = ()
    is_broken: bool = False


class Frames(View):
    """Icicle of compile time."""

    name = "frames"
    title = "Compiled frames"
    says = (
        "Top down: functions, as wide as their compilation took; what graph breaks left of them, "
        "each rest by the line that broke; each compilation, from the second on recompiles. Red: "
        "a graph break ended it early."
    )
    order = 10
    tables: ClassVar[tuple[str, ...]] = ("frames", "recompiles", "graph_breaks")

    @classmethod
    def pictures(cls, report: Report) -> Iterator[Picture]:
        """Yield one icicle for each run that compiled more than once, and whose times are known."""
        measured = is_measured(report)
        found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in report.tables.get("frames", ()):
            if _seconds(row) > 0:
                found[word(row, "run")].append(row)
        by_run = {run: rows for run, rows in found.items() if len(rows) > 1}  # else one box
        totals = {run: sum(map(_seconds, rows)) for run, rows in by_run.items()}
        longest = sorted(totals, key=lambda run: -totals[run])[:MAX_RUNS]
        shown = [run for run in by_run if run in longest]
        for run in shown:
            more = len(by_run) - len(shown) if run == shown[-1] else 0
            rest = f" {_words.plural(more, 'run')} with less only in the table." if more else ""
            title = run if len(report.runs) > 1 else ""
            yield _picture(by_run[run], title, rest, measured=measured)


def _seconds(row: dict[str, Any]) -> float:
    return number(row, "compile_s") + number(row, "backward_s")


def _picture(rows: list[dict[str, Any]], title: str, rest: str, *, measured: bool) -> Picture:
    own = own_seconds(rows, measured=measured)
    boxes = _boxes(rows, own)
    total = sum(own) or 1.0
    said = f"{_words.plural(len(rows), 'compilation')} took {_words.milliseconds(1000 * total)}"
    layers = 2 + max(_depth(box, LEAST * total / WIDTH) for box in boxes)
    svg = Svg(WIDTH, layers * LAYER - 2, f"Compile time by function: {said}")
    svg.rect(0, 0, WIDTH, LAYER - 2, "soft")
    svg.text(6, LAYER - 8, said, "label", WIDTH)
    x, left_out = 0.0, 0
    for position, box in enumerate(boxes):
        width = WIDTH * box.seconds / total
        left_out += _draw(svg, box, (x, LAYER, width), colour(position))
        x += width
    caption = f"{_words.plural(left_out, 'shorter one')} not drawn." if left_out else ""
    return Picture(svg, f"{caption}{rest}".strip(), title=title)


def _boxes(rows: list[dict[str, Any]], own: list[float]) -> list[_Box]:
    """Return the functions, the longest first, with their parts and compilations in order."""
    codes: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        codes[word(row, "writer"), word(row, "frame").partition("/")[0]].append(at)
    whole = _whole([rows[held[0]] for held in codes.values()])
    found: defaultdict[tuple[str, ...], list[list[int]]] = defaultdict(list)
    for code, held in codes.items():
        found[whole.get(_place(rows[held[0]])) or code].append(
            sorted(held, key=lambda at: _attempt(rows[at]))
        )
    boxes = [_function([_code(rows, held, own) for held in parts]) for parts in found.values()]
    return sorted(boxes, key=lambda box: -box.seconds)


def _whole(rows: list[dict[str, Any]]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the function, by its place, that a function or the rest of one is part of.

    The rest of a function is of the last function of its name above the line that broke.
    """
    heads: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    named = [row for row in rows if row.get("function")]
    for row in named:
        if not _REST.match(word(row, "function")):
            heads[_place(row)[:3]].append(int(number(row, "line")))
    out: dict[tuple[str, ...], tuple[str, ...]] = {}
    for row in named:
        writer, file, name, line = _place(row)
        rest = _REST.match(name)
        key = (writer, file, rest[1] if rest else name)
        above = [one for one in heads.get(key, ()) if one <= int(line)]
        out[writer, file, name, line] = (*key, str(max(above)) if above else "?")
    return out


def _place(row: dict[str, Any]) -> tuple[str, str, str, str]:
    line = str(int(number(row, "line")))
    return word(row, "writer"), word(row, "file"), word(row, "function"), line


def _function(codes: list[_Box]) -> _Box:
    """Return what was compiled of one function: one box, or one for each of its pieces."""
    if len(codes) == 1:
        return codes[0]
    seconds = sum(box.seconds for box in codes)
    first = next((box for box in codes if not box.name.startswith("after ")), codes[0])
    said = f"{first.name}: {_words.milliseconds(1000 * seconds)} in {len(codes)} pieces"
    return _Box(first.name, said, seconds, tuple(codes))


def _code(rows: list[dict[str, Any]], held: list[int], own: list[float]) -> _Box:
    """Return a code object with its compilations."""
    seconds = sum(own[at] for at in held)
    first = next((rows[at] for at in held if rows[at].get("function")), rows[held[0]])
    name = word(first, "function") or f"frame {word(first, 'frame')}"
    rest = _REST.match(name)
    shown = f"after line {rest[2]}" if rest else name
    place = f" {word(first, 'file')}:{word(first, 'line')}" if first.get("file") else ""
    took = _words.milliseconds(1000 * seconds)
    tip = f"{name}{place}: {took} in {_words.plural(len(held), 'compilation')}"
    return _Box(shown, tip, seconds, tuple(_compilation(rows[at], own[at]) for at in held))


def _compilation(row: dict[str, Any], seconds: float) -> _Box:
    parts = [f"{word(row, 'frame')}: {_words.milliseconds(1000 * seconds)}"]
    if seconds < 0.999 * _seconds(row):
        parts.append(f"{_words.milliseconds(1000 * _seconds(row))} with what was compiled in it")
    for key, noun in (("breaks", "graph break"), ("guards", "guard"), ("kernels", "kernel")):
        if (count := number(row, key, -1)) >= 0:
            parts.append(_words.plural(int(count), noun))
    is_broken = bool(number(row, "breaks"))
    return _Box(word(row, "frame"), ", ".join(parts), seconds, (), is_broken)


def _attempt(row: dict[str, Any]) -> tuple[int, str]:
    after = word(row, "frame").partition("/")[2]
    return (int(after) if after.isdecimal() else 0, after)


def _depth(box: _Box, least: float) -> int:
    """Return how many layers are drawn below a box, if parts of so many seconds are."""
    return max((1 + _depth(part, least) for part in box.parts if part.seconds >= least), default=0)


def _draw(svg: Svg, box: _Box, place: tuple[float, float, float], kind: str) -> int:
    """Draw a box and what it is made of; return how many compilations are too narrow for that."""
    x, y, width = place
    if width < LEAST:
        return _leaves(box)
    took = f" {_words.milliseconds(1000 * box.seconds)}" if box.parts else ""
    svg.rect(x, y, width - 1, LAYER - 2, "bad" if box.is_broken else kind, box.tip)
    svg.text(x + 5, y + LAYER - 8, f"{box.name}{took}", "inside", width - 8)
    left_out = 0
    for part in box.parts:
        share = part.seconds / box.seconds if box.seconds else 0
        left_out += _draw(svg, part, (x, y + LAYER, width * share), kind)
        x += width * share
    return left_out


def _leaves(box: _Box) -> int:
    return sum(map(_leaves, box.parts)) if box.parts else 1
