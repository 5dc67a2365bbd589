"""Join the refusals of implementations with the primitive that was chosen in the end.

A refusal that prints the problem is joined by the problem. One that prints only a message belongs
to the primitive whose creation follows: it stands between that line and the creation or execution
before it. Where torch packed the weights first, the refusals before their reorder count as well:
they are the cause, and those before the primitive itself the consequence.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from tracelens.evidence import Place, Seen, Table
from tracelens.logs import _onednn_work as work
from tracelens.logs._onednn_parts import MemoryDescriptor
from tracelens.logs.onednn_verbose import (
    DispatchRejection,
    LibraryRejection,
    Primitive,
    PrimitiveCreate,
    PrimitiveExec,
)
from tracelens.onednn.reasons import Reason, why
from tracelens.report import EvidenceLine

__all__ = ["Refusal", "Refusals"]

_Row = Seen[DispatchRejection] | Seen[LibraryRejection]
#: Primitive, data types and shape.
_Problem = tuple[str, str, str]
#: What a reorder is refused for: it stands among the causes when weights are packed.
_OF_REORDERS = {Reason.LAYOUT, Reason.SHAPE, Reason.DEFERRED, Reason.CHAIN, Reason.OTHER}
_OWNERS = {"acl": "Arm Compute Library"}


class Refusal(NamedTuple):
    """Who refused, and why."""

    who: str
    message: str
    quote: EvidenceLine

    @property
    def reason(self) -> Reason:
        """The class of the message."""
        return why(self.message)

    def __str__(self) -> str:
        return f"{self.who}: {self.message}"


class Refusals:
    """The refusals of a log, by the primitive that they are about."""

    def __init__(
        self,
        dispatches: Table[DispatchRejection],
        library: Table[LibraryRejection],
        creates: Table[PrimitiveCreate],
        execs: Table[PrimitiveExec],
    ) -> None:
        self._by_problem: dict[_Problem, list[Seen[DispatchRejection]]] = {}
        self._loose: list[_Row] = list(library)
        for row in dispatches:
            if row.record.primitive:
                self._by_problem.setdefault(_problem(row.record), []).append(row)
            else:
                self._loose.append(row)
        self._loose.sort(key=_where)
        self._loose_at = [_where(row) for row in self._loose]
        #: Where each primitive was created, or else first ran.
        self._created: dict[tuple[_Problem, str], Place] = {}
        #: Where each tensor was first written by a reorder.
        self._written: dict[tuple[tuple[str, str, str, str], int | None], Place] = {}
        made = [*cast("Table[Primitive]", creates), *cast("Table[Primitive]", execs)]
        for row in sorted(made, key=_where):
            run = row.record
            self._created.setdefault((_problem(run), run.impl), row.first)
            if run.primitive == "reorder" and run.mds:
                self._written.setdefault(_tensor(run, run.mds[-1]), row.first)
        self._settled = sorted({_where(row) for row in made})

    def of(self, run: Primitive) -> list[Refusal]:
        """Return what refused before ``run``'s implementation was chosen, each message once."""
        rows: list[_Row] = [*self._by_problem.get(_problem(run), ())]
        packing = self._packing(run)
        if packing is not None:
            before = self._before(packing, run.primitive)
            rows += [row for row in before if why(row.record.message) not in _OF_REORDERS]
        rows += self._before(self._creation(run), run.primitive)
        found: dict[tuple[str, str], Refusal] = {}
        for row in rows:
            refusal = _refusal(row)
            found.setdefault(refusal[:2], refusal)
        return list(found.values())

    def _creation(self, run: Primitive) -> Place:
        """Return where ``run`` was created, or else first ran."""
        return self._created[_problem(run), run.impl]

    def _packing(self, run: Primitive) -> Place | None:
        """Return where the weights of ``run`` were packed."""
        packed = {_tensor(run, md) for md in run.weights}
        places = [self._written[tensor] for tensor in packed if tensor in self._written]
        return min(places, key=lambda place: place[:2], default=None)

    def _before(self, place: Place, primitive: str) -> Iterator[_Row]:
        """Yield the refusals without problem between ``place`` and what was settled before it."""
        settled = bisect_left(self._settled, place[:2])
        before = self._settled[settled - 1] if settled else (place.input, 0)
        start = bisect_right(self._loose_at, before)
        for row in self._loose[start : bisect_left(self._loose_at, place[:2])]:
            if isinstance(row.record, LibraryRejection) or primitive in row.record.component:
                yield row


def _where(row: Seen[Any]) -> tuple[str, int]:
    return row.first[:2]


def _problem(run: Primitive) -> _Problem:
    return run.primitive, run.precision, run.shape


def _tensor(run: Primitive, md: MemoryDescriptor) -> tuple[tuple[str, str, str, str], int | None]:
    """Return what tells one tensor from another: its layout and its size."""
    return md.layout, work.elements(run, md)


def _refusal(row: _Row) -> Refusal:
    record = row.record
    if isinstance(record, LibraryRejection):
        who = _OWNERS.get(record.owner, record.owner)
    else:
        who = f"`{record.impl or record.component}`"
    return Refusal(who, record.message, row.quote("refused"))
