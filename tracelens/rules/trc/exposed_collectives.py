"""TRC016 exposed-collectives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.chrome_trace import DeviceKernel
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.traces.measured import DeviceBusy, TraceHeader
from tracelens.traces.views import stories
from tracelens.words import length, percent

__all__ = ["ExposedCollectives"]

MIN_SHARE = 0.1
MAX_QUOTED = 4


class Exposed(FindingData):
    """Collectives, and how much of them runs alone."""

    collective_ms: float
    exposed_ms: float
    of_ms: float
    reduces: bool


class ExposedCollectives(Rule):
    """Collectives run while nothing is computed beside them.

    ## Why it matters
    An all-reduce that runs beside the backward pass is free. One that runs alone stops every rank.

    ## What it looks like
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", "ts": 100.0, "dur": 8200.0, "pid": 0, "tid": 20}

    ## When it is harmless
    A collective waits for the slowest rank: on the others it looks long, and overlapping would not
    help. Compare the traces of all ranks; the rank with the shortest collectives is the slow one.
    Below 10 % of the device's time the rule keeps quiet.

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
    remedies = (
        Remedy(
            id="buckets",
            text="Try other sizes of the buckets that gradients are reduced in.",
            when="gradients are reduced: DistributedDataParallel",
            applies=lambda data: data.reduces,
            code="DistributedDataParallel(model, bucket_cap_mb=100)",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
        ),
        Remedy(
            id="overlap",
            text="With tensor parallelism, overlap the collectives with the products around them.",
            when="the code is compiled",
            setting="torch._inductor.config._micro_pipeline_tp = True",
            since="2.5",
            proof="https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html",
        ),
    )

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return what may let the collectives wait."""
        return stories(["late rank"], finding)

    def check(
        self,
        devices: Table[DeviceBusy],
        *,
        kernels: Table[DeviceKernel],
        headers: Table[TraceHeader],
    ) -> Iterator[Finding]:
        """Yield one finding per device that waits in collectives."""
        for row in devices:
            device = row.record
            if device.span_ms <= 0 or device.exposed_ms < MIN_SHARE * device.span_ms:
                continue
            source = row.first.input
            rows = [k for k in kernels.within(source) if k.record.is_collective]
            rows.sort(key=lambda kernel: -kernel.ms)
            header = next((h.record for h in headers.within(source)), TraceHeader())
            world = f" {header.world_size} ranks take part." if header.world_size else ""
            rank = f"rank {header.rank}" if header.rank is not None else f"device {device.device}"
            share = device.exposed_ms / device.span_ms
            data = Exposed(
                collective_ms=device.collective_ms,
                exposed_ms=device.exposed_ms,
                of_ms=device.span_ms,
                reduces=any("allreduce" in str(k.record).lower() for k in rows),
            )
            yield self.finding(
                "collectives",
                title=f"collectives run alone for {percent(share)} of the time on {rank}",
                message=(
                    f"Collectives take {length(device.collective_ms)}; for "
                    f"{length(device.exposed_ms)} of that nothing else runs on the device.{world} "
                    "A slower rank would look the same on this one."
                ),
                confidence=Confidence.MEDIUM,
                count=sum(kernel.count for kernel in rows),
                evidence=[
                    kernel.quote(f"{kernel.count} times, {length(kernel.ms)} in all")
                    for kernel in rows[:MAX_QUOTED]
                ],
                cost=Cost(
                    ms=device.exposed_ms,
                    share=share,
                    basis="upper_bound",
                    of="the time from the first kernel to the last",
                ),
                advice=self.advise(data),
                data=data,
            )
