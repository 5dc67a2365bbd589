"""What the CPU of a program without a device did in each phase: the rows of its time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.traces.device import Busy, Interval
from tracelens.traces.phases import Phase, phases
from tracelens.traces.rows import PhaseTime

if TYPE_CHECKING:
    from tracelens.traces.reading import Reading

__all__ = ["CPU", "HostTime", "host_times"]

#: How the rows of it name the device.
CPU = "cpu"


class HostTime(PhaseTime):
    """The CPU in one phase: it computes while any operator or compiled code runs on any thread.

    Collectives with nothing beside them are exposed. Idle is what is left: waiting for the next
    batch, or unknown, which is Python, locks, files and compilation.
    """


def host_times(reading: Reading, extent: Interval) -> Iterator[HostTime]:
    """Yield the row of the whole trace, and one per step, annotation and other phase."""
    operators = reading.operators
    if not operators.ordered or not extent[0] < extent[1]:
        return
    computing, met = operators.work(), reading.meeting.busy()
    unions = [computing, Busy.union([computing, met])]
    unions.append(Busy.union([unions[1], operators.loading.busy()]))
    tallies = sorted((step for _, step in operators.steps), key=lambda step: step.start)
    steps = [
        (step.text.partition("\t")[2], (step.start, step.start + step.length)) for step in tallies
    ]
    for phase in (Phase("window", (extent,)), *phases(reading, steps, extent)):
        window = sum(end - start for start, end in phase.spans)
        computed, talking, loading = (sum(union.within(phase.spans)) for union in unions)
        yield HostTime(
            device=CPU,
            phase=phase.name,
            window_ms=_ms(window),
            busy_ms=_ms(talking),
            compute_ms=_ms(computed),
            exposed_comm_ms=_ms(talking - computed),
            exposed_copy_ms=0.0,
            idle_ms=_ms(window - talking),
            idle_queued_ms=None,
            idle_not_launched_ms=None,
            idle_blocked_ms=None,
            idle_data_ms=_ms(loading - talking),
            idle_start_ms=None,
            idle_unknown_ms=_ms(window - loading),
        )


def _ms(us: float) -> float:
    """Return milliseconds, in whole nanoseconds."""
    return round(us / 1000, 6)
