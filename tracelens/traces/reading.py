"""Read one trace into evidence: names for the grammar, and what was measured on the way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import length_hint
from typing import TYPE_CHECKING

from tracelens.evidence import Evidence, Place, Seen
from tracelens.logs import Record
from tracelens.logs._trace_events import (
    UNTIMED,
    Begin,
    Complete,
    End,
    Event,
    Id,
    Instant,
    Metadata,
    Refused,
)
from tracelens.logs.chrome_trace import (
    BackwardNode,
    BuiltinFunction,
    ChromeTrace,
    Collective,
    ProfilerStep,
    PythonFunction,
    RuntimeCall,
)
from tracelens.traces import host
from tracelens.traces.categories import MTIA, USED, give_categories, has_no_categories, of_device
from tracelens.traces.device import Calls, Intervals
from tracelens.traces.devices import Devices
from tracelens.traces.header import read_header
from tracelens.traces.host import Host
from tracelens.traces.memory import Memory
from tracelens.traces.names import LAUNCH, LISTS, LOOK, OTHER_NAMES, WORK, Follow, Name, Names
from tracelens.traces.needless import LOOKED_AT
from tracelens.traces.op_work import has_work
from tracelens.traces.operators import Operators, part_of, takes_lists
from tracelens.traces.reader import CHUNK, TraceReader
from tracelens.traces.runtime import Runtime
from tracelens.traces.sites import Sites, is_own, launches
from tracelens.traces.spans import Kind, Spans, kind_of
from tracelens.traces.summing import summed

if TYPE_CHECKING:
    from tracelens.traces.reader import Reader

__all__ = ["Reading", "read_trace"]

#: Spans that may be open at once, where begin and end are separate events.
MAX_OPEN = 20_000
#: Names of threads and processes that are kept.
MAX_LABELS = 10_000
#: What names the host's calls of collectives whose kernels are in the trace.
ON_DEVICE = frozenset({"nccl", "rccl", "xccl"})
_HOST = frozenset({"cpu_op", "user_annotation", "Operator"})
#: Operators that take memory: the first that takes as long has made what the device needs for it.
_TAKES = frozenset({"aten::empty", "aten::empty_strided"})
FIRST_US = 1_000.0


def read_trace(reader: Reader, path: str, *, chunk: int = CHUNK) -> Evidence:
    """Return the evidence in the trace that ``reader`` gives.

    ``path`` is what its places are said to be in; "line" N there is the N-th event.
    """
    source = TraceReader(reader, chunk=chunk)
    reading = Reading(path)
    for events in source:
        reading.feed(events)
    evidence = reading.finish(source.header)
    reading.let_go()
    evidence.notes.update(dict.fromkeys(f"{path}: {note}" for note in source.notes))
    evidence.cut = source.truncated
    if source.truncated:
        end = Place(path, max(1, evidence.events))
        evidence.gaps[end] = ("ends in the middle of its trace", "")
    return evidence


class Reading:
    """The state of reading one trace."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.evidence = Evidence()
        self.names = Names(self._follow)
        self.operators = Operators()
        self.devices = Devices()
        self.host = Host()
        self.runtime = Runtime(self.host, self.devices.products)
        self.spans = Spans()
        self.sites = Sites()
        self.memory = Memory()
        #: When collectives ran on threads of the host.
        self.meeting = Intervals()
        #: Calls of Python functions of the list in hand.
        self._frames: list[Complete] = []
        self.labels: dict[tuple[Id, Id], str] = {}
        self._takers: list[tuple[Name, Callable[[Name], None]]] = []
        self._open: dict[tuple[Id, Id], list[Begin]] = {}
        self._opened = 0
        self._refused = 0
        #: Whether memory has been taken that took long.
        self._taken = False
        #: Whether the trace is of the profiler up to torch 1.8.
        self._older = False

    def feed(self, events: list[Event]) -> None:
        """Take in the next events."""
        known = self.names.known
        before = self.evidence.events
        self._older = self._older or (not before and has_no_categories(events))
        if self._older:
            give_categories(events)
        after = before + len(events)
        self.names.prepare(events)
        rest = iter(events)
        for event in rest:
            if type(event) is Complete:
                try:
                    add, keep, follow, name = known[event.cat][event.name]
                except KeyError:
                    number = after - length_hint(rest)
                    add, keep, follow, name = self.names.meet(event.cat, event.name, number)
                add(event.dur)
                if keep is not None:
                    keep((event, name))
                if follow is not None:
                    follow(event)
            elif type(event) not in UNTIMED:
                self._other(event, after - length_hint(rest))
        self.evidence.events = after
        self._take_spans()
        self.operators.follow(before)
        for name, event in self.operators.again:
            self.spans.add(Kind.RECOMPUTED, name, event)
        self.operators.again.clear()
        for name, take in self._takers:
            if name.waiting:
                take(name)
                name.waiting.clear()
        self.devices.follow(self.operators.waiting)
        self.operators.waiting.clear()
        self.names.added(len(events))

    def finish(self, header: bytes) -> Evidence:
        """Return the evidence of all events, and of what stands around them."""
        evidence = self.evidence
        self.names.fold()
        evidence.understood_events = evidence.events - self._refused
        unused: dict[str, int] = {}
        categories = set()
        for name in self.names:
            place = Place(self.path, name.first)
            category = name.text.partition("\t")[0]
            categories.add(category)
            nameless = not category and name.times.n > 0 and name.text != OTHER_NAMES
            if name.record is None or nameless or category not in USED:
                evidence.understood_events -= name.count
                unused[category] = unused.get(category, 0) + name.count
            evidence.add(
                ChromeTrace,
                name.text,
                place,
                lines=0,
                count=name.count,
                times=name.times if name.times.n else None,
                records=name.records,
            )
        for category, count in sorted(unused.items()):
            whose = f"of `{category}`" if category else "without a category"
            evidence.notes[f"{self.path}: {count} events {whose} are not used"] = None
        if self.names.full:
            evidence.notes[f"{self.path}: too many names of events; some were put together"] = None
        if any(calls.full for calls in self.counted):
            note = f"{self.path}: more kernels than fit; those of the last steps are not counted"
            evidence.notes[note] = None
        if evidence.events or header:
            evidence.kinds = {ChromeTrace.name: 1}
            around = read_header(header)
            if MTIA in categories:
                named = tuple(f"MTIA {name}" for name in around.devices) or ("MTIA",)
                around = around.model_copy(update={"devices": named})
            evidence.measured.append(Seen(around, 1, [Place(self.path, 1)], ""))
            devices = {name: count for name, count in unused.items() if of_device(name)}
            evidence.measured += summed(self, around, devices)
        return evidence

    def let_go(self) -> None:
        """Forget all: what follows an event leads back here, so nothing else would end it soon."""
        vars(self).clear()

    @property
    def counted(self) -> tuple[Calls, Calls, Calls]:
        """Kernels, launches and waits."""
        return self.devices.kernels, self.runtime.launches, self.runtime.waits

    def _other(self, event: Event, number: int) -> None:
        if isinstance(event, Refused):
            self._refused += 1
            place = Place(self.path, number)
            self.evidence.refuse(ChromeTrace, event.text, place, event.reason)
        elif isinstance(event, Begin):
            if self._opened < MAX_OPEN:
                self._open.setdefault((event.pid, event.tid), []).append(event)
                self._opened += 1
        elif isinstance(event, End):
            self._end(event, number)
        elif isinstance(event, Metadata):
            if event.name in {"thread_name", "process_name"} and len(self.labels) < MAX_LABELS:
                tid = event.tid if event.name == "thread_name" else None
                self.labels[event.pid, tid] = (event.args and event.args.name) or ""
        else:
            name = getattr(event, "name", "")
            self.names.count(getattr(event, "cat", None), name, number)
            if name == "[memory]" and isinstance(event, Instant):
                self.memory.add(event)

    def _end(self, event: End, number: int) -> None:
        """Make one span of a beginning and an end."""
        spans = self._open.get((event.pid, event.tid))
        if not spans:
            return
        begin = spans.pop()
        self._opened -= 1
        us = event.ts - begin.ts
        whole = Complete(
            name=begin.name, ts=begin.ts, dur=us, cat=begin.cat, pid=begin.pid, tid=begin.tid
        )
        add, keep, follow, name = self.names.meet(begin.cat, begin.name, number)
        add(us)
        if keep is not None:
            keep((whole, name))
        if follow is not None:
            follow(whole)

    # What is measured besides the time of each name.

    def _follow(self, name: Name) -> Follow:
        """Return where the events of a name go to be followed."""
        record = name.record
        take = self.devices.taker(record)
        if isinstance(record, RuntimeCall):
            take = self.runtime.taker(record)
        elif isinstance(record, (PythonFunction, BuiltinFunction)):
            return self._follow_frame(name, record)
        elif take is None and record is not None:
            return self._follow_host(name, record)
        if take is None:
            return None, None
        self._takers.append((name, take))
        return None, name.waiting.append

    def _follow_frame(self, name: Name, record: Record) -> Follow:
        """Return where the calls of a Python function go."""
        kind = kind_of(record)
        if kind is not None and kind != Kind.VALIDATES:
            return None, partial(self.spans.add, kind, name)
        lines = self.sites.lines.append if is_own(name) else None
        return lines, self._frames.append if kind is None else partial(self._validate, name)

    def _follow_host(self, name: Name, record: Record) -> Follow:
        """Return where the spans of an operator, an annotation or a module go."""
        kind = kind_of(record)
        if getattr(record, "category", "") not in _HOST:
            return None, None if kind is None else partial(self.spans.add, kind, name)
        name.parts = int(part_of(record))
        name.role = (LAUNCH if launches(record) else 0) | (LISTS if takes_lists(record) else 0)
        keep = self.operators.waiting.append
        shaped = has_work(str(record))
        if kind is not None:
            name.role |= WORK | LOOK if shaped and kind == Kind.FORM else 0
            return keep, partial(self.spans.add, kind, name)
        if isinstance(record, Collective) and record.communicator not in ON_DEVICE:
            return keep, partial(self._follow_collective, name, record.operation)
        if isinstance(record, BackwardNode) and record.evaluated:
            return keep, self._follow_evaluated
        name.role |= WORK | LOOK if shaped else LOOK * (str(record) in LOOKED_AT)
        return keep, None

    def _validate(self, name: Name, event: Complete) -> None:
        self._frames.append(event)
        self.spans.add(Kind.VALIDATES, name, event)

    def _follow_evaluated(self, event: Complete) -> None:
        self.spans.evaluated.append(event.ts)

    def _follow_collective(self, name: Name, operation: str, event: Complete) -> None:
        self.meeting.add(event.ts, event.ts + event.dur)
        self.devices.collectives.meetings.add("", name, operation, 0, event)

    def _take_spans(self) -> None:
        """Remember the long operators, annotations and frames of the list in hand."""
        waiting = self.operators.waiting
        self.sites.take(waiting)
        least = self.host.least
        long: dict[Name, list[Complete]] = {}
        for event, name in [pair for pair in waiting if pair[0].dur >= least]:
            long.setdefault(name, []).append(event)
        for event in [event for event in self._frames if event.dur >= least]:
            long.setdefault(self.names.of(event), []).append(event)
        self._frames.clear()
        for name, events in long.items():
            if isinstance(name.record, PythonFunction):
                self.host.add(name, host.Kind.FRAME, events)
            elif isinstance(name.record, BuiltinFunction):
                self.host.add(name, host.Kind.BUILTIN, events)
            elif not isinstance(name.record, ProfilerStep):
                self.host.add(name, host.Kind.OPERATOR, events)
                self._first_memory(name, events)

    def _first_memory(self, name: Name, events: list[Complete]) -> None:
        """Take the first operator that takes memory, and long, for part of starting."""
        slow = [event for event in events if event.dur >= FIRST_US]
        if slow and not self._taken and str(name.record) in _TAKES:
            self._taken = True
            first = slow[0]
            self.runtime.starting.add((first.pid, first.tid), first.ts, first.ts + first.dur)
