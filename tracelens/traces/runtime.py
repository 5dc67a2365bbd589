"""The calls of the CUDA, HIP or other runtime: what they ask for, and what they wait for."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from tracelens.logs._trace_events import Complete
from tracelens.logs.chrome_trace import RuntimeCall
from tracelens.traces.activity import Calling
from tracelens.traces.device import Busy, Calls
from tracelens.traces.host import Host, Kind
from tracelens.traces.idle import SLOW_CALL_US, SLOW_COPY_US, SLOW_LAUNCH_US, Waits
from tracelens.traces.names import Name
from tracelens.traces.products import Products
from tracelens.traces.taking import Taking

__all__ = ["Runtime"]

#: Recordings of graphs whose times are kept.
MAX_CAPTURES = 10_000
#: Runtimes of other devices, whose calls have names of their own: what shares its number with a
#: kernel has asked for it.
FOREIGN = "privateuse1_"
#: What is done with the calls of one name.
Step: TypeAlias = Callable[[str, list[Complete]], None]


class Runtime:
    """The calls of one trace."""

    def __init__(self, host: Host, products: Products) -> None:
        #: Calls that launch kernels, and that wait for the device.
        self.launches, self.waits = Calls(), Calls()
        #: What asks for an activity, with the number that it shares with it.
        self.calls = Calling()
        #: What waits, with its place; copies that keep the host among them.
        self.syncs = Calling()
        #: When a thread was in calls that wait, and in calls that prepare the device.
        self.blocking, self.starting = Waits(), Waits()
        #: Those that take memory of the driver, until it is known whether they come again.
        self.taking = Taking()
        #: When it was in other calls that take long: the first of them makes the context.
        self.long = Waits()
        #: Recording of graphs.
        self.capturing = Calls()
        #: Their beginnings.
        self.begun = Calling()
        self._ended = array("d")
        self._host = host
        self._products = products

    def taker(self, record: RuntimeCall) -> Callable[[Name], None]:
        """Return what takes in the events of one name."""
        return partial(self._take, self._steps(record))

    def _take(self, steps: list[Step], name: Name) -> None:
        self._host.add(name, Kind.CALL, name.waiting)
        for step in steps:
            step(str(name.record), name.waiting)

    def _steps(self, record: RuntimeCall) -> list[Step]:
        steps: list[Step] = []
        if record.launches:
            steps += [self._launches, self._asks]
        elif record.copies:
            steps += [self._copies, self._asks]
        elif record.synchronizes:
            steps += [self._waits]
        elif record.starts:
            steps += [self._starts]
        elif not record.captures and "Capture" not in record.name:
            steps += [self._others]
            if record.category.startswith(FOREIGN):
                steps += [self._asks]
        if record.captures:
            steps += [self._captures]
        if "BeginCapture" in record.name:
            steps += [self._begins]
        elif "EndCapture" in record.name:
            steps += [self._ends]
        return steps

    def _launches(self, _: str, events: list[Complete]) -> None:
        self.launches.add(events)
        for event in events:
            if event.dur >= SLOW_LAUNCH_US:
                self.starting.add((event.pid, event.tid), event.ts, event.ts + event.dur)

    def _asks(self, name: str, events: list[Complete]) -> None:
        self.calls.add(name, events)

    def _copies(self, name: str, events: list[Complete]) -> None:
        if "emset" in name or "Fill" in name:
            self._products.asks(events)
            return
        slow = [event for event in events if event.dur >= SLOW_COPY_US]
        self.syncs.add(name, slow)
        for event in slow:
            self.blocking.add((event.pid, event.tid), event.ts, event.ts + event.dur)

    def _waits(self, name: str, events: list[Complete]) -> None:
        self.waits.add(events)
        self.syncs.add(name, events)
        for event in events:
            self.blocking.add((event.pid, event.tid), event.ts, event.ts + event.dur)

    def _starts(self, name: str, events: list[Complete]) -> None:
        if Taking.takes(name):
            self.taking.add(name, events)
            return
        for event in events:
            self.starting.add((event.pid, event.tid), event.ts, event.ts + event.dur)

    def _others(self, _: str, events: list[Complete]) -> None:
        for event in events:
            if event.dur >= SLOW_CALL_US:
                self.long.add((event.pid, event.tid), event.ts, event.ts + event.dur)

    def captured(self) -> Busy:
        """Return when graphs were recorded: from a beginning to the first end after it."""
        ends = sorted(self._ended)
        pairs = []
        for start in sorted(self.begun.starts):
            at = bisect_left(ends, start)
            if at < len(ends):
                pairs.append((start, ends[at]))
        return Busy.of(pairs)

    def _begins(self, name: str, events: list[Complete]) -> None:
        self.begun.add(name, events[: max(0, MAX_CAPTURES - len(self.begun.starts))])

    def _ends(self, _: str, events: list[Complete]) -> None:
        room = MAX_CAPTURES - len(self._ended)
        self._ended.extend(event.ts + event.dur for event in events[:room])

    def _captures(self, _: str, events: list[Complete]) -> None:
        self.capturing.add(events)
