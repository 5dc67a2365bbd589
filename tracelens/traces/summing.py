"""Turn what was followed through a trace into records: the window, steps, devices, threads."""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import sub
from typing import TYPE_CHECKING, Any

from tracelens.evidence import Place, Seen
from tracelens.logs.chrome_trace import (
    BuiltinFunction,
    CompiledRegion,
    MemoryCopy,
    MemorySet,
    ModuleCall,
    Operator,
    PythonFunction,
)
from tracelens.traces.apple import on_mps
from tracelens.traces.between import between_operators
from tracelens.traces.cold import cold_us
from tracelens.traces.critical import critical_paths
from tracelens.traces.device import Busy, Interval, Stream, StreamId
from tracelens.traces.device_rows import copies, kernels, syncs, unfused_attention
from tracelens.traces.distortion import added_ms
from tracelens.traces.first_calls import first_calls
from tracelens.traces.form_rows import launched_in
from tracelens.traces.host_time import host_times
from tracelens.traces.measured import (
    Chain,
    DeviceBusy,
    KernelWork,
    Measured,
    SelfTime,
    Step,
    StreamBusy,
    Thread,
    TraceHeader,
    Transfer,
    Window,
)
from tracelens.traces.module_ops import module_ops
from tracelens.traces.operators import Part
from tracelens.traces.recording import recorded
from tracelens.traces.rows import MemoryTraffic
from tracelens.traces.sequences import sequences
from tracelens.traces.span_rows import modules, recomputed, regions
from tracelens.traces.tally import Tally
from tracelens.traces.timeline import activity, device_times, gaps, held, timelines
from tracelens.traces.unanswered import ended_by, unanswered

if TYPE_CHECKING:
    from tracelens.traces.reading import Reading

__all__ = ["summed"]

#: Operators whose time without what is inside them is kept: the most expensive ones.
MAX_SELF = 200
#: Operators of libraries that compute on a GPU.
_ELSEWHERE = ("cudnn_conv", "cudnn_batch", "_cudnn_", "miopen_", "_cuda_", "_mps_", "_xpu_")
_PYTHON = (PythonFunction, ModuleCall, BuiltinFunction)


def summed(
    reading: Reading, header: TraceHeader, unread: dict[str, int]
) -> Iterator[Seen[Measured]]:
    """Yield everything that was measured; ``unread`` counts events of devices that are not."""
    streams = {key: stream.busy() for key, stream in reading.devices.streams.items()}
    devices: dict[str, list[StreamId]] = {}
    for key in streams:
        devices.setdefault(str(key[0]), []).append(key)
    busy = {device: Busy.union([streams[key] for key in keys]) for device, keys in devices.items()}
    anything = Busy.union(list(busy.values()))
    start, end = _extent(reading, anything)
    unread = unread if busy else {**unread, **on_mps(reading.names)}
    taken = _settled(reading, anything, (start, end))
    if start <= end:
        yield from _spans(reading, header, (start, end), anything, unread)
    for key, stream in reading.devices.streams.items():
        yield _seen(_stream(key, stream, streams[key]), reading.path, stream.first, stream.text)
    for device, keys in devices.items():
        owned = [reading.devices.streams[key] for key in keys]
        first = min(owned, key=lambda stream: stream.first)
        record = _device(device, owned, busy[device], start)
        yield _seen(record, reading.path, first.first, first.text)
    if busy:
        yield from _on_devices(reading, start, anything)
        yield from _traffic(reading, anything, taken)
        for name, launched in launched_in(reading):
            yield _seen(launched, reading.path, name.first, name.text)
    else:
        yield from _on_host(reading, (start, end))
    spans = *modules(reading), *regions(reading), *recomputed(reading), *recorded(reading)
    for name, row in spans:
        yield _seen(row, reading.path, name.first, name.text)
    for used in reading.memory.rows(reading.host, start if start <= end else 0.0):
        yield _seen(used, reading.path, 1)
    yield from _threads(reading)
    yield from _names(reading)
    for name, met in reading.devices.collectives.meetings.rows():
        yield _seen(met, reading.path, name.first, name.text)
    on_host = not busy and _computes(reading)
    yield from _work(reading, on_host=on_host)
    for time in host_times(reading, (start, end)) if on_host else ():
        yield _seen(time, reading.path, 1)


