"""Calls that take memory of the driver and give it back: done once, or again and again.

PyTorch keeps what it took, so that such calls belong to a program's beginning. Where memory is
given back, or memory of the host is pinned, in every step, or all through a trace without steps,
they are the way in which the program works, and each waits for the device.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter

from tracelens.late import late
from tracelens.logs._trace_events import Complete
from tracelens.traces.activity import ThreadId
from tracelens.traces.device import Busy, Interval
from tracelens.traces.idle import Waits

__all__ = ["Taking"]

#: Steps from which on the second and later ones tell; without them, the parts of a trace that do,
#: and the calls in all.
MIN_STEPS = 3
PARTS = 4
MIN_CALLS = 8
#: Calls that are kept of each kind.
MAX_CALLS = 1 << 17
_HOST = late(r"Host")
_MEMORY = late(r"Malloc|Free|HostAlloc|Host(?:Un)?[Rr]egister|MemAlloc")
#: What is done in a step only if it is done in all of them.
_SIGNS = {False: re.compile(r"Free"), True: re.compile(r"HostAlloc|Host[Rr]egister|HostMalloc")}


class Taking:
    """Such calls of one trace: of the device's memory, and of the host's."""

    def __init__(self) -> None:
        #: Whether it is the host's -> thread, start and end; and when memory is given back, or
        #: pinned.
        self._calls: dict[bool, list[tuple[ThreadId, float, float]]] = {False: [], True: []}
        self._signs: dict[bool, array[float]] = {False: array("d"), True: array("d")}

    @staticmethod
    def takes(name: str) -> bool:
        """Tell whether a call of that name takes memory, or gives it back."""
        return _MEMORY.search(name) is not None

    @staticmethod
    def of_host(name: str) -> bool:
        """Tell whether the memory that such a call is about is the host's."""
        return _HOST.search(name) is not None

    def add(self, name: str, events: Sequence[Complete]) -> None:
        """Add the calls of one name."""
        host = self.of_host(name)
        kept = self._calls[host]
        taken = events[: MAX_CALLS - len(kept)]
        kept += [((event.pid, event.tid), event.ts, event.ts + event.dur) for event in taken]
        if _SIGNS[host].search(name):
            self._signs[host].extend(event.ts for event in taken)

    def settle(
        self, steps: Sequence[Interval], whole: Interval, once: Waits, again: Waits
    ) -> dict[bool, Busy]:
        """Add the calls to ``once`` or ``again``; return when those were that come again."""
        found: dict[bool, Busy] = {}
        for host, calls in self._calls.items():
            comes_again = _comes_again(sorted(self._signs[host]), steps, whole)
            for thread, start, end in calls:
                (again if comes_again else once).add(thread, start, end)
            if comes_again:
                found[host] = Busy.of(sorted(map(itemgetter(1, 2), calls)))
        return found


def _comes_again(starts: list[float], steps: Sequence[Interval], whole: Interval) -> bool:
    """Tell whether there are calls in every step but the first, or in every part of the whole."""
    if len(steps) >= MIN_STEPS:
        spans = list(steps[1:])
    elif len(starts) >= MIN_CALLS:
        length = (whole[1] - whole[0]) / PARTS
        spans = list(pairwise(whole[0] + length * at for at in range(PARTS + 1)))
    else:
        return False
    return all(bisect_left(starts, start) < bisect_left(starts, end) for start, end in spans)
