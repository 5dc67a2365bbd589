"""CGR006 output-overwritten."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.failures import Failure as Ending
from tracelens.logs._stack import StackFrame
from tracelens.logs.compile_errors import Failure
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity, Where
from tracelens.rules import Rule

__all__ = ["OutputOverwritten"]

#: How torch's advice begins, and a line that keeps what it computes on its module.
_ADVICE = ". To prevent overwriting"
_KEPT = re.compile(r"(self\.[A-Za-z_]\w{0,80})(?:\s*:[^=\n]{1,80})?\s*=(?!=)")


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
        #: It was given to a compiled function again, as a cache is from call to call.
        is_state: bool = False
        #: The attribute of a module in which compiled code itself keeps it.
        kept: str = ""
        ended_program: bool = True

    remedies = (
        Remedy(
            id="clone",
            text="Clone what is kept from one call to the next, outside of the compiled function.",
            when="an output that is read by the program",
            applies=lambda data: not (data.is_gradient or data.is_state or data.kept),
            code="y = model(x).clone()",
            basis="tested",
            proof="tests/advice/CGR006/clone.py",
        ),
        Remedy(
            id="mark-step",
            text="Where several calls make one step of inference, say where the step begins.",
            when="an output that is read by the program",
            applies=lambda data: not (data.is_gradient or data.is_state or data.kept),
            code="torch.compiler.cudagraph_mark_step_begin()",
            since="2.1",
            basis="tested",
            proof="tests/advice/CGR006/mark-step.py",
        ),
        Remedy(
            id="make-before",
            text=lambda data: (
                f"Where `{data.kept or 'self.name'}` is the same in every call, make it in "
                "`__init__`, as a buffer; where it comes of the inputs, write it into a buffer "
                "that is made there. It is no output: a clone of what the function returns does "
                "not reach it."
            ),
            when="compiled code keeps a tensor that it made in an attribute",
            applies=lambda data: bool(data.kept) and not data.is_gradient,
            code=lambda data: (
                f'self.register_buffer("{data.kept.removeprefix("self.") or "name"}", value, '
                "persistent=False)  # in forward, if need be: "
                f"{data.kept or 'self.name'}.copy_(value)"
            ),
            basis="untestable",
            proof="needs a GPU; "
            "https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html",
            edits=True,
        ),
        Remedy(
            id="make-state",
            text="Make what is kept from call to call, such as a cache, before the first call and "
            "outside of the compiled function; or clone it there once it is made.",
            when="an output that is given to compiled code again",
            applies=lambda data: data.is_state and not data.kept,
            basis="untestable",
            proof="needs a GPU; on one, a cache that transformers made before the first call ran, "
            "and one that compiled code made raised",
        ),
        Remedy(
            id="make-gradients",
            text="For gradient accumulation, make the .grad tensors before the compiled backward "
            "runs.",
            when="a gradient",
            applies=lambda data: data.is_gradient,
            code="for p in model.parameters(): p.grad = torch.zeros_like(p)",
            basis="tested",
            proof="tests/advice/CGR006/make-gradients.py",
        ),
        Remedy(
            id="drop-gradients",
            text="Otherwise drop the gradients before each backward.",
            when="a gradient",
            applies=lambda data: data.is_gradient,
            code="optimizer.zero_grad(set_to_none=True)",
            basis="tested",
            proof="tests/advice/CGR006/drop-gradients.py",
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
        kept = "" if gradient else _kept(_last_code(seen.text))
        data = self.Data(is_gradient=gradient, kept=kept, ended_program=ending.ended)
        what = "a gradient" if gradient else "an output"
        return self.finding(
            ending.file,
            title=f"{what} of a CUDA graph was read after the next call had overwritten it",
            message=f"The tensor{_made_there(kept)} lies in memory that every replay writes to.",
            where=Where(file=ending.file, line=ending.line) if ending.file else None,
            evidence=[seen.quote(at=ending.at)],
            advice=self.advise(data),
            data=data,
        )

    def _finding(self, seen: Seen[Failure]) -> Finding:
        failure = seen.record
        made = user_code.best(failure.user_stack)
        read = user_code.best(failure.stack_frames)
        gradient = "when a .grad tensor" in failure.message or _is_accumulated(failure, made)
        state = not gradient and any(user_code.is_generated(f.file) for f in failure.stack_frames)
        what = "a gradient" if gradient else "an output"
        by = f", which `{made.code}` made," if made and made.code else ""
        at = f" at `{read.code}`" if read and read.code else ""
        place = read or made
        if state:
            at = " by compiled code, to which it was given"
        kept = "" if gradient else _kept(made.code if made else "")
        data = self.Data(is_gradient=gradient, is_state=state, kept=kept)
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


def _kept(code: str) -> str:
    """Return the attribute that a line of compiled code puts a tensor in: ``self.inv_freq``."""
    found = _KEPT.match(code)
    return found[1] if found else ""


def _made_there(kept: str) -> str:
    return f", which compiled code makes and keeps in `{kept}`," if kept else ""


def _last_code(text: str) -> str:
    """Return the line of code before torch's advice, which stands behind it or below."""
    above = text.partition(_ADVICE)[0].split("\n")
    lines = (line for line in reversed(above) if line.strip(" ^~"))
    return next(lines, "").strip()


def _is_accumulated(failure: Failure, made: StackFrame | None) -> bool:
    """Return whether autograd read it, adding a gradient to the one of the step before.

    Before torch 2.13 the message does not tell; of what a backward pass made, no line is known.
    """
    last = failure.stack_frames[-1] if failure.stack_frames else None
    return made is None and last is not None and last.function == "_engine_run_backward"


def _line_of_error(seen: Seen[Failure]) -> int:
    lines = seen.text.split("\n")
    start = f"{seen.record.error}: "
    return next((i for i, line in enumerate(lines) if line.startswith(start)), 0)
