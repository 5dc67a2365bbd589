"""DYN001 data-dependent-guard-error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.drawn import drawn_by
from tracelens.dynamo.empties import asks_empty, leave_out
from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.frames import Frame
from tracelens.logs._stack import StackFrame
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity, Where
from tracelens.rules import Rule
from tracelens.words import few

if TYPE_CHECKING:
    from tracelens.failures import Failure as Ending
    from tracelens.logs.compile_errors import Failure

__all__ = ["DataDependentGuardError"]

#: How torch begins a line that proposes a fix: ``1. torch._check(u0 > 4)``.
CHECK = "torch._check("
#: The distance from which on a frame is torch's own.
OWN = 2
#: The condition, and the line that asks, as every form of the message names them.
_CONDITION = re.compile(
    r"(?:data-dependent expression|expression we were trying to evaluate is) (.{1,300}?)"
    r"(?: \(unhinted: |\. |\n|$)"
)
_CAUSED = re.compile(r"Caused by: ([^\n#]{1,200}?) *(?:#|\n|$)")
#: How torch names a number that it does not know.
_SYMBOL = re.compile(r"\b(?:u|zuf)\d{1,6}\b")
#: A branch on one comparison: with ``and`` or ``not`` in it, Python itself asks for the truth.
_BRANCH = re.compile(r"(?P<word>if|elif) (?P<condition>[^:]*[<>=!][^:]*):")
_ASKS = re.compile(r"\b(?:and|or|not|in|is|if)\b")
_SIGN = re.compile(r"[<>]=?|==|!=")
#: How torch writes a comparison, whichever side the number is on.
_WRITTEN = {
    "==": ("Eq(",),
    "!=": ("Ne(",),
    "<": (" < ", " > "),
    ">": (" > ", " < "),
    "<=": (" <= ", " >= "),
    ">=": (" >= ", " <= "),
}


class DataDependentData(FindingData):
    """A decision about a number that comes out of a tensor."""

    #: As torch prints it: ``u0 > 4``.
    expression: str
    #: The user's line that asks, where it is known.
    file: str = ""
    line: int = 0
    function: str = ""
    code: str = ""
    #: The checks that torch proposes: ``torch._check(n > 4)``.
    proposed: tuple[str, ...] = ()
    #: Whether the log shows later compilations.
    went_on: bool = False
    ended_program: bool = False

    @property
    def condition(self) -> str:
        """The condition as the program writes it, ``n > 4``; empty where the line is no branch."""
        found = _BRANCH.fullmatch(self.code)
        if found is None or _ASKS.search(found["condition"]):
            return ""
        return found["condition"] if _is_same(found["condition"], self.expression) else ""

    @property
    def branch(self) -> str:
        """The branch with the same condition, for which "not known" is no; empty without one."""
        word = self.code.partition(" ")[0]
        return f"{word} guard_or_false({self.condition}):" if self.condition else ""

    @property
    def asked(self) -> str:
        """What could not be decided, in words of the program where its line has them."""
        if self.condition:
            return f"`{self.condition}`"
        if self.expression.startswith("a "):
            return self.expression
        return f"a condition on a tensor's values (`{self.expression}`)"


def _is_emptiness(data: DataDependentData) -> bool:
    return user_code.package(data.file) == "" and asks_empty(data.code)


def _is_drawn(data: DataDependentData) -> bool:
    return bool(drawn_by(data.code))


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
    Leave a branch out that only asks whether a result is empty. Say what always holds with
    ``torch._check``, before the line; or move the branch out, or into ``torch.cond``. Where the
    branch only saves work, ask in a way that takes "not known" for no (``guard_or_false``): what
    stands below it is then never run in compiled code.

    ## How a live run confirms it
    The same call with the check in it: the error is gone.

    ## See also
    GBR001 and GBR002 (the same where graph breaks are allowed), DYN002.
    <https://docs.pytorch.org/docs/stable/torch.compiler_dynamic_shapes.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "DYN001"
    name = "data-dependent-guard-error"
    severity = Severity.WARNING
    moved_by: ClassVar = {
        "failures.topic": {"data-dependent"},
        "endings.cause": {"data-dependent"},
    }
    unconfirmable = IN_THE_PROGRAM
    Data = DataDependentData
    remedies = (
        Remedy(
            "take-empty",
            lambda data: leave_out(data.code),
            when="a branch that asks whether the result of an operator is empty",
            applies=_is_emptiness,
            basis="tested",
            proof="tests/advice/DYN001/take-empty.py",
            edits=True,
        ),
        Remedy(
            "draw-before",
            "The number is drawn in compiled code, where it is a tensor. Draw it before the "
            "compiled function is called, and pass it in: as a bool where Python branches on it.",
            when="a line that draws a number with Python's or NumPy's generator",
            applies=_is_drawn,
            basis="tested",
            proof="tests/advice/DYN001/draw-before.py",
            edits=True,
        ),
        Remedy(
            "proposed-check",
            "Before the line, add the one of these checks that always holds.",
            when="torch proposes checks",
            applies=lambda data: bool(data.proposed) and not _is_drawn(data),
            code=lambda data: "\n".join(data.proposed),
            since="2.2",
            basis="source",
            proof="torch's own message; it names the user's variables",
            edits=True,
        ),
        Remedy(
            "check",
            lambda data: (
                "If it always holds, say so before the line."
                if data.condition
                else "If it is known whether the condition holds, say so before the line, with "
                "`torch._check` on the number that the tensor gives."
            ),
            when="torch proposes no checks, and the branch does not ask whether a result is empty",
            applies=lambda data: not (data.proposed or _is_emptiness(data) or _is_drawn(data)),
            code=lambda data: f"torch._check({data.condition})" if data.condition else None,
            since="2.2",
            basis="tested",
            proof="tests/advice/DYN001/check.py",
            edits=True,
        ),
        Remedy(
            "cond",
            "Or keep both sides in the graph, with `torch.cond`.",
            when="a branch",
            applies=lambda data: data.code.startswith(("if ", "elif ")) and not _is_drawn(data),
            since="2.1",
            basis="tested",
            proof="tests/advice/DYN001/cond.py",
            edits=True,
        ),
        Remedy(
            "guard-or-false",
            "Only where the result is right without what stands below the branch, as where that "
            "saves work: compiled code then leaves it out in every call, whatever the number is.",
            when="a branch on one comparison, which decides no more than how fast it is",
            applies=lambda data: bool(data.branch) and not (_is_emptiness(data) or _is_drawn(data)),
            code=lambda data: (
                "from torch.fx.experimental.symbolic_shapes import guard_or_false\n" + data.branch
            ),
            since="2.8",
            basis="tested",
            proof="tests/advice/DYN001/guard-or-false.py",
            edits=True,
        ),
    )

    def check(
        self, *, failures: Table[Failure], frames: Table[Frame], endings: Table[Ending]
    ) -> Iterator[Finding]:
        """Yield one finding per condition and line: an exception is often raised twice."""
        told = endings.where(lambda one: one.cause == "data-dependent")
        ended = {row.first.input for row in told if row.record.ended}
        groups: dict[tuple[str, str, str], list[Seen[Failure]]] = {}
        for row in failures:
            if row.record.topic == "data-dependent":
                line = _line(row.record)
                file = user_code.short(line.file) if line else ""
                key = (_expression(row.record), file, line.code if line else "")
                groups.setdefault(key, []).append(row)
        for key, rows in groups.items():
            yield self._finding(key, rows, frames, ended=rows[-1].first.input in ended)
        if not groups:
            yield from map(self._pasted, told)

    def _pasted(self, seen: Seen[Ending]) -> Finding:
        """Return the finding of an error that came in a program's own words, or cut."""
        ending = seen.record
        found = _CONDITION.search(ending.message)
        caused = _CAUSED.search(seen.text)
        lines = [one for one in ending.stack if (one.file, one.line) == (ending.file, ending.line)]
        data = DataDependentData(
            expression=" ".join(found[1].split()) if found else "a condition on a tensor's values",
            file=ending.file,
            line=ending.line,
            function=ending.function,
            code=caused[1] if caused else lines[-1].code if lines else "",
            ended_program=ending.ended,
        )
        return self.finding(
            data.expression,
            ending.file,
            data.code,
            title=f"{data.asked} cannot be decided while compiling",
            message=_told(data),
            severity=Severity.ERROR if ending.ended else self.severity,
            where=Where(file=ending.file, line=ending.line) if ending.file else None,
            evidence=[seen.quote(at=ending.at)],
            advice=self.advise(data),
            data=data,
        )

    def _finding(
        self,
        key: tuple[str, str, str],
        rows: list[Seen[Failure]],
        frames: Table[Frame],
        *,
        ended: bool,
    ) -> Finding:
        last = rows[-1]
        expression, _, code = key
        line = _line(last.record)
        data = DataDependentData(
            expression=expression,
            file=line.file if line else "",
            line=line.line if line else 0,
            function=line.function if line else "",
            code=code,
            proposed=_proposed(last.record),
            went_on=_went_on(last, frames),
        )
        if ended and not data.went_on:
            data = data.model_copy(update={"ended_program": True})
        grave = Severity.ERROR if data.ended_program else self.severity
        at = f" at `{code}`" if code and not data.condition else ""
        end = " The program went on: the log shows later compilations." if data.went_on else ""
        return self.finding(
            *key,
            title=f"{data.asked} cannot be decided while compiling{at}",
            message=_told(data) + end,
            severity=Severity.INFO if data.went_on else grave,
            count=sum(row.count for row in rows),
            where=user_code.where(line),
            evidence=[row.quote(at=_line_of_error(row)) for row in few(rows)],
            advice=self.advise(data),
            data=data,
        )


