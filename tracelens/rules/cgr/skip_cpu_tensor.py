"""CGR001 skip-cpu-tensor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.cudagraph_skips import CPU, NO_GPU, Cut, Skip, cuts, is_cpu_only, skips
from tracelens.late import late
from tracelens.logs.output_code import OutputModule
from tracelens.onednn.stories import COPIES, SKIPPED_GRAPHS
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.logs._stack import StackFrame
    from tracelens.logs.aot_graphs import AotGraph
    from tracelens.logs.cudagraphs import (
        CudagraphPartition,
        CudagraphSkip,
        PartitionCut,
        PartitionStack,
    )

__all__ = ["SkipCpuTensor"]

#: What AOTAutograd calls the inputs of a graph.
INPUTS = ("arg", "primals_", "tangents_")
#: A tensor that is made of numbers, with a device; and what comes of it on the CPU, all the same.
_MADE = late(r"\btorch\.(?:as_)?tensor\([^#\n]{0,200}\bdevice ?=")
_STACKED = late(r"(?:cat|stack|scalar_tensor|lift\w*|_tensor_constant\d*)(?:_\d+|$)")
#: ... of sizes, each of which is a symbol in a dynamic graph.
_SIZES = late(r"\.shape\b|\.size\(|\blen\(")


class SkipCpuTensor(Rule):
    """A tensor on the CPU keeps a graph, or a part of it, from being recorded as a CUDA graph.

    ## Why it matters
    A CUDA graph replays all kernels of a graph with one call. One tensor on the CPU among its
    inputs, or one made inside without ``device=``, and nothing is recorded: every kernel is
    launched by itself again, which is what ``mode="reduce-overhead"`` was to save. Small models
    spend most of their time in launches.

    ## What it looks like
    A warning that needs no switch. In the parentheses stands the node: ``arg1_1`` or ``primals_2``
    is an input of the graph, everything else is made inside:

        W1120 14:53:29.880000 15563 torch/_inductor/cudagraph_utils.py:380] [0/0] [__cudagraphs] skipping cudagraphs due to skipping cudagraphs due to cpu device (arg1_1). Found from :
        W1120 14:53:29.880000 15563 torch/_inductor/cudagraph_utils.py:380] [0/0] [__cudagraphs]    File "/home/ana/proj/model.py", line 42, in scaled
        W1120 14:53:29.880000 15563 torch/_inductor/cudagraph_utils.py:380] [0/0] [__cudagraphs]     return torch.relu(x) * factor

    Since torch 2.9 the graph is cut around the operation and recorded in parts, which only
    ``TORCH_LOGS="+cudagraphs"`` shows: that is a note.

    ## When it is harmless
    When there is no GPU in the run: where the log shows generated code or graphs, and all of them
    are on the CPU, the finding has severity ``none``. On a GPU, when the kernels are long.

    ## What to do
    Move the tensor to the GPU before the call, or make it there. A number that is not an integer is
    best kept as a tensor on the GPU, or as a plain Python number.

    ## How a live run confirms it
    The same calls with the tensor moved. Confirmed when the line is gone and the step gets faster;
    refuted when the graph is skipped for another reason.

    ## See also
    CGR002, CGR003, CGR008 (other reasons), CGR011 (when every graph is skipped).
    <https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "CGR001"
    name = "skip-cpu-tensor"
    severity = Severity.WARNING
    moved_by: ClassVar = dict.fromkeys(("skipped", "nodes", "stacks", "older"), ())
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """A tensor on the CPU, and what it does to its graph."""

        #: The input or operation, as Inductor names it.
        name: str = ""
        is_input: bool = False
        #: The graph is recorded in parts, not left out.
        is_cut: bool = False
        #: The line of the program.
        line_of_code: str = ""

        @property
        def is_stacked(self) -> bool:
            """Whether numbers become a tensor there, which has a device: they do so on the CPU."""
            of_numbers = _MADE.search(self.line_of_code) is not None
            return of_numbers and not self.is_input and _STACKED.match(self.name) is not None

        @property
        def is_of_sizes(self) -> bool:
            """Whether they are sizes."""
            return self.is_stacked and _SIZES.search(self.line_of_code) is not None

    remedies = (
        Remedy(
            id="move-input",
            text="Move the tensor to the GPU before the call.",
            when="an input of the graph",
            applies=lambda data: data.is_input,
            basis="tested",
            proof="tests/advice/CGR001/move-input.py",
        ),
        Remedy(
            id="stack-on-gpu",
            text=lambda data: (
                "`torch.tensor` makes a tensor of numbers on the CPU and copies it, whatever"
                " `device=` says. "
                + (
                    "Make each number a tensor on the GPU, and stack them"
                    if data.is_of_sizes
                    else "Make it before the compiled function is called (a buffer), and use that"
                )
                + (
                    ", or make it before the compiled function is called where the sizes do not"
                    " change."
                    if data.is_of_sizes
                    else "; or make each number a tensor on the GPU, and stack them."
                )
            ),
            code="torch.stack([torch.full((), n, device=x.device) for n in x.shape[2:]])",
            when="a tensor that the line makes of numbers, with `device=`",
            applies=lambda data: data.is_stacked,
            basis="source",
            proof="torch/_refs/__init__.py: _internal_new_from_data",
        ),
        Remedy(
            id="make-on-gpu",
            text="Make the tensor on the GPU (device=x.device), and keep .cpu(), .item() and "
            ".numpy() out of the compiled function.",
            when="made within the function, not of numbers with `device=`",
            applies=lambda data: not (data.is_input or data.is_stacked),
            basis="tested",
            proof="tests/advice/CGR001/make-on-gpu.py",
        ),
        Remedy(
            id="partition",
            text="Or let Inductor cut the graph around what runs on the CPU, and record the "
            "rest; torch does so by default since 2.9.",
            when="the graph is left out",
            applies=lambda data: not data.is_cut,
            setting="torch._inductor.config.graph_partition = True",
            since="2.7",
            basis="tested",
            proof="tests/advice/CGR003/partition.py",
        ),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is the cause of."""
        return [SKIPPED_GRAPHS] if not finding.data.get("is_cut") else ()

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Belong to the copies that the graph is cut around."""
        return [COPIES] if finding.data.get("is_cut") else ()

    def check(
        self,
        *,
        skipped: Table[CudagraphSkip],
        nodes: Table[PartitionCut],
        stacks: Table[PartitionStack],
        older: Table[CudagraphPartition],
        modules: Table[OutputModule],
        graphs: Table[AotGraph],
    ) -> Iterator[Finding]:
        """Yield one finding per line of the program that needs the CPU."""
        found = skips(skipped, CPU)
        no_gpu = bool(found) and is_cpu_only(modules, graphs)
        for skip in found:
            yield self._skip(skip, no_gpu)
        for cut in cuts(CPU, nodes, stacks, older):
            yield self._cut(cut)

    def _skip(self, skip: Skip, no_gpu: bool) -> Finding:
        is_input = skip.detail.startswith(INPUTS)
        what = f"input `{skip.detail}`" if is_input else f"`{skip.detail}`"
        title = f"{what} is on the CPU" if skip.detail else "a tensor is on the CPU"
        data = self.Data(name=skip.detail, is_input=is_input, line_of_code=_code(skip.frame))
        return self.finding(
            *skip.subject,
            title=f"{title}{skip.line}: the graph is not recorded",
            message="Inductor leaves the whole graph out of CUDA graphs because of it: at each "
            "call, "
            "every kernel is launched by itself.",
            harmless=NO_GPU if no_gpu else None,
            count=skip.count,
            where=skip.where,
            evidence=skip.quotes(),
            advice=[] if no_gpu else self.advise(data),
            data=data,
        )

    def _cut(self, cut: Cut) -> Finding:
        data = self.Data(name=cut.operation, is_cut=True, line_of_code=_code(cut.frame))
        name = f"`{cut.operation}`" if cut.operation else "an operation"
        return self.finding(
            "cut",
            *cut.subject,
            title=f"{name} runs on the CPU: the graph is recorded in parts",
            message="Inductor cuts the graph there. What comes before and after is recorded; each "
            "part costs a call of its own, and the copy between the devices waits for the GPU.",
            severity=Severity.INFO,
            where=user_code.where(cut.frame),
            evidence=[cut.quote],
            advice=self.advise(data),
            data=data,
        )


def _code(frame: StackFrame | None) -> str:
    return frame.code if frame else ""
