"""The calls of the CUDA, HIP or other runtime: what they ask for, and what they wait for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from tracelens.logs._trace_events import Complete
from tracelens.logs.chrome_trace import RuntimeCall
from tracelens.traces.activity import Calling
from tracelens.traces.device import Calls
from tracelens.traces.host import Host, Kind
from tracelens.traces.idle import SLOW_COPY_US, SLOW_LAUNCH_US, Waits
from tracelens.traces.names import Name

__all__ = ["Runtime"]

#: What is done with the calls of one name.
Step: TypeAlias = Callable[[str, list[Complete]], None]


class Runtime:
    """The calls of one trace."""

    def __init__(self, host: Host) -> None:
        #: Calls that launch kernels, and that wait for the device.
        self.launches, self.waits = Calls(), Calls()
        #: What asks for an activity, with the number that it shares with it.
        self.calls = Calling()
        #: What waits, with its place; copies that keep the host among them.
        self.syncs = Calling()
        #: When a thread was in calls that wait, and in calls that prepare the device.
        self.blocking, self.starting = Waits(), Waits()
        #: Recording of graphs.
        self.capturing = Calls()
        self._host = host

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
        if record.captures:
            steps += [self._captures]
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

    def _starts(self, _: str, events: list[Complete]) -> None:
        for event in events:
            self.starting.add((event.pid, event.tid), event.ts, event.ts + event.dur)

    def _captures(self, _: str, events: list[Complete]) -> None:
        self.capturing.add(events)
