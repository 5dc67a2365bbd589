"""Products that TRC035 tells of by what comes before and after them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tracelens.evidence import Seen
from tracelens.traces.measured import KernelWork
from tracelens.traces.needless import Needless

__all__ = ["NEEDLESS", "Saved", "saved_by"]


class _Said(NamedTuple):
    """What a form is, before a verb in the singular, and how one sees it."""

    what: str
    why: str


NEEDLESS = {
    "head": _Said(
        "computing scores of all positions, of which the last is taken,",
        "Of its result the last position is taken right after it.",
    ),
    "order": _Said(
        "multiplying matrices before a narrow one",
        "Its result is multiplied with something narrow right after it.",
    ),
    "diagonal": _Said(
        "multiplying with diagonal matrices",
        "A diagonal matrix of its size is made right before it.",
    ),
}


class Saved(NamedTuple):
    """A form, its largest product, how many there are, what they take, and what would be saved."""

    form: str
    work: Seen[KernelWork]
    n: int
    took: float
    ms: float


def saved_by(
    rows: Iterable[Seen[Needless]], works: Iterable[Seen[KernelWork]], *, on_host: bool
) -> Iterator[Saved]:
    """Yield what each form takes of a trace: milliseconds of the CPU, or of a GPU."""
    known = {
        (row.record.what, row.record.shape): row for row in works if row.record.on_host is on_host
    }
    sums: dict[str, Saved] = {}
    for row in rows:
        each = row.record
        work = known.get((each.what, each.shape))
        if work is None or not each.sure:
            continue
        part = min(1.0, each.count / work.record.count)
        took = part * work.record.ms
        found = Saved(each.form, work, each.count, took, took * each.saves)
        if (other := sums.get(each.form)) is not None:
            most = max(found, other, key=lambda one: one.took)
            n, took, ms = other.n + found.n, other.took + found.took, other.ms + found.ms
            found = Saved(each.form, most.work, n, took, ms)
        sums[each.form] = found
    yield from sums.values()
