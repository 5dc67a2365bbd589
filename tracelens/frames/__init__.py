"""Frames: everything that was read about one compiled frame, joined.

Dynamo numbers what it compiles: ``[2/1]`` is the second compilation of the third code object. The
id stands in the prefix of every text record, in the envelope of every structured one and in the
names of trace regions, so a frame is where the logs of one run meet. A rule asks for
``Table[Frame]`` and walks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from pydantic import ConfigDict, SkipValidation

from tracelens.dynamo.phases import BACKWARD, FRAME, FramePhases, total
from tracelens.evidence import Evidence, Place, Seen
from tracelens.frames import gathered
from tracelens.logs import Joined, Record

if TYPE_CHECKING:
    from tracelens.logs.output_code import OutputModule
    from tracelens.logs.torch_trace import CompilationMetrics

__all__ = ["Frame", "Sighting", "tables"]

#: Digits of a number in a compile id; a log may hold any.
DIGITS = 10
#: Rows of the report's table.
MAX_ROWS = 200

R = TypeVar("R", bound=Record)


class Sighting(NamedTuple):
    """One record of a frame, and where it was seen."""

    place: Place
    seen: Seen[Any]


class Frame(Joined):
    """One compilation of one code object by one writer."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True
    )

    switch: ClassVar[str] = 'TORCH_LOGS="graph_breaks,guards,output_code,recompiles"'
    #: ``2/1`` as torch prints it, without the attempt.
    id: str
    #: Rank or process.
    writer: str
    #: The code object, where a recompilation or the structured log names it.
    function: str | None = None
    file: str | None = None
    line: int | None = None
    sightings: SkipValidation[tuple[Sighting, ...]] = ()
    #: Records of packs, which nothing that is built in looks at.
    foreign: SkipValidation[tuple[Sighting, ...]] = ()
    #: Seconds between the first and the last log record of this compile id: a lower bound.
    seconds: float | None = None
    #: Seconds from its first log record to that of the next compilation: an upper bound.
    until_next: float | None = None
    #: Seconds from the first record of its process to its own first one.
    began: float | None = None

    def ms(self, kind: type[Record]) -> float | None:
        """Return how long this frame's records of one type took; None where there are none."""
        rows = self.of(kind)
        return sum(row.ms for row in rows) if rows else None

    def of(self, kind: type[R]) -> list[Seen[R]]:
        """Return this frame's records of one type, in the order of the log: a pack's, too."""
        every = (*self.sightings, *self.foreign)
        return [s.seen for s in every if isinstance(s.seen.record, kind)]

    def named(self, name: gathered.Name) -> list[Seen[Any]]:
        """Return this frame's records of one type; of one that is not imported, there are none."""
        kind = gathered.imported(name)
        return [] if kind is None else self.of(kind)

    @property
    def metrics(self) -> list[Seen[CompilationMetrics]]:
        """What Dynamo measured."""
        return self.named(gathered.METRICS)

    @property
    def modules(self) -> list[Seen[OutputModule]]:
        """The modules that were generated."""
        return self.named(gathered.MODULE)

    @property
    def compile_seconds(self) -> float | None:
        """How long the compilation took: as Dynamo measured it, else from the clocks of the log."""
        for metrics in self.metrics:
            if metrics.record.entire_frame_compile_time_s is not None:
                return metrics.record.entire_frame_compile_time_s
        measured = self._phase(FRAME)
        return self.seconds if measured is None else measured

    @property
    def backward_seconds(self) -> float | None:
        """How long its backward pass took to compile, if that was done when it first ran."""
        return self._phase(BACKWARD)

    def _phase(self, names: tuple[str, ...]) -> float | None:
        found = [total(phases.record.seconds, names) for phases in self.of(FramePhases)]
        return next((seconds for seconds in found if seconds is not None), None)

    @property
    def entry(self) -> int:
        """Which compilation of its code object this is; 0 is the first."""
        last = self.id.rpartition("/")[2]
        return int(last) if last.isdecimal() and len(last) < DIGITS else 0

    @classmethod
    def walks(cls) -> tuple[type[Record], ...]:
        """What is gathered, by whatever id."""
        return tuple(gathered.every())

    @classmethod
    def join(cls, evidence: Evidence) -> Iterator[Seen[Frame]]:
        """Gather the records by input, writer and compile id."""
        groups: defaultdict[tuple[str, str, str], list[Sighting]] = defaultdict(list)
        for kind in gathered.held(evidence):
            for place, seen in evidence.table(kind).events():
                if place.frame:
                    groups[place.compilation].append(Sighting(place, seen))
        _add_tables(evidence, groups)
        ran = _executions(evidence, groups)
        later = _until_next(evidence)
        starts = _starts(evidence)
        codes = _codes(groups)
        others = _of_packs(evidence)
        for (name, writer, frame), sightings in sorted(groups.items(), key=_number):
            sightings.sort(key=lambda found: (found.place.input != name, found.place.line))
            span = evidence.processes.spans.get((name, writer, frame))
            record = cls(
                id=frame,
                writer=writer,
                **codes[name, writer, frame],
                sightings=(*sightings, *ran[name, writer, frame]),
                foreign=tuple(others[name, writer, frame]),
                seconds=span[1] - span[0] if span else None,
                until_next=later.get((name, writer, frame)),
                began=span[0] - starts[name, writer] if span else None,
            )
            yield Seen(record, 1, [sightings[0].place], "")


