"""Where the steady part of a trace without profiler steps begins.

Before it the program starts (code is compiled, loaded and captured, memory is taken), or the device
still does what was launched before the recording: the first recorded activity of a stream then
begins long after its call, though the trace holds nothing that it could wait for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.traces.device import Busy, Interval
from tracelens.traces.idle import LATE_START_US, Cause

if TYPE_CHECKING:
    from tracelens.traces.reading import Reading
    from tracelens.traces.timeline import DeviceTime

__all__ = ["COLD", "EARLIER", "STEADY", "cold_us", "parts"]

#: The names of the phases.
COLD, EARLIER, STEADY = "cold", "earlier work", "steady"
#: What is not one-off of the time before the steady part, at most.
MAX_STEADY_BEFORE = 0.5
#: Of the window, the least that is worth telling apart.
MIN_COLD = 0.1
#: Activities that make a steady part.
MIN_ACTIVITIES = 50
#: One-off work below this is no part of starting, microseconds.
MIN_US = 1_000.0
#: Share of a gap from which on it is start altogether.
MOST = 0.5


def parts(reading: Reading, times: DeviceTime) -> Iterator[tuple[str, Interval]]:
    """Yield what comes before the steady part, and that; nothing where all is alike."""
    begin, end = times.busy.starts[0], times.busy.ends[-1]
    earlier = _earlier(reading, times)
    once = [
        reading.operators.compiling.busy(),
        reading.runtime.captured(),
        times.parts[Cause.START],
        _started_in(times),
        earlier,
    ]
    inside = Busy.union(once).both(Busy.of([(begin, end)]))
    cut = begin
    done = 0.0
    for start, stop in inside.pairs():
        done += stop - start
        if stop - start >= MIN_US and done >= (1 - MAX_STEADY_BEFORE) * (stop - begin):
            cut = stop
    starts = reading.devices.activities.starts
    after = sum(cut <= start < end for start in starts)
    if cut - begin < MIN_COLD * (end - begin) or after < MIN_ACTIVITIES:
        return
    waited = sum(earlier.within([(begin, cut)]))
    yield EARLIER if waited >= (cut - begin) / 2 else COLD, (begin, cut)
    yield STEADY, (cut, end)


def cold_us(reading: Reading, start: float, busy: Busy) -> float:
    """Return for how long the runtime was made ready before a device did anything."""
    if not busy.starts:
        return 0.0
    runtime = reading.runtime
    ready = Busy.union([runtime.starting.anywhere(), runtime.long.anywhere()])
    return sum(ready.within([(start, busy.starts[0])]))


def _started_in(times: DeviceTime) -> Busy:
    """Return the gaps that are mostly start: what is left of the operator then is of that, too."""
    starting = times.parts[Cause.START]
    spans = zip(times.starts, times.ends, strict=True)
    long = [span for span in spans if span[1] - span[0] >= MIN_US]
    inside = zip(long, starting.within(long), strict=True)
    return Busy.of([span for span, us in inside if us >= MOST * (span[1] - span[0])])


def _earlier(reading: Reading, times: DeviceTime) -> Busy:
    """Return when a launched activity, the first of its stream, waited for what is not recorded."""
    kept = reading.devices.activities
    first: dict[int, float] = {}
    for stream, start in zip(kept.streams, kept.starts, strict=True):
        if start < first.get(stream, float("inf")):
            first[stream] = start
    waits = []
    for gap, end in enumerate(times.ends):
        number = times.ended.activities[gap]
        launch = times.ended.launch(gap)
        if number < 0 or launch is None or end != first[kept.streams[number]]:
            continue
        since = max(launch.end if launch.start > times.starts[gap] else 0.0, times.starts[gap])
        if end - since >= LATE_START_US:
            waits.append((since, end))
    return Busy.of(sorted(waits))
