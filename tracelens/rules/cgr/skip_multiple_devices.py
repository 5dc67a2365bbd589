"""CGR008 skip-multiple-devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.cudagraph_skips import DEVICES, skips
from tracelens.logs.cudagraphs import CudagraphSkip
from tracelens.onednn.stories import SKIPPED_GRAPHS
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule

__all__ = ["SkipMultipleDevices"]


class SkipMultipleDevices(Rule):
    """A graph runs on several devices, and so it is not recorded as a CUDA graph.

    ## Why it matters
    A CUDA graph belongs to one device. A graph with tensors on two GPUs, or with tensors on no GPU
    at all, is left out, and every kernel is launched by itself.

    ## What it looks like
    A warning that needs no switch; torch does not say which line it is:

        W1120 14:53:40.499000 15654 torch/_inductor/cudagraph_utils.py:380] [0/0] [__cudagraphs] skipping cudagraphs due to skipping cudagraphs due to multiple devices: device(type='cuda', index=0), device(type='cuda', index=1)

    ## When it is harmless
    Where a model is spread over several GPUs on purpose (``device_map="auto"``): the graphs at the
    seams cannot be recorded, those inside of one GPU are. Hence a note.

    ## What to do
    Break the graph where the tensors change the device, so that each graph has one. A device that
    should not be there comes from a buffer or an index that stayed on the default GPU.

    ## How a live run confirms it
    The same calls with a break at the seam. Confirmed when the line is gone.

    ## See also
    CGR001 (one tensor on the CPU), CGR002, CGR003.
    <https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "CGR008"
    name = "skip-multiple-devices"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """The devices of a graph, as Inductor lists them."""

        devices: str

    remedies = (
        Remedy(
            id="break",
            text="Break the graph where the tensors change the device.",
            code="torch._dynamo.graph_break()",
            basis="untestable",
            proof="needs several GPUs",
        ),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is the cause of."""
        del finding
        return [SKIPPED_GRAPHS]

    def check(self, *, skipped: Table[CudagraphSkip]) -> Iterator[Finding]:
        """Yield one finding per set of devices."""
        for skip in skips(skipped, DEVICES):
            graphs = f" Graphs: {', '.join(skip.graphs)}." if skip.graphs else ""
            named = f" ({skip.detail})" if skip.detail else ""
            data = self.Data(devices=skip.detail)
            yield self.finding(
                skip.detail,
                *skip.subject,
                title="a graph runs on several devices: it is not recorded as a CUDA graph",
                message=f"A CUDA graph belongs to one device, and this one has several{named}: "
                f"every kernel is launched by itself.{graphs}",
                count=skip.count,
                where=skip.where,
                evidence=skip.quotes(),
                advice=self.advise(data),
                data=data,
            )
