"""CGR006 output-overwritten."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.failures import Failure as Ending
from tracelens.logs.compile_errors import Failure
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity, Where
from tracelens.rules import Rule

__all__ = ["OutputOverwritten"]


class OutputOverwritten(Rule):
    """An output of a CUDA graph was read after a later call had overwritten it.

    ## Why it matters
    A CUDA graph writes its outputs to the same memory at every replay. The tensor of the call
    before is gone with the next call; torch notices it when the tensor is read, and stops the
    program. Kept losses, hidden states of the step before and lists of results are the usual cases.

    ## What it looks like
    An exception that names the line inside of the compiled function that made the tensor:

        RuntimeError: Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. Stack trace: File "/home/ana/proj/model.py", line 41, in scaled
            return torch.relu(x) * factor. To prevent overwriting, clone the tensor outside of torch.compile() or call torch.compiler.cudagraph_mark_step_begin() before each model invocation.

    ## When it is harmless
    Never: the program stops there, or it would compute with wrong values.

    ## What to do
    Clone what is kept, outside of the compiled function. ``cudagraph_mark_step_begin()``, which
    the message proposes too, only says where a step begins: it does not keep old outputs alive, and
    helps where several calls belong to one step of inference.

    ## How a live run confirms it
    The same calls with ``clone()``: the error is gone.

    ## See also
    CGR007 (outputs that still wait for their backward).
    <https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "CGR006"
    name = "output-overwritten"
    severity = Severity.ERROR
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """What was overwritten."""

        is_gradient: bool
        ended_program: bool = True

    remedies = (
        Remedy(
            id="clone",
            text="Clone what is kept from one call to the next, outside of the compiled function.",
            when="an output",
            applies=lambda data: not data.is_gradient,
            code="y = model(x).clone()",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            id="mark-step",
            text="Where several calls make one step of inference, say where the step begins.",
            when="an output",
            applies=lambda data: not data.is_gradient,
            code="torch.compiler.cudagraph_mark_step_begin()",
            since="2.1",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            id="make-gradients",
            text="For gradient accumulation, make the .grad tensors before the compiled backward "
            "runs.",
            when="a gradient",
            applies=lambda data: data.is_gradient,
            code="for p in model.parameters(): p.grad = torch.zeros_like(p)",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            id="drop-gradients",
            text="Otherwise drop the gradients before each backward.",
            when="a gradient",
            applies=lambda data: data.is_gradient,
            code="optimizer.zero_grad(set_to_none=True)",
            basis="untestable",
            proof="needs a GPU",
        ),
    )

    def check(self, *, failures: Table[Failure], endings: Table[Ending]) -> Iterator[Finding]:
        """Yield one finding per tensor and line that reads it."""
        read = failures.where(lambda one: one.topic == "overwritten-output")
        yield from map(self._finding, read)
        if not len(read):
            yield from map(
                self._pasted, endings.where(lambda one: one.cause == "output-overwritten")
            )

    def _pasted(self, seen: Seen[Ending]) -> Finding:
        """Return the finding of an error that came in a program's own words, or cut."""
        ending = seen.record
        gradient = "when a .grad tensor" in ending.message or "gradient" in ending.message
        data = self.Data(is_gradient=gradient, ended_program=ending.ended)
        what = "a gradient" if gradient else "an output"
        return self.finding(
            ending.file,
            title=f"{what} of a CUDA graph was read after the next call had overwritten it",
            message="The tensor lies in memory that every replay writes to.",
            where=Where(file=ending.file, line=ending.line) if ending.file else None,
            evidence=[seen.quote(at=ending.at)],
            advice=self.advise(data),
            data=data,
        )

    def _finding(self, seen: Seen[Failure]) -> Finding:
        failure = seen.record
        made = user_code.best(failure.user_stack)
        read = user_code.best(failure.stack_frames)
        gradient = "when a .grad tensor" in failure.message
        what = "a gradient" if gradient else "an output"
        by = f", which `{made.code}` made," if made and made.code else ""
        at = f" at `{read.code}`" if read and read.code else ""
        place = read or made
        data = self.Data(is_gradient=gradient)
        return self.finding(
            user_code.short(place.file) if place else "",
            place.code if place else "",
            made.code if made else "",
            title=f"{what} of a CUDA graph was read after the next call had overwritten it",
            message=f"The tensor{by} lies in memory that every replay writes to. It was read{at}, "
            f"after another call of the compiled function.",
            count=seen.count,
            where=user_code.where(place),
            evidence=[seen.quote(at=_line_of_error(seen))],
            advice=self.advise(data),
            data=data,
        )


def _line_of_error(seen: Seen[Failure]) -> int:
    lines = seen.text.split("\n")
    start = f"{seen.record.error}: "
    return next((i for i, line in enumerate(lines) if line.startswith(start)), 0)
