"""How long things took, and when they began and ended: in constant memory, exact in any order."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import cache

import msgspec

__all__ = ["Ticks", "Times"]

#: Characters of a line that is a decimal number with nine places at most: ``0.123456789``.
LONGEST_DECIMAL = 12
#: Milliseconds up to which a sum of such numbers is known to half a unit of the ninth place: the
#: errors of n doubles are less than 2^-52 of their sum.
MAX_DECIMAL_SUM = 1e6
#: Values of which half have to be equal to others, for each different one to be looked at once.
SAMPLE = 64
_DECIMALS = msgspec.json.Decoder(list[float])
#: An execution that took so many milliseconds and medians more than the median waited for a core,
#: where there are enough to know, and it is one of them or one in so many.
WAIT_MS, WAIT_FACTOR, FEWEST, FEW = 3.0, 20.0, 4, 10


class Times:
    """How long something took, over many executions, in constant memory. All in milliseconds.

    The total is kept in whole femtoseconds, so that adding is exact in any order.
    """

    __slots__ = ("_total", "buckets", "first", "max", "min", "n")

    #: Buckets per factor of two: the median is exact to 3 %.
    RESOLUTION = 16

    def __init__(self) -> None:
        self.n = 0
        self._total = 0
        self.min = math.inf
        self.max = 0.0
        self.first = 0.0
        self.buckets: dict[int, int] = {}

    def add(self, ms: float, count: int = 1) -> None:
        """Add ``count`` executions of ``ms`` each; an impossible time is left out."""
        if not 0 <= ms < 1e12:
            return
        if not self.n:
            self.first = ms
        self.n += count
        # To the last digit: 10^15 is the most that a double tells from its neighbours.
        self._total += (round(ms * 1e12) if ms < 1e3 else round(ms * 1e9) * 1000) * count
        self.min = min(self.min, ms)
        self.max = max(self.max, ms)
        key = _bucket(ms)
        self.buckets[key] = self.buckets.get(key, 0) + count

    def add_all(self, values: Sequence[float], unit: float = 1.0) -> None:
        """Add one execution of ``unit`` milliseconds for each of ``values``; :meth:`add`, faster.

        Their sum is rounded to nanoseconds.
        """
        if not values:
            return
        counts = _counted(values)
        low, high = min(counts), max(counts)
        if not (low >= 0 and high * unit < 1e12):
            self.add_all([value for value in values if 0 <= value * unit < 1e12], unit)
            return
        if not self.n:
            self.first = values[0] * unit
        self.n += len(values)
        self._total += round(sum(values) * unit * 1e6) * 10**6
        self.min = min(self.min, low * unit)
        self.max = max(self.max, high * unit)
        scale, shift = self.RESOLUTION, math.log2(unit) * self.RESOLUTION
        log2, floor = math.log2, math.floor
        keys: dict[int, int] = {}
        if isinstance(counts, dict):
            none = counts.pop(0.0, 0)
            for value, count in counts.items():
                key = floor(log2(value) * scale + shift)
                keys[key] = keys.get(key, 0) + count
        else:
            timed = counts if low else [value for value in counts if value]
            none = len(counts) - len(timed)
            keys = Counter([floor(log2(value) * scale + shift) for value in timed])
        if none:
            keys[-(1 << 20)] = none
        for key, count in keys.items():
            self.buckets[key] = self.buckets.get(key, 0) + count

    def add_texts(self, texts: Sequence[bytes]) -> None:
        """Add one execution for each line of ``texts``, a plain decimal; :meth:`add`, faster.

        Exact, as :meth:`add` is: a sum of decimals with up to nine places is one again, and where
        it is small enough to be known to half a unit of the ninth, it is that one.
        """
        values = sorted(_decimals(texts))
        longest = max(map(len, texts))
        if longest > LONGEST_DECIMAL or values[-1] * len(values) > MAX_DECIMAL_SUM:
            for text in texts:
                self.add(float(text))
            return
        if not self.n:
            self.first = float(texts[0])
        self.n += len(values)
        self._total += round(math.fsum(values) * 1e9) * 1000
        self.min = min(self.min, values[0])
        self.max = max(self.max, values[-1])
        at = 0
        while at < len(values):
            key = _bucket(values[at])
            end = bisect_left(values, _edge(key + 1), at)
            self.buckets[key] = self.buckets.get(key, 0) + end - at
            at = end

    def merge(self, other: Times) -> None:
        """Add what ``other``, which came later, has seen."""
        if not self.n:
            self.first = other.first
        self.n += other.n
        self._total += other._total
        self.min = min(self.min, other.min)
        self.max = max(self.max, other.max)
        for key, count in other.buckets.items():
            self.buckets[key] = self.buckets.get(key, 0) + count

    @property
    def total(self) -> float:
        """The sum."""
        return self._total / 1e12

    @property
    def median(self) -> float:
        """The median, to within a bucket; never outside what was seen."""
        rank = (self.n + 1) // 2
        for key in sorted(self.buckets):
            rank -= self.buckets[key]
            if rank <= 0:
                middle = 2.0 ** ((key + 0.5) / self.RESOLUTION) if key > -(1 << 20) else 0.0
                return min(max(middle, self.min), self.max)
        return 0.0

    @property
    def start(self) -> float:
        """The surplus of the first execution, which may compile or transform."""
        return max(0.0, self.first - self.median) if self.n > 1 else 0.0

    @property
    def steady(self) -> float:
        """The total without what will not recur.

        That is the surplus of the first execution, which may compile or transform, and of the few
        for which a thread waited for its core: a slice of the scheduler, and many medians.
        """
        if self.n <= 1:
            return self.total
        usual = self.median
        limit = usual + max(WAIT_MS, WAIT_FACTOR * usual)
        waited = {key: count for key, count in self.buckets.items() if key > _bucket(limit)}
        late = sum(waited.values())
        if self.n < FEWEST or not 0 < late <= max(1, self.n // FEW):
            return self.total - self.start
        ms = self.max if late == 1 else sum(n * _edge(key) for key, n in waited.items()) / late
        first = self.first if self.first <= limit else 0.0
        return max(self.total - late * (ms - usual) - max(0.0, first - usual), self.n * self.min)


def _counted(values: Sequence[float]) -> Sequence[float] | dict[float, int]:
    """Return how often each of ``values`` is there, if that is worth it, or else all of them."""
    some = values[:SAMPLE]
    return Counter(values) if 2 * len(set(some)) <= len(some) else values


def _decimals(texts: Sequence[bytes]) -> list[float]:
    """Return the numbers that ``texts`` are; as JSON they are read in half the time."""
    try:
        return _DECIMALS.decode(b"[%b]" % b",".join(texts))
    except msgspec.DecodeError:  # not all that is a number is one in JSON
        return [float(text) for text in texts]


def _bucket(ms: float) -> int:
    return math.floor(math.log2(ms) * Times.RESOLUTION) if ms > 0 else -(1 << 20)


@cache
def _edge(key: int) -> float:
    """Return the smallest number of bucket ``key`` or a higher one."""
    if key <= -(1 << 20) + 1:
        return 5e-324  # all that is more than nothing
    edge: float = 2.0 ** (key / Times.RESOLUTION)
    while _bucket(edge) >= key:
        edge = math.nextafter(edge, 0)
    while _bucket(edge) < key:
        edge = math.nextafter(edge, math.inf)
    return edge


class Ticks(msgspec.Struct):
    """When one phase of one compilation began and ended, in the order of the log."""

    #: Where first.
    line: int
    #: Microseconds: negative for a beginning, positive for an end.
    times: array[float] = msgspec.field(default_factory=lambda: array("d"))

    def seconds(self) -> tuple[float, ...]:
        """Return how long each run took, in the order of their ends.

        A beginning without an end, where the log or the program ended, is no run.
        """
        begun: list[float] = []
        runs = []
        for time in self.times:
            if time < 0:
                begun.append(-time)
            elif begun and time >= begun[-1]:
                runs.append((time - begun.pop()) * 1e-6)
        return tuple(runs)
