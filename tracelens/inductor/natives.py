"""Convolutions that ATen computes by itself, although oneDNN could."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tracelens.evidence import Seen
from tracelens.inductor.weights import Unprepared

if TYPE_CHECKING:
    from tracelens.inductor.library_calls import LibraryCall, LibraryRun

__all__ = ["natives"]

#: Part of a graph's convolutions from which it is worth a word.
MIN_PART = 0.25


def natives(
    found: Iterable[Unprepared],
    calls: Iterable[Seen[LibraryCall]],
    ran: Iterable[Seen[LibraryRun]],
) -> list[Unprepared]:
    """Return the convolutions of one graph of which oneDNN printed no line, though of others.

    ATen hands small ones to oneDNN in batches alone, and counts no width of a volume
    (``use_mkldnn`` in aten/src/ATen/native/Convolution.cpp). What is frozen is always oneDNN's.
    """
    convolutions = [one for one in found if one.call.op == "convolution"]
    if not convolutions:
        return []
    made = {(place, call.record.at) for call in calls for place in call.places}
    shown = {
        (place, call.record.at) for row in ran for call in row.record.calls for place in call.places
    }
    executed = {place for place, _ in shown}
    own = [
        one
        for one in convolutions
        if any(
            place in executed and (place, one.step.at) in made - shown for place in one.seen.places
        )
    ]
    return own if len(own) >= MIN_PART * len(convolutions) else []
