"""Calls of compiled code in which CUDA graphs are recorded, and those that launch what was.

A call that records runs its kernels once before, collects garbage, records, and makes the graph
ready: all of it is the price, not the moments between the beginning and the end of the recording.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.traces.device import Busy
from tracelens.traces.measured import Measured
from tracelens.traces.names import Name
from tracelens.traces.spans import Kind

if TYPE_CHECKING:
    from tracelens.traces.reading import Reading

__all__ = ["Recorded", "recorded", "recording"]


class Recorded(Measured):
    """Calls of one compiled function, some of which record graphs. Milliseconds."""

    name: str
    calls: int
    #: Those that record, in all, and the shortest of the others.
    recorded: int
    recorded_ms: float
    replayed_ms: float
    #: Of those that record, the ones after a call that did not.
    again: int


def recording(reading: Reading) -> Busy:
    """Return when graphs were recorded, with the calls of compiled code that did it."""
    calls = (each for name in _calls(reading).values() for each in name if each[2])
    found = [reading.runtime.captured(), Busy.of(sorted((start, end) for start, end, _ in calls))]
    return Busy.union(found)


def recorded(reading: Reading) -> Iterator[tuple[Name, Recorded]]:
    """Yield the compiled functions that record graphs, what takes longest first."""
    rows = []
    for name, calls in _calls(reading).items():
        made = [end - start for start, end, records in calls if records]
        others = [end - start for start, end, records in calls if not records]
        if not made:
            continue
        first = next((at for at, each in enumerate(calls) if not each[2]), len(calls))
        row = Recorded(
            name=str(name.record),
            calls=len(calls),
            recorded=len(made),
            recorded_ms=_ms(sum(made)),
            replayed_ms=_ms(min(others, default=0.0)),
            again=sum(records for _, _, records in calls[first:]),
        )
        rows.append((name, row))
    yield from sorted(rows, key=lambda pair: (-pair[1].recorded_ms, pair[1].name))


def _calls(reading: Reading) -> dict[Name, list[tuple[float, float, bool]]]:
    """Return the calls of compiled code in order, and which record; those that compile left out."""
    begun = reading.runtime.begun
    tree = reading.spans.of({Kind.REGION, Kind.BACKWARD}) if begun.starts else None
    if tree is None:
        return {}
    spans, owners = reading.spans, set(tree.owners(begun))
    compiling = reading.operators.compiling.busy()
    found: defaultdict[Name, list[tuple[float, float, bool]]] = defaultdict(list)
    for position, at in enumerate(tree.order):
        span = spans.starts[at], spans.ends[at]
        if not sum(compiling.within([span])):
            name = spans.name_table.items[spans.names[at]]
            found[name].append((*span, position in owners))
    return {name: sorted(calls) for name, calls in found.items()}


def _ms(us: float) -> float:
    """Return milliseconds, in whole nanoseconds."""
    return round(us / 1000, 6)
