"""What a program on the CPU does between its operators: Python, locks, files, other libraries.

Where nothing ran on a device, pauses of all operators are looked at; compiled code, compilation,
collectives and waiting for batches count as work, Python between the graphs of a compiled function
does not. The long ones are named by what the host was in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.traces.activity import ThreadId
from tracelens.traces.device import Busy, Interval
from tracelens.traces.host import Stretch
from tracelens.traces.own_frames import called, in_model, mine, of_profiler
from tracelens.traces.rows import BetweenOperators
from tracelens.traces.timeline import MAX_EXPLAINED, MAX_HELD, MIN_GAP_US

if TYPE_CHECKING:
    from tracelens.traces.reading import Reading

__all__ = ["between_operators"]


def between_operators(reading: Reading, extent: Interval) -> Iterator[BetweenOperators]:
    """Yield what the host did between operators, in pauses of 0.2 ms and more, longest first."""
    operators = reading.operators
    if not operators.ordered:
        return
    parts = operators.loading, operators.compiling, reading.meeting
    busy = Busy.union([operators.work(), *(part.busy() for part in parts)])
    thread = max(operators.lanes, key=lambda lane: operators.lanes[lane].us, default=None)
    pauses = _pauses(busy, extent, thread)
    sums: dict[tuple[str, str, str, str, bool], list[float]] = {}
    for stretch, around in zip(pauses, reading.host.around(pauses, alone=True), strict=True):
        profiler = of_profiler(around.frames)
        own = "" if profiler else mine(around.covering) or mine(around.frames)
        frame, model = profiler or around.frame, in_model(around.frames)
        key = frame, own, around.operator, called(around.builtin), model
        each = sums.setdefault(key, [0, 0.0, 0.0, 0.0])
        each[0] += 1
        each[1] += stretch.end - stretch.start
        each[2] += around.us
        each[3] = max(each[3], stretch.end - stretch.start)
    longest = sorted(sums.items(), key=lambda pair: (-pair[1][1], pair[0]))[:MAX_HELD]
    for (frame, own, operator, builtin, model), (count, us, inside, most) in longest:
        yield BetweenOperators(
            frame=frame,
            user_frame=own,
            operator=operator,
            called=builtin,
            count=int(count),
            ms=round(us / 1000, 6),
            frame_ms=round(inside / 1000, 6),
            longest_ms=round(most / 1000, 6),
            in_model=model,
        )


def _pauses(busy: Busy, extent: Interval, thread: ThreadId | None) -> list[Stretch]:
    """Return the long pauses, in order of time; the longest, where there are too many.

    They are of ``thread``, on which operators run longest: what others do then is another matter.
    """
    starts = [extent[0], *busy.ends]
    ends = [*busy.starts, extent[1]]
    found = [
        Stretch(thread, start, end)
        for start, end in zip(starts, ends, strict=True)
        if end - start >= MIN_GAP_US
    ]
    if len(found) > MAX_EXPLAINED:
        found = sorted(found, key=lambda each: each.start - each.end)[:MAX_EXPLAINED]
    return sorted(found, key=lambda each: each.start)
