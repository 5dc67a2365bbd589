"""GBR014 ddp-optimizer-split."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import records, sites
from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import few

if TYPE_CHECKING:
    from tracelens.logs.ddp import DdpBuckets

__all__ = ["DdpOptimizerSplit"]

MIB = 2**20


class SplitData(FindingData):
    """A model under DistributedDataParallel: what cuts its graph."""

    #: Graphs that the buckets make of one, and bytes of a bucket.
    graphs: int = 0
    cap_bytes: int = 0
    #: Breaks in the wrapper itself.
    breaks: int = 0


class DdpOptimizerSplit(Rule):
    """The graph of a DistributedDataParallel model is split on purpose, to overlap communication.

    ## Why it matters
    It does not, as a rule. DDP sends gradients in buckets while the backward pass still runs; one
    whole graph would have them all at its end. Dynamo therefore cuts the graph where the buckets
    end. Torch's wrapper breaks the graph itself as well, where the wrapper is what is compiled.

    ## What it looks like
        [rank0]:I1120 16:13:01.581000 18113 torch/_dynamo/backends/distributed.py:104] [4/0] DDPOptimizer used bucket cap 1048576 and created 6 buckets. Enable debug logs for detailed bucket info.

    and, where the wrapper is compiled, a break before the model is entered:

        [rank0]:V1120 16:13:01.467000 18113 torch/_dynamo/symbolic_convert.py:5124] [1/0] [__graph_breaks] Graph break in user code at /usr/lib/python3.11/contextlib.py:105
        [rank0]:V1120 16:13:01.467000 18113 torch/_dynamo/symbolic_convert.py:5124] [1/0] [__graph_breaks] Graph Break Reason: Attempted to call function marked as skipped
        [rank0]:V1120 16:13:01.467000 18113 torch/_dynamo/symbolic_convert.py:5124] [1/0] [__graph_breaks]   Explanation: Dynamo skips it.
        [rank0]:V1120 16:13:01.467000 18113 torch/_dynamo/symbolic_convert.py:5124] [1/0] [__graph_breaks]
        [rank0]:V1120 16:13:01.467000 18113 torch/_dynamo/symbolic_convert.py:5124] [1/0] [__graph_breaks]   Developer debug context: module: torch.nn.parallel.distributed, qualname: DistributedDataParallel._inside_ddp_forward, skip reason: file matches skipfiles

    ## When it is harmless
    Always intended: the finding is a note. One graph pays where communication is quick beside the
    computation; a profile of several ranks tells.

    ## What to do
    Compile the model inside the wrapper: the wrapper's own breaks are gone, and the buckets are kept.

    ## How a live run confirms it
    Steps per second with ``optimize_ddp`` on and off, with as many ranks as in earnest.

    ## See also
    GBR012 (all breaks), TRC016 (communication that nothing hides).
    <https://docs.pytorch.org/docs/stable/notes/ddp.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "GBR014"
    name = "ddp-optimizer-split"
    severity = Severity.NONE
    moved_by: ClassVar = {"buckets": (), "breaks.family": {"ddp"}}
    experiment = Experiment(
        Knob("no splitting for DDP", config={"torch._dynamo.config.optimize_ddp": False}),
        time="any",
    )

    Data = SplitData
    remedies = (
        Remedy(
            "compile-model",
            "Compile the model, then wrap it in DistributedDataParallel.",
            when="the wrapper is compiled",
            applies=lambda data: data.breaks > 0,
            since="2.2",
            proof="https://docs.pytorch.org/docs/stable/notes/ddp.html",
        ),
        Remedy(
            "larger-buckets",
            "Larger buckets give fewer, larger graphs: `bucket_cap_mb` of DistributedDataParallel.",
            when="the graph is split",
            applies=lambda data: data.graphs > 0,
            proof="https://docs.pytorch.org/docs/stable/notes/ddp.html",
        ),
        Remedy(
            "one-graph",
            "Where communication takes little time, compile one graph.",
            when="the graph is split",
            applies=lambda data: data.graphs > 0,
            setting="torch._dynamo.config.optimize_ddp = False",
            proof="https://docs.pytorch.org/docs/stable/notes/ddp.html",
            knob=experiment.knob,
        ),
    )

    def check(self, *, buckets: Table[DdpBuckets], breaks: Table[GraphBreak]) -> Iterator[Finding]:
        """Yield a note for the split, and one for the wrapper's breaks."""
        split = [seen for seen in buckets if seen.record.buckets > 1]
        if split:
            yield self._split(split)
        wrapped = sites(breaks, {"ddp"})
        if wrapped:
            line = wrapped[0].line
            wrapper = SplitData(breaks=records(wrapped))
            yield self.finding(
                "wrapper",
                title="DistributedDataParallel breaks the graph before the model begins",
                message=f"{records(wrapped)} graph breaks are in torch's own wrapper. They cost "
                "Python between small graphs in every step; the model itself is not cut by them.",
                count=records(wrapped),
                where=user_code.where(line) if user_code.distance(line.file) == 0 else None,
                evidence=[quote for site in few(wrapped) for quote in few(site.quotes())],
                advice=self.advise(wrapper),
                data=wrapper,
                harmless="the model itself is not cut by them",
            )

    def _split(self, split: list[Seen[DdpBuckets]]) -> Finding:
        most = max(split, key=lambda seen: seen.record.buckets).record
        data = SplitData(graphs=most.buckets, cap_bytes=most.cap)
        return self.finding(
            "split",
            title=f"the graph is cut in {most.buckets} for the gradient buckets of DDP",
            message=f"DDPOptimizer cuts it where {most.cap / MIB:.3g} MiB of gradients are full, "
            "so that they are sent while the backward pass goes on.",
            count=sum(seen.count for seen in split),
            evidence=[seen.quote() for seen in few(split)],
            advice=self.advise(data),
            data=data,
            harmless="the split lets gradients travel while the backward pass goes on",
        )
