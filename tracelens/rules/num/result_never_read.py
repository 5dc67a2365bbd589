"""NUM003 result-never-read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.epilogues import quote
from tracelens.inductor.never_read import NeverRead, never_read
from tracelens.inductor.origins import Lines
from tracelens.logs.output_code import OutputModule
from tracelens.remedies import Remedy
from tracelens.report import EvidenceLine, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import few, plural

if TYPE_CHECKING:
    from tracelens.logs._stack import StackFrame
    from tracelens.logs.graph_code import FxGraph

__all__ = ["ResultNeverRead"]

#: What the program calls, by the operator that its gradient becomes.
CALLED = {"unsafe_index_put": "interpolate", "max_pool2d_with_indices_backward": "max_pool2d"}


class ResultNeverRead(Rule):
    """Inductor fills a buffer that nothing reads: what should have read it has run before.

    ## Why it matters
    Inductor leaves out what no result needs. Where a kernel is called and nothing reads what it
    writes, the order of the calls is wrong, or the name of a buffer. Nothing raises: results or
    gradients are wrong, mostly zero, and a training goes on with the layers that still learn.

    ## What it looks like
    The second kernel adds to `buf10`, which is deleted at once. The first one has used it before:

        [0/0] [__output_code] def call(args):
        [0/0] [__output_code]     buf10 = empty_strided_cpu((4, 4, 32), (128, 32, 1), torch.float32)
        [0/0] [__output_code]     cpp_fused_gelu_backward_1(buf17, convolution, buf10, buf14)
        [0/0] [__output_code]     cpp_fused__unsafe_index_put_new_zeros_2(convert_element_type, buf7, buf10)
        [0/0] [__output_code]     del buf10

    ## When it is harmless
    Never, as far as we know. Not reported is a kernel that also writes something that is read,
    returned, or not the graph's own (inputs that are updated), one that checks or prints, and code
    that is cut off or not understood. A buffer that gets a second name counts as read, and one whose
    memory is used again where the first kernel that is called with it does not only fill it.

    ## What to do
    Compare results and gradients with eager code's. In torch 2.13 on the CPU it is the order that
    saves memory: switch that off. Seen in the training of `F.interpolate(mode="nearest")` of
    signals, and of `max_pool2d` with a smaller last batch.

    ## How a live run confirms it
    Not at all: the program compares its gradients with those of eager code.

    ## See also
    NUM001 (results that differ by rounding); IND009 (what index_put is otherwise)
    """  # noqa: E501 -- the excerpt is a line of a log

    code = "NUM003"
    name = "result-never-read"
    severity = Severity.ERROR
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """The kernels of a graph whose results nothing reads; the first names the others."""

        kernels: tuple[str, ...]
        buffers: tuple[str, ...]
        graph: str
        #: Another kernel uses one of the buffers, before it is filled.
        read_early: bool
        #: The line calls `F.interpolate`.
        interpolates: bool = False

    remedies = (
        Remedy(
            id="keep-order",
            text="Let Inductor keep the order of the graph. More memory may be used at once.",
            when="another kernel uses the buffer before it is filled",
            applies=lambda data: data.read_early,
            setting="torch._inductor.config.reorder_for_peak_memory = False",
            since="2.13",
            basis="tested",
            proof="tests/advice/NUM003/keep-order.py",
        ),
        Remedy(
            id="repeat-interleave",
            text="Or repeat the elements instead: for signals and a factor of 2 it gives what "
            '`F.interpolate(x, scale_factor=2, mode="nearest")` does.',
            code="x = x.repeat_interleave(2, -1)",
            when="a line that calls `interpolate`",
            applies=lambda data: data.interpolates,
            basis="tested",
            proof="tests/advice/NUM003/repeat-interleave.py",
        ),
    )

    def check(self, modules: Table[OutputModule], *, graphs: Table[FxGraph]) -> Iterator[Finding]:
        """Yield one finding for each graph with such kernels."""
        for row in modules:
            if found := list(never_read(row)):
                yield self._finding(found, graphs.derived(Lines))

    def _finding(self, found: list[NeverRead], lines: Lines) -> Finding:
        first = next((one for one in found if one.early is not None), found[0])
        graph = first.seen.record.graph
        frame = _line(first, lines)
        data = self.Data(
            kernels=tuple(one.kernel.kernel for one in found),
            buffers=tuple(name for one in found for name in one.buffers),
            graph=graph,
            read_early=first.early is not None,
            interpolates=frame is not None and "interpolate" in frame.code,
        )
        names = " and ".join(f"`{name}`" for name in first.buffers)
        early = (
            f" An earlier kernel uses it before it is filled: {_missing(graph)}."
            if first.early is not None
            else ""
        )
        more = f" So it is with {plural(len(found) - 1, 'more kernel')}." if found[1:] else ""
        what = "gradients" if graph == "backward" else "results"
        return self.finding(
            first.kernel.kernel,
            title=f"{what} may be wrong: Inductor fills a buffer that nothing reads",
            message=f"`{first.kernel.kernel}` (`{first.kernel.fused}`) writes {names}, which no "
            f"later call reads and which is not returned.{early}{more} Compare the {what} with "
            'those of eager code, or of `backend="aot_eager"`.',
            severity=Severity.ERROR if first.early is not None else Severity.WARNING,
            where=user_code.where(frame),
            count=len(found),
            evidence=[line for one in few(found) for line in _quotes(one)],
            advice=self.advise(data),
            data=data,
        )


def _missing(graph: str) -> str:
    return (
        "the gradients of the layers before it lack what is filled in later"
        if graph == "backward"
        else "its result lacks what is filled in later"
    )


def _line(one: NeverRead, lines: Lines) -> StackFrame | None:
    called = [name for op, name in CALLED.items() if op in one.kernel.fused]
    return user_code.best(lines.of(one.seen, one.step.comment, called))


def _quotes(one: NeverRead) -> Iterator[EvidenceLine]:
    if one.early is not None:
        yield quote(one.seen, one.early, f"uses {', '.join(one.buffers)} before it is filled")
    yield quote(one.seen, one.step, f"fills {', '.join(one.buffers)}, which nothing reads later")
