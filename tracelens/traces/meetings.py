"""The collectives of one rank in their order, by group: where ranks meet.

The k-th collective of a group is the same one on each of its ranks. What is kept of each is when it
began and ended there, and what it is: twenty bytes.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tracelens.late import late
from tracelens.traces.measured import Measured

if TYPE_CHECKING:
    from tracelens.logs._trace_events import Complete
    from tracelens.traces.names import Name

__all__ = ["Meetings", "Met"]

#: Collectives of one rank that are kept, and groups.
MAX_MEETINGS = 8_192
MAX_GROUPS = 64
#: Messages of these may differ in size from rank to rank.
_UNEVEN = late(r"all_?to_?all|send|recv|gatherv|scatterv|coalesced", re.IGNORECASE)


class Met(Measured):
    """What one rank did in one group, in order. Columns of float64 and of int32, as bytes."""

    #: Name of the group, and its ranks as the trace lists them.
    group: str
    #: Microseconds of the trace's own clock.
    starts: bytes
    ends: bytes
    #: Numbers into ``names``: ``allreduce of 1024``.
    what: bytes
    names: tuple[str, ...]

    @property
    def times(self) -> tuple[Sequence[float], Sequence[float]]:
        """When each began and ended."""
        return array("d", self.starts), array("d", self.ends)

    @property
    def operations(self) -> list[str]:
        """What each was."""
        return [self.names[number] for number in array("i", self.what)]


class _Group:
    """What is known of one group so far."""

    def __init__(self, first: Name) -> None:
        self.first = first
        self.starts, self.ends, self.what = array("d"), array("d"), array("i")
        self.names: dict[str, int] = {}


class Meetings:
    """The collectives of one trace."""

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}
        self._count = 0

    def add(self, group: str, name: Name, what: str, elements: int, event: Complete) -> None:
        """Add one; ``what`` is the operation on so many ``elements``, 0 for an unknown number."""
        found = self._groups.get(group)
        if self._count >= MAX_MEETINGS or (found is None and len(self._groups) >= MAX_GROUPS):
            return
        if found is None:
            found = self._groups[group] = _Group(name)
        if elements and not _UNEVEN.search(what):
            what = f"{what} of {elements}"
        self._count += 1
        found.starts.append(event.ts)
        found.ends.append(event.ts + event.dur)
        found.what.append(found.names.setdefault(what, len(found.names)))

    def rows(self) -> Iterator[tuple[Name, Met]]:
        """Yield what was done in each group, in the order of time."""
        for group, found in self._groups.items():
            order = sorted(range(len(found.starts)), key=found.starts.__getitem__)
            met = Met(
                group=group,
                starts=_picked(found.starts, order),
                ends=_picked(found.ends, order),
                what=_picked(found.what, order),
                names=tuple(found.names),
            )
            yield found.first, met


def _picked(column: array[Any], order: Sequence[int]) -> bytes:
    return array(column.typecode, map(column.__getitem__, order)).tobytes()
