"""ERR029 collective-timeout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import ClassVar

from tracelens.evidence import Seen, Table
from tracelens.failures import Failure
from tracelens.logs.nccl import TimedOut
from tracelens.remedies import Remedy
from tracelens.report import Finding
from tracelens.rules.err._failure_rule import FailureData, FailureRule
from tracelens.words import and_more, joined

__all__ = ["CollectiveTimeout"]

#: Ranks that are listed.
MAX_RANKS = 8


class CollectiveTimeout(FailureRule):
    """A collective timed out: some rank did not arrive.

    ## Why it matters
    All ranks must call a collective together. When one compiles, breaks its graph, waits for
    data or died, the others wait until the watchdog ends them: the error is in the rank that
    does not report it.

    ## What it looks like
        [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=118, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600042 milliseconds before timing out.

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Find the rank that is behind, and what it did then.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    DST001 (ranks that compile differently), DST002.
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR029"
    name = "collective-timeout"
    of_causes: ClassVar[frozenset[str]] = frozenset({"collective-timeout", "collective-watchdog"})
    remedies = (
        Remedy(
            "behind",
            lambda d: (
                (
                    f"Look in the log of {_ranks(_lagging(d))} for what was done there:"
                    if _lagging(d)
                    else "Compare the ranks: the one with the lowest sequence number, or without"
                    " this message, is behind. See what it was doing:"
                )
                + " compiling anew (DST001), a graph break, data, an error of its"
                " own, fewer batches than the others."
            ),
            basis="untestable",
            proof="needs several ranks",
        ),
        Remedy(
            "recorder",
            "Record which collective each rank was in.",
            env="TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1",
            since="2.2",
            proof="https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html",
        ),
        Remedy(
            "recompiles",
            "See whether one rank compiles while others wait.",
            env='TORCH_LOGS="recompiles"',
            basis="untestable",
            proof="it records more",
        ),
        Remedy(
            "longer",
            "If compiling takes that long at the start, wait longer there.",
            code="torch.distributed.init_process_group(timeout=datetime.timedelta(hours=1))",
            basis="untestable",
            proof="needs several ranks",
        ),
    )

    def check(  # type: ignore[override]  # it asks for one more table
        self, failures: Table[Failure], *, timeouts: Table[TimedOut]
    ) -> Iterator[Finding]:
        """Yield one finding per cause, with the ranks that waited, and for what."""
        waited = _waited(timeouts)
        found = list(super().check(_with_report(failures)))
        # What ends the process says in other words that one timed out.
        timed_out = [one for one in found if one.data.get("cause") == "collective-timeout"]
        for finding in timed_out or found:
            message = f"{finding.message} {waited}".rstrip()
            yield finding.model_copy(update={"message": message})

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        if data.facts.get("stuck"):
            seconds = data.facts["stuck"]
            return f"NCCL's watchdog got no answer for {seconds} s: a call of CUDA or NCCL hangs"
        if data.cause == "collective-watchdog":
            return "NCCL's watchdog ended the process: a collective failed, or timed out"
        if ranks := _lagging(data):
            return f"a collective timed out: {_ranks(ranks)} did not reach it"
        return "a collective timed out: not every rank reached it"

    def why(self, data: FailureData) -> str:
        """Say what NCCL itself reports of the ranks."""
        ranks, seq = _lagging(data), int(data.facts.get("seq", "0"))
        if not (ranks and seq):
            return ""
        if data.facts.get("left") == "joined":
            return f"By NCCL's report {_ranks(ranks)} joined collective {seq:,} and did not end it."
        return (
            f"By NCCL's report {_ranks(ranks)} ended collective {seq:,} and did not join the next."
        )


def _with_report(failures: Table[Failure]) -> Table[Failure]:
    """Note on each failure what NCCL reports of the ranks in lines of their own."""
    reports = [row.record.facts for row in failures if row.record.fact("behind")]
    if not reports:
        return failures
    return Table(
        Seen(
            row.record.model_copy(update={"facts": (*row.record.facts, *reports[0])}),
            row.count,
            row.places,
            row.text,
        )
        for row in failures
    )


def _lagging(data: FailureData) -> list[int]:
    """Return the ranks that NCCL's own report of a desynchronization names."""
    return [int(one) for one in data.facts.get("behind", "").split(",") if one]


def _waited(timeouts: Table[TimedOut]) -> str:
    """Say which ranks waited for which collective, the one that each waited for first."""
    first: dict[int, TimedOut] = {}
    for _, row in timeouts.events():
        held = first.setdefault(row.record.rank, row.record)
        if row.record.seq < held.seq:
            first[row.record.rank] = row.record
    calls: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for rank, one in sorted(first.items()):
        calls[one.seq, one.operation].append(rank)
    if not calls:
        return ""
    told = [
        f"{_ranks(ranks)} waited for {operation or 'a collective'} number {seq:,}"
        for (seq, operation), ranks in sorted(calls.items())
    ]
    said = joined(told).replace("rank", "Rank", 1)
    if len(told) > 1:
        return f"{said}: within one process group, their numbers of calls differ."
    return f"{said}: unless these are all ranks, another one did not reach it."


def _ranks(ranks: list[int]) -> str:
    listed = joined([str(rank) for rank in ranks[:MAX_RANKS]])
    more = and_more(len(ranks), MAX_RANKS)
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {listed}{more}"
