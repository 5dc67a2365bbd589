"""Rows of time: what each device did in the window and in each step, and why it did nothing."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import pairwise
from operator import sub
from typing import TYPE_CHECKING

from tracelens.traces.activity import Ended
from tracelens.traces.cold import parts
from tracelens.traces.device import Busy, Interval, Stream, StreamId
from tracelens.traces.host import Around, Stretch
from tracelens.traces.idle import Cause, Idle, Piece, cause_of
from tracelens.traces.own_frames import called, in_model, mine, of_profiler
from tracelens.traces.phases import Phase, phases
from tracelens.traces.rows import Activity, DeviceGap, HeldBy, Timeline

if TYPE_CHECKING:
    from tracelens.traces.reading import Reading

__all__ = [
    "MIN_GAP_US",
    "DeviceTime",
    "activity",
    "device_times",
    "gaps",
    "held",
    "timelines",
]

#: Gaps from which on it is said what the host did, and how many, the longest.
MIN_GAP_US = 200.0
LONG_GAP_US = 1_000.0
MAX_EXPLAINED = 20_000
#: Gaps, and causes, that are listed.
MAX_GAPS = 20
MAX_HELD = 100
#: Slices of the window in which it is told what a device did.
SLICES = 240


class DeviceTime:
    """One device: what it did when, and its gaps, in order of time.

    ``extent`` is the time of the steps, which can begin before the first activity and end after
    the last.
    """

    def __init__(self, reading: Reading, device: str, keys: list[StreamId], extent: Interval):
        streams = [reading.devices.streams[key] for key in keys]
        calls = reading.runtime.calls
        self.device = device
        self.first = min(streams, key=lambda stream: stream.first)
        self.compute = _union(streams, "work")
        self.collectives = _union(streams, "collectives")
        self.copies = _union(streams, "copying")
        self.talking = Busy.union([self.compute, self.collectives])
        self.busy = Busy.union([self.talking, self.copies])
        self.starts, self.ends = _gaps(self.busy, *extent)
        self.ended = Ended(reading.devices.activities, calls, keys, self.ends)
        self.known = self.ended.known
        self.main = calls.most() if self.known else None
        loading = reading.operators.loading.busy()
        self._idle = Idle(loading, reading.runtime.blocking, reading.runtime.starting)
        self._apart: tuple[tuple[str, Interval], ...] | None = None
        self.parts = self._parts()
        self.around = self._explained(reading)

    def pieces(self, gap: int) -> list[Piece]:
        """Return the parts of a gap."""
        start, end = self.starts[gap], self.ends[gap]
        last = self.main if end > self.busy.ends[-1] else None
        return self._idle.pieces(start, end, self.ended.launch(gap), last)

    def apart(self, reading: Reading) -> Sequence[tuple[str, Interval]]:
        """Return the steady part and what comes before it; nothing where all is alike."""
        if self._apart is None:
            self._apart = tuple(parts(reading, self)) if self.busy.starts else ()
        return self._apart

    def longest(self, most: int, least: float = 0.0) -> list[int]:
        """Return the gaps of at least ``least``, the longest first."""
        us = array("d", map(sub, self.ends, self.starts))
        long = [gap for gap, length in enumerate(us) if length >= least]
        return nlargest(most, long, key=us.__getitem__)

    def _parts(self) -> dict[Cause, Busy]:
        """Return when the device was idle, by cause."""
        parts = {cause: Busy(array("d"), array("d")) for cause in Cause}
        for gap in range(len(self.starts)):
            for piece in sorted(self.pieces(gap), key=lambda piece: piece.start):
                parts[piece.cause].starts.append(piece.start)
                parts[piece.cause].ends.append(piece.end)
        return parts

    def _explained(self, reading: Reading) -> dict[int, Around]:
        """Return what the host did in the longest gaps."""
        long = self.longest(MAX_EXPLAINED, MIN_GAP_US)
        stretches = []
        for gap in long:
            start, end = self.starts[gap], self.ends[gap]
            launch = self.ended.launch(gap)
            late = launch is not None and launch.start > start
            if late and launch and cause_of(self.pieces(gap)) in _HOST:
                end = launch.start
            thread = launch.thread if launch else reading.runtime.calls.most()
            stretches.append(Stretch(thread, start, end))
        return dict(zip(long, reading.host.around(stretches), strict=True))


#: Causes that are found before the call: it is no part of them.
_HOST = frozenset({Cause.NOT_LAUNCHED, Cause.DATA})


def device_times(reading: Reading, extent: Interval) -> Iterator[DeviceTime]:
    """Yield what each device did."""
    devices: dict[str, list[StreamId]] = {}
    for key in reading.devices.streams:
        devices.setdefault(str(key[0]), []).append(key)
    for device, keys in devices.items():
        yield DeviceTime(reading, device, keys, extent)


def _union(streams: Iterable[Stream], field: str) -> Busy:
    return Busy.union([getattr(stream, field).busy() for stream in streams])


def _gaps(busy: Busy, start: float, end: float) -> tuple[array[float], array[float]]:
    """Return when ``busy`` is not, with the time from ``start`` on and up to ``end``."""
    starts, ends = busy.ends[:-1], busy.starts[1:]
    if busy.starts and start < busy.starts[0]:
        starts.insert(0, start)
        ends.insert(0, busy.starts[0])
    if busy.starts and end > busy.ends[-1]:
        starts.append(busy.ends[-1])
        ends.append(end)
    return starts, ends


def timelines(
    reading: Reading, times: DeviceTime, steps: Sequence[tuple[str, Interval]]
) -> Iterator[Timeline]:
    """Yield the row of the window, and one per step and other phase.

    Without steps, the steady part is told from what comes before it.
    """
    busy = times.busy
    if not busy.starts:
        return
    window = busy.starts[0], busy.ends[-1]
    yield _row(times, Phase("window", (window,)))
    seen = min((window[0], *times.starts[:1])), max((window[1], *times.ends[-1:]))
    if not steps:
        for name, span in times.apart(reading):
            yield _row(times, Phase(name, (span,)))
    for phase in phases(reading, steps, seen):
        yield _row(times, phase)


def _row(times: DeviceTime, phase: Phase) -> Timeline:
    compute, collectives, copies = times.compute, times.collectives, times.copies
    window = sum(end - start for start, end in phase.spans)
    unions = [compute, times.talking, times.busy]
    computed, talking, busy = (sum(union.within(phase.spans)) for union in unions)
    if not collectives.starts:
        talking = computed
    if not copies.starts:
        busy = talking
    idle = dict.fromkeys(Cause, 0.0)
    for cause, part in times.parts.items():
        idle[cause] = sum(part.within(phase.spans))
    known = {f"idle_{cause}_ms": _ms(us) if times.known else None for cause, us in idle.items()}
    total = window - busy
    if not times.known:
        known |= {"idle_unknown_ms": _ms(total)}
    return Timeline(
        device=times.device,
        phase=phase.name,
        window_ms=_ms(window),
        busy_ms=_ms(busy),
        compute_ms=_ms(computed),
        exposed_comm_ms=_ms(talking - computed),
        exposed_copy_ms=_ms(busy - talking),
        idle_ms=_ms(total),
        **known,
    )


def activity(times: DeviceTime, origin: float) -> Iterator[Activity]:
    """Yield what the device did in each slice of the window."""
    if not times.busy.starts:
        return
    begin, end = times.busy.starts[0], times.busy.ends[-1]
    edges = [begin + (end - begin) * at / SLICES for at in range(SLICES)] + [end]
    spans = list(pairwise(edges))
    parts = [list(part.within(spans)) for part in (times.compute, times.talking, times.busy)]
    for (start, stop), computed, talking, busy in zip(spans, *parts, strict=True):
        yield Activity(
            device=times.device,
            start_ms=_ms(start - origin),
            ms=_ms(stop - start),
            compute_ms=_ms(computed),
            exposed_comm_ms=_ms(max(0.0, talking - computed)),
            exposed_copy_ms=_ms(max(0.0, busy - talking)),
        )


def gaps(reading: Reading, times: DeviceTime, origin: float) -> Iterator[DeviceGap]:
    """Yield the longest gaps, the longest first."""
    for gap in times.longest(MAX_GAPS):
        around = times.around.get(gap, Around())
        start = times.starts[gap]
        yield DeviceGap(
            device=times.device,
            start_ms=_ms(start - origin),
            ms=_ms(times.ends[gap] - start),
            cause=cause_of(times.pieces(gap)),
            frame=around.frame,
            operator=around.operator,
            call=around.call,
            next_kernel=_next(reading, times.ended.activities[gap]),
        )


def _next(reading: Reading, activity: int) -> str:
    if activity < 0:
        return ""
    kept = reading.devices.activities
    return str(kept.name_table.items[kept.names[activity]].record)


def held(
    reading: Reading, times: DeviceTime, steps: Sequence[tuple[str, Interval]]
) -> Iterator[HeldBy]:
    """Yield what the host did in the long gaps, by frame and operator, the longest first.

    What is in each step, or in the steady part, is also told apart.
    """
    known = steps or times.apart(reading)
    waited = reading.runtime.waits.idle_after(times.busy)
    sums: dict[tuple[str, str, str, str, str, bool], list[float]] = {}
    apart: defaultdict[tuple[str, str, str, str, str, bool], dict[str, list[float]]] = defaultdict(
        dict
    )
    for gap, around in times.around.items():
        profiler, inner = of_profiler(around.frames), called(around.builtin)
        own = "" if profiler else mine(around.filling) or mine(around.frames)
        why, frame = str(cause_of(times.pieces(gap))), profiler or around.frame
        key = why, frame, own, around.operator, inner, in_model(around.frames)
        each = sums.setdefault(key, [0, 0.0, 0.0, 0.0, 0.0])
        each[0] += 1
        us = times.ends[gap] - times.starts[gap]
        each[1] += us
        each[2] += us if us >= LONG_GAP_US else 0.0
        each[3] += sum(waited.within([(times.starts[gap], times.ends[gap])]))
        each[4] += min(us, around.us)
        for phase, inside in _inside(known, times.starts[gap], times.ends[gap]):
            part = apart[key].setdefault(phase, [0, 0.0, 0.0])
            part[0] += 1
            part[1] += inside
            part[2] += inside if inside >= LONG_GAP_US else 0.0
    for key, (count, us, long, after, inside) in sorted(sums.items(), key=lambda pair: -pair[1][1])[
        :MAX_HELD
    ]:
        cause, frame, own, operator, inner, model = key
        yield HeldBy(
            device=times.device,
            cause=cause,
            frame=frame,
            user_frame=own,
            operator=operator,
            called=inner,
            in_model=model,
            count=int(count),
            ms=_ms(us),
            long_ms=_ms(long),
            waited_ms=_ms(after),
            inside_ms=_ms(inside),
            parts=tuple(
                (phase, int(n), _ms(all_us), _ms(long_us))
                for phase, (n, all_us, long_us) in apart[key].items()
            ),
        )


def _inside(
    known: Sequence[tuple[str, Interval]], start: float, end: float
) -> Iterator[tuple[str, float]]:
    """Yield the phases that a gap meets, and how much of it is in each: what is long there."""
    at = max(0, bisect_right(known, start, key=lambda phase: phase[1][0]) - 1)
    while at < len(known) and known[at][1][0] < end:
        phase, (begin, stop) = known[at]
        us = min(end, stop) - max(start, begin)
        if us >= MIN_GAP_US:
            yield phase, us
        at += 1


def _ms(us: float) -> float:
    """Return milliseconds, in whole nanoseconds."""
    return round(us / 1000, 6)
