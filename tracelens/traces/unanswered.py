"""Launches behind the last that has a kernel in the trace, and what the long gaps end with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.logs.chrome_trace import TraceEvent
from tracelens.traces.activity import MAX_KEPT, in_order
from tracelens.traces.idle import Cause, cause_of
from tracelens.traces.kernel_names import short_name
from tracelens.traces.measured import Measured
from tracelens.traces.names import Name

if TYPE_CHECKING:
    from tracelens.traces.reading import Reading
    from tracelens.traces.timeline import DeviceTime

__all__ = ["EndedBy", "Unanswered", "ended_by", "unanswered"]

#: Launches without a kernel that are no mere end of a recording, and their least share.
MIN_LAUNCHES = 20
MIN_SHARE = 0.05
#: Kernels that are listed.
MAX_LISTED = 5


class Unanswered(Measured):
    """Launches at the end of a trace, of which it has no kernel."""

    launches: int
    missing: int
    #: When the first of them is, from the first launch on, and when the last ends.
    from_ms: float
    to_ms: float


class EndedBy(Measured):
    """A kernel that gaps of 0.2 ms and more end with, because it was launched late."""

    device: str
    kernel: str
    #: Such gaps, and how long they are; how many there are in all.
    count: int
    ms: float
    of_count: int
    of_ms: float
    #: How often the kernel runs, and how many others do.
    runs: int
    others: int


def unanswered(reading: Reading) -> Unanswered | None:
    """Return the launches from one moment on that have no kernel; None where there are few.

    What is recorded into a graph has none, and which is whose is not known without their numbers.
    """
    calls, activities = reading.runtime.calls, reading.devices.activities
    full = len(calls.starts) >= MAX_KEPT or activities.full
    if full or reading.runtime.capturing.count:
        return None
    known = set(activities.correlations)
    asked = [
        at
        for at in in_order(calls.starts)
        if calls.correlations[at] > 0 and "Launch" in calls.name_table.items[calls.names[at]]
    ]
    answered = [at for at, number in enumerate(asked) if calls.correlations[number] in known]
    first = answered[-1] + 1 if answered else len(asked)
    missing = len(asked) - first
    if missing < max(MIN_LAUNCHES, MIN_SHARE * len(asked)) or len(answered) < MIN_SHARE * first:
        return None
    start, last = calls.starts[asked[0]], calls.launch(asked[-1]).end
    return Unanswered(
        launches=len(asked),
        missing=missing,
        from_ms=round((calls.starts[asked[first]] - start) / 1000, 6),
        to_ms=round((last - start) / 1000, 6),
    )


def ended_by(reading: Reading, times: DeviceTime) -> Iterator[EndedBy]:
    """Yield the kernels that most of the long gaps end with, in which the host was late."""
    kept = reading.devices.activities
    sums: dict[Name, list[float]] = {}
    for gap in times.around:
        activity = times.ended.activities[gap]
        if activity < 0 or cause_of(times.pieces(gap)) != Cause.NOT_LAUNCHED:
            continue
        each = sums.setdefault(kept.name_table.items[kept.names[activity]], [0, 0.0])
        each[0] += 1
        each[1] += times.ends[gap] - times.starts[gap]
    ran = Counter(kept.names)
    every = int(sum(count for count, _ in sums.values())), sum(us for _, us in sums.values())
    for name, (count, us) in sorted(sums.items(), key=lambda pair: -pair[1][1])[:MAX_LISTED]:
        runs = ran[kept.name_table.number(name)]
        yield EndedBy(
            device=times.device,
            kernel=short_name(name.record) if isinstance(name.record, TraceEvent) else "",
            count=int(count),
            ms=round(us / 1000, 6),
            of_count=every[0],
            of_ms=round(every[1] / 1000, 6),
            runs=runs,
            others=len(kept.names) - runs,
        )
