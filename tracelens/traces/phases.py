"""Named parts of the time: steps, what the program annotates, compilation, capture, starting."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tracelens.traces.device import Busy, Interval
from tracelens.traces.recording import recording
from tracelens.traces.spans import Kind

if TYPE_CHECKING:
    from tracelens.traces.reading import Reading

__all__ = ["Phase", "phases"]

#: Steps, and other phases, that have rows.
MAX_STEPS = 200
MAX_PHASES = 30
#: Of the time of the device, what a phase must take.
MIN_SHARE = 0.005


class Phase(NamedTuple):
    """A named part of the time: disjoint stretches, in order."""

    name: str
    spans: tuple[Interval, ...]


def phases(
    reading: Reading, steps: Sequence[tuple[str, Interval]], window: Interval
) -> Iterator[Phase]:
    """Yield the steps, and then what else has a name: it may overlap with steps and each other.

    ``window`` is the time of which it is known why the device was idle: what is outside is cut off.
    """
    for name, span in steps[:MAX_STEPS]:
        yield Phase(name, (span,))
    taken = {"window", *(name for name, _ in steps)}
    found = [
        ("compile", reading.operators.compiling.busy()),
        ("capture", recording(reading)),
        ("start", reading.runtime.starting.anywhere()),
    ]
    named = reading.spans.intervals(Kind.ANNOTATION)
    found += [(str(name.record), Busy.of(sorted(spans))) for name, spans in named.items()]
    least = MIN_SHARE * (window[1] - window[0])
    long = [(name, busy) for name, busy in found if busy.us > least and name not in taken]
    inside = Busy(array("d", window[:1]), array("d", window[1:]))
    for name, busy in sorted(long, key=lambda pair: -pair[1].us)[:MAX_PHASES]:
        if (cut := busy.both(inside)).us > least:
            yield Phase(name, tuple(cut.pairs()))
