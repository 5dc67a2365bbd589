"""What the host did at a moment: the long spans of its threads, kept as columns.

Only spans that can hold most of a gap worth naming are kept. Whatever covers half of a stretch of
time covers its middle; so the spans around the middle are looked at, innermost first.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from enum import IntEnum
from math import inf
from typing import NamedTuple

from tracelens.logs import Record
from tracelens.logs._trace_events import Complete
from tracelens.logs.chrome_trace import PythonFunction, RuntimeCall
from tracelens.traces.activity import Table, ThreadId
from tracelens.traces.names import Name

__all__ = ["MIN_SPAN_US", "Around", "Host", "Kind", "Stretch"]

#: Spans that are shorter are not kept: half of the shortest gap that is explained.
MIN_SPAN_US = 100.0
#: Spans that are kept; beyond, the shorter ones go.
MAX_SPANS = 1 << 17
#: Frames that are looked at, from the innermost on: one of them is the program's.
MAX_FRAMES = 40
#: How much of a stretch a span has to cover.
MOST = 0.5
#: ... and to be all of it.
ALL = 0.8
#: How many times as long as a stretch a frame may be that does little else.
LITTLE_ELSE = 1.5


class Kind(IntEnum):
    """What a span is told as."""

    FRAME = 0
    OPERATOR = 1
    CALL = 2
    #: A function written in C that a program calls.
    BUILTIN = 3


class Stretch(NamedTuple):
    """A stretch of time on a thread, whose doing is looked for. Microseconds."""

    thread: ThreadId | None
    start: float
    end: float


class Around(NamedTuple):
    """What ran during a stretch: names of spans, innermost; empty for none."""

    #: The innermost Python frame, and those around it, innermost first.
    frames: tuple[str, ...] = ()
    operator: str = ""
    call: str = ""
    #: What the innermost frame calls, where it is written in C.
    builtin: str = ""
    #: Microseconds in the innermost frame, or operator where there is none; and the frames that
    #: cover all of the stretch.
    us: float = 0.0
    covering: tuple[str, ...] = ()
    #: Of these the ones that do little else: not the loop around many such stretches.
    filling: tuple[str, ...] = ()

    @property
    def frame(self) -> str:
        """The innermost frame."""
        return self.frames[0] if self.frames else ""


class Host:
    """The long spans of all threads."""

    def __init__(self) -> None:
        self.starts, self.ends = array("d"), array("d")
        self.names, self.threads, self.kinds = array("i"), array("i"), array("b")
        self.name_table: Table[str] = Table()
        self.thread_table: Table[ThreadId] = Table()
        self.least = MIN_SPAN_US

    def add(self, name: Name, kind: Kind, events: Iterable[Complete]) -> None:
        """Add the long ones of ``events``, which have one ``name``."""
        least = self.least
        long = [event for event in events if event.dur >= least]
        if not long:
            return
        number = self.name_table.number(str(name.record))
        self.starts.extend([event.ts for event in long])
        self.ends.extend([event.ts + event.dur for event in long])
        self.threads.extend(self.thread_table.all([(event.pid, event.tid) for event in long]))
        self.names.extend([number] * len(long))
        self.kinds.extend([kind] * len(long))
        if len(self.starts) > MAX_SPANS:
            self._thin()

    def around(self, stretches: Sequence[Stretch], *, alone: bool = False) -> list[Around]:
        """Return what ran during each of ``stretches``, on its thread or else on the main one.

        ``alone`` leaves the main one out.
        """
        spans = self._by_thread()
        main = None if alone else self._main()
        numbers = {thread: number for number, thread in enumerate(self.thread_table.items)}
        wanted: defaultdict[int, list[int]] = defaultdict(list)
        found = [Around()] * len(stretches)
        for at, stretch in enumerate(stretches):
            wanted[-1 if stretch.thread is None else numbers.get(stretch.thread, -1)].append(at)
        for number, ats in wanted.items():
            for at, around in self._sweep(spans.get(number, []), stretches, ats):
                found[at] = around
        without = [at for at, around in enumerate(found) if not around.frames]
        if main is not None:
            for at, around in self._sweep(spans.get(main, []), stretches, without):
                own = found[at]
                if not own.operator and not own.call:
                    found[at] = around
                elif around.frames:
                    found[at] = own._replace(frames=around.frames)
        return found

    def outermost(self, names: Container[str]) -> Iterator[tuple[str, float, float]]:
        """Yield the spans with one of ``names`` that are in no other such: name, start, end."""
        for of_it in self._by_thread().values():
            until = -inf
            for at in of_it:
                name = self.name_table.items[self.names[at]]
                if self.kinds[at] == Kind.OPERATOR and name in names and self.ends[at] > until:
                    until = self.ends[at]
                    yield name, self.starts[at], until

    def _by_thread(self) -> dict[int, list[int]]:
        """Return the spans of each thread, in order of time, each before those inside it."""
        spans: defaultdict[int, list[int]] = defaultdict(list)
        for at, thread in enumerate(self.threads):
            spans[thread].append(at)
        for of_it in spans.values():
            of_it.sort(key=lambda at: (self.starts[at], -self.ends[at], self.kinds[at]))
        return spans

    def _main(self) -> int | None:
        """Return the thread on which Python or operators run longest."""
        us: defaultdict[int, float] = defaultdict(float)
        for at, thread in enumerate(self.threads):
            us[thread] += self.ends[at] - self.starts[at] if self.kinds[at] < Kind.CALL else 0
        return max(us, key=lambda thread: (us[thread], -thread), default=None)

    def _sweep(
        self, spans: list[int], stretches: Sequence[Stretch], ats: list[int]
    ) -> Iterable[tuple[int, Around]]:
        """Yield what surrounds the middle of each stretch, walking through time once."""
        starts, ends = self.starts, self.ends
        stack: list[int] = []
        after = 0
        for middle, at in sorted((_middle(stretches[at]), at) for at in ats):
            while after < len(spans) and starts[spans[after]] <= middle:
                while stack and ends[stack[-1]] <= starts[spans[after]]:
                    stack.pop()
                stack.append(spans[after])
                after += 1
            while stack and ends[stack[-1]] < middle:
                stack.pop()
            yield at, self._named(stack, stretches[at])

    def _named(self, stack: list[int], stretch: Stretch) -> Around:
        frames: list[str] = []
        covering: list[str] = []
        filling: list[str] = []
        whole = stretch.end - stretch.start
        least = MOST * whole
        us = inside = 0.0
        operator = call = builtin = ""
        for at in reversed(stack):
            covered = min(self.ends[at], stretch.end) - max(self.starts[at], stretch.start)
            if covered < least:
                continue
            name = self.name_table.items[self.names[at]]
            kind = self.kinds[at]
            if kind == Kind.FRAME:
                us = us if frames else covered
                frames.append(name)
                if covered >= ALL * whole:
                    covering.append(name)
                    if self.ends[at] - self.starts[at] <= LITTLE_ELSE * whole:
                        filling.append(name)
                if len(frames) >= MAX_FRAMES:
                    break
            elif kind == Kind.OPERATOR:
                inside = inside or covered
                operator = operator or name
            elif kind == Kind.BUILTIN:
                builtin = builtin or ("" if frames else name)
            else:
                call = call or name
        us = us if frames else inside
        return Around(tuple(frames), operator, call, builtin, us, tuple(covering), tuple(filling))

    def _thin(self) -> None:
        """Let the shorter half go."""
        lengths = sorted(end - start for start, end in zip(self.starts, self.ends, strict=True))
        self.least = max(2 * self.least, lengths[len(lengths) // 2])
        kept = [at for at, start in enumerate(self.starts) if self.ends[at] - start >= self.least]
        for field in ("starts", "ends", "names", "threads", "kinds"):
            column = getattr(self, field)
            setattr(self, field, array(column.typecode, [column[at] for at in kept]))


def kind_of(record: Record | None) -> Kind:
    """Return what spans of a name are told as."""
    if isinstance(record, PythonFunction):
        return Kind.FRAME
    return Kind.CALL if isinstance(record, RuntimeCall) else Kind.OPERATOR


def _middle(stretch: Stretch) -> float:
    return (stretch.start + stretch.end) / 2