def _is_same(condition: str, expression: str) -> bool:
    """Whether torch asked for the branch itself, and not for something that its line computes."""
    found = _SIGN.search(condition)
    if found is None:
        return False
    number = condition[found.end() :].strip()
    if number.isdecimal() and not re.search(rf"\b{number}\b", expression):
        return False
    return any(one in expression for one in _WRITTEN[found[0]])


def _told(data: DataDependentData) -> str:
    """Say what compiling needed to know, and what the names in it are that no program has."""
    needed = f"Compiling needed to know {data.asked}, which is only known when the graph runs."
    names = " and ".join(f"`{name}`" for name in dict.fromkeys(_SYMBOL.findall(data.expression)))
    if not names:
        return needed
    verb = "are numbers" if " and " in names else "is a number"
    written = f"Torch writes it `{data.expression}`: " if data.condition else ""
    return f"{needed} {written}{names} {verb} out of a tensor."


def _went_on(last: Seen[Failure], frames: Table[Frame]) -> bool:
    return any(
        row.first.input == last.first.input
        and row.first.line > last.first.line
        and row.first.frame != last.first.frame
        for row in frames
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


def _proposed(failure: Failure) -> tuple[str, ...]:
    """Return the checks that torch itself proposes, where it does."""
    return tuple(
        f"{CHECK}{rest}"
        for detail in failure.details
        for _, check, rest in [detail.partition(CHECK)]
        if check and detail[:1].isdecimal() and not _SYMBOL.search(rest)
    )