def _of_packs(evidence: Evidence) -> defaultdict[tuple[str, str, str], list[Sighting]]:
    """Return the records of packs by compilation; they make no frame that is not there anyway."""
    found: defaultdict[tuple[str, str, str], list[Sighting]] = defaultdict(list)
    read = {kind for kind in evidence.types() if not kind.__module__.startswith("tracelens.")}
    for kind in sorted(read, key=lambda kind: (kind.__module__, kind.__qualname__)):
        for place, seen in () if issubclass(kind, Joined) else evidence.table(kind).events():
            if place.frame and type(seen.record) is kind:
                found[place.compilation].append(Sighting(place, seen))
    for sightings in found.values():
        sightings.sort(key=lambda one: (one.place.input, one.place.line))
    return found


def _starts(evidence: Evidence) -> dict[tuple[str, str], float]:
    """Return when the first compilation of each process began."""
    out: dict[tuple[str, str], float] = {}
    for (name, writer, _), (first, _, _) in evidence.processes.spans.items():
        out[name, writer] = min(first, out.get((name, writer), first))
    return out


def _until_next(evidence: Evidence) -> dict[tuple[str, str, str], float]:
    """Return the seconds from the first record of each compilation to the first of the next."""
    starts: defaultdict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    for (name, writer, frame), (first, _, _) in evidence.processes.spans.items():
        starts[name, writer].append((first, frame))
    out: dict[tuple[str, str, str], float] = {}
    for process, found in starts.items():
        found.sort()
        for (first, frame), (then, _) in pairwise(found):
            out[*process, frame] = then - first
    return out


def _executions(
    evidence: Evidence, known: Collection[tuple[str, str, str]]
) -> defaultdict[tuple[str, str, str], list[Sighting]]:
    """Return oneDNN executions and events of traces by the only compilation they can be of."""
    found: defaultdict[tuple[str, str, str], list[Sighting]] = defaultdict(list)
    # What reads a kind of log is imported where there is one: that takes time, too.
    if "onednn_verbose" in evidence.kinds:
        from tracelens.inductor.library_calls import LibraryRun  # noqa: PLC0415

        for row in evidence.table(LibraryRun):
            run, part = row.record.run, row.record.part
            if (compilation := row.record.compilation) is not None:
                seen = run.about(run.record, [part.place], part.count, part.times)
                found[compilation].append(Sighting(part.place, seen))
    if "chrome_trace" in evidence.kinds:
        from tracelens.traces.frames import events_of_frames  # noqa: PLC0415

        for compilation, event in events_of_frames(evidence, known):
            found[compilation].append(Sighting(event.first, event))
    return found


def _number(item: tuple[tuple[str, str, str], object]) -> tuple[str, str, list[int], str]:
    (name, writer, frame), _ = item
    return (
        name,
        writer,
        [int(part) for part in frame.split("/") if part.isdecimal() and len(part) < DIGITS],
        frame,
    )


