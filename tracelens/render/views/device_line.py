"""What each device did over time, slice by slice, with its longest gaps; scripts can zoom it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, ClassVar

from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render._svg import Svg
from tracelens.render.views import Picture, View
from tracelens.report import Report

__all__ = ["DeviceLine"]

#: Devices that are drawn.
MAX_DEVICES = 8
#: Pixels: of the drawing, of the lanes, and of the words above and below them.
WIDTH, HEIGHT, BAND, BELOW = 960, 90, 22, 20
#: Columns of a slice, stacked from below: (column, colour, word).
PARTS = (
    ("compute_ms", "c0", "computes"),
    ("exposed_comm_ms", "c1", "communicates alone"),
    ("exposed_copy_ms", "c2", "copies alone"),
)
#: Causes of gaps: colour and word.
CAUSES = {
    "queued": ("c7", "gap: queued behind another"),
    "not_launched": ("bad", "gap: not launched yet"),
    "blocked": ("warn", "gap: the host waits or copies"),
    "data": ("c3", "gap: the host waits for data"),
    "start": ("c4", "gap: code or memory is made ready"),
    "unknown": ("c5", "gap: not known"),
}
#: Marks of the axis.
TICKS = 5


class DeviceLine(View):
    """Slices of the window of each device, in time, above its longest gaps."""

    name = "device-line"
    title = "Time line of the devices"
    says = (
        "From the first kernel or copy to the last: how much of each slice the device works, and "
        "below it the longest gaps, by cause. Click it, and + and - or the wheel zoom, arrows and "
        "dragging move, and 0 shows all."
    )
    order = 21
    tables: ClassVar[tuple[str, ...]] = ("gaps", "activity")

    @classmethod
    def pictures(cls, report: Report) -> Iterator[Picture]:
        """Yield a picture for each device."""
        gaps = _by_device(report, "gaps")
        devices = _by_device(report, "activity")
        for key in list(devices)[:MAX_DEVICES]:
            run, rank, device = key
            named = (run, f"rank {rank}" if rank else "", f"device {device}")
            title = ", ".join(filter(None, named)) if len(devices) > 1 else ""
            yield _picture(devices[key], gaps.get(key, []), title)


def _by_device(report: Report, table: str) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    found: defaultdict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in report.tables.get(table, ()):
        found[tuple(word(row, key) for key in ("run", "rank", "device"))].append(row)
    return found


def _picture(slices: list[dict[str, Any]], gaps: list[dict[str, Any]], title: str) -> Picture:
    begin = number(slices[0], "start_ms")
    whole = sum(number(row, "ms") for row in slices) or 1.0
    done = sum(number(row, column) for row in slices for column, _, _ in PARTS)
    said = f"{_words.percent(min(1.0, done / whole))} busy of {_words.milliseconds(whole)}"
    svg = Svg(WIDTH, HEIGHT + BAND + BELOW, f"Time line of the device: {said}")
    scale = WIDTH / whole
    svg.pane(HEIGHT + BAND, whole)
    for row in slices:
        _slice(svg, row, (number(row, "start_ms") - begin) * scale, scale)
    causes = [_gap(svg, row, begin, scale) for row in gaps]
    svg.close_pane()
    for tick in range(TICKS):
        x = WIDTH * tick / (TICKS - 1)
        kind = "small mid tick" if 0 < tick < TICKS - 1 else "small tick" + " end" * (tick > 0)
        words = _words.milliseconds(whole * tick / (TICKS - 1))
        svg.text(x, HEIGHT + BAND + BELOW - 5, words, kind)
    used = [part for part in PARTS if any(number(row, part[0]) for row in slices)]
    legend = [(kind, says) for _, kind, says in used]
    legend += [CAUSES[cause] for cause in CAUSES if cause in causes]
    return Picture(svg, "", tuple(legend), title)


def _slice(svg: Svg, row: dict[str, Any], x: float, scale: float) -> None:
    """Draw one slice: as high as its share of work."""
    y, ms = float(HEIGHT), number(row, "ms") or 1.0
    for column, kind, says in PARTS:
        if share := min(1.0, number(row, column) / ms):
            y -= share * HEIGHT
            tip = f"{says} {_words.percent(share)} of {_words.milliseconds(ms)}"
            svg.rect(x, y, ms * scale, share * HEIGHT, kind, tip)


def _gap(svg: Svg, row: dict[str, Any], begin: float, scale: float) -> str:
    """Draw one gap where it is, and return its cause."""
    cause, ms = word(row, "cause"), number(row, "ms")
    start = number(row, "start_ms") - begin
    if cause not in CAUSES or start < 0:
        return ""
    kind, says = CAUSES[cause]
    inside = word(row, "frame") or word(row, "operator") or word(row, "call")
    tip = f"{says}, {_words.milliseconds(ms)}" + (f", in {inside}" if inside else "")
    svg.rect(start * scale, HEIGHT + 4, ms * scale, BAND - 6, kind, tip)
    return cause
