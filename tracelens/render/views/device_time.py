"""What each device did in each step: a bar, cut by what it did and why it did nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, ClassVar

from tracelens.render import _words
from tracelens.render._bars import Bars, Piece
from tracelens.render._rows import number, word
from tracelens.render.views import Picture, View
from tracelens.report import Report

__all__ = ["DeviceTime", "Part", "by_device", "phase_bars"]

#: Bars of one device, and devices, that are drawn; the table has more.
MAX_BARS = 40
MAX_DEVICES = 16
#: A column, its colour, and what it is.
Part = tuple[str, str, str]
#: Columns that add up to the time of a phase.
PARTS: tuple[Part, ...] = (
    ("compute_ms", "c0", "computes"),
    ("exposed_comm_ms", "c1", "communicates alone"),
    ("exposed_copy_ms", "c2", "copies alone"),
    ("idle_queued_ms", "c7", "idle: queued behind another"),
    ("idle_not_launched_ms", "bad", "idle: not launched yet"),
    ("idle_blocked_ms", "warn", "idle: the host waits or copies"),
    ("idle_data_ms", "c3", "idle: the host waits for data"),
    ("idle_start_ms", "c4", "idle: code or memory is made ready"),
    ("idle_unknown_ms", "c5", "idle: not known"),
)


class DeviceTime(View):
    """Bars of steps and other phases."""

    name = "device-time"
    title = "Time of the devices"
    says = (
        "Each bar is a step or another phase, as long as it took; window is from the first kernel "
        "or copy to the last."
    )
    order = 20
    tables: ClassVar[tuple[str, ...]] = ("time",)

    @classmethod
    def applies(cls, report: Report) -> bool:
        """Whether a phase took any time."""
        return any(number(row, "window_ms") for row in report.tables.get("time", ()))

    @classmethod
    def pictures(cls, report: Report) -> Iterator[Picture]:
        """Yield a picture for each device."""
        for title, rows in by_device(report, "time", "window_ms"):
            said = f"{_words.percent(_busy(rows[0]))} busy in {word(rows[0], 'phase')}"
            text = f"Time of the device by phase: {said}"
            yield phase_bars(rows, title, PARTS, "window_ms", text)


def by_device(report: Report, table: str, whole: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the rows of each device that took any time, with what tells it from the others."""
    devices: defaultdict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in report.tables.get(table, ()):
        if number(row, whole):
            devices[tuple(word(row, key) for key in ("run", "rank", "device"))].append(row)
    for at, (key, rows) in enumerate(devices.items()):
        if at < MAX_DEVICES:
            yield _title(key) if len(devices) > 1 else "", rows


def _title(key: tuple[str, ...]) -> str:
    run, rank, device = key
    return ", ".join(filter(None, (run, f"rank {rank}" if rank else "", f"device {device}")))


def phase_bars(
    rows: list[dict[str, Any]], title: str, parts: tuple[Part, ...], whole: str, said: str
) -> Picture:
    """Return a bar for each of ``rows``, as long as its column ``whole``, cut into ``parts``."""
    shown = rows[:MAX_BARS]
    drawn = Bars(said, len(shown), max(number(row, whole) for row in shown))
    for row in shown:
        _draw(drawn, row, parts, number(row, whole))
    used = [part for part in parts if any(number(row, part[0]) for row in shown)]
    left_out = len(rows) - len(shown)
    caption = f"{_words.plural(left_out, 'more phase')} not drawn." if left_out else ""
    return Picture(drawn.svg, caption, tuple((kind, says) for _, kind, says in used), title)


def _busy(row: dict[str, Any]) -> float:
    return min(1.0, number(row, "busy_ms") / (number(row, "window_ms") or 1.0))


def _draw(drawn: Bars, row: dict[str, Any], parts: tuple[Part, ...], whole: float) -> None:
    pieces = []
    for column, kind, says in parts:
        if ms := min(number(row, column), whole):
            tip = f"{says}: {_words.milliseconds(ms)}, {_words.percent(ms / whole)}"
            pieces.append(Piece(ms, kind, tip))
    drawn.add(word(row, "phase"), _words.milliseconds(whole), pieces)
