"""What kernels had to do: by the shapes of their operators, or as they are annotated.

An operator that was recorded with ``record_shapes=True`` names its shapes, and the kernels that it
started carry its ``External id``. Kernels of Inductor may carry their work themselves, where torch
was told to write it (``kernel_num_gb``, ``kernel_flop``).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from tracelens.logs._trace_events import Complete
from tracelens.traces.activity import Table, ThreadId
from tracelens.traces.host_chains import HostChains
from tracelens.traces.names import LOOK, WORK, Name
from tracelens.traces.needless import NeedlessProducts
from tracelens.traces.op_work import job_of

__all__ = ["Called", "Products", "Work"]

#: Operators whose kernels are waited for, and distinct shapes that are told apart.
MAX_OPERATORS = 200_000
_SEEN = WORK | LOOK
MAX_SHAPES = 5_000
#: Stands between texts of JSON, and never inside of one.
_APART = b"\0"
#: Operators that call another one of these for their work.
AROUND = frozenset({"aten::convolution", "aten::_convolution", "aten::embedding"})
#: Fills, and calls that ask for one.
MAX_FILLS = 200_000


@dataclass(slots=True)
class Work:
    """One product, or one annotated kernel: what each call does, and what all kernels took."""

    what: str
    shape: str
    dtype: str
    flops: float
    bytes: float
    first: int
    text: str
    count: int = 0
    us: float = 0.0
    #: ``product``, ``attention``, ``convolution``, ``memory``, or ``annotated``.
    kind: str = "annotated"
    #: What the operators took on the host: the work itself, where nothing is launched.
    calls: int = 0
    host_us: float = 0.0


class Called:
    """The calls of operators whose work is known, as columns."""

    def __init__(self) -> None:
        self.starts = array("d")
        self.threads, self.works = array("i"), array("i")
        self.thread_table: Table[ThreadId] = Table()
        #: What their kernels took, and whether one was seen; what they took on the host.
        self.us, self.ran = array("d"), array("b")
        self.host_us = array("d")

    def add(self, calls: list[tuple[Complete, int, float]]) -> None:
        """Add some: each with the number of its work, and what it took on the host."""
        self.starts.extend([event.ts for event, _, _ in calls])
        self.threads.extend(
            self.thread_table.all([(event.pid, event.tid) for event, _, _ in calls])
        )
        self.works.extend([work for _, work, _ in calls])
        self.us.frombytes(bytes(8 * len(calls)))
        self.ran.frombytes(bytes(len(calls)))
        self.host_us.extend([us for _, _, us in calls])


class Products:
    """The products of one trace."""

    def __init__(self) -> None:
        #: What follows each other on the host.
        self.host = HostChains()
        #: Products whose result is hardly used.
        self.needless = NeedlessProducts()
        #: Of the list in hand.
        self.kernels: list[tuple[Complete, Name]] = []
        self._by_shape: dict[tuple[str, bytes], int] = {}
        self.works: list[Work] = []
        self.called = Called()
        self._by_id: dict[Any, int] = {}
        #: Thread -> start and end of the last operator that was counted on it.
        self._counted: dict[ThreadId, tuple[float, float]] = {}
        self._annotated: dict[str, Work] = {}
        #: Call -> the operator in which it is, and the fills with their calls: libraries clear
        #: counters before some products.
        self._asked: dict[Any, Any] = {}
        self._fills: list[tuple[Any, float]] = []

    def asks(self, events: list[Complete]) -> None:
        """Take in calls that ask for fills."""
        for event in events:
            args = event.args
            if args is not None and isinstance(args.correlation, int | str):
                if len(self._asked) >= MAX_FILLS:
                    return
                self._asked[args.correlation] = args.external

    def fills(self, events: list[Complete]) -> None:
        """Take in fills: they belong to the operator that asked for them."""
        for event in events[: MAX_FILLS - len(self._fills)]:
            if event.args is not None and isinstance(event.args.correlation, int | str):
                self._fills.append((event.args.correlation, event.dur))

    def follow(self, operators: list[tuple[Complete, Name]]) -> None:
        """Take in ``operators`` and what is waiting: they first, since they start the kernels."""
        looked = [pair for pair in operators if pair[1].role & _SEEN]
        worked = [pair for pair in looked if pair[1].role & WORK]
        self.host.follow(worked)
        self.needless.follow(looked)
        self._take(worked)
        for event, name in self.kernels:
            if event.args is not None:
                self._kernel(event, name)
        self.kernels.clear()

    def _take(self, operators: list[tuple[Complete, Name]]) -> None:
        """Keep the calls of operators whose work is known, until there are too many."""
        by_shape, by_id = self._by_shape, self._by_id
        kept: list[tuple[Complete, int, float]] = []
        first = len(self.called.starts)
        for event, name in operators:
            args = event.args
            if args is None or not isinstance(args.external, (int, str)) or not args.dims:
                continue
            key = event.name, _APART.join((args.dims, args.types, args.values))
            number = by_shape.get(key)
            if number is None:
                if len(by_shape) >= MAX_SHAPES:
                    continue
                number = by_shape[key] = self._known(_work(event.name, event, name))
            if number < 0:
                continue
            host_us = self._on_host(event)
            if host_us:
                work = self.works[number]
                work.calls += 1
                work.host_us += host_us
            at = first + len(kept)
            if at < MAX_OPERATORS:  # ids may come again
                by_id[args.external] = at
                kept.append((event, number, host_us))
        self.called.add(kept)

    def _on_host(self, event: Complete) -> float:
        """Return what an operator took on the host; 0 where another one is counted for it."""
        thread = (event.pid, event.tid)
        start, end = self._counted.get(thread, (0.0, 0.0))
        if event.name in AROUND or start <= event.ts < end:
            return 0.0  # `aten::relu` calls `aten::clamp_min`
        self._counted[thread] = event.ts, event.ts + event.dur
        return event.dur

    def _known(self, work: Work | None) -> int:
        """Keep the work of an operator; return its number, or -1 where there is none."""
        if work is None:
            return -1
        self.works.append(work)
        return len(self.works) - 1

    def found(self) -> Iterator[Work]:
        """Yield everything whose kernels were seen, with the fills that go with them."""
        for call, us in self._fills:
            asker = self._asked.get(call)
            at = self._by_id.get(asker) if isinstance(asker, int | str) else None
            if at is not None and (filled := self.works[self.called.works[at]]).count:
                filled.us += us
                self.called.us[at] += us
        self._fills.clear()
        for work in (*self.works, *self._annotated.values()):
            if work.us > 0:
                yield work

    def on_host(self) -> Iterator[Work]:
        """Yield what the operators computed themselves, for a trace that launches nothing."""
        for work in self.works:
            if work.host_us > 0:
                work.count, work.us = work.calls, work.host_us
                yield work

    @property
    def annotated(self) -> tuple[Work, ...]:
        """Kernels that say themselves what they do."""
        return tuple(self._annotated.values())

    def _kernel(self, event: Complete, name: Name) -> None:
        args = event.args
        assert args is not None  # noqa: S101 -- the caller asked
        number = args.external if args.external is not None else args.old_external
        at = self._by_id.get(number) if isinstance(number, int | str) else None
        work = self.works[self.called.works[at]] if at is not None else None
        flops, moved = _number(args.flop), _number(args.gb) * 1e9
        if work is None and (flops or moved):
            work = self._annotated.get(event.name)
            if work is None and len(self._annotated) < MAX_SHAPES:
                work = Work(event.name, "", "", flops, moved, name.first, name.text)
                self._annotated[event.name] = work
            if work is not None:
                work.count += 1
        elif work is not None and at is not None and not self.called.ran[at]:
            self.called.ran[at] = 1
            work.count += 1
        if work is not None:
            work.us += event.dur
            if at is not None:
                self.called.us[at] += event.dur


def _number(value: Any) -> float:
    """Return a positive number, or 0."""
    found = float(value) if isinstance(value, int | float) else 0.0
    return found if 0 < found < 1e18 else 0.0


def _work(operator: str, event: Complete, name: Name) -> Work | None:
    """Return what one call of an operator does; None where its shapes do not tell."""
    args = event.args
    assert args is not None  # noqa: S101 -- the caller asked
    try:
        shapes, kinds = msgspec.json.decode(args.dims), msgspec.json.decode(args.types or b"[]")
        values = msgspec.json.decode(args.values or b"[]")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    job = job_of(operator, shapes, kinds, values)
    if job is None:
        return None
    return Work(
        operator, job.shape, job.dtype, job.flops, job.bytes, name.first, name.text, kind=job.kind
    )
