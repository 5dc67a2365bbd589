"""What runs on the devices while the events pass by: streams, kernels, copies, chains, products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracelens.logs import Record
from tracelens.logs._trace_events import Complete
from tracelens.logs.chrome_trace import DeviceKernel, InductorKernel, MemoryCopy, MemorySet
from tracelens.traces.activity import Activities
from tracelens.traces.chains import Chains
from tracelens.traces.collectives import Collectives
from tracelens.traces.device import Calls, Stream, StreamId
from tracelens.traces.names import Name
from tracelens.traces.products import Products

__all__ = ["Devices"]

#: Streams that are told apart.
MAX_STREAMS = 1_024


class Devices:
    """The devices of one trace."""

    def __init__(self) -> None:
        self.streams: dict[StreamId, Stream] = {}
        self.kernels = Calls()
        self.activities = Activities()
        self.collectives = Collectives(self.activities)
        self.chains = Chains()
        self.products = Products()

    def taker(self, record: Record | None) -> Callable[[Name], None] | None:
        """Return what takes in the events of one name; None for what does not run on a device."""
        if isinstance(record, MemoryCopy):
            return self._take_copies
        if isinstance(record, MemorySet):
            return self._take_fills
        if isinstance(record, DeviceKernel):
            return self._take_collectives if record.is_collective else self._take_kernels
        if isinstance(record, InductorKernel) and record.category in {"kernel", "Kernel"}:
            return self._take_kernels
        return None

    def follow(self, operators: list[tuple[Complete, Name]]) -> None:
        """Take in what is followed in the order of time, with the ``operators`` of the host."""
        self.chains.follow()
        self.products.follow(operators)

    def _take_kernels(self, name: Name) -> None:
        self.kernels.add(name.waiting)
        self.activities.add(name, name.waiting)
        self.chains.waiting += [(event.ts, event, name) for event in name.waiting]
        self.products.kernels += [(event, name) for event in name.waiting]
        for event in name.waiting:
            stream = self._stream(event, name)
            stream.kernels += 1
            stream.work.add(event.ts, event.ts + event.dur)

    def _take_collectives(self, name: Name) -> None:
        self.kernels.add(name.waiting)
        first = len(self.activities.starts)
        self.activities.add(name, name.waiting)
        self.collectives.add(name, name.waiting, first)
        self.chains.waiting += [(event.ts, event, name) for event in name.waiting]
        for event in name.waiting:
            stream = self._stream(event, name)
            stream.kernels += 1
            stream.collectives.add(event.ts, event.ts + event.dur)

    def _take_copies(self, name: Name) -> None:
        self.activities.add(name, name.waiting)
        for event in name.waiting:
            stream = self._stream(event, name)
            stream.copies += 1
            stream.copying.add(event.ts, event.ts + event.dur)
            name.moved += _bytes(event)

    def _take_fills(self, name: Name) -> None:
        self.activities.add(name, name.waiting)
        self.products.fills(name.waiting)
        for event in name.waiting:
            stream = self._stream(event, name)
            stream.copies += 1
            stream.work.add(event.ts, event.ts + event.dur)
            name.moved += _bytes(event)

    def _stream(self, event: Complete, name: Name) -> Stream:
        key = event.pid, event.tid
        stream = self.streams.get(key)
        if stream is None:
            if len(self.streams) >= MAX_STREAMS:
                key = None, None
            stream = self.streams.setdefault(key, Stream(name.first, name.text))
        return stream


def _bytes(event: Complete) -> int:
    value: Any = event.args.bytes if event.args is not None else None
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        value = int(value)
    return value if isinstance(value, int) and 0 <= value < 1 << 63 else 0