def _work(reading: Reading, *, on_host: bool) -> Iterator[Seen[Measured]]:
    """Yield what follows each other, and what operators had to do: on a device, or themselves."""
    products = reading.devices.products
    for names, ran in reading.devices.chains.found():
        row = Chain(kernels=names, count=ran.count, ms=_ms(ran.us))
        yield _seen(row, reading.path, ran.first, ran.text)
    if on_host:
        for name, chain in products.host.chains():
            yield _seen(chain, reading.path, name.first, name.text)
        for name, sequence in products.host.following():
            yield _seen(sequence, reading.path, name.first, name.text)
        for name, found in products.host.attention():
            yield _seen(found, reading.path, name.first, name.text)
    for name, needless in products.needless.found():
        yield _seen(needless, reading.path, name.first, name.text)
    for work in products.on_host() if on_host else products.found():
        product = KernelWork(
            on_host=on_host,
            what=work.what,
            kind=work.kind,
            shape=work.shape,
            dtype=work.dtype,
            flops=work.flops,
            bytes=work.bytes,
            count=work.count,
            ms=_ms(work.us),
        )
        yield _seen(product, reading.path, work.first, work.text)
    for op in module_ops(reading, on_host=on_host):
        yield _seen(op, reading.path, 1)


def _computes(reading: Reading) -> bool:
    """Tell whether the operators of a trace without a device do their work themselves."""
    elsewhere = (name.record for name in reading.names if isinstance(name.record, Operator))
    return not reading.runtime.launches.count and not any(
        record.op.startswith(_ELSEWHERE) for record in elsewhere
    )


def _on_host(reading: Reading, extent: Interval) -> Iterator[Seen[Measured]]:
    """Yield what a program does that launches nothing, or of which no device was recorded."""
    for row, call in first_calls(reading) if not _computes(reading) else ():
        yield _seen(call, reading.path, row.first, row.text)
    if extent[0] <= extent[1] and not reading.runtime.launches.count:
        named = {name.text.partition("\t")[2]: name for name in reading.names}
        first = next((each for each in reading.names if isinstance(each.record, Operator)), None)
        for pause in between_operators(reading, extent):
            name = named.get(pause.user_frame or pause.frame or pause.operator, first)
            place = (name.first, name.text) if name is not None else (1, "")
            yield _seen(pause, reading.path, *place)


def _settled(reading: Reading, busy: Busy, extent: Interval) -> dict[bool, Busy]:
    """Say of the calls that take memory whether they come again; return when those were."""
    runtime = reading.runtime
    steps = sorted((step.start, step.start + step.length) for _, step in reading.operators.steps)
    whole = (busy.starts[0], busy.ends[-1]) if busy.starts else extent
    return runtime.taking.settle(steps, whole, runtime.starting, runtime.blocking)


def _traffic(reading: Reading, busy: Busy, taken: dict[bool, Busy]) -> Iterator[Seen[Measured]]:
    """Yield how long memory was taken and given back again and again, and nothing ran."""
    window = [(busy.starts[0], busy.ends[-1])]
    for host, calls in taken.items():
        us = sum(calls.within(window))
        traffic = MemoryTraffic(
            host=host,
            ms=_ms(us),
            idle_ms=_ms(us - calls.shared_with(busy)),
        )
        yield _seen(traffic, reading.path, 1)


