"""CGR012 empty-cuda-graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import few

if TYPE_CHECKING:  # what a log has nothing of is not imported
    from tracelens.logs.cudagraphs import CudagraphRecording, Partitions
    from tracelens.logs.graph_breaks import GraphBreak
    from tracelens.logs.output_code import OutputModule
    from tracelens.logs.warnings import TorchWarning

__all__ = ["EmptyCudaGraph"]


class EmptyCudaGraph(Rule):
    """A CUDA graph was recorded that launches nothing.

    ## Why it matters
    The warning suggests a wrong device or stream. With ``mode="reduce-overhead"`` the cause mostly
    is another: a graph break left a piece that only makes views, which runs nothing on the GPU.
    Replaying it costs a few microseconds per call and nothing else. The break that cut the piece
    off costs more.

    ## What it looks like
    One Python warning per recording:

        /home/ana/venv/lib/python3.12/site-packages/torch/cuda/graphs.py:84: UserWarning: The CUDA Graph is empty. This usually means that the graph was attempted to be captured on wrong device or stream. (Triggered internally at /pytorch/aten/src/ATen/cuda/CUDAGraph.cpp:206.)
          super().capture_end()

    ## When it is harmless
    Nearly always in compiled code: severity ``none`` where the log shows some. Not where the program captures by itself with
    ``torch.cuda.graph``: there the work went to another stream or device, and replaying the graph
    computes nothing.

    ## What to do
    Look for the graph breaks of the model; the warning goes away with the one that leaves the piece.
    In a capture of one's own, run the work on the stream that is captured.

    ## How a live run confirms it
    Not applicable: whether a piece is empty depends on where the program breaks its graph.

    ## See also
    GBR rules for the breaks; CGR011 for CUDA graphs that are not used at all.
    <https://github.com/pytorch/pytorch/issues/149653>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "CGR012"
    name = "empty-cuda-graph"
    severity = Severity.NONE
    moved_by: ClassVar = {"warnings.topic": {"empty-cudagraph"}}
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """How often, and what the log shows of compiled code."""

        recordings: int = 0
        breaks: int = 0
        #: Something is compiled: the graph may be a piece of it.
        is_compiled: bool = False

    remedies = (
        Remedy(
            "see-breaks",
            "List the graph breaks: one of them leaves a piece without work.",
            when="the log shows compiled code, and no graph breaks",
            applies=lambda data: data.is_compiled and not data.breaks,
            env='TORCH_LOGS="graph_breaks"',
            since="2.1",
            basis="untestable",
            proof="it records more",
        ),
        Remedy(
            "own-capture",
            "Where the program captures by itself: run the work inside the capture, on its stream "
            "and device.",
            code="with torch.cuda.graph(graph):\n    out = model(static_input)",
            since="1.10",
            basis="tested",
            proof="tests/advice/CGR012/own-capture.py",
        ),
    )

    def check(
        self,
        warnings: Table[TorchWarning],
        *,
        breaks: Table[GraphBreak],
        recordings: Table[CudagraphRecording],
        partitions: Table[Partitions],
        modules: Table[OutputModule],
    ) -> Iterator[Finding]:
        """Yield one finding: the warning does not say which graph it is about."""
        rows = [row for row in warnings if row.record.topic == "empty-cudagraph"]
        if not rows:
            return
        seen = any(len(table) for table in (breaks, recordings, partitions, modules))
        data = self.Data(
            recordings=sum(row.count for row in rows), breaks=breaks.count, is_compiled=seen
        )
        yield self.finding(
            "empty",
            title="an empty CUDA graph was recorded",
            message="Replaying it computes nothing, if the program captured it: its work went to "
            "another stream, or was done outside of the capture. The log shows no compiled code, "
            "of which a piece that only makes views would be harmless.",
            severity=Severity.INFO,
            harmless=_PIECE if seen else None,
            confidence=Confidence.HIGH if data.breaks else Confidence.MEDIUM,
            count=data.recordings,
            evidence=[row.quote() for row in few(rows)],
            advice=self.advise(data),
            data=data,
        )


_PIECE = (
    "in compiled code, a piece that only makes views, mostly what a graph break left over, "
    "launches no kernel, and replaying it costs next to nothing"
)
