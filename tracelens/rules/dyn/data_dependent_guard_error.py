"""DYN001 data-dependent-guard-error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.frames import Frame
from tracelens.logs._stack import StackFrame
from tracelens.report import Advice, Finding, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.logs.compile_errors import Failure

__all__ = ["DataDependentGuardError"]

#: How torch begins a line that proposes a fix: ``1. torch._check(u0 > 4)``.
CHECK = "torch._check("
#: The distance from which on a frame is torch's own.
OWN = 2


class DataDependentGuardError(Rule):
    """Compiling stopped at a decision about a number that is only known when the graph runs.

    ## Why it matters
    A number that comes out of a tensor (``.item()``, ``nonzero``, a length) is a symbol ``u0``
    without a value. A branch on it, or an operation that needs to know it, stops the compilation:
    under ``fullgraph=True`` and in ``torch.export`` with an error, otherwise with a graph break.

    ## What it looks like
    An exception that names the condition, mostly with the user's line below it:

        torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: Could not guard on data-dependent expression u0 > 4 (unhinted: u0 > 4).  (Size-like symbols: none)

        Caused by: if n > 4:  # proj/model.py:24 in branch (_dynamo/variables/tensor.py:2606 in evaluate_expr)

    ## When it is harmless
    Where the program catches the error and goes on: a note, when the log shows later compilations.
    ``torch.export`` tries more than one way, and prints the errors of those that failed.

    ## What to do
    Say what always holds with ``torch._check``, before the line; or ask in a way that takes "not
    known" for an answer (``guard_or_false``); or move the branch out, or into ``torch.cond``.

    ## How a live run confirms it
    The same call with the check in it: the error is gone.

    ## See also
    GBR001 and GBR002 (the same where graph breaks are allowed), DYN002.
    <https://docs.pytorch.org/docs/stable/torch.compiler_dynamic_shapes.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "DYN001"
    name = "data-dependent-guard-error"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM

    def check(self, *, failures: Table[Failure], frames: Table[Frame]) -> Iterator[Finding]:
        """Yield one finding per condition and line: an exception is often raised twice."""
        groups: dict[tuple[str, str, str], list[Seen[Failure]]] = {}
        for row in failures:
            if row.record.topic == "data-dependent":
                line = _line(row.record)
                file = user_code.short(line.file) if line else ""
                key = (_expression(row.record), file, line.code if line else "")
                groups.setdefault(key, []).append(row)
        for key, rows in groups.items():
            yield self._finding(key, rows, frames)

    def _finding(
        self, key: tuple[str, str, str], rows: list[Seen[Failure]], frames: Table[Frame]
    ) -> Finding:
        last = rows[-1]
        expression, _, code = key
        line = _line(last.record)
        went_on = any(
            row.first.input == last.first.input
            and row.first.line > last.first.line
            and row.first.frame != last.first.frame
            for row in frames
        )
        at = f" at `{code}`" if code else ""
        end = " The program went on: the log shows later compilations." if went_on else ""
        return self.finding(
            *key,
            title=f"`{expression}` cannot be decided while compiling{at}",
            message=f"The symbols u0, u1, ... stand for numbers that come out of tensors, and are "
            f"only known when the graph runs. Compiling needed to know `{expression}`.{end}",
            severity=Severity.INFO if went_on else self.severity,
            count=sum(row.count for row in rows),
            where=user_code.where(line),
            evidence=[row.quote(at=_line_of_error(row)) for row in rows[:2]],
            advice=[*(_proposed(last.record) or [_STATE]), *_ADVICE],
        )


def _expression(failure: Failure) -> str:
    return failure.message.partition(" (unhinted: ")[0].strip()


def _line(failure: Failure) -> StackFrame | None:
    """Return the user's line: that at which Dynamo was, else the innermost of the traceback.

    Torch's own line is no place to change anything, and worse than none.
    """
    for stack in (failure.user_stack, failure.stack_frames):
        line = user_code.best(stack)
        if line is not None and user_code.distance(line.file, line.function) < OWN:
            return line
    return None


def _line_of_error(row: Seen[Failure]) -> int:
    lines = row.text.split("\n")
    return next((at for at, line in enumerate(lines) if line.startswith(row.record.error)), 0)


def _proposed(failure: Failure) -> list[Advice]:
    """Return what torch itself proposes, where it does."""
    found = [
        f"{CHECK}{rest}"
        for detail in failure.details
        for _, check, rest in [detail.partition(CHECK)]
        if check and detail[:1].isdecimal()
    ]
    return (
        [Advice(text="Add the one of these checks that always holds.", code="\n".join(found))]
        if found
        else []
    )


_STATE = Advice(
    text="Say what always holds, before the line.",
    code="torch._check(n <= x.shape[0])",
    since="2.2",
)
_ADVICE = (
    Advice(
        text="Or ask in a way that takes not knowing for no.",
        code="from torch.fx.experimental.symbolic_shapes import guard_or_false\n"
        "if guard_or_false(n > 4): ...",
        since="2.8",
    ),
    Advice(
        text="Or keep both sides in the graph.",
        code="torch.cond(n > 4, double, relu, (x,))",
        since="2.1",
    ),
)
