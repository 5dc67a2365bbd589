"""TRC027 slow-collective."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.traces.measured import Step, TraceHeader, Window
from tracelens.traces.peaks import link
from tracelens.traces.rows import CollectiveTime, Timeline
from tracelens.traces.runs import length, percent
from tracelens.traces.views import View, views

__all__ = ["SlowCollective"]

#: Smaller messages are limited by latency, not by the link.
MIN_BYTES = 1 << 20
#: Share of the link below which something is wrong, and of the time that runs alone.
LOW = 0.1
MIN_SHARE = 0.05
#: Ranks that share a node, at most; a larger group crosses the network.
NODE = 8
MAX_TOLD = 3


class Slow(FindingData):
    """How fast the slow collectives are."""

    device: str
    link_gbs: float
    bus_gbs: float
    exposed_ms: float
    group: int


class SlowCollective(Rule):
    """Large collectives run far below the rate of the link between the GPUs.

    ## Why it matters
    Buckets, overlap and order change how much of a collective is hidden, not how fast it is. At a
    tenth of the link's rate either the ranks do not meet in time (a straggler), or the data takes
    another way: PCIe instead of NVLink, or a network without GPUDirect.

    ## What it looks like
    The arguments of the kernel tell the message and the group: here 26 MB in 2.6 ms between two.

        {"ph": "X", "cat": "kernel", "name": "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", "pid": 0, "tid": 40, "ts": 100.0, "dur": 2636.0, "args": {"Collective name": "allreduce", "In msg nelems": 6637568, "Group size": 2, "dtype": "Float"}}

    ## When it is harmless
    Messages below 1 MB are limited by latency. Groups of more than 8 ranks cross a network whose rate
    is not known, and what a collective waits for another rank counts as its own time here.

    ## What to do
    Look at the other ranks of the same moment: who came last. Then at the topology
    (``nvidia-smi topo -m``) and at what NCCL says about it.

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
        ),
        Remedy(
            id="ranks",
            text="Record all ranks, and see which comes last.",
            basis="untestable",
            proof="it needs the job",
        ),
    )

    def check(
        self,
        windows: Table[Window],
        timelines: Table[Timeline],
        *,
        steps: Table[Step],
        collectives: Table[CollectiveTime],
        headers: Table[TraceHeader],
    ) -> Iterator[Finding]:
        """Yield one finding per trace whose large collectives are slow."""
        for view in views(windows, steps, timelines):
            named = headers.within(view.source)
            device = next((name for row in named for name in row.record.devices if name), "")
            rate = link(device)
            if rate is None:
                continue
            slow = [
                row
                for row in collectives.within(view.source)
                if (row.record.bytes or 0) >= MIN_BYTES
                and 1 < (row.record.group or 0) <= NODE
                and row.record.bus_gbs is not None
                and row.record.bus_gbs < LOW * rate
            ]
            exposed = sum(row.record.exposed_ms for row in slow)
            if slow and exposed >= MIN_SHARE * view.run.window.record.ms:
                slow.sort(key=lambda row: -row.record.exposed_ms)
                yield self._finding(view, slow, device, rate)

    def _finding(
        self, view: View, slow: list[Seen[CollectiveTime]], device: str, rate: float
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
            confidence=Confidence.MEDIUM,
            count=sum(row.record.n for row in slow),
            evidence=[
                row.quote(f"{row.record.n} times, {length(row.record.sum_ms)} in all")
                for row in slow[:MAX_TOLD]
            ],
            cost=Cost(ms=exposed, share=exposed / whole, basis="upper_bound", of="the trace"),
            advice=self.advise(data),
            data=data,
        )
