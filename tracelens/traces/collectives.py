"""Collectives: what each moved between how many ranks, how fast, and how much of it was hidden."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tracelens.traces.device import Busy, Interval
from tracelens.traces.meetings import Meetings
from tracelens.traces.names import Name
from tracelens.traces.rows import CollectiveTime

if TYPE_CHECKING:
    from tracelens.logs._trace_events import Complete
    from tracelens.traces.activity import Activities

__all__ = ["Collectives", "alone_ms", "longest_alone"]

#: Different collectives that are told apart, and events that are kept.
MAX_KEYS = 2_000
MAX_KEPT = 200_000
#: Characters of a group's name.
MAX_GROUP = 200
#: Type as torch names it in these arguments -> bytes.
SIZES = {
    "float": 4,
    "bfloat16": 2,
    "half": 2,
    "double": 8,
    "long": 8,
    "int": 4,
    "char": 1,
    "byte": 1,
    "bool": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
}


class _Key(NamedTuple):
    name: str
    dtype: str
    elements: int
    group: int


class Collectives:
    """The collective kernels of one trace."""

    def __init__(self, activities: Activities) -> None:
        self._activities = activities
        self._keys: dict[_Key, int] = {}
        self._first: dict[int, Name] = {}
        #: Number of the activity, and of what it is.
        self._events: list[tuple[int, int]] = []
        #: Where ranks meet.
        self.meetings = Meetings()

    def add(self, name: Name, events: Sequence[Complete], first: int) -> None:
        """Add kernels, which are the activities from number ``first`` on."""
        last = len(self._activities.starts)
        for at, event in zip(range(first, last), events, strict=False):
            key = _key(name, event)
            self.meetings.add(_group(event), name, key.name, key.elements, event)
            if len(self._events) < MAX_KEPT and (key in self._keys or len(self._keys) < MAX_KEYS):
                number = self._keys.setdefault(key, len(self._keys))
                self._first.setdefault(number, name)
                self._events.append((at, number))

    def rows(self, compute: Busy) -> Iterator[tuple[Name, CollectiveTime]]:
        """Yield what ran, what took longest first; ``compute`` is when anything computes."""
        starts, us = self._activities.starts, self._activities.us
        spans: list[tuple[Interval, int]] = sorted(
            ((starts[at], starts[at] + us[at]), number) for at, number in self._events
        )
        sums: dict[int, list[float]] = {}
        hidden = compute.within(span for span, _ in spans)
        for ((start, end), number), covered in zip(spans, hidden, strict=True):
            took = end - start
            each = sums.setdefault(number, [0.0, 0.0, 0.0, took, took])
            each[0] += 1
            each[1] += took
            each[2] += took - covered
            each[3:] = [min(each[3], took), max(each[4], took)]
        keys = list(self._keys)
        for number, each in sorted(sums.items(), key=lambda pair: -pair[1][1]):
            yield self._first[number], _row(keys[number], each)


def _key(name: Name, event: Complete) -> _Key:
    args = event.args
    kind, dtype, group, before, after = (
        (args.collective, args.dtype, args.group, args.sent, args.received)
        if args is not None
        else (None,) * 5
    )
    if not isinstance(kind, str):
        return _Key(str(name.record).partition("(")[0], "", 0, 0)
    elements = max(_whole(before), _whole(after))
    return _Key(kind, dtype.lower() if isinstance(dtype, str) else "", elements, _whole(group))


def _group(event: Complete) -> str:
    """Return the name of a collective's group and its ranks; empty where the trace has neither."""
    args = event.args
    parts = (args.group_name, args.group_ranks) if args is not None else ()
    return " ".join(part[:MAX_GROUP] for part in parts if isinstance(part, str))


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 50 else 0


def _row(key: _Key, sums: list[float]) -> CollectiveTime:
    n, us, alone, least, most = int(sums[0]), *sums[1:]
    moved = key.elements * SIZES.get(key.dtype, 0)
    rate = bus = best = None
    if moved and key.group > 1 and us > 0:
        rate = round(moved * n / us / 1e3, 3)
        bus = round(moved * _factor(key) * n / us / 1e3, 3)
        best = round(moved * _factor(key) / least / 1e3, 3) if least > 0 else bus
    return CollectiveTime(
        name=key.name,
        dtype=key.dtype or None,
        bytes=moved or None,
        group=key.group or None,
        n=n,
        sum_ms=round(us / 1000, 6),
        exposed_ms=round(alone / 1000, 6),
        algo_gbs=rate,
        bus_gbs=bus,
        min_ms=round(least / 1000, 6),
        max_ms=round(most / 1000, 6),
        best_gbs=best,
    )


def _factor(key: _Key) -> float:
    """Return what of a message passes each link, as NCCL's own tests count it."""
    most = (key.group - 1) / key.group
    word = key.name.lower().replace("_", "")
    if "allreduce" in word:
        return 2 * most
    alike = ("allgather", "reducescatter", "alltoall", "all2all")
    return most if any(each in word for each in alike) else 1.0


def alone_ms(kinds: Sequence[CollectiveTime], words: Sequence[str]) -> float:
    """Return for how long collectives of a kind run with nothing computed meanwhile."""
    return sum(
        kind.exposed_ms
        for kind in kinds
        if any(word in kind.name.lower().replace("_", "") for word in words)
    )


def longest_alone(kinds: Sequence[CollectiveTime]) -> list[CollectiveTime]:
    """Return the collectives that run alone longest, each name once."""
    sums: dict[str, CollectiveTime] = {}
    for kind in kinds:
        held = sums.get(kind.name)
        total = kind.exposed_ms + (held.exposed_ms if held else 0.0)
        sums[kind.name] = kind.model_copy(update={"exposed_ms": total})
    return sorted(sums.values(), key=lambda kind: -kind.exposed_ms)
