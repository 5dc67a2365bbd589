"""Frames: everything that was read about one compiled frame, joined.

Dynamo numbers what it compiles: ``[2/1]`` is the second compilation of the third code object. The
id stands in the prefix of every text record, in the envelope of every structured one and in the
names of trace regions, so a frame is where the logs of one run meet. A rule asks for
``Table[Frame]`` and walks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, TypeVar

from pydantic import ConfigDict, SkipValidation

from tracelens.evidence import Evidence, Place, Seen
from tracelens.logs import Record
from tracelens.logs.autotune import AutotuneTable
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.guards import GuardTree
from tracelens.logs.output_code import OutputModule
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile
from tracelens.logs.torch_trace import CompilationMetrics

__all__ = ["Frame", "Sighting"]

R = TypeVar("R", bound=Record)

#: The record types that a frame gathers by the compile id of their place.
GATHERED: tuple[type[Record], ...] = (
    CompilationMetrics,
    Recompile,
    RecompileLimit,
    GraphBreak,
    GuardTree,
    OutputModule,
)


class Sighting(NamedTuple):
    """One record of a frame, and where it was seen."""

    place: Place
    seen: Seen[Any]


class Frame(Record):
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
    #: Seconds between the first and the last log record of this compile id: a lower bound.
    seconds: float | None = None

    def of(self, kind: type[R]) -> list[Seen[R]]:
        """Return this frame's records of one type, in the order of the log."""
        return [s.seen for s in self.sightings if isinstance(s.seen.record, kind)]

    @property
    def compile_seconds(self) -> float | None:
        """How long the compilation took: as Dynamo measured it, else from the clocks of the log."""
        for metrics in self.of(CompilationMetrics):
            if metrics.record.entire_frame_compile_time_s is not None:
                return metrics.record.entire_frame_compile_time_s
        return self.seconds

    @property
    def entry(self) -> int:
        """Which compilation of its code object this is; 0 is the first."""
        last = self.id.rpartition("/")[2]
        return int(last) if last.isdigit() else 0

    @classmethod
    def walks(cls) -> tuple[type[Record], ...]:
        """What is gathered, by whatever id."""
        return (*GATHERED, AutotuneTable)

    @classmethod
    def join(cls, evidence: Evidence) -> Iterator[Seen[Frame]]:
        """Gather the records by input, writer and compile id."""
        groups: defaultdict[tuple[str, str, str], list[Sighting]] = defaultdict(list)
        for kind in GATHERED:
            for place, seen in evidence.table(kind).events():
                if place.frame:
                    groups[place.compilation].append(Sighting(place, seen))
        _add_tables(evidence, groups)
        for (name, writer, frame), sightings in sorted(groups.items(), key=_number):
            sightings.sort(key=lambda found: (found.place.input != name, found.place.line))
            span = evidence.processes.spans.get((name, writer, frame))
            record = cls(
                id=frame,
                writer=writer,
                **_code_of(sightings),
                sightings=tuple(sightings),
                seconds=span[1] - span[0] if span else None,
            )
            yield Seen(record, 1, [sightings[0].place], "")


def _number(item: tuple[tuple[str, str, str], object]) -> tuple[str, str, list[int], str]:
    (name, writer, frame), _ = item
    return name, writer, [int(part) for part in frame.split("/") if part.isdigit()], frame


def _code_of(sightings: list[Sighting]) -> dict[str, Any]:
    """Return the code object that the records name: structured logs and recompilations do."""
    for _, seen in sightings:
        record = seen.record
        if isinstance(record, CompilationMetrics) and record.co_name:
            return {
                "function": record.co_name,
                "file": record.co_filename,
                "line": record.co_firstlineno,
            }
        if isinstance(record, Recompile):
            return {"function": record.function, "file": record.file, "line": record.line}
    return {}


def _add_tables(evidence: Evidence, groups: dict[tuple[str, str, str], list[Sighting]]) -> None:
    """Give each AUTOTUNE table, which has no compile id, to the code that is generated after it."""
    modules: defaultdict[str, list[tuple[int, tuple[str, str, str]]]] = defaultdict(list)
    for place, _ in evidence.table(OutputModule).events():
        if place.frame:
            modules[place.input].append((place.line, place.compilation))
    for place, seen in evidence.table(AutotuneTable).events():
        after = modules[place.input]
        index = bisect_left(after, (place.line,))
        if index < len(after):
            groups[after[index][1]].append(Sighting(place, seen))