def _codes(
    groups: Mapping[tuple[str, str, str], list[Sighting]],
) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return the code object of each compilation.

    The number before the slash is that of the code object: where one of its compilations names it,
    the others, which the text logs leave without a name, are of the same.
    """
    found = {key: _code_of(sightings) for key, sightings in groups.items()}
    named: defaultdict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for (name, writer, frame), code in found.items():
        if code and code not in (known := named[name, writer, frame.rpartition("/")[0]]):
            known.append(code)
    for (name, writer, frame), code in found.items():
        known = named[name, writer, frame.rpartition("/")[0]]
        if not code and len(known) == 1:
            found[name, writer, frame] = known[0]
    return found


def _code_of(sightings: list[Sighting]) -> dict[str, Any]:
    """Return the code object that the records name: structured logs and recompilations do."""
    metrics = gathered.imported(gathered.METRICS)
    recompile = gathered.imported(gathered.RECOMPILE)
    for _, seen in sightings:
        record = seen.record
        if metrics is not None and isinstance(record, metrics) and record.co_name:
            return {
                "function": record.co_name,
                "file": record.co_filename,
                "line": record.co_firstlineno,
            }
        if recompile is not None and isinstance(record, recompile):
            return {"function": record.function, "file": record.file, "line": record.line}
    return {}


def _add_tables(evidence: Evidence, groups: dict[tuple[str, str, str], list[Sighting]]) -> None:
    """Give each AUTOTUNE table, which has no compile id, to the code that is generated after it."""
    module, table = gathered.imported(gathered.MODULE), gathered.imported(gathered.TABLE)
    if module is None or table is None:
        return
    modules: defaultdict[str, list[tuple[int, tuple[str, str, str]]]] = defaultdict(list)
    for place, _ in evidence.table(module).events():
        if place.frame:
            modules[place.input].append((place.line, place.compilation))
    for place, seen in evidence.table(table).events():
        after = modules[place.input]
        index = bisect_left(after, (place.line,))
        if index < len(after):
            groups[after[index][1]].append(Sighting(place, seen))


def tables(evidence: Evidence) -> dict[str, list[dict[str, Any]]]:
    """Return ``frames``: what was compiled, and what each compilation then took.

    ``onednn_ms`` and ``trace_ms`` are there for frames that oneDNN lines or regions of a trace can
    be of without doubt. Columns that would be empty are left out.
    """
    found = sorted(
        ((row.first.compilation, row.record) for row in evidence.table(Frame)), key=_number
    )
    rows = [_row(frame) | _ran(frame, evidence) for _, frame in found[:MAX_ROWS]]
    known = {key for row in rows for key, value in row.items() if value not in {None, ""}}
    filled = [{key: value for key, value in row.items() if key in known} for row in rows]
    return {"frames": filled} if filled else {}


def _row(frame: Frame) -> dict[str, Any]:
    modules = [seen.record for seen in frame.modules]
    seconds, later = frame.compile_seconds, frame.backward_seconds
    return {
        "frame": frame.id,
        "writer": frame.writer,
        "function": frame.function,
        "file": frame.file,
        "line": frame.line,
        "at_s": None if frame.began is None else round(frame.began, 3),
        "compile_s": None if seconds is None else round(seconds, 3),
        "backward_s": None if later is None else round(later, 3),
        "guards": max((seen.record.count for seen in frame.named(gathered.TREE)), default=None),
        "breaks": sum(not seen.record.announced for seen in frame.named(gathered.BREAK)) or None,
        "kernels": sum(len(module.kernels) for module in modules) if modules else None,
        "library_calls": sum(1 for m in modules for _ in m.extern_calls()) if modules else None,
    }


def _ran(frame: Frame, evidence: Evidence) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "onednn_verbose" in evidence.kinds:
        from tracelens.logs.onednn_verbose import PrimitiveExec  # noqa: PLC0415

        onednn = frame.ms(PrimitiveExec)
        found["onednn_ms"] = None if onednn is None else round(onednn, 3)
    if "chrome_trace" in evidence.kinds:
        from tracelens.logs.chrome_trace import CompiledRegion  # noqa: PLC0415

        trace = frame.ms(CompiledRegion)
        found["calls"] = sum(seen.count for seen in frame.of(CompiledRegion)) or None
        found["trace_ms"] = None if trace is None else round(trace, 3)
    return found
