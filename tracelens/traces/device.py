"""What the devices do and when: unions of intervals, exact, from events in any order.

Kineto writes kernels in the order in which its buffers came back, which need not be that of time.
Intervals are sorted and joined a block at a time; what is left of the blocks is merged at the end.
"""

from __future__ import annotations

import heapq
import math
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import add
from typing import TypeAlias

from tracelens.traces.events import Complete, Id

__all__ = ["Calls", "Intervals", "Stream", "joined", "length", "overlap"]

#: Intervals that are sorted at a time.
BLOCK = 1 << 15
#: Intervals of one kind and stream that are kept apart; beyond, the shortest gaps are closed.
MAX_INTERVALS = 1 << 19
#: Calls whose times are kept.
MAX_CALLS = 1 << 20

#: Start and end, microseconds.
Interval: TypeAlias = tuple[float, float]


class Intervals:
    """A set of moments, as the union of the intervals that were added."""

    def __init__(self) -> None:
        #: Gaps up to this long have been closed, microseconds.
        self.grain = 0.0
        self._starts = array("d")
        self._ends = array("d")
        self._blocks: list[tuple[array[float], array[float]]] = []

    def add(self, start: float, end: float) -> None:
        """Add the moments from ``start`` to ``end``."""
        self._starts.append(start)
        self._ends.append(end)
        if len(self._starts) >= BLOCK:
            self._settle()

    def __iter__(self) -> Iterator[Interval]:
        """Yield disjoint intervals in order."""
        self._settle()
        return joined(*(zip(starts, ends, strict=True) for starts, ends in self._blocks))

    def _settle(self) -> None:
        pairs = sorted(zip(self._starts, self._ends, strict=True))
        self._starts, self._ends = array("d"), array("d")
        if pairs:
            self._blocks.append(_columns(joined(pairs, grain=self.grain)))
        if sum(len(starts) for starts, _ in self._blocks) > MAX_INTERVALS:
            self.grain = 2 * self.grain or 1.0
            merged = joined(
                *(zip(starts, ends, strict=True) for starts, ends in self._blocks),
                grain=self.grain,
            )
            self._blocks = [_columns(merged)]


def joined(*sources: Iterable[Interval], grain: float = 0.0) -> Iterator[Interval]:
    """Yield the union of sorted ``sources`` as disjoint intervals, in order."""
    held: Interval | None = None
    for start, end in heapq.merge(*sources):
        if held is None:
            held = start, end
        elif start <= held[1] + grain:
            held = held[0], max(held[1], end)
        else:
            yield held
            held = start, end
    if held is not None:
        yield held


def _columns(intervals: Iterable[Interval]) -> tuple[array[float], array[float]]:
    starts, ends = array("d"), array("d")
    for start, end in intervals:
        starts.append(start)
        ends.append(end)
    return starts, ends


def length(intervals: Iterable[Interval]) -> float:
    """Return the total of disjoint intervals."""
    return sum(end - start for start, end in intervals)


def overlap(ours: Iterable[Interval], theirs: Iterable[Interval]) -> float:
    """Return the total of what two sets of disjoint sorted intervals share."""
    total = 0.0
    others = iter(theirs)
    other = next(others, None)
    for start, end in ours:
        while other is not None and other[1] <= start:
            other = next(others, None)
        while other is not None and other[0] < end:
            total += min(end, other[1]) - max(start, other[0])
            if other[1] > end:
                break
            other = next(others, None)
    return total


class Stream:
    """One stream of one device."""

    def __init__(self, first: int, text: str) -> None:
        self.first = first
        self.text = text
        self.work = Intervals()
        self.collectives = Intervals()
        self.kernels = 0
        self.copies = 0

    def busy(self) -> Iterator[Interval]:
        """Yield when it is at work."""
        return joined(self.work, self.collectives)


class Calls:
    """Moments at which something was called, and for how long; in any order."""

    def __init__(self) -> None:
        self.count = 0
        self.us = 0.0
        self.start = math.inf
        self.end = -math.inf
        self._starts = array("d")
        self._us = array("d")

    def add(self, events: list[Complete]) -> None:
        """Add a call for each of ``events``."""
        starts = [event.ts for event in events]
        us = [event.dur for event in events]
        self.count += len(events)
        self.us += math.fsum(us)
        self.start = min(self.start, *starts)
        self.end = max(self.end, *map(add, starts, us))
        room = MAX_CALLS - len(self._starts)
        self._starts.extend(starts[:room])
        self._us.extend(us[:room])

    @property
    def complete(self) -> bool:
        """Whether the share of each span is known."""
        return self.count == len(self._starts)

    def shares(self, spans: list[Interval]) -> list[tuple[int, float]]:
        """Return number and microseconds of the calls that began in each of the sorted ``spans``.

        A call in several spans belongs to the one that began last.
        """
        begins = [start for start, _ in spans]
        counts = [0] * len(spans)
        sums = [0.0] * len(spans)
        for start, us in zip(self._starts, self._us, strict=True):
            at = bisect_right(begins, start) - 1
            if at >= 0 and start < spans[at][1]:
                counts[at] += 1
                sums[at] += us
        return list(zip(counts, sums, strict=True))


#: Process and thread of a device's events: the device and the stream.
StreamId: TypeAlias = tuple[Id, Id]
