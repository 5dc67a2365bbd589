"""What a trace shows of compiled frames: their calls, their graphs, their kernels.

A region carries the compile id in its name, a graph its key in the cache, a kernel its name in the
generated code. A name that several compilations have is nobody's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from tracelens.evidence import Evidence, Seen, Table
from tracelens.evidence.tables import Place
from tracelens.logs.chrome_trace import CompiledGraph, CompiledRegion, InductorKernel
from tracelens.logs.inductor_debug import CacheEvent
from tracelens.logs.output_code import OutputModule
from tracelens.traces.measured import TraceHeader

__all__ = ["events_of_frames"]

Compilation = tuple[str, str, str]
Process = tuple[str, str]


def events_of_frames(
    evidence: Evidence, known: Collection[Compilation]
) -> Iterator[tuple[Compilation, Seen[Any]]]:
    """Yield each event that belongs to one compilation, as its trace alone shows it."""
    regions = evidence.table(CompiledRegion)
    graphs = evidence.table(CompiledGraph)
    kernels = evidence.table(InductorKernel)
    if not regions and not graphs and not kernels:
        return
    processes = {compilation[:2] for compilation in known}
    keys = _owners((seen.record.key, place) for place, seen in evidence.table(CacheEvent).events())
    names = _owners(
        (name, place)
        for place, seen in evidence.table(OutputModule).events()
        for name in seen.record.kernels
    )
    headers = evidence.table(TraceHeader)
    sources = (part.place.input for row in (*regions, *graphs, *kernels) for part in row.split())
    for source in dict.fromkeys(sources):
        process = _process_of(source, headers, processes)
        if process is None:
            continue
        for region in regions.within(source):
            if region.record.frame:
                yield (*process, region.record.frame), region
        for owners, rows, name_of in (
            (keys, graphs, lambda record: record.hash),
            (names, kernels, lambda record: str(record.model_copy(update={"graph": None}))),
        ):
            for row in rows.within(source):
                found = {c for c in owners.get(name_of(row.record), ()) if c[:2] == process}
                if len(found) == 1:
                    yield next(iter(found)), row


def _owners(pairs: Iterable[tuple[str, Place]]) -> dict[str, set[Compilation]]:
    found: defaultdict[str, set[Compilation]] = defaultdict(set)
    for name, place in pairs:
        if name and place.frame:
            found[name].add(place.compilation)
    return found


def _process_of(
    source: str, headers: Table[TraceHeader], processes: set[Process]
) -> Process | None:
    """Return the process that a trace is of: the one of its rank, or the only one there is."""
    rank = next((header.record.rank for header in headers.within(source)), None)
    found = [process for process in processes if process[1] == f"rank{rank}"]
    if not found and len(processes) == 1:
        found = list(processes)
    return found[0] if len(found) == 1 else None
