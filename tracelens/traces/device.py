"""What the devices do and when: unions of intervals, exact, from events in any order.

Kineto writes kernels in the order in which its buffers came back, which need not be that of time.
Intervals are sorted and joined a block at a time; what is left of the blocks is merged at the end.
"""

from __future__ import annotations

import heapq
import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from operator import add, sub
from typing import NamedTuple, TypeAlias

from tracelens.logs._trace_events import Complete, Id

__all__ = ["Busy", "Calls", "Interval", "Intervals", "Stream", "StreamId"]

#: Intervals that are sorted at a time.
BLOCK = 1 << 15
#: Intervals of one kind and stream that are kept apart; beyond, the shortest gaps are closed.
MAX_INTERVALS = 1 << 19
#: Calls whose times are kept.
MAX_CALLS = 1 << 19

#: Start and end, microseconds.
Interval: TypeAlias = tuple[float, float]


class Busy(NamedTuple):
    """Disjoint intervals in order, as columns: sixteen bytes each."""

    starts: array[float]
    ends: array[float]

    @classmethod
    def union(cls, sources: Sequence[Busy], grain: float = 0.0) -> Busy:
        """Return the union of ``sources``, with gaps of up to ``grain`` closed."""
        full = sorted((part for part in sources if part.starts), key=lambda part: part.starts[0])
        if len(full) == 1 and not grain:
            return full[0]
        pairs: Iterable[Interval]
        if all(before.ends[-1] < after.starts[0] - grain for before, after in pairwise(full)):
            pairs = chain.from_iterable(part.pairs() for part in full)
        else:
            pairs = heapq.merge(*(part.pairs() for part in full))
        return cls.of(pairs, grain)

    @classmethod
    def of(cls, pairs: Iterable[Interval], grain: float = 0.0) -> Busy:
        """Return the union of intervals that are in the order of their beginnings."""
        starts, ends = array("d"), array("d")
        end = -math.inf
        for start, stop in pairs:
            if start > end + grain:
                starts.append(start)
                ends.append(stop)
                end = stop
            elif stop > end:
                ends[-1] = end = stop
        return cls(starts, ends)

    def pairs(self) -> Iterator[Interval]:
        """Yield start and end of each."""
        return zip(self.starts, self.ends, strict=True)

    @property
    def us(self) -> float:
        """The total."""
        return math.fsum(map(sub, self.ends, self.starts))

    @property
    def span(self) -> float:
        """From the beginning of the first to the end of the last."""
        return self.ends[-1] - self.starts[0] if self.starts else 0.0

    def longest_gap(self) -> Interval:
        """Return the longest time between two of them: (start, end); of none, where they begin."""
        nothing = self.starts[0] if self.starts else 0.0
        gaps = zip(self.ends, islice(self.starts, 1, None), strict=False)
        return max(gaps, key=lambda gap: gap[1] - gap[0], default=(nothing, nothing))

    def shared_with(self, others: Busy) -> float:
        """Return the total of what both cover."""
        return sum(others.within(self.pairs()))

    def both(self, others: Busy) -> Busy:
        """Return what is in both."""
        starts, ends = array("d"), array("d")
        mine, theirs = 0, 0
        while mine < len(self.starts) and theirs < len(others.starts):
            start = max(self.starts[mine], others.starts[theirs])
            end = min(self.ends[mine], others.ends[theirs])
            if start < end:
                starts.append(start)
                ends.append(end)
            if self.ends[mine] < others.ends[theirs]:
                mine += 1
            else:
                theirs += 1
        return Busy(starts, ends)

    def within(self, spans: Iterable[Interval]) -> Iterator[float]:
        """Yield how much of each span is covered; the spans come in order of their beginnings."""
        first = 0
        for start, end in spans:
            first = bisect_right(self.ends, start, first)
            last = bisect_left(self.starts, end, first)
            if first >= last:
                yield 0.0
                continue
            covered = math.fsum(map(sub, self.ends[first:last], self.starts[first:last]))
            covered -= max(0.0, start - self.starts[first])
            yield covered - max(0.0, self.ends[last - 1] - end)


class Intervals:
    """A set of moments, as the union of the intervals that were added."""

    def __init__(self) -> None:
        #: Gaps up to this long have been closed, microseconds.
        self.grain = 0.0
        self._starts = array("d")
        self._ends = array("d")
        self._blocks: list[Busy] = []

    def add(self, start: float, end: float) -> None:
        """Add the moments from ``start`` to ``end``."""
        self._starts.append(start)
        self._ends.append(end)
        if len(self._starts) >= BLOCK:
            self._settle()

    def busy(self) -> Busy:
        """Return the union."""
        self._settle()
        self._blocks = [Busy.union(self._blocks)]
        return self._blocks[0]

    def _settle(self) -> None:
        pairs = sorted(zip(self._starts, self._ends, strict=True))
        self._starts, self._ends = array("d"), array("d")
        if pairs:
            self._blocks.append(Busy.of(pairs, self.grain))
        if sum(len(block.starts) for block in self._blocks) > MAX_INTERVALS:
            self.grain = 2 * self.grain or 1.0
            self._blocks = [Busy.union(self._blocks, self.grain)]


class Stream:
    """One stream of one device."""

    def __init__(self, first: int, text: str) -> None:
        self.first = first
        self.text = text
        #: Kernels but collectives, and fills; collectives; copies.
        self.work = Intervals()
        self.collectives = Intervals()
        self.copying = Intervals()
        self.kernels = 0
        self.copies = 0

    def busy(self) -> Busy:
        """Return when it is at work."""
        return Busy.union([part.busy() for part in (self.work, self.collectives, self.copying)])


class Calls:
    """Moments at which something was called, and for how long; in any order."""

    def __init__(self) -> None:
        self.count = 0
        self.us = 0.0
        #: Whether there are more than are kept: shares are then those of the first ones.
        self.full = False
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
        self.full = self.count > MAX_CALLS
        room = MAX_CALLS - len(self._starts)
        self._starts.extend(starts[:room])
        self._us.extend(us[:room])

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

    def idle_after(self, busy: Busy) -> Busy:
        """Return the moments between the end of a call and what ``busy`` goes on with."""
        gaps = []
        for moment in map(add, self._starts, self._us):
            at = bisect_right(busy.starts, moment)
            if 0 < at < len(busy.starts) and busy.ends[at - 1] <= moment:
                gaps.append((moment, busy.starts[at]))
        return Busy.of(sorted(gaps))


#: Process and thread of a device's events: the device and the stream.
StreamId: TypeAlias = tuple[Id, Id]
