"""TRC016 exposed-collectives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.chrome_trace import (
    Annotation,
    BackwardNode,
    Collective,
    DeviceKernel,
    Operator,
    OptimizerCall,
    ParallelCall,
    PythonFunction,
)
from tracelens.report import Confidence, Cost, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.rules.trc._exposed import REMEDIES, Exposed, not_waited_for, ranks_of, times_each
from tracelens.rules.trc._parallel import (
    DDP,
    REDUCER,
    Passes,
    Sharded,
    Trained,
    begun_apart,
    often,
    passes_of,
    replicates,
    sharded,
)
from tracelens.traces.collectives import alone_ms, longest_alone
from tracelens.traces.critical import CriticalPath
from tracelens.traces.measured import DeviceBusy, Step, TraceHeader, Window
from tracelens.traces.printed import AnyProfile, PrintedProfile
from tracelens.traces.ranks import missing
from tracelens.traces.rows import CollectiveTime
from tracelens.traces.views import stories
from tracelens.words import length, percent

__all__ = ["ExposedCollectives"]

MIN_SHARE = 0.1
#: Of a printed table, which does not tell what runs beside them.
MIN_PRINTED = 0.3
MAX_QUOTED = 4
MAX_TOLD = 3
#: Share of the exposed time from which on a kind of collective is what it is about.
MOST = 0.5
#: Share of the exposed time that the critical path has at least where nothing is said of it.
LITTLE = 0.8
#: What passes messages between hosts; of the others the device has kernels.
HOST = frozenset({"gloo", "mpi", "ucc"})
#: Kernels of NCCL that send and receive are named so for all-to-alls, too, where it is not said.
_EXCHANGES = ("alltoall", "all2all", "sendrecv")
_STAGES = ("send", "recv")
#: Operators of SyncBatchNorm, one for each message, and those of tables that are looked up.
_NORMS = frozenset({"batch_norm_gather_stats_with_counts", "batch_norm_backward_elemt"})
_TABLES = frozenset({"_embedding_bag", "embedding_bag"})
_GATHERS = ("allgather", "reducescatter")
#: Messages up to this many bytes take the time of a message, whatever they carry.
SMALL = 1 << 20
REPLICAS = (
    "One process launches for all devices: in each step `nn.DataParallel` sends the weights to "
    "each of them, and brings the results and gradients back to one."
)


class _Shown(NamedTuple):
    """What a trace shows of the collectives of one device."""

    kernels: list[Seen[DeviceKernel]]
    kinds: list[CollectiveTime]
    header: TraceHeader
    paths: list[CriticalPath]
    #: Messages of SyncBatchNorm.
    norms: int
    tables: bool
    #: Whether DistributedDataParallel begins them; None where the trace holds no operators.
    parallel: bool | None
    infers: bool
    passes: Passes
    #: Whether ``nn.DataParallel`` begins them, in one process for all devices.
    replicas: bool
    sharded: Sharded
    steps: int


class ExposedCollectives(Rule):
    """Collectives are exposed: nothing is computed while they run.

    ## Why it matters
    An all-reduce that runs beside the backward pass is free. One that runs alone stops every rank.

    ## What it looks like
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", "ts": 100.0, "dur": 8200.0, "pid": 0, "tid": 20}

    ## When it is harmless
    A collective waits for the slowest rank: on the others it looks long, and overlapping would not
    help. Compare the traces of all ranks; the rank with the shortest collectives is the slow one.
    Below 10 % of the device's time the rule keeps quiet; where they take less than that of the
    critical path, it is a note.

    ## What to do
    Start earlier and in larger pieces: ``bucket_cap_mb`` of ``DistributedDataParallel``, prefetching of
    FSDP; balance the ranks where one is slow.

    ## How a live run confirms it
    The program runs with other bucket sizes. Confirmed when the exposed time falls.

    ## See also
    <https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC016"
    name = "exposed-collectives"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM

    Data = Exposed
    remedies = REMEDIES

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return what may let the collectives wait, unless there are too many for any rank."""
        return () if finding.data.get("passes") else stories(["late rank"], finding)

    def check(
        self,
        profiles: Table[AnyProfile],
        *,
        windows: Table[Window],
        printed: Table[PrintedProfile],
        devices: Table[DeviceBusy],
        kernels: Table[DeviceKernel],
        exposed: Table[CollectiveTime],
        spans: Table[Collective],
        headers: Table[TraceHeader],
        paths: Table[CriticalPath],
        wrappers: Table[ParallelCall],
        optimizers: Table[OptimizerCall],
        operators: Table[Operator],
        nodes: Table[BackwardNode],
        notes: Table[Annotation],
        frames: Table[PythonFunction],
        steps: Table[Step],
    ) -> Iterator[Finding]:
        """Yield one finding per process whose devices, or host, wait in collectives."""
        del profiles
        for told in printed:
            yield from self._printed(told)
        for window in windows:
            source = window.first.input
            header = next((h.record for h in headers.within(source)), TraceHeader())
            trained = Trained(wrappers, optimizers, nodes, operators)
            if not window.record.kernels:
                rows = [s for s in spans.within(source) if s.record.communicator in HOST]
                passes = passes_of(rows, trained, source)
                whole = not missing([row.record for row in headers])
                yield from self._on_host(window, rows, header, passes, alone=not whole)
            shown = [k for k in kernels.within(source) if k.record.is_collective]
            kinds = [row.record for row in exposed.within(source)]
            rows = [s for s in spans.within(source) if s.record.communicator not in HOST]
            passes = passes_of(rows, trained, source)
            norms = sum(row.count for row in operators.within(source) if row.record.op in _NORMS)
            called = [row.record for row in operators.within(source)]
            tables = any(record.op in _TABLES or record.namespace == "fbgemm" for record in called)
            parallel = _parallel(wrappers, called, source)
            trains = len(nodes.within(source)) or len(optimizers.within(source))
            trains = trains or any("backward" in record.op for record in called)
            infers = parallel is False and not trains
            tables = tables or any("embedding" in k.record.name for k in kernels.within(source))
            begun = (
                replicates(notes, frames, source),
                sharded(wrappers, notes, called, frames, source),
            )
            ran = [d.record for d in devices.within(source) if d.record.span_ms > 0]
            waiting = [device for device in ran if _share(device) >= MIN_SHARE]
            waiting.sort(key=lambda device: -device.exposed_ms)
            if waiting:
                # Without the calls that wait the path cannot go from the host to the device.
                known = list(paths.within(source)) if window.record.waits else []
                mine = [p.record for p in known if p.record.device == waiting[0].device]
                seen = shown, kinds, header, mine, norms, tables, parallel, infers, passes
                found = _Shown(*seen, *begun, len(steps.within(source)))
                yield self._finding(waiting, found)

    def _printed(self, row: Seen[PrintedProfile]) -> Iterator[Finding]:
        """Yield what share of the GPU's time collectives are, and how much must run alone."""
        told, whole = row.record, row.record.device_ms
        rows = told.of(lambda name: name.startswith("nccl"))
        kernels = [one for one in rows if not one.name.startswith("nccl:")] or rows
        ms = sum(one.device_ms for one in kernels)
        if not whole or ms < MIN_PRINTED * whole:
            return
        share = min(1.0, ms / whole)
        alone = max(0.0, 2 * share - 1) * whole
        first = kernels[0].name.lower().replace("_", "")
        data = Exposed(
            collective_ms=ms,
            exposed_ms=alone,
            of_ms=whole,
            reduces="allreduce" in first,
            exchanges=any(word in first for word in _EXCHANGES),
            gathers=any(word in first for word in _GATHERS),
            unseen=True,
        )
        beside = (
            f" What else runs is too little to hide them: {length(alone)} at least run alone."
            if alone
            else " How much of it is hidden behind computing, a trace tells."
        )
        longest = kernels[:MAX_TOLD]
        names = ", ".join(f"`{one.name[:60]}` {length(one.device_ms)}" for one in longest)
        yield self.finding(
            "printed",
            title=f"collectives take {percent(share)} of the GPU's time in the table",
            message=f"{names}.{beside} A rank that waits for a slower one looks the same.",
            confidence=Confidence.MEDIUM if alone else Confidence.LOW,
            count=max(1, sum(one.calls for one in kernels)),
            evidence=[told.table.quote()],
            cost=_cost(ms, max(ms, whole), "the GPU's time in the table"),
            advice=self.advise(data),
            data=data,
        )

    def _on_host(
        self,
        window: Seen[Window],
        rows: list[Seen[Collective]],
        header: TraceHeader,
        passes: Passes,
        *,
        alone: bool,
    ) -> Iterator[Finding]:
        """Yield how long collectives take that run on the host, on threads of their own."""
        whole = window.record
        if not rows or whole.meeting_ms < MIN_SHARE * whole.ms:
            return
        ms = sum(row.ms for row in rows)
        n = sum(row.count for row in rows)
        names = ", ".join(f"`{row.record}`" for row in rows[:MAX_QUOTED])
        share = whole.meeting_ms / whole.ms
        data = Exposed(
            collective_ms=ms,
            exposed_ms=whole.meeting_ms,
            of_ms=whole.ms,
            reduces=any("reduce" in row.record.operation for row in rows),
            on_host=True,
            parallel=passes.forward > 0,
            passes=passes.each_step if passes.each_step > 1 else 0,
            small=n if begun_apart(passes, n, ms) else 0,
        )
        others = (
            " Whether the program waits for them, or for a slower rank in them, the traces of the "
            "other ranks tell."
            if alone
            else ""
        )
        yield self.finding(
            "host",
            title=times_each(data)
            + f"collectives on the host run alone for {percent(share)} of the trace",
            message=(
                f"{names}: {n} calls of {length(ms / n)} each. For {length(whole.meeting_ms)} of "
                f"{length(whole.ms)} one runs, and no operator.{often(passes, n, ms)}"
                f"{ranks_of(header)}{others}"
            ),
            confidence=Confidence.MEDIUM,
            count=n,
            evidence=[row.quote(f"{row.count} times, {length(row.ms)} in all") for row in rows],
            cost=_cost(data.exposed_ms, whole.ms, "the trace"),
            advice=self.advise(data),
            data=data,
        )

    def _finding(self, devices: list[DeviceBusy], shown: _Shown) -> Finding:
        kernels, kinds, header, paths, norms, tables, parallel, infers, passes = shown[:9]
        replicas, by, steps = shown[9:]
        device = devices[0]
        rows = sorted(kernels, key=lambda kernel: -kernel.ms)
        rank = f"rank {header.rank}" if header.rank is not None else f"device {device.device}"
        several = len(devices) > 1
        where = f"the worst of {len(devices)} devices" if several else rank
        share = _share(device)
        alone = sum(kind.exposed_ms for kind in kinds)
        small = _small(kinds, alone)
        on_path = sum(path.comm_ms for path in paths) if paths else device.exposed_ms
        most = min(device.exposed_ms, on_path)
        path = (
            f" Of the critical path they take {length(on_path)}: the host is late meanwhile, or "
            "something else waits longer."
            if most < LITTLE * device.exposed_ms
            else ""
        )
        data = Exposed(
            collective_ms=device.collective_ms,
            exposed_ms=device.exposed_ms,
            of_ms=device.span_ms,
            path_ms=on_path,
            reduces=alone_ms(kinds, ("allreduce",)) >= MOST * alone,
            exchanges=alone_ms(kinds, _EXCHANGES) >= MOST * alone > 0,
            stages=alone_ms(kinds, _STAGES) >= MOST * alone > 0,
            norms=norms >= MOST * small > 0,
            tables=tables,
            gathers=alone_ms(kinds, _GATHERS) >= MOST * alone > 0,
            small=small,
            parallel=parallel is True,
            unseen=parallel is None,
            infers=infers,
            passes=passes.each_step if passes.each_step > 1 else 0,
            replicas=replicas,
            fsdp=by.fsdp,
            tensors=by.tensors,
        )
        n = sum(kernel.count for kernel in rows)
        noted = most < MIN_SHARE * device.span_ms and not replicas
        longest = longest_alone(kinds)[:MAX_TOLD]
        told = ", ".join(f"`{kind.name}` {length(kind.exposed_ms)}" for kind in longest)
        return self.finding(
            "collectives",
            title=("`nn.DataParallel`: " if replicas else times_each(data))
            + f"collectives run alone for {percent(share)} of the time on {where}",
            message=(
                f"{f'On device {device.device} collectives' if several else 'Collectives'} take "
                f"{length(device.collective_ms)}; for {length(device.exposed_ms)} of that nothing "
                f"else runs on the device{_added(devices) if told else ''}{told}."
                f"{_sized(data, kinds)}{often(passes, 0, 0.0)}{path}{ranks_of(header)} "
                + (REPLICAS if replicas else "A slower rank would look the same on this one.")
            ),
            severity=Severity.NONE if noted else Severity.WARNING if replicas else None,
            harmless=not_waited_for(device, most, n, steps) if noted else None,
            confidence=Confidence.MEDIUM,
            count=n,
            evidence=[
                k.quote(f"{k.count} times, {length(k.ms)} in all") for k in rows[:MAX_QUOTED]
            ],
            cost=None
            if noted
            else _cost(most, device.span_ms, "the time from the first kernel to the last"),
            advice=() if noted else self.advise(data),
            data=data,
        )


