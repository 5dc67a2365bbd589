"""Where the time went, in one bar, from whatever evidence there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple

from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render._strings import wrap
from tracelens.report import Report
from tracelens.report.compiling import compiling, is_measured

__all__ = ["Part", "Spent", "bar", "drawn", "spent"]

#: Parts of the time: name, letter of the bar in text, class of the bar in HTML.
_PARTS = {
    "compile": ("C", "c0"),
    "recompiles": ("R", "bad"),
    "device": ("D", "c2"),
    "host": ("H", "c1"),
    "communication": ("M", "c4"),
    "copies": ("P", "c6"),
    "idle": (".", "c7"),
}
#: The rule whose data say what the CPU does in a trace without a device.
_ON_CPU = "TRC030"
#: What it does besides.
_OTHER = "the rest"
#: A span of Python that waits looks like one that works.
_CALLED = {"Python": "Python and waiting"}


class Part(NamedTuple):
    """A part of the time."""

    name: str
    ms: float
    letter: str
    kind: str
    start: float
    share: float


class Spent(NamedTuple):
    """Where the time went."""

    total_ms: float
    parts: tuple[Part, ...]
    #: What the parts are taken from.
    of: str


def spent(report: Report) -> Spent | None:
    """Return where the time went; None where nothing says it."""
    found: dict[str, float] = {}
    sources: list[str] = []
    for name, source, parts in (
        ("time", "the trace", _of_devices),
        ("steps", "the trace", partial(_of_cpu, report)),
        ("frames", "compile times", partial(_of_compiling, report)),
        ("primitives", "oneDNN's times", _of_host),
        ("mkl", "MKL's times", _of_host),
    ):
        said = {key: ms for key, ms in parts(report.tables.get(name, [])).items() if ms > 0}
        sources += [source] if said else []
        for key, ms in said.items():
            found[key] = found.get(key, 0.0) + ms
    total = sum(found.values())
    if not total:
        return None
    out: list[Part] = []
    for name, (letter, kind) in (*_PARTS.items(), *_others(found)):
        if name in found:
            start = out[-1].start + out[-1].share if out else 0.0
            out.append(Part(name, found[name], letter, kind, start, found[name] / total))
    return Spent(total, tuple(out), _words.joined(list(dict.fromkeys(sources))))


def _others(found: Iterable[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the parts that have no fixed letter with one that is free, and a class in turn."""
    taken = {letter for letter, _ in _PARTS.values()}
    kinds = cycle(("c2", "c1", "c4", "c6", "c3"))
    for name in found:
        if name not in _PARTS and name != _OTHER:
            free = [char for char in name.upper() if char.isalpha() and char not in taken]
            letter = free[0] if free else "x"
            taken.add(letter)
            yield name, (letter, next(kinds))
    yield _OTHER, ("-", "c7")


def _of_devices(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the parts of the window of each device, on the average of the devices."""
    windows = [row for row in rows if word(row, "phase") == "window"]
    names = {"compute_ms": "device", "exposed_comm_ms": "communication"}
    names |= {"exposed_copy_ms": "copies", "idle_ms": "idle"}
    return {
        name: sum(number(row, column) for row in windows) / max(len(windows), 1)
        for column, name in names.items()
    }


def _of_cpu(report: Report, rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return what the CPU did in traces that have no device, kind by kind, on average of ranks."""
    out: dict[str, float] = {}
    told: set[str] = set()
    for finding in report.findings:
        kinds = finding.data.get("kinds")
        if finding.code != _ON_CPU or not finding.data.get("on_cpu") or finding.run in told:
            continue
        told.add(finding.run)
        whole = [
            number(row, "mean_ms")
            for row in rows
            if row.get("kind") == "trace" and row.get("run", finding.run) == finding.run
        ]
        window = sum(whole) / max(len(whole), 1)
        if not isinstance(kinds, dict) or sum(kinds.values()) > 1:  # threads beside each other
            continue
        for kind, share in (*kinds.items(), (_OTHER, 1 - sum(kinds.values()))):
            name = _CALLED.get(str(kind), str(kind))
            out[name] = out.get(name, 0.0) + window * share
    return out


def _of_compiling(report: Report, rows: list[dict[str, Any]]) -> dict[str, float]:
    sums = compiling(rows, measured=is_measured(report))
    return {"compile": 1000 * (sums.seconds - sums.again), "recompiles": 1000 * sums.again}


def _of_host(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {"host": sum(number(row, "ms") for row in rows)}


def drawn(found: Spent, cells: int) -> str:
    """Return the bar with its total, and below it what its letters mean."""
    total = f" {_words.milliseconds(found.total_ms)}"
    said = [
        f"{part.letter} {part.name} {_words.milliseconds(part.ms)} ({_words.percent(part.share)})"
        for part in found.parts
    ]
    lines = wrap(f"{', '.join(said)}; from {found.of}.", cells)
    return "\n".join([bar(found, cells - len(total)) + total, *lines])


def bar(found: Spent, cells: int) -> str:
    """Return the parts as a row of letters; each part has one at least."""
    room = max(cells - 2, len(found.parts))
    widths = [max(1, round(part.share * room)) for part in found.parts]
    while sum(widths) > room:
        widths[widths.index(max(widths))] -= 1
    while sum(widths) < room:
        widths[widths.index(max(widths))] += 1
    letters = (part.letter * width for part, width in zip(found.parts, widths, strict=True))
    return f"|{''.join(letters)}|"
