"""What the allocators did, as ``profile_memory=True`` records it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tracelens.logs._trace_events import Instant
from tracelens.traces.activity import ThreadId
from tracelens.traces.host import Host, Stretch
from tracelens.traces.measured import Measured

__all__ = ["Memory", "MemoryUse"]

#: Devices that are told apart.
MAX_DEVICES = 64
#: Types of devices as c10 numbers them.
_TYPES = {0: "cpu", 1: "cuda", 6: "hip", 12: "xpu", 13: "mps", 18: "hpu", 20: "privateuse"}


class MemoryUse(Measured):
    """The allocator of one device. Bytes; totals are None where the trace does not have them."""

    device: str
    allocations: int
    frees: int
    allocated_bytes: int
    largest_bytes: int
    #: What was in use at the first event, at most, and at the last.
    start_bytes: int | None
    peak_bytes: int | None
    end_bytes: int | None
    #: What the allocator had taken from the device at most.
    reserved_bytes: int | None
    #: When it was most, and what the host did then.
    peak_at_ms: float | None
    operator: str = ""
    frame: str = ""


@dataclass
class _Device:
    allocations: int = 0
    frees: int = 0
    allocated: int = 0
    largest: int = 0
    start: int | None = None
    peak: int | None = None
    end: int | None = None
    reserved: int | None = None
    at: float | None = None
    thread: ThreadId = (None, None)


class Memory:
    """The allocations of one trace."""

    def __init__(self) -> None:
        self._devices: dict[str, _Device] = {}

    def add(self, event: Instant) -> None:
        """Add an event ``[memory]``."""
        args = event.args
        change = _whole(args.bytes) if args is not None else None
        if args is None or change is None:
            return
        device = _device(args.kind, args.device)
        found = self._devices.get(device)
        if found is None:
            if len(self._devices) >= MAX_DEVICES:
                return
            found = self._devices[device] = _Device()
        found.allocations += change >= 0
        found.frees += change < 0
        found.allocated += max(0, change)
        found.largest = max(found.largest, change)
        reserved, total = _whole(args.reserved), _whole(args.allocated)
        if reserved:
            found.reserved = max(found.reserved or 0, reserved)
        if total is None:
            return
        if found.start is None:
            found.start = total - change
        found.end = total
        if found.peak is None or total > found.peak:
            found.peak, found.thread = total, (event.pid, event.tid)
            found.at = float(event.ts) if isinstance(event.ts, int | float) else None

    def rows(self, host: Host, origin: float) -> Iterator[MemoryUse]:
        """Yield the devices, with what ``host`` did when most was in use."""
        found = sorted(self._devices.items())
        peaks = [Stretch(one.thread, one.at or 0.0, one.at or 0.0) for _, one in found]
        for (device, one), around in zip(found, host.around(peaks), strict=True):
            yield MemoryUse(
                device=device,
                allocations=one.allocations,
                frees=one.frees,
                allocated_bytes=one.allocated,
                largest_bytes=one.largest,
                start_bytes=one.start,
                peak_bytes=one.peak,
                end_bytes=one.end,
                reserved_bytes=one.reserved,
                peak_at_ms=None if one.at is None else round((one.at - origin) / 1000, 6),
                operator=around.operator if one.at is not None else "",
                frame=around.frame if one.at is not None else "",
            )


def _device(kind: Any, number: Any) -> str:
    name = _TYPES.get(kind, f"type {kind}") if isinstance(kind, int) else "device"
    return f"{name}:{number}" if isinstance(number, int) and number >= 0 else name


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and abs(value) < 1 << 62 else None
