"""CGR003 skip-incompatible-op."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.inductor.cudagraph_skips import OPERATION, Cut, Skip, cuts, skips
from tracelens.logs.cudagraphs import (
    CudagraphPartition,
    CudagraphSkip,
    PartitionCut,
    PartitionStack,
)
from tracelens.onednn.stories import SKIPPED_GRAPHS
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule

__all__ = ["SkipIncompatibleOp"]


class SkipIncompatibleOp(Rule):
    """An operation cannot be recorded in a CUDA graph.

    ## Why it matters
    An operation whose result has a size that depends on data (``nonzero``, a boolean mask), that
    waits for the GPU, or that is a branch of control flow, cannot be replayed. Up to torch 2.8 it
    keeps its whole graph from being recorded; since 2.9 the graph is cut around it.

    ## What it looks like
    A warning that needs no switch, and names the operation and the line:

        W1120 14:53:46.764000 15667 torch/_inductor/cudagraph_utils.py:380] [0/0] [__cudagraphs] skipping cudagraphs due to disabling cudagraphs due to incompatible op aten.nonzero.default Found from   File "/home/ana/proj/model.py", line 51, in selected
        W1120 14:53:46.764000 15667 torch/_inductor/cudagraph_utils.py:380] [0/0] [__cudagraphs]     rows = torch.nonzero(x[:, 0] > 0)

    With ``TORCH_LOGS="+cudagraphs"``, since 2.11, the node at which a graph is cut:

        V1120 14:53:53.373000 15801 torch/_inductor/scheduler.py:9196] [__cudagraphs]     op1: reason=unbacked binding ops, ir=FallbackKernel, fx=aten.nonzero.default(gt)

    ## When it is harmless
    Where the operation is needed, and the kernels around it are long. A cut graph is recorded but
    for the operation: severity ``none``, unless it is cut in more than four parts.

    ## What to do
    Replace the operation by one whose result has a fixed size (``torch.where``, a mask that is
    multiplied), or move it out of the compiled function. On torch 2.7 and 2.8 switch the cutting on.

    ## How a live run confirms it
    The same calls with ``graph_partition`` on. Confirmed when the line is gone and the step gets
    faster.

    ## See also
    CGR001, CGR002, CGR008 (other reasons).
    <https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html>
    """  # noqa: E501 -- the excerpts are whole lines of a log

    code = "CGR003"
    name = "skip-incompatible-op"
    severity = Severity.INFO
    experiment = Experiment(
        Knob("graphs are partitioned", config={"torch._inductor.config.graph_partition": True})
    )

    class Data(FindingData):
        """An operation that cannot be recorded."""

        operation: str
        #: The graph is recorded in parts, not left out.
        is_cut: bool = False

    remedies = (
        Remedy(
            id="partition",
            text="Cut the graph around the operation and record the rest; torch does so by "
            "default since 2.9.",
            when="the graph is left out, and not for torch.cond",
            applies=lambda data: not data.is_cut and "torch.cond" not in data.operation,
            setting="torch._inductor.config.graph_partition = True",
            since="2.7",
            basis="tested",
            proof="tests/advice/CGR003/partition.py",
            knob=experiment.knob,
        ),
        Remedy(
            id="fixed-size",
            text="Use an operation whose result has a fixed size, such as torch.where(mask, x, "
            "0) instead of x[mask], or move this one out of the compiled function.",
            basis="tested",
            proof="tests/advice/CGR003/fixed-size.py",
        ),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is the cause of."""
        return [SKIPPED_GRAPHS] if not finding.data.get("is_cut") else ()

    def check(
        self,
        *,
        skipped: Table[CudagraphSkip],
        nodes: Table[PartitionCut],
        stacks: Table[PartitionStack],
        older: Table[CudagraphPartition],
    ) -> Iterator[Finding]:
        """Yield one finding per operation and line of the program."""
        for skip in skips(skipped, OPERATION):
            yield self._skip(skip)
        found = cuts(OPERATION, nodes, stacks, older)
        for cut in found:
            yield self._cut(cut, len(found))

    def _skip(self, skip: Skip) -> Finding:
        known = skip.cause.startswith(("incompatible op", "control flow"))
        what = f"`{skip.detail.strip(' .')}`" if known and skip.detail else skip.cause
        return self.finding(
            skip.detail,
            *skip.subject,
            title=f"{what}{skip.line} cannot be recorded: its graph runs without CUDA graphs",
            message="A replay repeats what was done once, with the same sizes and branches; this "
            "operation may do something else each time. The whole graph is left out because of it, "
            "and every kernel is launched by itself.",
            count=skip.count,
            where=skip.where,
            evidence=skip.quotes(),
            # Torch cuts no graph around a torch.cond (2.13): the remedy knows.
            advice=self.advise(self.Data(operation=skip.detail)),
            data=self.Data(operation=skip.detail),
        )

    def _cut(self, cut: Cut, number: int) -> Finding:
        what = f"`{cut.operation}`" if cut.operation else f"an operation ({cut.cause})"
        line = f" in `{cut.frame.code}`" if cut.frame and cut.frame.code else ""
        return self.finding(
            "cut",
            cut.operation,
            *cut.subject,
            title=f"{what}{line} cannot be recorded: its graph is recorded in parts",
            message="Inductor cuts the graph there. What comes before and after is recorded; each "
            "part costs a call of its own.",
            severity=Severity.INFO,
            harmless=None if number >= MANY_CUTS else "a few parts cost a call each",
            where=user_code.where(cut.frame),
            evidence=[cut.quote],
            advice=self.advise(self.Data(operation=cut.operation, is_cut=True)),
            data=self.Data(operation=cut.operation, is_cut=True),
        )


#: Cuts from which on a graph falls to pieces.
MANY_CUTS = 4
