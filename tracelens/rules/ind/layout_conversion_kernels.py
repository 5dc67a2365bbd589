"""IND008 layout-conversion-kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from tracelens.dynamo import user_code
from tracelens.dynamo.run_facts import inputs_of
from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.inductor.epilogues import quote
from tracelens.inductor.graphs import heaviest
from tracelens.inductor.origins import Lines
from tracelens.inductor.remedies import LAYOUTS, channels_last, channels_last_3d, is_given
from tracelens.logs._dataflow import Content
from tracelens.logs._kernels import KernelDef
from tracelens.logs._stack import StackFrame
from tracelens.logs._statements import ExternCall, KernelCall
from tracelens.logs.output_code import OutputModule, Step
from tracelens.onednn.stories import CHANNELS_LAST
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.words import plural, size

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.graph_code import FxGraph

__all__ = ["LayoutConversionKernels"]

#: Bytes per call of the graph, written and read, below which nobody would notice.
LARGE = 1 << 20
MAX_QUOTED = 3
#: What must be copied, wherever it comes from; ``empty`` and the like fill memory.
_NEEDED = (
    *("arange", "cat", "copy_", "dropout", "embedding", "flip", "full", "gather", "index", "lift"),
    *("channel_shuffle", "pixel_shuffle", "pixel_unshuffle"),
    *("ones", "pad", "rand", "repeat", "roll", "scatter", "split", "stack", "to_copy", "zeros"),
)
_PRODUCTS = {"addmm", "baddbmm", "bias_addmm", "bmm", "mm"}
#: Operators of the program that ask for a copy, and how a line that does so reads.
_ASKED = ("contiguous", "clone", "conv2d", "conv1d", "conv3d", "to")
_COPYING = ("contiguous", "clone")
_ASKS = re.compile(r"\b(?:contiguous|clone|memory_format)\b")
#: Why nothing is to be done about copies of which no line shows that it asks for them.
_UNPLACED = "the log does not name the line that asks for them (TORCH_LOGS=graph_code may)"
_SEVERAL = "lines of the program ask for copies, and the log does not tell which asks for these"
_VIEWED = "a `.view` behind it needs the copy, and would raise without"
_RETURNED = "the program returns the copy, and may change one without the other"
_UNASKED = "no line of the program asks for them, so an operator needs its operand in this order"


class _Copy(msgspec.Struct, frozen=True):
    """A kernel call that only moves data."""

    seen: Seen[OutputModule]
    step: Step
    kernel: KernelDef
    bytes: int


class LayoutConversionKernels(Rule):
    """Kernels only copy data from one memory layout to another.

    ## Why it matters
    Nothing is computed, but everything is read and written. Where the copy follows from a
    ``.contiguous()`` that nobody needs, or from an input in the wrong layout for a convolution, it
    can be saved.

    ## What it looks like
    The kernel's name lists ``clone``, ``transpose``, ``convolution`` and the like, and its body
    stores what it loads:

        [0/0] [__output_code] cpp_fused_clone_0 = async_compile.cpp_pybinding(['float*'], r'''
        [0/0] [__output_code]     auto tmp0 = in_ptr0[static_cast<int64_t>(x0 + 512L*x1)];
        [0/0] [__output_code]     out_ptr0[static_cast<int64_t>(x1 + 256L*x0)] = tmp0;
        [0/0] [__output_code] ''')

    ## When it is harmless
    Below 1 MiB that is written and read per call of the graph nothing is said, above it is a note:
    a product on data in the right layout often saves more than the copy costs, and once at the edge
    of the graph it is needed. Copies that only matrix products read (heads of attention), casts,
    concatenations, gathers, paddings and splits have to copy and do not count. Where no line is
    known to ask for the copy (``.contiguous()``, ``.clone()``, ``memory_format=``) there is nothing
    to leave out: an operator needs it, or the log does not hold the traced graph
    (``TORCH_LOGS=graph_code``). A ``.view`` behind ``.contiguous()`` needs it, and a clone that is
    returned is meant to be another tensor than the one it was made of.

    ## What to do
    For convolutions, give model and input the layout that they are converted to. Elsewhere leave
    ``.contiguous()`` out, and let the result have whatever strides are cheapest.

    ## How a live run confirms it
    The same step with modules and images in ``channels_last`` from the start. Confirmed when the
    kernel is gone and the step is faster.

    ## See also
    IND004 (weights that are copied in every call), IND024 (why a layout was not changed);
    <https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html>
    """

    code = "IND008"
    name = "layout-conversion-kernels"
    severity = Severity.INFO
    experiment = Experiment(
        Knob("modules and images in channels_last", layout="channels_last"),
        confirms="the conversion is gone, and a step takes less time",
        refutes="it stays, or a step takes longer",
        leaves_open="no compiled module has weights of four dimensions",
    )

    class Data(FindingData):
        """Kernel calls that only copy, of the graph that copies most bytes."""

        #: ``convolution``: for one; ``copy``: the program asks for it, or an operator does.
        cause: str
        copies: int
        bytes: int
        kernel: str
        #: Dimensions of what is copied.
        ranks: tuple[int, ...] = ()
        #: Dimensions of the tensors that compiled code is given; None where it is not known.
        inputs: tuple[int, ...] | None = None
        #: The installed package that the line is in; empty for the program's own, or for no line.
        package: str = ""
        #: Whether the log names a line that asks for the copy, as ``.contiguous()`` does.
        is_asked: bool = False

    remedies = (
        channels_last(applies=lambda data: data.cause == "convolution" and is_given(data, 4)),
        channels_last_3d(applies=lambda data: data.cause == "convolution" and is_given(data, 5)),
        Remedy(
            id="no-contiguous",
            text="Leave out .contiguous() and .clone() where the layout does not matter; write "
            "`.reshape` for a `.view` that raises then.",
            when="copies that code of your own asks for; signals of 3 dimensions have no "
            "channels-last layout",
            applies=lambda data: (
                data.is_asked
                and not data.package
                and (data.cause == "copy" or not {4, 5} & set(data.ranks))
            ),
            proof="tests/advice/IND008/no-contiguous.py",
            basis="tested",
        ),
        Remedy(
            id="in-library",
            text=lambda data: (
                f"The copies are made in `{data.package}`: measure what they cost before anything "
                "else, and report the line to its authors if it matters."
            ),
            when="copies that an installed package asks for",
            applies=lambda data: bool(data.package) and data.cause == "copy",
            proof="it depends on the package",
            basis="untestable",
        ),
    )

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is a symptom of: the layout is told once."""
        return [CHANNELS_LAST] if any(a.id in LAYOUTS for a in finding.advice) else ()

    def check(
        self, modules: Table[OutputModule], *, graphs: Table[FxGraph], run: Table[RunFacts]
    ) -> Iterator[Finding]:
        """Yield one finding for convolutions and one for everything else."""
        lines = graphs.derived(Lines)
        groups: dict[str, list[_Copy]] = {}
        for row in modules:
            for copy in _copies(row):
                cause = "convolution" if "convolution" in copy.kernel.fused else "copy"
                groups.setdefault(cause, []).append(copy)
        for cause, group in groups.items():
            found = heaviest(group, lambda copy: id(copy.seen), lambda copy: copy.bytes)
            if sum(copy.bytes for copy in found) >= LARGE:
                yield self._finding(cause, found, lines, run)

    def _finding(
        self, cause: str, found: list[_Copy], lines: Lines, run: Table[RunFacts]
    ) -> Finding:
        found.sort(key=lambda copy: -copy.bytes)
        first = found[0]
        frames = lines.of(first.seen, first.kernel.comment, _ASKED)
        total = sum(copy.bytes for copy in found)
        why = "for convolutions " if cause == "convolution" else ""
        written = (result for copy in found for result in copy.seen.record.flow.results(copy.step))
        data = self.Data(
            cause=cause,
            copies=len(found),
            bytes=total,
            kernel=first.kernel.kernel,
            ranks=tuple(sorted({len(result.size) for result in written if result.size})),
            inputs=inputs_of(run),
        )
        frame = user_code.best(frames)
        package = user_code.package(frame.file) if frame is not None else ""
        asked = frame is not None and bool(_ASKS.search(frame.code))
        data = data.model_copy(update={"package": package, "is_asked": asked})
        harmless = None
        if cause == "copy" and not asked:
            asking = _SEVERAL if lines.has(first.seen, _COPYING) else _UNASKED
            frame, harmless = None, asking if lines else _UNPLACED
        elif cause == "copy" and frame is not None:
            harmless = _why_needed(first, lines, frame)
        return self.finding(
            cause,
            title=f"{plural(len(found), 'kernel call')} only copy data {why}to another layout"
            if len(found) > 1
            else f"a kernel only copies data {why}to another layout",
            message=f"{size(total)} are read and written per call of the graph, and nothing is "
            f"computed. The largest is `{first.kernel.kernel}` with {size(first.bytes)}.",
            severity=Severity.NONE if harmless else self.severity,
            harmless=harmless,
            count=len(found),
            where=user_code.where(frame),
            evidence=[quote(copy.seen, copy.step, size(copy.bytes)) for copy in found[:MAX_QUOTED]],
            advice=() if harmless else self.advise(data),
            data=data,
        )