def _on_devices(reading: Reading, origin: float, busy: Busy) -> Iterator[Seen[Measured]]:
    """Yield what the devices did in each phase, and why they did nothing."""
    tallies = sorted((step for _, step in reading.operators.steps), key=lambda step: step.start)
    steps = [
        (step.text.partition("\t")[2], (step.start, step.start + step.length)) for step in tallies
    ]
    extent = (
        min((span[0] for _, span in steps), default=math.inf),
        max((span[1] for _, span in steps), default=-math.inf),
    )
    for times in device_times(reading, extent):
        rows = (*timelines(reading, times, steps), *gaps(reading, times, origin))
        rows = (*rows, *held(reading, times, steps))
        rows = (*rows, *critical_paths(reading, times.device, origin), *activity(times, origin))
        rows = (*rows, *ended_by(reading, times))
        for row in rows:
            yield _seen(row, reading.path, times.first.first, times.first.text)
    if (without := unanswered(reading)) is not None:
        yield _seen(without, reading.path, 1)
    for name, kernel in kernels(reading.devices.activities):
        yield _seen(kernel, reading.path, name.first, name.text)
    for name, copied in copies(iter(reading.names)):
        yield _seen(copied, reading.path, name.first, name.text)
    compute = Busy.union([stream.work.busy() for stream in reading.devices.streams.values()])
    for name, collective in reading.devices.collectives.rows(compute):
        yield _seen(collective, reading.path, name.first, name.text)
    for name, sequence in sequences(reading.devices.activities):
        yield _seen(sequence, reading.path, name.first, name.text)
    for found in unfused_attention(reading.devices.activities, reading.names):
        yield _seen(found, reading.path, 1)
    for waiting in syncs(reading, busy):
        yield _seen(waiting, reading.path, 1)


def _names(reading: Reading) -> Iterator[Seen[Measured]]:
    for name in reading.names:
        if isinstance(name.record, MemoryCopy | MemorySet):
            moved = Transfer(name=str(name.record), bytes=name.moved, ms=name.times.total)
            yield _seen(moved, reading.path, name.first, name.text)
    if reading.operators.ordered:
        names = [name for name in reading.names if name.self_us > 0]
        for name in sorted(names, key=lambda name: -name.self_us)[:MAX_SELF]:
            category, _, text = name.text.partition("\t")
            python = reading.operators.graphs and isinstance(name.record, CompiledRegion)
            ms, inner = _ms(name.self_us), name.inner
            own = SelfTime(category=category, name=text, ms=ms, python=python, inner=inner)
            yield _seen(own, reading.path, name.first, name.text)


def _seen(record: Measured, path: str, number: int, text: str = "") -> Seen[Any]:
    return Seen(record, 1, [Place(path, number)], text)


def _ms(us: float) -> float:
    """Return milliseconds, in whole nanoseconds."""
    return round(us / 1000, 6)


def _extent(reading: Reading, busy: Busy) -> Interval:
    """Return when the first and the last of what was followed began and ended."""
    parts = [(lane.start, lane.end) for lane in reading.operators.lanes.values()]
    parts += [
        (calls.start, calls.end) for calls in (reading.runtime.launches, reading.runtime.waits)
    ]
    if busy.starts:
        parts.append((busy.starts[0], busy.ends[-1]))
    return min(start for start, _ in parts), max(end for _, end in parts)


