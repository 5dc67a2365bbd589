"""Why a device is idle: each gap taken apart by what the host did, so that the parts add up.

A gap ends with an activity, and that with the call that asked for it. Where the call was over
before the gap began, it was *queued*: it waited for another stream, or for what it depends on; so
it was from the call on where it starts 1 ms later and more. Else the host was late, and its thread
says why: it loaded data, it was *blocked* in a call that waits for the device, something *started*
(a module was loaded, memory was taken), or it did anything else. Without a call nothing is known.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from tracelens.traces.activity import Launch, ThreadId
from tracelens.traces.device import Busy, Interval, Intervals

__all__ = ["Cause", "Idle", "Piece", "Waits", "cause_of"]

#: A launch that takes longer loads code first, or makes a context. Microseconds.
SLOW_LAUNCH_US = 1_000.0
#: Any other call that takes as long, before a device did anything, makes the context. Microseconds.
SLOW_CALL_US = 50_000.0
#: A copy that keeps the host for longer waits for the device, or for its own bytes.
SLOW_COPY_US = 20.0
#: What was launched and does not start for longer than this waits for something else.
LATE_START_US = 1_000.0
#: Threads whose calls are told apart.
MAX_THREADS = 1_024
NEVER = Busy(array("d"), array("d"))


class Cause(StrEnum):
    """Why a device is idle; the values are words of the report."""

    QUEUED = "queued"
    NOT_LAUNCHED = "not_launched"
    BLOCKED = "blocked"
    DATA = "data"
    START = "start"
    UNKNOWN = "unknown"


class Piece(NamedTuple):
    """A part of a gap with one cause. Microseconds."""

    cause: Cause
    start: float
    end: float


def cause_of(pieces: Iterable[Piece]) -> Cause:
    """Return what most of a gap is due to."""
    sums: dict[Cause, float] = {}
    for piece in pieces:
        sums[piece.cause] = sums.get(piece.cause, 0.0) + piece.end - piece.start
    return max(sums, key=lambda cause: sums[cause], default=Cause.UNKNOWN)


class Waits:
    """When the threads of the host were in calls of one kind."""

    def __init__(self) -> None:
        self._threads: dict[ThreadId, Intervals] = {}
        self._busy: dict[ThreadId, Busy] = {}

    def add(self, thread: ThreadId, start: float, end: float) -> None:
        """Add a call."""
        found = self._threads.get(thread)
        if found is None:
            if len(self._threads) >= MAX_THREADS:
                thread = None, None
            found = self._threads.setdefault(thread, Intervals())
        found.add(start, end)

    def anywhere(self) -> Busy:
        """Return when any thread was in such calls."""
        return Busy.union([found.busy() for found in self._threads.values()])

    def of(self, thread: ThreadId | None) -> Busy:
        """Return when ``thread`` was in such calls."""
        if thread is None or thread not in self._threads:
            return NEVER
        if thread not in self._busy:
            self._busy[thread] = self._threads[thread].busy()
        return self._busy[thread]


class Idle:
    """What the host did, to be asked about gaps."""

    def __init__(self, loading: Busy, blocking: Waits, starting: Waits) -> None:
        self.loading = loading
        self.blocking = blocking
        self.starting = starting

    def pieces(
        self, start: float, end: float, launch: Launch | None, last: ThreadId | None = None
    ) -> list[Piece]:
        """Take apart a gap that what ``launch`` asked for has ended.

        ``last`` is the thread that is asked where nothing has: at the end of the trace.
        """
        if launch is None:
            if last is not None:
                return self._host(start, end, last)
            return [Piece(Cause.UNKNOWN, start, end)]
        if launch.end <= start or (launch.start <= start and _holds(launch, end)):
            return self._queued(start, end, launch)
        if end - launch.end < LATE_START_US:
            return self._host(start, end, launch.thread)
        late = self._host(start, launch.end, launch.thread)
        return [*late, Piece(Cause.QUEUED, launch.end, end)]

    def _queued(self, start: float, end: float, launch: Launch) -> list[Piece]:
        """Take apart a gap whose activity was asked for before it began."""
        there = min(max(launch.end, start), end)
        cause = Cause.BLOCKED if "Memcpy" in launch.name else Cause.START
        found = [Piece(cause, start, there), Piece(Cause.QUEUED, there, end)]
        return [piece for piece in found if piece.end > piece.start]

    def _host(self, start: float, end: float, thread: ThreadId) -> list[Piece]:
        """Take apart a gap in which the host was late."""
        rest = [(start, end)]
        pieces: list[Piece] = []
        for cause, times in (
            (Cause.START, self.starting.of(thread)),
            (Cause.DATA, self.loading),
            (Cause.BLOCKED, self.blocking.of(thread)),
        ):
            if times.starts:
                rest, inside = _cut(rest, times)
                pieces += [Piece(cause, *span) for span in inside]
        pieces += [Piece(Cause.NOT_LAUNCHED, *span) for span in rest]
        return pieces


def _holds(launch: Launch, end: float) -> bool:
    """Tell whether a call that the gap began in waits for the device itself, or loads code."""
    if "Memcpy" in launch.name:
        return launch.end >= end
    return launch.end - launch.start >= SLOW_LAUNCH_US and "Launch" in launch.name


def _cut(spans: list[Interval], busy: Busy) -> tuple[list[Interval], list[Interval]]:
    """Return what of ``spans`` is outside of ``busy``, and what is inside."""
    outside: list[Interval] = []
    inside: list[Interval] = []
    for start, end in spans:
        at = max(0, bisect_right(busy.starts, start) - 1)
        moment = start
        while at < len(busy.starts) and busy.starts[at] < end:
            left, right = max(start, busy.starts[at]), min(end, busy.ends[at])
            if left < right:
                if moment < left:
                    outside.append((moment, left))
                inside.append((left, right))
                moment = right
            at += 1
        if moment < end:
            outside.append((moment, end))
    return outside, inside