def _why_needed(copy: _Copy, lines: Lines, frame: StackFrame) -> str | None:
    """Return why a copy that a line asks for cannot be left out; None where it may be."""
    calls = [call for graph in lines.traced(copy.seen) for call in graph.calls()]
    asking = {
        node.label: node.target.rpartition(".")[2]
        for node, origin in calls
        if origin is not None
        and (origin.file, origin.line) == (frame.file, frame.line)
        and node.target.endswith(_COPYING)
    }
    if "clone" in asking.values() and any(
        result.returned for result in copy.seen.record.flow.results(copy.step)
    ):
        return _RETURNED
    views = {node.target.partition(".")[0] for node, _ in calls if node.target.endswith(".view")}
    return _VIEWED if asking and views >= set(asking) else None


def _copies(row: Seen[OutputModule]) -> Iterator[_Copy]:
    flow = row.record.flow
    for step, call in row.record.kernel_calls():
        kernel = row.record.kernels.get(call.kernel)
        if kernel is None or not kernel.is_copy or any(n in kernel.fused for n in _NEEDED):
            continue
        results = flow.results(step)
        moved = sum(2 * (content.bytes or 0) for content in results)
        used = [result for result in results if result.readers or result.returned]
        needed = all(_is_operand(row.record, result) for result in used)
        if moved and flow.operands(step) and not needed:
            yield _Copy(row, step, kernel, moved)


def _is_operand(module: OutputModule, content: Content) -> bool:
    """Whether matrix products alone read it: they want their operands in order.

    In training a forward graph returns as well what its backward needs of them.
    """
    products = all(_is_product(module, step) for step in content.readers)
    is_saved = module.graph == "forward" and bool(content.readers)
    return products and (not content.returned or is_saved)


def _is_product(module: OutputModule, step: Step) -> bool:
    if isinstance(step.code, ExternCall):
        return step.code.op in _PRODUCTS
    kernel = module.kernels.get(step.code.kernel) if isinstance(step.code, KernelCall) else None
    return kernel is not None and kernel.is_template
