"""The time that compiling took, from the rows of a report: one sum for whatever says it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tracelens.report.model import Report

__all__ = ["Compiling", "compiling", "is_measured", "own_seconds"]


class Compiling(NamedTuple):
    """Seconds of compilations."""

    #: All of them, and those of code that had been compiled before.
    seconds: float
    again: float


def is_measured(report: Report) -> bool:
    """Return whether Dynamo has measured compile times; else they are by the clocks of a log."""
    return any("torch_trace" in source.kinds for source in report.inputs)


def compiling(frames: Sequence[Mapping[str, Any]], *, measured: bool) -> Compiling:
    """Return the seconds of the rows of the table ``frames``.

    Args:
        frames: Rows with ``frame``, ``writer``, ``at_s``, ``compile_s`` and ``backward_s``.
        measured: Whether Dynamo has measured them. By the clocks of a log, a compilation holds
            what is compiled in between, and what overlaps counts once.
    """
    writers: defaultdict[tuple[Any, Any], list[Mapping[str, Any]]] = defaultdict(list)
    for row in frames:
        writers[row.get("run"), row.get("writer")].append(row)
    sums = [_sums(rows, measured=measured) for rows in writers.values()]
    return Compiling(sum(one.seconds for one in sums), sum(one.again for one in sums))


def _sums(rows: Sequence[Mapping[str, Any]], *, measured: bool) -> Compiling:
    again = [row for row in rows if _is_again(str(row.get("frame", "")))]
    if measured or any(row.get("at_s") is None for row in rows if row.get("compile_s")):
        return Compiling(_added(rows), _added(again))
    return Compiling(_covered(rows), _covered(again))


def _is_again(frame: str) -> bool:
    return frame.partition("/")[2].partition("_")[0] not in {"", "0"}


def _added(rows: Iterable[Mapping[str, Any]]) -> float:
    return sum((row.get("compile_s") or 0.0) + (row.get("backward_s") or 0.0) for row in rows)


def _covered(rows: Iterable[Mapping[str, Any]]) -> float:
    total, end = 0.0, float("-inf")
    spans = [(row["at_s"], row["at_s"] + row["compile_s"]) for row in rows if row.get("compile_s")]
    for start, stop in sorted(spans):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total + sum(row.get("backward_s") or 0.0 for row in rows)


def own_seconds(frames: Sequence[Mapping[str, Any]], *, measured: bool) -> list[float]:
    """Return the seconds of each row without those of what was compiled in between.

    Each moment counts for the compilation that began last; their sum is that of `compiling`.
    """
    own = [row.get("backward_s") or 0.0 for row in frames]
    writers: defaultdict[tuple[Any, Any], list[int]] = defaultdict(list)
    for at, row in enumerate(frames):
        if row.get("compile_s"):
            writers[row.get("run"), row.get("writer")].append(at)
    for held in writers.values():
        if measured or any(frames[at].get("at_s") is None for at in held):
            for at in held:
                own[at] += frames[at]["compile_s"]
        else:
            _share_out(frames, held, own)
    return own


def _share_out(frames: Sequence[Mapping[str, Any]], held: Sequence[int], own: list[float]) -> None:
    """Add each moment of the rows ``held`` to the one that began last and goes on."""
    starts = sorted((frames[at]["at_s"], at) for at in held)
    stops = {at: start + frames[at]["compile_s"] for start, at in starts}
    edges = sorted({*stops.values(), *(start for start, _ in starts)})
    going: list[tuple[float, int]] = []
    begun = 0
    for left, right in pairwise(edges):
        while begun < len(starts) and starts[begun][0] <= left:
            heappush(going, (-starts[begun][0], -starts[begun][1]))
            begun += 1
        while going and stops[-going[0][1]] <= left:
            heappop(going)
        if going:
            own[-going[0][1]] += right - left
