"""Turn what was followed through a trace into records: the window, steps, devices, threads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tracelens.evidence import Place, Seen
from tracelens.logs.chrome_trace import MemoryCopy, MemorySet
from tracelens.traces.device import Interval, Stream, joined, length, overlap
from tracelens.traces.measured import (
    DeviceBusy,
    Measured,
    SelfTime,
    Step,
    StreamBusy,
    Thread,
    Transfer,
    Window,
)
from tracelens.traces.operators import Part, Tally

if TYPE_CHECKING:
    from tracelens.traces.reading import Reading

__all__ = ["summed"]

#: Operators whose time without what is inside them is kept: the most expensive ones.
MAX_SELF = 200


def summed(reading: Reading) -> Iterator[Seen[Measured]]:
    """Yield everything that was measured."""
    start, end = _extent(reading)
    if start <= end:
        yield from _spans(reading, start, end)
    yield from _devices(reading, start)
    yield from _threads(reading)
    for name in reading.names:
        if isinstance(name.record, MemoryCopy | MemorySet):
            moved = Transfer(name=str(name.record), bytes=name.moved, ms=name.times.total)
            yield _seen(moved, reading.path, name.first, name.text)
    if reading.operators.ordered:
        names = (name for name in reading.names if name.self_us > 0)
        for name in sorted(names, key=lambda name: -name.self_us)[:MAX_SELF]:
            own = SelfTime(name=str(name.record), ms=_ms(name.self_us))
            yield _seen(own, reading.path, name.first, name.text)


def _seen(record: Measured, path: str, number: int, text: str = "") -> Seen[Any]:
    return Seen(record, 1, [Place(path, number)], text)


def _ms(us: float) -> float:
    """Return milliseconds, in whole nanoseconds."""
    return round(us / 1000, 6)


def _extent(reading: Reading) -> Interval:
    """Return when the first and the last of what was followed began and ended."""
    lanes = reading.operators.lanes.values()
    parts: list[Interval] = [(lane.start, lane.end) for lane in lanes]
    parts += [(calls.start, calls.end) for calls in (reading.launches, reading.waits)]
    for stream in reading.streams.values():
        busy = list(stream.busy())
        parts.append((busy[0][0], busy[-1][1]))
    return min(start for start, _ in parts), max(end for _, end in parts)


def _spans(reading: Reading, start: float, end: float) -> Iterator[Seen[Measured]]:
    operators = reading.operators
    whole = operators.total
    whole.start, whole.end = start, end
    steps = sorted(operators.steps, key=lambda pair: pair[1].start)
    spans = [(step.start, step.end) for _, step in steps]
    busy = list(joined(*(stream.busy() for stream in reading.streams.values())))
    yield _seen(
        Window(
            threads=len(operators.lanes),
            busy_ms=_ms(length(busy)),
            kernels=reading.kernels.count,
            launches=reading.launches.count,
            launch_ms=_ms(reading.launches.us),
            waits=reading.waits.count,
            wait_ms=_ms(reading.waits.us),
            **_operators(whole, start, ordered=operators.ordered),
        ),
        reading.path,
        1,
    )
    shares = zip(
        steps,
        _clipped(busy, spans),
        reading.kernels.shares(spans),
        reading.launches.shares(spans),
        reading.waits.shares(spans),
        strict=True,
    )
    for (first, step), us, kernels, launches, waits in shares:
        record = Step(
            number=step.number,
            busy_ms=_ms(us),
            kernels=kernels[0],
            launches=launches[0],
            launch_ms=_ms(launches[1]),
            waits=waits[0],
            wait_ms=_ms(waits[1]),
            **_operators(step, start, ordered=operators.ordered),
        )
        yield _seen(record, reading.path, first, step.text)


def _operators(tally: Tally, origin: float, *, ordered: bool) -> dict[str, Any]:
    """Return the fields of a span that come from operators."""
    fields: dict[str, Any] = {
        "start_ms": _ms(tally.start - origin),
        "ms": _ms(tally.end - tally.start),
    }
    if ordered:
        parts = {
            "operators_ms": Part.OPERATOR,
            "compiled_ms": Part.COMPILED,
            "eager_ms": Part.EAGER,
            "dispatch_ms": Part.DISPATCH,
            "compile_ms": Part.COMPILE,
            "loading_ms": Part.LOADING,
            "optimizer_ms": Part.OPTIMIZER,
        }
        fields |= {field: _ms(tally.us.get(int(part), 0.0)) for field, part in parts.items()}
        fields |= {"regions": tally.regions, "frames": tuple(tally.frames)}
    return fields


def _clipped(busy: list[Interval], spans: list[Interval]) -> list[float]:
    """Return how much of ``busy`` lies in each of the sorted ``spans``."""
    sums = []
    first = 0
    for start, end in spans:
        while first < len(busy) and busy[first][1] <= start:
            first += 1
        total = 0.0
        for at in range(first, len(busy)):
            if busy[at][0] >= end:
                break
            total += min(end, busy[at][1]) - max(start, busy[at][0])
        sums.append(total)
    return sums


def _devices(reading: Reading, origin: float) -> Iterator[Seen[Measured]]:
    devices: dict[str, list[Stream]] = {}
    for (device, number), stream in reading.streams.items():
        devices.setdefault(str(device), []).append(stream)
        busy = list(stream.busy())
        record = StreamBusy(
            device=str(device),
            stream=str(number),
            kernels=stream.kernels,
            copies=stream.copies,
            span_ms=_ms(busy[-1][1] - busy[0][0]),
            busy_ms=_ms(length(busy)),
        )
        yield _seen(record, reading.path, stream.first, stream.text)
    for device, streams in devices.items():
        first = min(streams, key=lambda stream: stream.first)
        yield _seen(_device(device, streams, origin), reading.path, first.first, first.text)


def _device(device: str, streams: list[Stream], origin: float) -> DeviceBusy:
    busy = list(joined(*(stream.busy() for stream in streams)))
    talking = length(joined(*(stream.collectives for stream in streams)))
    hidden = overlap(
        joined(*(stream.collectives for stream in streams)),
        joined(*(stream.work for stream in streams)),
    )
    gaps = ((after[0] - before[1], before[1]) for before, after in pairwise(busy))
    gap, at = max(gaps, default=(0.0, origin))
    return DeviceBusy(
        device=device,
        streams=len(streams),
        kernels=sum(stream.kernels for stream in streams),
        span_ms=_ms(busy[-1][1] - busy[0][0]),
        busy_ms=_ms(length(busy)),
        collective_ms=_ms(talking),
        exposed_ms=_ms(talking - hidden),
        gap_ms=_ms(gap),
        gap_at_ms=_ms(at - origin),
    )


def _threads(reading: Reading) -> Iterator[Seen[Measured]]:
    for (process, thread), lane in reading.operators.lanes.items():
        record = Thread(
            process=str(process),
            thread=str(thread),
            label=reading.labels.get((process, thread), ""),
            spans=lane.spans,
            ms=_ms(lane.us) if lane.ordered else None,
        )
        yield _seen(record, reading.path, lane.first)
