"""What the devices did and the calls that asked for it, as columns: some 40 bytes an event.

A kernel carries the ``correlation`` of the call that launched it. The two come in any order, and a
call that launches a CUDA graph has many kernels, so they are matched when all have been read.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import islice
from operator import le
from typing import Any, Generic, NamedTuple, TypeVar

from tracelens.logs._trace_events import Complete, Id
from tracelens.traces.device import StreamId
from tracelens.traces.names import Name

__all__ = ["MAX_KEPT", "Activities", "Calling", "Ended", "Launch", "Table", "ThreadId", "in_order"]

#: Activities, and calls, that are kept; further ones are counted in the unions only.
MAX_KEPT = 1 << 18
#: Process and thread of the host.
ThreadId = tuple[Id, Id]
K = TypeVar("K")


class Launch(NamedTuple):
    """The call behind an activity of a device. Microseconds."""

    start: float
    end: float
    thread: ThreadId
    name: str


class Table(Generic[K]):
    """Things that columns refer to by number."""

    def __init__(self) -> None:
        self.items: list[K] = []
        self._numbers: dict[K, int] = {}

    def number(self, item: K) -> int:
        """Return the number of ``item``."""
        number = self._numbers.get(item)
        if number is None:
            number = self._numbers[item] = len(self.items)
            self.items.append(item)
        return number

    def all(self, items: Sequence[K]) -> list[int]:
        """Return the numbers of ``items``."""
        numbers = self._numbers
        try:
            return [numbers[item] for item in items]
        except KeyError:
            return [self.number(item) for item in items]


class Activities:
    """Kernels, copies and fills of all devices."""

    def __init__(self) -> None:
        self.starts, self.us = array("d"), array("d")
        self.correlations = array("q")
        self.names, self.streams = array("i"), array("i")
        self.name_table: Table[Name] = Table()
        self.stream_table: Table[StreamId] = Table()
        self.full = False

    def add(self, name: Name, events: list[Complete]) -> None:
        """Add the activities ``events``, which have one ``name``."""
        room = MAX_KEPT - len(self.starts)
        if room < len(events):
            self.full = True
            events = events[:room]
        number = self.name_table.number(name)
        self.starts.extend([event.ts for event in events])
        self.us.extend([event.dur for event in events])
        self.correlations.extend(map(correlation, events))
        self.names.extend([number] * len(events))
        streams = self.stream_table
        self.streams.extend([streams.number((event.pid, event.tid)) for event in events])


class Calling:
    """Calls of the runtime that ask the device for something."""

    def __init__(self) -> None:
        self.starts, self.us = array("d"), array("d")
        self.correlations = array("q")
        self.names, self.threads = array("i"), array("i")
        self.name_table: Table[str] = Table()
        self.thread_table: Table[ThreadId] = Table()

    def add(self, name: str, events: list[Complete]) -> None:
        """Add calls of one ``name``."""
        events = events[: MAX_KEPT - len(self.starts)]
        number = self.name_table.number(name)
        self.starts.extend([event.ts for event in events])
        self.us.extend([event.dur for event in events])
        self.correlations.extend(map(correlation, events))
        self.names.extend([number] * len(events))
        threads = self.thread_table
        self.threads.extend([threads.number((event.pid, event.tid)) for event in events])

    def launch(self, at: int) -> Launch:
        """Return one of them."""
        start = self.starts[at]
        thread = self.thread_table.items[self.threads[at]]
        return Launch(start, start + self.us[at], thread, self.name_table.items[self.names[at]])

    def most(self) -> ThreadId | None:
        """Return the thread that calls most; None without calls."""
        if not self.threads:
            return None
        counts = [0] * len(self.thread_table.items)
        for thread in self.threads:
            counts[thread] += 1
        return self.thread_table.items[counts.index(max(counts))]


class Ended:
    """What ends each gap of one device, by number; -1 where it is not known."""

    def __init__(
        self,
        activities: Activities,
        calls: Calling,
        streams: Iterable[StreamId],
        gaps: Sequence[float],
    ) -> None:
        """Find them: ``gaps`` are the moments at which the gaps end, in order."""
        self._calls = calls
        self.activities = array("i", bytes(4 * len(gaps)))
        self.calls = array("i", bytes(4 * len(gaps)))
        keys = array("q", bytes(8 * len(gaps)))
        mine = set(streams)
        wanted = [key in mine for key in activities.stream_table.items]
        order = in_order(activities.starts)
        at, last = 0, len(order)
        for gap, moment in enumerate(gaps):
            self.activities[gap] = -1
            while at < last and activities.starts[order[at]] < moment:
                at += 1
            there = at
            while there < last and activities.starts[number := order[there]] == moment:
                there += 1
                key = activities.correlations[number]
                first = self.activities[gap] < 0 or (key and not 0 < keys[gap] <= key)
                if wanted[activities.streams[number]] and first:
                    self.activities[gap], keys[gap] = number, key
        self._match(keys)

    def launch(self, gap: int) -> Launch | None:
        """Return the call behind what ends a gap."""
        call = self.calls[gap]
        return self._calls.launch(call) if call >= 0 else None

    @property
    def known(self) -> bool:
        """Whether the call of any is known."""
        return any(call >= 0 for call in self.calls)

    def _match(self, keys: array[int]) -> None:
        numbers = self._calls.correlations
        order = in_order(numbers)
        ordered = array("q", [numbers[at] for at in order])
        for gap, key in enumerate(keys):
            at = bisect_left(ordered, key) if key > 0 else len(ordered)
            self.calls[gap] = order[at] if at < len(ordered) and ordered[at] == key else -1


def in_order(values: array[Any]) -> Sequence[int]:
    """Return the numbers of ``values`` in the order of these."""
    if all(map(le, values, islice(values, 1, None))):
        return range(len(values))
    return array("i", sorted(range(len(values)), key=values.__getitem__))


def correlation(event: Complete) -> int:
    """Return the number that an event shares with what it asked for; 0 for none."""
    value = event.args.correlation if event.args is not None else None
    return value if isinstance(value, int) and 0 < value < 1 << 62 else 0
