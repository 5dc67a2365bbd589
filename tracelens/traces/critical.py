"""The critical path: what the time of a step consists of, walked backwards from its end.

From the end of the last activity back: an activity takes its time; it began when the one before had
ended, if it was asked for by then, or else when the host had asked for it, and that the host did
after it had waited for the device the last time. Threads that launch count as one host: a backward
pass runs on a thread of its own while the one that asked for it waits. Each moment is in one piece,
so the pieces add up to the step. What is not on the path can become faster without the step
becoming so.

A step goes from where the device was done with the one before to where it is done with what this
one launched, or to the end of the host's step, whichever is later.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tracelens.logs.chrome_trace import DeviceKernel, MemoryCopy
from tracelens.traces.activity import Activities, Calling, ThreadId, in_order
from tracelens.traces.device import Busy, Interval
from tracelens.traces.measured import Measured
from tracelens.traces.names import Name
from tracelens.traces.phases import Phase

if TYPE_CHECKING:
    from tracelens.traces.reading import Reading

__all__ = ["CriticalPath", "critical_paths"]

#: Steps that have rows.
MAX_STEPS = 200
#: What clocks of host and device differ by, microseconds: less is no pause.
SLACK_US = 1.0
#: Share of the calls that a thread makes which belongs to the program.
MIN_CALLS = 0.05


class CriticalPath(Measured):
    """What one step, or the whole window, waits for. Milliseconds; the parts add up to ``ms``."""

    device: str
    phase: str
    start_ms: float
    ms: float
    #: The host works, and the device waits for it; waiting for the next batch apart.
    host_ms: float
    data_ms: float
    #: From the call to the beginning of what it asked for.
    launch_ms: float
    compute_ms: float
    comm_ms: float
    copy_ms: float
    #: Between activities that were asked for in time, and from the last one to the host's going on.
    pause_ms: float
    #: The activity that is on the path for longest.
    longest: str = ""
    longest_ms: float = 0.0


@dataclass(slots=True)
class _Path:
    """A path under construction. Microseconds."""

    parts: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    names: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))
    host: list[Interval] = field(default_factory=list)


class _Walk:
    """One device with the calls behind its activities."""

    def __init__(self, activities: Activities, calls: Calling, syncs: Calling, device: str) -> None:
        mine = [str(key[0]) == device for key in activities.stream_table.items]
        numbers = [at for at, stream in enumerate(activities.streams) if mine[stream]]
        ends = [activities.starts[at] + activities.us[at] for at in numbers]
        order = in_order(array("d", ends))
        self.activities, self.calls = activities, calls
        #: Activities in the order of their ends.
        self.numbers = [numbers[at] for at in order]
        self.ends = [ends[at] for at in order]
        self.launches = _launches(activities, calls, self.numbers)
        self.device = device
        host = _launching(calls)
        waits = [
            (start, start + us)
            for start, us, thread in zip(syncs.starts, syncs.us, syncs.threads, strict=True)
            if syncs.thread_table.items[thread] in host
        ]
        #: Calls that wait, in the order of their ends.
        self.waits = sorted(waits, key=lambda span: span[1])
        self.wait_ends = [end for _, end in self.waits]

    def walk(self, start: float, end: float) -> _Path:
        """Return the path through the time from ``start`` to ``end``."""
        path = _Path()
        moment, at, left = end, self._ended(end), len(self.numbers)
        if at >= 0 and self.ends[at] < end - SLACK_US:
            at = -1  # the host goes on after the device
        while moment > start:
            if at >= 0:
                left = at  # whatever the clocks say, nothing is taken twice
                moment, at = self._device(path, start, moment, at)
            else:
                moment, at = self._host(path, start, moment, left)
        return path

    def _ended(self, moment: float) -> int:
        """Return the position of the activity that ended last by then; -1 for none."""
        return bisect_right(self.ends, moment + SLACK_US) - 1

    def _device(self, path: _Path, start: float, moment: float, at: int) -> tuple[float, int]:
        """Take an activity; return what it waited for: the one before it, or the host."""
        number = self.numbers[at]
        began = min(moment, self.activities.starts[number])
        self._add(path, number, moment - max(start, began))
        call = self.launches[at]
        before = min(at - 1, bisect_right(self.ends, began + SLACK_US) - 1)
        done = min(self.ends[before], began) if before >= 0 else start
        asked = self.calls.starts[call] if call >= 0 else done
        if asked <= done or call < 0:
            path.parts["pause"] += max(0.0, began - max(start, done))
            return done, before
        path.parts["launch"] += max(0.0, began - max(start, asked))
        return min(asked, began), -1

    def _host(self, path: _Path, start: float, moment: float, left: int) -> tuple[float, int]:
        """Take what the host did since it waited last; return when, and for which activity.

        It is one of the first ``left``.
        """
        position = bisect_right(self.wait_ends, moment) - 1
        while position >= 0 and self.wait_ends[position] > start:
            began, over = self.waits[position]
            at = min(self._ended(over), left - 1)
            if at >= 0 and self.ends[at] > began:
                ended = min(self.ends[at], over)
                path.host.append((over, moment))
                path.parts["pause"] += over - max(start, ended)
                return ended, at
            position -= 1
        path.host.append((start, moment))
        return start, -1

    def _add(self, path: _Path, number: int, us: float) -> None:
        if us <= 0:
            return
        name = self.activities.names[number]
        path.parts[_part(self.activities.name_table.items[name])] += us
        path.names[name] += us


def critical_paths(reading: Reading, device: str, origin: float) -> Iterator[CriticalPath]:
    """Yield the path of each step, or of the window where there are no steps."""
    activities, runtime = reading.devices.activities, reading.runtime
    walk = _Walk(activities, runtime.calls, runtime.syncs, device)
    if not walk.ends or all(call < 0 for call in walk.launches):
        return
    loading = reading.operators.loading.busy()
    for name, (start, end) in _phases(reading, walk):
        path = walk.walk(start, end)
        yield _row(path, walk, loading, Phase(name, ((start - origin, end - origin),)))


def _phases(reading: Reading, walk: _Walk) -> Iterator[tuple[str, Interval]]:
    """Yield the steps as the device sees them."""
    steps = sorted((step for _, step in reading.operators.steps), key=lambda step: step.start)
    if not steps:
        first = min(walk.activities.starts[number] for number in walk.numbers)
        yield "window", (first, walk.ends[-1])
        return
    last = _last(walk, [step.start for step in steps])
    before = steps[0].start
    for step, done in list(zip(steps, last, strict=True))[:MAX_STEPS]:
        end = max(step.start + step.length, done)
        if end > before:
            yield step.text.partition("\t")[2], (before, end)
            before = end


def _last(walk: _Walk, starts: Sequence[float]) -> list[float]:
    """Return when what each step launched was done."""
    done = [float("-inf")] * len(starts)
    for end, call in zip(walk.ends, walk.launches, strict=True):
        step = bisect_right(starts, walk.calls.starts[call]) - 1 if call >= 0 else -1
        if step >= 0:
            done[step] = max(done[step], end)
    return done


def _launches(activities: Activities, calls: Calling, numbers: Sequence[int]) -> array[int]:
    """Return the call behind each activity; -1 where it is not known."""
    order = in_order(calls.correlations)
    keys = array("q", map(calls.correlations.__getitem__, order))
    found = array("i", [-1]) * len(numbers)
    for position, number in enumerate(numbers):
        key = activities.correlations[number]
        at = bisect_left(keys, key) if key > 0 else len(keys)
        if at < len(keys) and keys[at] == key:
            found[position] = order[at]
    return found


def _part(name: Name) -> str:
    if isinstance(name.record, MemoryCopy):
        return "copy"
    collective = isinstance(name.record, DeviceKernel) and name.record.is_collective
    return "comm" if collective else "compute"


def _launching(calls: Calling) -> set[ThreadId]:
    """Return the threads that launch: what only copies now and then is not the program."""
    counts = Counter(calls.threads)
    least = MIN_CALLS * len(calls.threads)
    return {calls.thread_table.items[thread] for thread, n in counts.items() if n >= least}


def _row(path: _Path, walk: _Walk, loading: Busy, phase: Phase) -> CriticalPath:
    ((start, end),) = phase.spans
    table = walk.activities.name_table.items
    host = sum(over - began for began, over in path.host)
    data = sum(loading.within(sorted(path.host)))
    longest = max(path.names, key=lambda name: path.names[name], default=-1)
    return CriticalPath(
        device=walk.device,
        phase=phase.name,
        start_ms=_ms(start),
        ms=_ms(end - start),
        host_ms=_ms(host - data),
        data_ms=_ms(data),
        longest=str(table[longest].record) if longest >= 0 else "",
        longest_ms=_ms(path.names[longest]) if longest >= 0 else 0.0,
        **{
            f"{part}_ms": _ms(path.parts[part])
            for part in ("launch", "compute", "comm", "copy", "pause")
        },
    )


def _ms(us: float) -> float:
    """Return milliseconds, in whole nanoseconds."""
    return round(us / 1000, 6)
