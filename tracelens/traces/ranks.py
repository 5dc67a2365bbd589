"""The ranks of one job beside each other: who computes, who waits, and for whom.

A collective takes as long as the last rank to come lets it. So its time on one rank says nothing of
that rank; the moments at which all of them came do.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import ClassVar

from tracelens.evidence import Seen, Table
from tracelens.evidence.record import Joined
from tracelens.traces.clocks import Clock, Lane, align, clocks, named
from tracelens.traces.host_time import HostTime
from tracelens.traces.measured import TraceHeader, Window
from tracelens.traces.meetings import Met
from tracelens.traces.rows import Timeline

__all__ = ["MAX_LISTED", "LateArrival", "RankTime", "missing"]

#: Collectives that are listed, those that waited longest.
MAX_LISTED = 20


class RankTime(Joined):
    """One rank, from its first kernel to its last; without a device, from its first event on.

    Milliseconds; None for what is not known.
    """

    switch: ClassVar[str] = "torch.profiler.profile(...)"

    rank: int
    world_size: int | None
    window_ms: float
    compute_ms: float | None = None
    exposed_comm_ms: float | None = None
    exposed_copy_ms: float | None = None
    idle_ms: float | None = None
    idle_not_launched_ms: float | None = None
    idle_data_ms: float | None = None
    #: Without a device: while no operator runs, and nothing known is waited for.
    between_ms: float | None = None
    #: Collectives that the ranks have in common with this one.
    collectives: int = 0
    #: How long it was in them before the last rank came.
    waited_ms: float | None = None
    #: How often it came last, and by how much in all, against the median of the others.
    last: int | None = None
    late_ms: float | None = None
    #: Of its clock, against that of the lowest rank, and the median distance of one end from that.
    clock_offset_ms: float | None = None
    clock_spread_ms: float | None = None

    @classmethod
    def join(
        cls,
        *,
        headers: Table[TraceHeader],
        windows: Table[Window],
        timelines: Table[Timeline],
        hosts: Table[HostTime],
        met: Table[Met],
    ) -> Iterator[Seen[RankTime]]:
        """Yield one row per rank of a job of which several were recorded."""
        places = _ranks(headers)
        if len(places) < 2:
            return
        times = clocks(lanes := _lanes(places, met))
        waits = _waits(lanes, times)[0]
        first = {seen.first.input: seen for seen in reversed(list(met))}
        for rank, seen in sorted(places.items()):
            row = _row(rank, seen, windows, timelines, hosts)
            if row is not None:
                row = row.model_copy(update=_waited(waits.get(rank, _Wait()), times.get(rank)))
                at = first.get(seen.first.input)
                yield Seen(row, 1, at.places if at else seen.places, at.text if at else seen.text)


class LateArrival(Joined):
    """One collective that ranks waited for: by how much the last came later than the first."""

    group: str
    #: Its number on the lowest rank of the group, from 0 on.
    number: int
    name: str
    ranks: int
    last_rank: int
    skew_ms: float
    #: Of the lowest rank's clock.
    start_ms: float

    @classmethod
    def join(cls, *, headers: Table[TraceHeader], met: Table[Met]) -> Iterator[Seen[LateArrival]]:
        """Yield the collectives with the largest skew, the largest first."""
        places = _ranks(headers)
        lanes = _lanes(places, met)
        found = _waits(lanes, clocks(lanes))[1]
        for row in sorted(found, key=lambda row: (-row.skew_ms, row.start_ms))[:MAX_LISTED]:
            yield Seen(row, 1, [places[row.last_rank].first], "")


def missing(headers: Iterable[TraceHeader]) -> str:
    """Return which ranks of a job were not read, in words; empty for none."""
    known = {header.rank for header in headers if header.rank is not None}
    world = max((header.world_size or 0 for header in headers), default=0)
    if not known or len(known) >= world:
        return ""
    listed = ", ".join(map(str, sorted(known)[:16])) + (", ..." if len(known) > 16 else "")
    were = "was" if len(known) == 1 else "were"
    return f"{len(known)} of {world} ranks {were} read: {listed}"


@dataclass
class _Wait:
    """What one rank waited, and let the others wait. Microseconds."""

    count: int = 0
    last: int = 0
    waited: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)


def _ranks(headers: Table[TraceHeader]) -> dict[int, Seen[TraceHeader]]:
    """Return the header of each rank; of one that several traces are of, the first."""
    places: dict[int, Seen[TraceHeader]] = {}
    for seen in headers:
        if seen.record.rank is not None and (seen.record.world_size or 0) > 1:
            places.setdefault(seen.record.rank, seen)
    return places


def _lanes(places: Mapping[int, Seen[TraceHeader]], met: Table[Met]) -> dict[str, dict[int, Lane]]:
    """Return what the ranks did in each group of which there are several."""
    rank_of: dict[str, int] = {seen.first.input: rank for rank, seen in places.items()}
    lanes: defaultdict[str, dict[int, Lane]] = defaultdict(dict)
    for seen in met:
        rank = rank_of.get(seen.first.input)
        if rank is not None:
            starts, ends = seen.record.times
            lanes[seen.record.group][rank] = Lane(starts, ends, seen.record.operations)
    return {group: of_it for group, of_it in lanes.items() if len(of_it) > 1}


def _waits(
    groups: Mapping[str, Mapping[int, Lane]], times: Mapping[int, Clock]
) -> tuple[dict[int, _Wait], list[LateArrival]]:
    """Return what each rank waited, and when the ranks of each collective came."""
    waits: defaultdict[int, _Wait] = defaultdict(_Wait)
    arrivals: list[LateArrival] = []
    for group, lanes in groups.items():
        ranks = sorted(rank for rank in lanes if rank in times)
        if len(ranks) < 2:
            continue
        first = lanes[ranks[0]]
        sure = named(group)
        pairs = {rank: align(first, lanes[rank], sure=sure) for rank in ranks}
        shifts = {rank: pair.shift for rank, pair in pairs.items() if pair}
        origin = first.starts[0] if first.starts else 0.0
        for number, name in enumerate(first.names):
            came = _came(number, lanes, shifts, times)
            if len(came) < 2:
                continue
            moments = [start for start, _ in came.values()]
            end, last_rank = max((start, rank) for rank, (start, _) in came.items())
            for rank, (start, us) in came.items():
                waits[rank].count += 1
                waits[rank].waited.append(min(end - start, us))
            if end > min(moments):
                waits[last_rank].last += 1
                waits[last_rank].late.append(end - median(sorted(moments)[:-1]))
            arrivals.append(
                LateArrival(
                    group=group,
                    number=number,
                    name=name,
                    ranks=len(came),
                    last_rank=last_rank,
                    skew_ms=_ms(end - min(moments)),
                    start_ms=_ms(first.starts[number] - origin),
                )
            )
    return dict(waits), arrivals


def _came(
    number: int,
    lanes: Mapping[int, Lane],
    shifts: Mapping[int, int],
    times: Mapping[int, Clock],
) -> dict[int, tuple[float, float]]:
    """Return when each rank came to a collective, by the first rank's clock, and its time there."""
    came = {}
    for rank, shift in shifts.items():
        at, lane = number + shift, lanes[rank]
        if 0 <= at < len(lane.starts):
            start = lane.starts[at]
            came[rank] = start - times[rank].offset, lane.ends[at] - start
    return came


