"""CGR010 grads-copied."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs import perf_hints
from tracelens.logs.cudagraphs import CudagraphRecording, CudagraphSkip, FunctionRun, Partitions
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import few

__all__ = ["GradsCopied"]


class GradsCopied(Rule):
    """A compiled optimizer copies the gradients at each replay, since their addresses may change.

    ## Why it matters
    The CUDA graph of an optimizer's step reads the gradients from fixed addresses. Gradients that
    autograd makes anew in each step are copied there first: one more pass over as many bytes as
    the model has parameters, per step.

    ## What it looks like
    A hint with ``TORCH_LOGS="perf_hints"``, since torch 2.6, that names the gradients:

        W1120 14:52:53.498000 15105 torch/_dynamo/variables/optimizer.py:341] [1/0] [__perf_hints] ('Grad tensors ["L['self'].param_groups[0]['params'][0].grad"] will be copied during cudagraphs execution.If using cudagraphs and the grad tensor addresses will be the same across runs, use torch._dynamo.decorators.mark_static_address to elide this copy.',)

    ## When it is harmless
    Without CUDA graphs: torch prints the hint in any mode. Where the log shows no sign of CUDA
    graphs, the finding has severity ``none``.

    ## What to do
    Keep the gradient tensors from step to step, and mark them as static before the optimizer is
    compiled. The promise must hold: a gradient that moves leads to CGR005.

    ## How a live run confirms it
    The same steps with the gradients marked. Confirmed when the hint is gone and the step gets
    faster.

    ## See also
    CGR005 (tensors that were marked, and moved).
    <https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "CGR010"
    name = "grads-copied"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """Gradients that are copied."""

        gradients: int
        #: The log shows CUDA graphs.
        has_cudagraphs: bool

    remedies = (
        Remedy(
            id="keep-gradients",
            text="Keep the gradients (optimizer.zero_grad(set_to_none=False)), and mark them "
            "before the step is compiled: torch._dynamo.mark_static_address(parameter.grad).",
            since="2.6",
            basis="tested",
            proof="tests/advice/CGR010/keep-gradients.py",
        ),
    )

    def check(
        self,
        hints: Table[perf_hints.GradsCopied],
        *,
        recordings: Table[CudagraphRecording],
        runs: Table[FunctionRun],
        skips: Table[CudagraphSkip],
        partitions: Table[Partitions],
    ) -> Iterator[Finding]:
        """Yield one finding for all optimizers: the promise is the same for each gradient."""
        if not len(hints):
            return
        in_use = any(len(table) for table in (recordings, runs, skips, partitions))
        names = {name for row in hints for name in row.record.names.strip("[]").split('", "')}
        number = len(names)
        gradients = f"{number} gradients are" if number > 1 else "a gradient is"
        data = self.Data(gradients=number, has_cudagraphs=in_use)
        yield self.finding(
            "gradients",
            title=f"{gradients} copied at each replay of the optimizer's step",
            message="Their addresses are not known to stay the same, so the recorded step works on "
            "copies.",
            harmless=None
            if in_use
            else "the log shows no sign of CUDA graphs; without them nothing is copied",
            count=hints.count,
            evidence=[row.quote() for row in few(hints)],
            advice=self.advise(data),
            data=data,
        )
