"""Phases of compilations: how long each layer of torch.compile took, and for which frame.

Two logs say it. Dynamo prints a table of all compilations of a process, and the structured log has
an event where each phase begins and ends: the same numbers, by compilation. Where both are of one
process, the events are taken, so that nothing counts twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import ConfigDict

from tracelens.evidence import Evidence, Place, Seen
from tracelens.logs import Joined
from tracelens.logs.compile_times import Phase, PhaseTimes

__all__ = ["BACKWARD", "FRAME", "FramePhases", "ProcessPhases", "tables", "total"]

#: Rows of the report's table.
MAX_ROWS = 100

#: The phases that hold one compilation of a frame, by what versions call them.
FRAME = (
    "_compile.compile_inner",
    "_compile.<locals>.compile_inner",
    "_compile",
    # The lines of torch's benchmarks, which have the sum of all.
    "entire_frame_compile",
    "from dynamo_timed",
)
#: What is compiled when a backward pass first runs, after the frame's own compilation.
BACKWARD = ("backward._backward_impl",)

_Seconds = Mapping[str, tuple[float, ...]]


class FramePhases(Joined):
    """The phases of one compilation, by the events of the structured log."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    switch: ClassVar[str] = "TORCH_TRACE=trace_dir"
    #: Phase, as the table of ``compile_times()`` calls it -> seconds of each run.
    seconds: dict[str, tuple[float, ...]]

    @classmethod
    def join(cls, evidence: Evidence) -> Iterator[Seen[FramePhases]]:
        """Yield one per process and compile id; outside of compilations, the id is empty."""
        homes = evidence.processes.homes
        frames: defaultdict[tuple[str, str, str], dict[str, tuple[float, ...]]] = defaultdict(dict)
        lines: dict[tuple[str, str, str], int] = {}
        for (name, writer, frame, phase), ticks in evidence.ticks.items():
            key = (name, writer, frame)
            lines[key] = min(lines.get(key, ticks.line), ticks.line)
            if runs := ticks.seconds():
                frames[key][phase] = runs
        for key, seconds in frames.items():
            name, writer, frame = key
            place = Place(name, lines[key], writer, frame, home=homes.get((name, writer)))
            yield Seen(cls(seconds=seconds), 1, [place], "")


class ProcessPhases(Joined):
    """All phases of one process."""

    switch: ClassVar[str] = "TORCH_TRACE=trace_dir"
    phases: tuple[Phase, ...]

    @classmethod
    def join(cls, evidence: Evidence) -> Iterator[Seen[ProcessPhases]]:
        """Yield one per process with events, and one per table of any other process."""
        found: dict[tuple[str, str], tuple[Place, dict[str, list[float]]]] = {}
        for place, row in evidence.table(FramePhases).events():
            _, phases = found.setdefault(place.process, (place, {}))
            for phase, runs in row.record.seconds.items():
                phases.setdefault(phase, []).extend(runs)
        told = {name for name, _ in found}
        for place, phases in found.values():
            named = tuple(
                Phase.model_construct(name=phase, seconds=tuple(runs))
                for phase, runs in phases.items()
            )
            yield Seen(cls(phases=named), 1, [place._replace(frame="")], "")
        for table in evidence.table(PhaseTimes):
            places = [place for place in table.places if place.input not in told]
            if places:
                record = cls(phases=table.record.phases)
                yield table.about(record, places, len(places))


def total(seconds: _Seconds, names: tuple[str, ...]) -> float | None:
    """Return the seconds of the first of ``names`` that is there."""
    return next((sum(seconds[name]) for name in names if name in seconds), None)


def tables(evidence: Evidence) -> dict[str, list[dict[str, Any]]]:
    """Return ``compile_phases``, longest first: of the process that compiled longest.

    Of several tables that Dynamo printed, the last one holds those before it.
    """
    rows = evidence.table(ProcessPhases).events()
    traced = [row.record for _, row in rows if not row.text]
    if traced:
        held = max(traced, key=lambda record: sum(phase.total for phase in record.phases))
    elif rows:
        held = rows[-1][1].record
    else:
        return {}
    phases = sorted(held.phases, key=lambda phase: -phase.total)
    return {"compile_phases": [phase.row() for phase in phases[:MAX_ROWS]]}
