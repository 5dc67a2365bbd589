"""A trace with what was found in it, for a viewer: findings, gaps and how busy devices are.

What is added stands at the beginning of the list of events, in a process of its own; everything
else is copied byte by byte.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from tracelens.evidence import Evidence
from tracelens.late import late
from tracelens.logs._trace_events import Complete
from tracelens.report import Finding
from tracelens.traces.device import Busy
from tracelens.traces.measured import Window
from tracelens.traces.reader import CHUNK, Reader, TraceReader
from tracelens.traces.reading import Reading
from tracelens.traces.rows import DeviceGap
from tracelens.traces.views import CAUSES

__all__ = ["added", "inserted"]

#: Where an event is, and for how long. Microseconds.
Place = tuple[float, float]
#: The process that our events are of: no process of Linux has so high a number.
PROCESS = 99_999_999
#: Threads of findings: one for each from here on.
FINDINGS = 1
#: Threads of gaps: one for each device from here on.
GAPS = 100
#: Stretches of the window for which it is said how busy a device is.
STRETCHES = 400
_EVENTS = late(rb'"traceEvents"\s*:\s*\[\s*|^\s*\[\s*')
#: Bytes in which the list of events begins.
MAX_HEAD = 8 << 20

Json = dict[str, Any]


def added(reader: Reader, path: str, findings: Iterable[Finding]) -> list[Json]:
    """Read a trace and return the events that tell of it: ``findings``, gaps, how busy devices are.

    ``path`` is the input that the evidence of the findings names.
    """
    told = [finding for finding in findings if any(e.input == path for e in finding.evidence)]
    wanted = {line.line for finding in told for line in finding.evidence if line.input == path}
    source = TraceReader(reader)
    reading = Reading(path)
    spans: dict[int, Place] = {}
    for events in source:
        before = reading.evidence.events
        for number in _within(wanted, before, len(events)):
            event = events[number - before - 1]
            if isinstance(event, Complete):
                spans[number] = event.ts, event.dur
        reading.feed(events)
    evidence = reading.finish(source.header)
    window = next((seen.record for seen in evidence.table(Window)), None)
    if window is None:
        return []
    whole = window.origin_us, 1000 * window.ms
    return [
        _named("process_name", "tracelens", 0),
        *(
            event
            for thread, finding in enumerate(told[: GAPS - FINDINGS], FINDINGS)
            for event in _finding(finding, path, spans, whole, thread)
        ),
        *_gaps(evidence, window.origin_us),
        *_busy(reading),
    ]


def inserted(reader: Reader, events: list[Json]) -> Iterator[bytes]:
    """Yield the text of a trace with ``events`` before its own."""
    head = b""
    while (match := _EVENTS.search(head)) is None and len(head) < MAX_HEAD:
        more = reader.read(CHUNK)
        if not more:
            break
        head += more
    if match is not None:
        rest = head[match.end() :]
        while not rest.strip() and (more := reader.read(CHUNK)):
            rest += more
        ours = b",\n".join(json.dumps(event).encode() for event in events)
        glue = b"" if not ours or rest.lstrip()[:1] == b"]" else b",\n"
        yield head[: match.end()] + ours + glue
        head = rest
    while head:
        yield head
        head = reader.read(CHUNK)


def _within(wanted: Collection[int], before: int, count: int) -> Iterator[int]:
    """Yield those of ``wanted`` that are among the next ``count`` events."""
    if len(wanted) < count:
        yield from (number for number in wanted if before < number <= before + count)
    else:
        yield from (number for number in range(before + 1, before + count + 1) if number in wanted)


def _finding(
    finding: Finding, path: str, spans: dict[int, Place], whole: Place, thread: int
) -> Iterator[Json]:
    lines = [line for line in finding.evidence if line.input == path]
    start, us = next((spans[line.line] for line in lines if line.line in spans), whole)
    told = {
        "finding": finding.id,
        "severity": finding.severity.value,
        "message": finding.message,
        "advice": "; ".join(advice.text for advice in finding.advice),
    }
    if finding.cost is not None and finding.cost.ms is not None:
        told["cost"] = f"{finding.cost.ms:g} ms, {finding.cost.basis}"
    if finding.explained_by:
        told["follows"] = finding.explained_by
    yield _named("thread_name", f"{finding.severity.value} {finding.code}", thread)
    name = f"{finding.code} {finding.title}"
    yield _span(name, thread, start, us) | {"cat": "tracelens_finding", "args": told}


def _gaps(evidence: Evidence, origin: float) -> Iterator[Json]:
    threads: dict[str, int] = {}
    for seen in evidence.table(DeviceGap):
        gap = seen.record
        if gap.device not in threads:
            threads[gap.device] = GAPS + len(threads)
            yield _named("thread_name", f"gaps of device {gap.device}", threads[gap.device])
        told = {
            "why": CAUSES.get(f"idle_{gap.cause}_ms", gap.cause),
            "frame": gap.frame,
            "operator": gap.operator,
            "call": gap.call,
            "next kernel": gap.next_kernel,
        }
        host = gap.frame or gap.operator or gap.call
        name = f"{gap.cause.replace('_', ' ')}: {host}" if host else gap.cause.replace("_", " ")
        span = _span(name, threads[gap.device], origin + 1000 * gap.start_ms, 1000 * gap.ms)
        yield span | {"cat": "tracelens_gap", "args": {k: v for k, v in told.items() if v}}


def _busy(reading: Reading) -> Iterator[Json]:
    """Yield for each device how much of each stretch of its window it was at work."""
    devices: defaultdict[str, list[Busy]] = defaultdict(list)
    for (device, _), stream in reading.devices.streams.items():
        devices[str(device)].append(stream.busy())
    for device, streams in devices.items():
        busy = Busy.union(streams)
        if not busy.span:
            continue
        first, step = busy.starts[0], busy.span / STRETCHES
        stretches = [(first + at * step, first + (at + 1) * step) for at in range(STRETCHES)]
        for (start, _), us in zip(stretches, busy.within(stretches), strict=True):
            share = round(100 * min(1.0, us / step), 1)
            yield _event("C", f"device {device} busy, %", start) | {"args": {"busy": share}}


def _span(name: str, thread: int, start: float, us: float) -> Json:
    return _event("X", name, start) | {"tid": thread, "dur": us}


def _event(phase: str, name: str, start: float) -> Json:
    return {"ph": phase, "name": name, "pid": PROCESS, "ts": start}


def _named(what: str, name: str, thread: int) -> Json:
    return {"ph": "M", "name": what, "pid": PROCESS, "tid": thread, "args": {"name": name}}
