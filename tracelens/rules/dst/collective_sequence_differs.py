"""DST002 collective-sequence-differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tracelens.evidence import Place, Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.nccl import CollectiveSchedule, Recorded, TimedOut
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, FindingData, Severity
from tracelens.rules import Rule

__all__ = ["CollectiveSequenceDiffers"]

MAX_QUOTED = 4


class Difference(NamedTuple):
    """What groups of ranks do differently, at one point of the sequence."""

    #: Which collective: the number in its process group, or the position in a graph.
    at: int
    #: Operation -> ranks.
    groups: Mapping[str, tuple[str, ...]]
    source: str
    confidence: Confidence
    quotes: list[EvidenceLine]


class CollectiveSequenceDiffers(Rule):
    """Ranks issue different sequences of collectives, so that they wait for each other forever.

    ## Why it matters
    A collective ends when all ranks of its group have called it, and it matches calls by their order
    alone. Where one rank leaves a call out, adds one or changes the order, the others wait until the
    watchdog ends them; where sizes differ, results are wrong before anything fails.

    ## What it looks like
    The watchdogs of two ranks name different operations, or different numbers:

        [rank1]:[E1120 10:22:31.113422456 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1234, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for 600041 milliseconds before timing out.
        [rank0]:[E1120 10:22:31.203111456 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1234, OpType=_ALLGATHER_BASE, NumelIn=1048576, NumelOut=2097152, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.

    The flight recorder's analysis says the same in words, and structured logs hold the order in
    which each compiled graph calls its collectives.

    ## When it is harmless
    Different numbers may be of different process groups, of which each counts for itself: with one
    operation nothing is said, with several it is a warning. Graphs of pipeline stages differ on purpose; they are
    compared only where several ranks have the same compilation.

    ## What to do
    Find what depends on the rank or on its data: a branch around a collective, a loop of different
    length, a layer that is frozen on one rank, a rank that compiled another graph.

    ## How a live run confirms it
    It does not: one machine cannot show it. The flight recorder names the first call that differs.

    ## See also
    ERR029 (the timeout itself), DST001 (ranks that compile differently).
    <https://docs.pytorch.org/tutorials/prototype/flight_recorder_tutorial.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "DST002"
    name = "collective-sequence-differs"
    severity = Severity.ERROR
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """The first collective that differs, and which ranks call what."""

        source: str = "watchdog"
        at: int = 0
        groups: dict[str, tuple[str, ...]] = {}

    remedies = (
        Remedy(
            "branch",
            "Look for what depends on the rank's data around that call: a branch, a loop, an early "
            "return, parameters without gradient. All ranks must make the same calls in the same "
            "order.",
            basis="untestable",
            proof="it is a change of the user's own program, for several ranks",
        ),
        Remedy(
            "recorder",
            "Let every rank record its calls, and compare them: the analysis names the first one "
            "that differs, with its stack; so does torchfrtrace --prefix nccl_trace_rank_ /tmp.",
            when="the watchdog alone told",
            applies=lambda data: data.source == "watchdog",
            env="TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1",
            since="2.5",
            basis="source",
            proof="torch/distributed/flight_recorder",
        ),
        Remedy(
            "compiled",
            "Compare what the ranks compiled: a rank that recompiled or broke its graph elsewhere "
            "orders its collectives differently.",
            env='TORCH_LOGS="recompiles,graph_breaks"',
            since="2.1",
            basis="untestable",
            proof="it records, and changes nothing",
        ),
    )

    def check(
        self,
        *,
        timeouts: Table[TimedOut],
        recorded: Table[Recorded],
        schedules: Table[CollectiveSchedule],
    ) -> Iterator[Finding]:
        """Yield one finding per source that shows a difference, the surest only."""
        found = _recorded(recorded) or _scheduled(schedules) or _timed_out(timeouts)
        if found is None:
            return
        data = self.Data(source=found.source, at=found.at, groups=dict(found.groups))
        told = "; ".join(f"{_ranks(ranks)}: {what}" for what, ranks in found.groups.items())
        yield self.finding(
            found.source,
            *sorted(found.groups),
            title=f"ranks call different collectives, at number {found.at}",
            message=f"At number {found.at} of the sequence, {told}. Calls are matched by their "
            "order alone, so each waits for calls that do not come.",
            severity=Severity.ERROR if found.confidence is Confidence.HIGH else Severity.WARNING,
            confidence=found.confidence,
            count=len(found.groups),
            evidence=found.quotes,
            advice=self.advise(data),
            data=data,
        )


def _ranks(ranks: Sequence[str]) -> str:
    listed = ", ".join(ranks[:8]) + (", ..." if len(ranks) > 8 else "")
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {listed}"


def _timed_out(timeouts: Table[TimedOut]) -> Difference | None:
    """Compare what the watchdogs of several ranks waited for first."""
    first: dict[int, Seen[TimedOut]] = {}
    for _, row in timeouts.events():
        held = first.get(row.record.rank)
        if held is None or row.record.seq < held.record.seq:
            first[row.record.rank] = row
    calls: dict[str, list[str]] = {}
    numbers = {row.record.seq for row in first.values()}
    for rank, row in sorted(first.items()):
        one = row.record
        size = f" of {one.numel:,} elements" if one.numel is not None else ""
        at = f" at number {one.seq}" if len(numbers) > 1 else ""
        calls.setdefault(f"{one.operation or 'a collective'}{size}{at}", []).append(str(rank))
    if len(calls) < 2 or (len(numbers) == 1 and _may_differ(first.values())):
        return None
    operations = {row.record.operation for row in first.values()}
    sure = len(numbers) == 1
    if not sure and len(operations) == 1:  # most likely of groups that count for themselves
        return None
    return Difference(
        min(numbers),
        {what: tuple(ranks) for what, ranks in calls.items()},
        "watchdog",
        Confidence.HIGH if sure else Confidence.MEDIUM,
        [row.quote(f"rank {rank}") for rank, row in sorted(first.items())][:MAX_QUOTED],
    )


#: Collectives whose inputs may have another size on each rank.
UNEVEN = frozenset({"ALLTOALL", "ALLTOALL_BASE", "SEND", "RECV", "COALESCED", "GATHER", "SCATTER"})


def _may_differ(rows: Iterable[Seen[TimedOut]]) -> bool:
    """Tell whether the sizes alone differ, of an operation for which that is allowed."""
    operations = {row.record.operation for row in rows}
    return len(operations) == 1 and operations <= UNEVEN


def _recorded(recorded: Table[Recorded]) -> Difference | None:
    """Return the first collective of which the flight recorder says that a rank did another."""
    rows = [row for row in recorded if row.record.error or row.record.missing]
    if not rows:
        return None
    row = min(rows, key=lambda row: (not row.record.error, row.record.seq))
    one = row.record
    if one.error:
        culprit = one.error.removeprefix("Culprit rank ").partition(";")
        groups: dict[str, tuple[str, ...]] = {
            culprit[2].strip() or "another call": (culprit[0].strip(),)
        }
    else:
        groups = {f"did not call {one.collective}": tuple(map(str, one.missing))}
    others = tuple(str(r) for r in one.expected if (str(r),) not in groups.values())
    others = tuple(r for r in others if all(r not in ranks for ranks in groups.values()))
    if others:
        groups = {one.collective or "the collective": others, **groups}
    return Difference(one.seq, groups, "flight recorder", Confidence.HIGH, [row.quote()])


def _scheduled(schedules: Table[CollectiveSchedule]) -> Difference | None:
    """Compare the graphs that several ranks have compiled under one compile id."""
    graphs: dict[tuple[str, int], dict[str, tuple[Place, Seen[CollectiveSchedule]]]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for place, row in schedules.events():
        rank, frame = place.writer, place.frame
        graphs.setdefault((frame, counts[rank, frame]), {})[rank] = (place, row)
        counts[rank, frame] += 1
    for held in graphs.values():
        orders = {row.record.collectives for _, row in held.values()}
        if len(orders) > 1:
            return _first_difference(held, orders)
    return None


def _first_difference(
    held: Mapping[str, tuple[Place, Seen[CollectiveSchedule]]], orders: set[tuple[str, ...]]
) -> Difference:
    longest = max(map(len, orders))
    padded = {order: (*order, *["nothing more"] * (longest - len(order))) for order in orders}
    at = next(n for n in range(longest) if len({order[n] for order in padded.values()}) > 1)
    groups: dict[str, list[str]] = {}
    for rank, (_, row) in sorted(held.items()):
        groups.setdefault(padded[row.record.collectives][at], []).append(rank.removeprefix("rank"))
    quotes = [row.quote(f"{rank}", place=place) for rank, (place, row) in sorted(held.items())]
    return Difference(
        at + 1,
        {what: tuple(ranks) for what, ranks in groups.items()},
        "compiled graphs",
        Confidence.MEDIUM,
        quotes[:MAX_QUOTED],
    )