def _spans(
    reading: Reading, header: TraceHeader, extent: Interval, busy: Busy, unread: dict[str, int]
) -> Iterator[Seen[Measured]]:
    start, end = extent
    operators = reading.operators
    calls = sum(name.count for name in reading.names if isinstance(name.record, _PYTHON))
    whole = operators.total
    whole.start, whole.length = start, end - start
    steps = sorted(operators.steps, key=lambda pair: pair[1].start)
    spans = [(step.start, step.start + step.length) for _, step in steps]
    idle = _idle(reading, busy, [(start, end), *spans])
    window = Window(
        origin_us=start,
        threads=len(operators.lanes),
        python_calls=calls,
        captures=reading.runtime.capturing.count,
        unread=tuple(sorted(unread.items())),
        cold_ms=_ms(cold_us(reading, start, busy)),
        added_ms=added_ms(header, calls, operators.spans, reading.runtime.launches.count),
        meeting_ms=_ms(_alone(reading)),
        busy_ms=_ms(busy.us),
        kernels=reading.devices.kernels.count,
        launches=reading.runtime.launches.count,
        launch_ms=_ms(reading.runtime.launches.us),
        waits=reading.runtime.waits.count,
        wait_ms=_ms(reading.runtime.waits.us),
        **idle[0],
        **_operators(whole, start, ordered=operators.ordered),
    )
    yield _seen(window, reading.path, 1)
    counted = [part.shares(spans) for part in reading.counted]
    shares = zip(steps, busy.within(spans), *counted, strict=True)
    for ((first, step), us, ran, launches, waits), unused in zip(shares, idle[1:], strict=True):
        record = Step(
            number=step.number,
            busy_ms=_ms(us),
            kernels=ran[0],
            launches=launches[0],
            launch_ms=_ms(launches[1]),
            waits=waits[0],
            wait_ms=_ms(waits[1]),
            **unused,
            **_operators(step, start, ordered=operators.ordered),
        )
        yield _seen(record, reading.path, first, step.text)


def _alone(reading: Reading) -> float:
    """Return for how long the host was in collectives and did nothing else that is known."""
    operators = reading.operators
    if not operators.ordered:
        return 0.0
    met = reading.meeting.busy()
    parts = operators.work(), operators.loading.busy(), operators.compiling.busy()
    return met.us - met.shared_with(Busy.union([*parts]))


def _idle(reading: Reading, busy: Busy, spans: list[Interval]) -> list[dict[str, float]]:
    """Return for each of the sorted ``spans`` what was done while no device was at work."""
    if not busy.starts:
        return [{} for _ in spans]
    operators = reading.operators
    seen: list[Busy] = []
    before = [0.0] * len(spans)
    fields: list[dict[str, float]] = [{} for _ in spans]
    parts = {
        "idle_compile_ms": operators.compiling.busy(),
        "idle_loading_ms": operators.loading.busy(),
        "idle_host_ms": operators.calling(),
    }
    for field, part in parts.items():
        seen.append(part)
        union = Busy.union(seen)
        covered = list(map(sub, union.within(spans), union.both(busy).within(spans)))
        for at, (us, less) in enumerate(zip(covered, before, strict=True)):
            fields[at][field] = _ms(us - less)
        before = covered
    after = reading.runtime.waits.idle_after(busy)
    for at, us in enumerate(after.within(spans)):
        fields[at]["idle_after_wait_ms"] = _ms(us)
    return fields


def _operators(tally: Tally, origin: float, *, ordered: bool) -> dict[str, Any]:
    """Return the fields of a span that come from operators."""
    fields: dict[str, Any] = {
        "start_ms": _ms(tally.start - origin),
        "ms": _ms(tally.length),
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
        fields |= {field: _ms(tally.spent(part)) for field, part in parts.items()}
        fields |= tally.counted()
    return fields


def _stream(key: StreamId, stream: Stream, busy: Busy) -> StreamBusy:
    return StreamBusy(
        device=str(key[0]),
        stream=str(key[1]),
        kernels=stream.kernels,
        copies=stream.copies,
        span_ms=_ms(busy.span),
        busy_ms=_ms(busy.us),
    )


def _device(device: str, streams: list[Stream], busy: Busy, origin: float) -> DeviceBusy:
    collectives = Busy.union([stream.collectives.busy() for stream in streams])
    hidden = 0.0
    if collectives.starts:
        work = Busy.union([stream.work.busy() for stream in streams])
        hidden = collectives.shared_with(work)
    idle_from, idle_to = busy.longest_gap()
    return DeviceBusy(
        device=device,
        streams=len(streams),
        kernels=sum(stream.kernels for stream in streams),
        span_ms=_ms(busy.span),
        busy_ms=_ms(busy.us),
        collective_ms=_ms(collectives.us),
        exposed_ms=_ms(collectives.us - hidden),
        gap_ms=_ms(idle_to - idle_from),
        gap_at_ms=_ms(idle_from - origin),
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