def _row(
    rank: int,
    seen: Seen[TraceHeader],
    windows: Table[Window],
    timelines: Table[Timeline],
    hosts: Table[HostTime],
) -> RankTime | None:
    source = seen.first.input
    whole = [row.record for row in timelines.within(source) if row.record.phase == "window"]
    if whole:
        main = max(whole, key=lambda row: row.compute_ms)
        fields = main.model_dump(include=set(RankTime.model_fields))
        return RankTime(rank=rank, world_size=seen.record.world_size, **fields)
    for host in hosts.within(source):
        if host.record.phase == "window":
            fields = host.record.model_dump(include=set(RankTime.model_fields))
            between = host.record.idle_unknown_ms
            world = seen.record.world_size
            return RankTime(rank=rank, world_size=world, between_ms=between, **fields)
    for window in windows.within(source):
        ms = window.record.ms
        return RankTime(rank=rank, world_size=seen.record.world_size, window_ms=ms)
    return None


def _waited(wait: _Wait, clock: Clock | None) -> dict[str, float | int | None]:
    if clock is None:
        return {}
    return {
        "collectives": wait.count,
        "waited_ms": _ms(math.fsum(wait.waited)),
        "last": wait.last,
        "late_ms": _ms(math.fsum(wait.late)),
        "clock_offset_ms": _ms(clock.offset),
        "clock_spread_ms": _ms(clock.spread),
    }


def _ms(us: float) -> float:
    """Return milliseconds, in whole nanoseconds."""
    return round(us / 1000, 6)
