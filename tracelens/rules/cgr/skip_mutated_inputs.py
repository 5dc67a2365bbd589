"""CGR002 skip-mutated-inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.cudagraph_skips import MUTATION, NO_GPU, Skip, is_cpu_only, skips
from tracelens.logs.output_code import OutputModule
from tracelens.onednn.stories import SKIPPED_GRAPHS
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.words import is_whole

if TYPE_CHECKING:
    from tracelens.logs.aot_graphs import AotGraph
    from tracelens.logs.cudagraphs import CudagraphRecording, CudagraphSkip, FunctionRun

__all__ = ["SkipMutatedInputs"]


class SkipMutatedInputs(Rule):
    """A graph writes to its inputs, and so it is not recorded as a CUDA graph.

    ## Why it matters
    A CUDA graph works on fixed addresses: inputs are copied to them before a replay. Writing to the
    copy would not change the tensor of the caller, so a graph that does it is left out, and every
    kernel is launched by itself at each call. Caches that are updated in place are the usual case.

    ## What it looks like
    A warning that needs no switch. Since torch 2.4 it counts the inputs and shows the line that
    writes; before that it is ``mutated inputs`` or ``input mutation`` alone:

        W1120 14:51:20.574000 13756 torch/_inductor/cudagraph_utils.py:380] [__cudagraphs] skipping cudagraphs due to mutated inputs (1 instances). Found from :
        W1120 14:51:20.574000 13756 torch/_inductor/cudagraph_utils.py:380] [__cudagraphs]    File "/home/ana/proj/model.py", line 36, in forward
        W1120 14:51:20.574000 13756 torch/_inductor/cudagraph_utils.py:380] [__cudagraphs]     cache.copy_(keys)

    ## When it is harmless
    Parameters, buffers, tensors marked as static and outputs of other CUDA graphs may be written
    to: torch does not complain about them. Since 2.5 it looks again at each new combination of
    graphs, and may record the function later: where the log shows recordings too, the confidence
    is medium. In a run without a GPU the finding has severity ``none``.

    ## What to do
    Return the new value instead of writing it. A cache that must stay in place belongs in a buffer
    of the module, or is marked with ``torch._dynamo.mark_static_address`` before the first call.

    ## How a live run confirms it
    The same calls with the tensor marked as static. Confirmed when the line is gone and the step
    gets faster.

    ## See also
    CGR001, CGR003, CGR008 (other reasons), CGR005 (a marked tensor that moves nevertheless).
    <https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "CGR002"
    name = "skip-mutated-inputs"
    severity = Severity.WARNING
    moved_by: ClassVar = {"skipped": ()}
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """Inputs that a graph writes to."""

        #: As Inductor counts them; None where it does not.
        inputs: int | None = None
        #: Their storage is replaced, not their values.
        is_storage: bool = False

    remedies = (
        Remedy(
            id="return-it",
            text="Return the new value, and let the caller keep it.",
            basis="tested",
            proof="tests/advice/CGR002/return-it.py",
        ),
        Remedy(
            id="buffer",
            text="Keep a tensor that must stay in place in a buffer of the module "
            "(self.register_buffer).",
            basis="tested",
            proof="tests/advice/CGR002/buffer.py",
        ),
        Remedy(
            id="static-address",
            text="Or promise that its address stays the same, before the first call: "
            "torch._dynamo.mark_static_address(tensor).",
            since="2.1",
            basis="tested",
            proof="tests/advice/CGR002/static-address.py",
        ),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is the cause of."""
        del finding
        return [SKIPPED_GRAPHS]

    def check(
        self,
        *,
        skipped: Table[CudagraphSkip],
        recordings: Table[CudagraphRecording],
        runs: Table[FunctionRun],
        modules: Table[OutputModule],
        graphs: Table[AotGraph],
    ) -> Iterator[Finding]:
        """Yield one finding per line of the program that writes to an input."""
        found = skips(skipped, MUTATION)
        no_gpu = bool(found) and is_cpu_only(modules, graphs)
        recorded = bool(len(recordings) or len(runs))
        for skip in found:
            yield self._finding(skip, no_gpu, recorded)

    def _finding(self, skip: Skip, no_gpu: bool, recorded: bool) -> Finding:
        storage = skip.cause.startswith("input storage")
        what = "replaces the storage of" if storage else "writes to"
        line = f"`{skip.frame.code}` {what} an input" if skip.line and skip.frame else ""
        number = skip.detail.partition(" ")[0]
        inputs = f"{number} inputs are" if number.isdecimal() and number != "1" else "One input is"
        if storage or not number.isdecimal():
            inputs = "An input is"
        data = self.Data(inputs=int(number) if is_whole(number) else None, is_storage=storage)
        return self.finding(
            *skip.subject,
            title=f"{line or f'a graph {what} an input'}: it is not recorded as a CUDA graph",
            message=f"{inputs} changed inside of the graph, so that a replay on copies of the "
            f"inputs would lose the change. Every kernel is launched by itself at each call.",
            harmless=NO_GPU if no_gpu else None,
            confidence=Confidence.MEDIUM if recorded else Confidence.HIGH,
            count=skip.count,
            where=skip.where,
            evidence=skip.quotes(),
            advice=[] if no_gpu else self.advise(data),
            data=data,
        )