def _parallel(wrappers: Table[ParallelCall], called: list[Operator], source: str) -> bool | None:
    """Tell whether DistributedDataParallel reduces gradients; None where the trace cannot tell."""
    wrapped = any(row.record.wrapper == DDP for row in wrappers.within(source))
    if wrapped or any(str(record) == REDUCER for record in called):
        return True
    return False if called else None


def _cost(ms: float, whole: float, of: str) -> Cost:
    return Cost(ms=ms, share=ms / whole, basis="upper_bound", of=of)


def _added(devices: list[DeviceBusy]) -> str:
    """Lead to what kinds of collectives take, which is known of all devices of a process."""
    if len(devices) == 1:
        return ": "
    others = [f"{each.device} {percent(_share(each))}" for each in devices[1:]]
    return f" (of the others: {', '.join(others)}). Over all devices, added up: "


def _share(device: DeviceBusy) -> float:
    return device.exposed_ms / device.span_ms


def _small(kinds: list[CollectiveTime], alone: float) -> int:
    """Return how many messages are small, where those run alone for most of ``alone``."""
    small = [kind for kind in kinds if kind.bytes and kind.bytes <= SMALL]
    much = sum(kind.exposed_ms for kind in small) >= MOST * alone > 0
    return sum(kind.n for kind in small) if much else 0


def _sized(data: Exposed, kinds: list[CollectiveTime]) -> str:
    """Say what messages carry, where that is little."""
    if not data.small:
        return ""
    moved = sum((kind.bytes or 0) * kind.n for kind in kinds if 0 < (kind.bytes or 0) <= SMALL)
    mean = moved / data.small / 1e6
    return (
        f" {data.small:,} messages carry {mean:.2g} MB each on average: so small, they take the "
        "time of a message, not that of what they carry."
        + (" SyncBatchNorm sends them, at each of its layers." if data.norms else "")
    )
