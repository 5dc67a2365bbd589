"""TRC027 slow-collective."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import PythonFunction
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.traces.measured import Step, TraceHeader, Window
from tracelens.traces.own_frames import mine
from tracelens.traces.peaks import link
from tracelens.traces.ranks import RankTime, missing
from tracelens.traces.rows import CollectiveTime, Timeline
from tracelens.traces.stragglers import Late, late
from tracelens.traces.views import View, stories, views, where_of
from tracelens.words import length, percent, share_of

__all__ = ["SlowCollective"]

#: Smaller messages are limited by latency, not by the link.
MIN_BYTES = 1 << 20
#: Share of the link below which something is wrong, and of the time that runs alone.
LOW = 0.1
#: ... and below which it is rather another way, such as PCIe, than waiting for others.
LOWEST = 0.05
MIN_SHARE = 0.05
#: These wait for what the other rank computes first: their time says nothing about the link.
_PAIRED = frozenset({"send", "recv", "sendrecv"})
#: Ranks that share a node, at most; a larger group crosses the network.
NODE = 8
MAX_TOLD = 3
#: Of the ranks that wait: all of one group, since its slow collectives follow from that.
MAX_QUOTED = NODE
#: Of the longest wait, what another rank waits that is held up by the same.
WAITS = 0.1


#: What a rank does that others wait for; whether it has no device -> a verb.
_APART = {True: "works", False: "is idle"}


class Slow(FindingData):
    """How fast the slow collectives are, or how late ranks come to them."""

    device: str = ""
    link_gbs: float | None = None
    bus_gbs: float | None = None
    exposed_ms: float | None = None
    group: int | None = None
    #: The rank that comes last, and how late it and others come in all.
    late_rank: int | None = None
    late_ms: float | None = None
    ranks: int = 1
    #: The function in which that rank is meanwhile, and the others are not.
    only: str = ""
    #: Whether the link is fast enough, and other ranks are waited for.
    waits: bool = False


class SlowCollective(Rule):
    """Collectives run far below the rate of the link, or wait for a rank that comes late.

    ## Why it matters
    Buckets, overlap and order change how much of a collective is hidden, not how fast it is. At a
    tenth of the link's rate either the ranks do not meet in time (a straggler), or the data takes
    another way: PCIe instead of NVLink, or a network without GPUDirect. With the traces of several
    ranks it is known which: table ``ranks`` has who came last, and how long the others waited.

    ## What it looks like
    The arguments of the kernel tell the message and the group: here 26 MB in 2.6 ms between two.

        {"ph": "X", "cat": "kernel", "name": "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", "pid": 0, "tid": 40, "ts": 100.0, "dur": 2636.0, "args": {"Collective name": "allreduce", "In msg nelems": 6637568, "Group size": 2, "dtype": "Float"}}

    ## When it is harmless
    The link is judged by the fastest call of a size, and by larger messages of the same ranks: where
    these do more than a tenth of its rate, what slower calls take longer is waiting for another rank,
    and information. From one rank alone so is a rate of 5 % and more: to wait looks the same.
    Messages below 1 MB are limited by latency, and a receive waits for what the sender computes first. Groups of more than 8 ranks cross a network whose rate
    is not known, and what a collective waits for another rank counts as its own time here. Of eight
    collectives and more a rank must come last more often than by chance. Where the moments of ranks
    cannot be compared, one is named if it is idle while all others are in collectives.

    ## What to do
    Record all ranks and analyze their folder: who came last, and what it did meanwhile. Then look at
    the topology (``nvidia-smi topo -m``) and at what NCCL says about it.

    ## How a live run confirms it
    It needs the machines and all ranks. ``NCCL_DEBUG=INFO`` names the transport of each channel.

    ## See also
    TRC016 for how much of the collectives is hidden, DST001 for ranks that compile at other times.
    <https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC027"
    name = "slow-collective"
    severity = Severity.WARNING
    unconfirmable = "it needs all ranks and the network between them"
    Data = Slow
    remedies = (
        Remedy(
            id="transport",
            text="Let NCCL say which way the data takes.",
            env="NCCL_DEBUG=INFO",
            proof="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-debug",
            applies=lambda data: data.late_ms is None and not data.waits,
        ),
        Remedy(
            id="ranks",
            text="Record all ranks, and see which comes last.",
            basis="untestable",
            proof="it needs the job",
            applies=lambda data: data.ranks == 1,
        ),
        Remedy(
            id="share",
            text="What one rank does alone, all wait for: give each rank its part of it, and "
            "reduce the results (a `DistributedSampler` for validation); or do it every N steps.",
            basis="untestable",
            proof="it depends on what the rank does",
            applies=lambda data: bool(data.only),
        ),
        Remedy(
            id="late",
            text="Give the rank that comes last less to do, or find what holds it up: its batches, "
            "its samples' lengths, its host, its clock rate.",
            basis="untestable",
            proof="it needs the job",
            applies=lambda data: data.late_ms is not None and not data.only,
        ),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return what a rank that comes late explains."""
        return stories(["late rank"], finding) if finding.data.get("late_ms") is not None else ()

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return what may explain a low rate."""
        return stories(["late rank"], finding) if finding.data.get("late_ms") is None else ()

    def check(
        self,
        windows: Table[Window],
        *,
        timelines: Table[Timeline],
        steps: Table[Step],
        collectives: Table[CollectiveTime],
        headers: Table[TraceHeader],
        ranks: Table[RankTime],
        frames: Table[PythonFunction],
    ) -> Iterator[Finding]:
        """Yield what comes late, and one finding per trace whose large collectives are slow."""
        found = late(list(ranks))
        if found is not None:
            line = _only_there(found, frames) if found.on_host else None
            yield self._late(found, missing([row.record for row in headers]), line)
        for view in views(windows, steps, timelines):
            named = headers.within(view.source)
            device = next((name for row in named for name in row.record.devices if name), "")
            rate = link(device)
            if rate is None:
                continue
            large = [
                row
                for row in collectives.within(view.source)
                if (row.record.bytes or 0) >= MIN_BYTES
                and 1 < (row.record.group or 0) <= NODE
                and row.record.bus_gbs is not None
                and row.record.name not in _PAIRED
            ]
            least = MIN_SHARE * view.run.window.record.ms
            slow = [row for row in large if (row.record.bus_gbs or 0.0) < LOW * rate]
            slow.sort(key=lambda row: -row.record.exposed_ms)
            waits = [row for row in slow if _best(row, large) >= LOW * rate]
            slow = [row for row in slow if row not in waits]
            if slow and sum(row.record.exposed_ms for row in slow) >= least:
                yield self._finding(view, slow, device, rate, max(1, len(ranks)))
            if waits and sum(map(_longer, waits)) >= least and found is None:
                yield self._waits(view, waits, large, (device, rate), max(1, len(ranks)))

    def _finding(
        self,
        view: View,
        slow: list[Seen[CollectiveTime]],
        device: str,
        rate: float,
        ranks: int,
    ) -> Finding:
        exposed = sum(row.record.exposed_ms for row in slow)
        whole = view.run.window.record.ms
        most = slow[0].record
        data = Slow(
            device=device,
            link_gbs=rate,
            bus_gbs=most.bus_gbs or 0.0,
            exposed_ms=exposed,
            group=most.group or 0,
            ranks=ranks,
        )
        told = "; ".join(
            f"{row.record.name} of {(row.record.bytes or 0) / 1e6:.3g} MB at "
            f"{row.record.bus_gbs:.3g} GB/s"
            for row in slow[:MAX_TOLD]
        )
        return self.finding(
            "rate",
            title=f"large collectives run at {percent((most.bus_gbs or 0.0) / rate)} of the link",
            message=(
                f"Between {most.group} ranks: {told}. The link of {device} does {rate:.0f} GB/s. "
                f"{length(exposed)} of that runs alone. A rank that comes late looks the same."
            ),
            severity=Severity.INFO
            if ranks == 1 and (most.bus_gbs or 0.0) >= LOWEST * rate
            else Severity.WARNING,
            confidence=Confidence.MEDIUM,
            count=sum(row.record.n for row in slow),
            evidence=[
                row.quote(f"{row.record.n} times, {length(row.record.sum_ms)} in all")
                for row in slow[:MAX_TOLD]
            ],
            cost=Cost(
                ms=exposed,
                share=min(1.0, share_of(exposed, whole)),
                basis="upper_bound",
                of="the trace",
            ),
            advice=self.advise(data),
            data=data,
        )

    def _waits(
        self,
        view: View,
        waits: list[Seen[CollectiveTime]],
        large: list[Seen[CollectiveTime]],
        link: tuple[str, float],
        ranks: int,
    ) -> Finding:
        """Return that collectives take longer than their size, on a link that is fast enough."""
        ms, whole, most = sum(map(_longer, waits)), view.run.window.record.ms, waits[0].record
        best = _best(waits[0], large)
        calls = "; ".join(
            f"{row.record.n} times `{row.record.name}` of {(row.record.bytes or 0) / 1e6:.3g} MB: "
            f"{length(row.record.min_ms)} to {length(row.record.max_ms)}"
            for row in waits[:MAX_TOLD]
        )
        data = Slow(
            device=link[0],
            link_gbs=link[1],
            bus_gbs=best,
            exposed_ms=ms,
            group=most.group or 0,
            ranks=ranks,
            waits=True,
        )
        return self.finding(
            "waits",
            title=f"large collectives wait for ranks that come late: {length(ms)}",
            message=(
                f"Between {most.group} ranks {calls}. The link is not what they wait for: large "
                f"ones do {best:.3g} GB/s on it; as a rule another rank comes late."
            ),
            severity=Severity.INFO,
            confidence=Confidence.MEDIUM,
            count=sum(row.record.n for row in waits),
            evidence=[
                row.quote(f"{row.record.n} times, {length(row.record.sum_ms)} in all")
                for row in waits[:MAX_TOLD]
            ],
            cost=Cost(
                ms=ms, share=min(1.0, share_of(ms, whole)), basis="upper_bound", of="the trace"
            ),
            advice=self.advise(data),
            data=data,
        )

    def _late(self, found: Late, unread: str, line: Seen[PythonFunction] | None) -> Finding:
        rank = found.rank.record.rank if found.rank else None
        data = Slow(
            late_rank=rank,
            late_ms=found.ms,
            ranks=len(found.rows),
            only=line.record.function if line is not None else "",
        )
        often = found.rank.record.last or 0 if found.rank else found.count
        title = f"ranks come late by turns: {length(found.ms)} of waiting"
        if rank is not None:
            title = (
                f"rank {rank} comes last to {often} of {found.count} collectives, "
                f"{length(found.ms)} late in all"
            )
        met = (
            f"{found.count} collectives, met by {len(found.rows)} ranks: the last rank comes "
            f"{length(found.ms / max(1, often))} after the median one on average, and all wait "
            "for it."
        )
        if found.alone_ms is not None:
            usual, own = map(length, found.alone_ms)
            waiting = (
                "1 rank waits" if len(found.rows) == 2 else f"{len(found.rows) - 1} ranks wait"
            )
            title = f"{waiting} for rank {rank}, {length(found.ms)} in all"
            met = (
                f"The others are in collectives for {usual} with nothing computed meanwhile, "
                f"rank {rank} for {own}. It {_APART[found.on_host]} at least {length(found.ms)} "
                "longer than they, so they wait for it."
            )
        there = (
            f" `{line.record.function}`, {line.record.file}, line {line.record.line}, takes "
            f"{length(line.ms)} there, and less or nothing on the others."
            if line is not None
            else ""
        )
        clock = f" Clocks agree to {length(found.spread_ms)}." if found.spread_ms else ""
        shown = [found.rank] if found.rank else []
        others = [row for row in found.rows if row is not found.rank]
        shown += sorted(others, key=_waited, reverse=True)
        least = WAITS * max(map(_waited, shown))
        shown = [row for row in shown if row is found.rank or _waited(row) >= least]
        return self.finding(
            "late" if rank is not None else "turns",
            title=title,
            message=(f"{met}{found.why}{there}{clock}" + (f" {unread}." if unread else "")),
            severity=Severity.WARNING if rank is not None else Severity.INFO,
            confidence=Confidence.MEDIUM if unread else Confidence.HIGH,
            count=often,
            where=where_of(str(line.record)) if line is not None else None,
            evidence=[row.quote(_came(row.record, found)) for row in shown[:MAX_QUOTED]],
            cost=Cost(
                ms=found.ms,
                share=min(1.0, found.ms / found.window_ms) if found.window_ms else None,
                basis="upper_bound",
                of="the time of one rank",
            ),
            advice=self.advise(data),
            data=data,
        )


def _only_there(found: Late, frames: Table[PythonFunction]) -> Seen[PythonFunction] | None:
    """Return the innermost function that makes up for most of what a rank does longer."""
    if found.rank is None:
        return None
    elsewhere: defaultdict[str, float] = defaultdict(float)
    for rank in found.rows:
        for row in frames.within(rank.first.input) if rank is not found.rank else ():
            elsewhere[str(row.record)] = max(elsewhere[str(row.record)], row.ms)
    rows = [
        row
        for row in frames.within(found.rank.first.input)
        if row.ms - elsewhere[str(row.record)] >= found.ms / 2
        and not row.record.function.startswith("<")
        and mine([str(row.record)])
    ]
    return min(rows, key=lambda row: row.ms, default=None)


def _best(row: Seen[CollectiveTime], large: list[Seen[CollectiveTime]]) -> float:
    """Return the rate of the fastest large message between as many ranks."""
    alike = (each.record for each in large if each.record.group == row.record.group)
    return max(each.best_gbs or 0.0 for each in alike)


def _longer(row: Seen[CollectiveTime]) -> float:
    """Return what of the time in which they run alone is more than the shortest call takes."""
    record = row.record
    shortest = record.min_ms if record.n > 1 else 0.0
    return max(0.0, record.exposed_ms - shortest * record.n)


def _waited(row: Seen[RankTime]) -> float:
    return row.record.waited_ms or 0.0


def _came(row: RankTime, found: Late) -> str:
    if found.alone_ms is None:
        waited = length(row.waited_ms or 0.0)
        return f"rank {row.rank} waits {waited}, comes last {row.last} times"
    alone, idle = length(row.exposed_comm_ms or 0.0), length(row.idle_ms or 0.0)
    return f"rank {row.rank}: alone in collectives {alone}, idle {idle}"
