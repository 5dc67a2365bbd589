"""GBR013 suppressed-errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.leaving_out import left_out
from tracelens.evidence import Seen, Table
from tracelens.logs.graph_breaks import GraphBreak, NotConverted
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity, Where, stories
from tracelens.rules import Rule
from tracelens.rules.gbr._ranges import entries, of_library
from tracelens.rules.gbr._site_rule import Code, Line

__all__ = ["SuppressedErrors"]


#: Functions that are quoted and listed.
MAX_QUOTED = 3
#: What Dynamo raises where a graph breaks.
#: What torch says of a compiler's error, before it quotes it.
_NO_WORDS = "C++ compile error"
_UNSUPPORTED = "Unsupported"
#: Errors of operators whose result depends on the data: they break the graph, and one more of them
#: behind a break ends the compiling of what is left.
_UNKNOWN = ("DynamicOutputShapeException", "DataDependentOutputException")
#: The operator that reads a number out of a tensor, which no backend can do without its data.
_NUMBER = "aten._local_scalar_dense"


class SuppressedData(FindingData):
    """A function that runs eagerly because compiling it failed."""

    function: str
    file: str
    line: int
    error: str = ""
    #: Whether Dynamo gave it up by itself at a graph break, of which the log has no record.
    is_given_up: bool = False
    #: The line that calls the operator which failed, where the log names it.
    operator: Code | None = None
    #: Further functions around that line that run eagerly for the same error.
    others: tuple[Line, ...] = ()


def _innermost(data: SuppressedData) -> tuple[str, str, int]:
    """Return the function to leave out, with its place: the one that calls the operator."""
    at = data.operator or Line(file=data.file, line=data.line, function=data.function)
    return stories.as_written(at.function), at.file, at.line


def _disabled(data: SuppressedData) -> str | None:
    """Return how to leave the function out: in a package, from outside of it."""
    function, file, line = _innermost(data)
    return left_out(function, file, line) if function.isidentifier() else None


def _left_out(data: SuppressedData) -> str:
    function, file, line = _innermost(data)
    at = f" ({user_code.short(file, line)})" if data.operator is not None else ""
    if not function.isidentifier():  # a lambda, a comprehension: nothing can stand above it
        return f"Leave the function that holds {user_code.short(file, line)} out until it is fixed."
    return f"Leave `{function}`{at} out on purpose until it is fixed."


def _is_number(data: SuppressedData) -> bool:
    """Whether the operator is given a tensor where it takes a number."""
    return _reads(data) and not _package(data)


def _package(data: SuppressedData) -> str:
    return user_code.package(_innermost(data)[1])


def _reads(data: SuppressedData) -> bool:
    """Whether what fails is a number that is read out of a tensor at a line that is known."""
    return _NUMBER in data.error and data.operator is not None


def _is_kept(data: SuppressedData) -> bool:
    """Whether modules of a package seem to keep the number: it is read by a literal."""
    return _reads(data) and bool(_package(data) and _entries(data))


def _entries(data: SuppressedData) -> tuple[str, ...]:
    return entries(data.operator.code) if data.operator is not None else ()


#: An entry by a name, ``self.sigmas[t]``: a tensor without dimensions is read as a number there.
_ENTRY = re.compile(r"(?<![\w.])((?:\w{1,60}\.){0,4}\w{1,60})\[([A-Za-z_]\w{0,60})\]")


def _numbers(data: SuppressedData) -> str:
    called = data.operator
    at = user_code.short(called.file, called.line) if called else ""
    entry = _ENTRY.search(called.code) if called else None
    if entry is not None:
        return (
            f"At {at} `{entry[2]}` is a tensor without dimensions, which is read as a number: give "
            f"it one, `{entry[1]}[{entry[2]}.view(1)]`, a tensor of one element, and compute with "
            "that."
        )
    return (
        f"An argument of the operator at {at} is a tensor where it takes a number, such as a "
        "stride: give it a Python number, made by `int()` once, where the module is built."
    )


class SuppressedErrors(Rule):
    """Compiling a function failed, the error was suppressed, and the function runs eagerly.

    ## Why it matters
    With ``suppress_errors`` a failure of the compiler looks like a slow model: the function
    silently runs without a graph. The log is the only place that says so.

    ## What it looks like
        [15/0] [__graph_breaks] WON'T CONVERT forward /home/ana/proj/model.py line 12

    ## When it is harmless
    Never: either the failure is a bug to report, or the function should not be compiled. Functions
    that Dynamo leaves out because of a graph break, or at its recompile limit, stand in the log of
    ``TORCH_LOGS="dynamo"`` in the same words: they are no errors, and rules about breaks and limits
    tell them. Where the log has no record of any break, a function that was given up is a warning.

    ## What to do
    Let the error through, and report it; meanwhile leave the function out on purpose.

    ## How a live run confirms it
    The same calls with errors let through stop at the same function.

    ## See also
    GBR012 (all breaks).
    <https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html>
    """

    code = "GBR013"
    name = "suppressed-errors"
    severity = Severity.ERROR
    moved_by: ClassVar = {"skipped": ()}
    unconfirmable = "letting the errors through stops the program; what they say is in the finding"

    Data = SuppressedData
    remedies = (
        Remedy(
            "see-breaks",
            "See where the graph breaks, and what helps there.",
            when="Dynamo gave the function up at a graph break",
            applies=lambda data: data.is_given_up,
            env='TORCH_LOGS="graph_breaks"',
            basis="untestable",
            proof="it records more",
        ),
        Remedy(
            "let-through",
            "See the whole error: take `suppress_errors = True` out of the program, or "
            "TORCHDYNAMO_SUPPRESS_ERRORS out of its environment.",
            when="the log does not hold the error",
            applies=lambda data: not data.error,
            basis="untestable",
            proof="the error then stops the program, which is what is wanted",
        ),
        Remedy(
            "numbers",
            _numbers,
            when="a number is read out of a tensor, which an operator in code of your own gets",
            applies=_is_number,
            basis="tested",
            proof="tests/advice/GBR013/numbers.py",
        ),
        of_library(
            _is_kept,
            lambda data: (_package(data), "The numbers that the operator takes", _entries(data)),
            "tests/advice/GBR013/ranges-of-package.py",
        ),
        Remedy(
            "leave-out",
            _left_out,
            when="its error was suppressed, and it is no number that modules of a package keep",
            applies=lambda data: not (data.is_given_up or _is_kept(data)),
            code=_disabled,
            since="2.1",
            basis="tested",
            proof="tests/advice/GBR013/leave-out.py",
        ),
        Remedy(
            "report",
            "If the error is torch's or the backend's and not the program's, report it with the "
            "traceback below `WON'T CONVERT` in the log.",
            when="the log holds the error",
            applies=lambda data: bool(data.error) and not (data.is_given_up or _is_kept(data)),
            basis="untestable",
            proof="a report changes nothing in the program",
        ),
    )

    def causes(self, finding: Finding) -> Iterator[stories.Story]:
        """Tell of the breaks that torch records of an operator that its backend cannot compile."""
        data = self.data_of(finding)
        if isinstance(data, SuppressedData) and data.operator is not None:
            yield stories.backend_failed()

    def follows(self, finding: Finding) -> Iterator[stories.Story]:
        """Follow from the error, where a rule knows it, or from the break before it."""
        data = self.data_of(finding)
        if isinstance(data, SuppressedData):
            yield stories.left_out(data.function, data.file)
            if any(one in data.error for one in _UNKNOWN) and data.operator is None:
                yield from stories.resumed(data.function, data.file)

    def check(
        self, *, skipped: Table[NotConverted], breaks: Table[GraphBreak]
    ) -> Iterator[Finding]:
        """Yield one finding per function; torch prints these lines without being asked.

        What Dynamo gives up at a graph break is told with the break, where the log has its record.
        Functions around one operator that cannot be compiled are one finding.
        """
        found: dict[tuple[object, ...], list[Seen[NotConverted]]] = {}
        for seen in skipped:
            record = seen.record
            if record.is_soft and (len(breaks) or _UNSUPPORTED not in record.error):
                continue
            operator = user_code.best(record.stack)
            place = (operator.file, operator.line) if operator else (record.file, record.line)
            key = (*place, operator is None and record.function, record.error)
            found.setdefault(key, []).append(seen)
        for same in found.values():
            yield self._finding(same)

    def _finding(self, same: list[Seen[NotConverted]]) -> Finding:
        """Return the finding about a function, or about all around one operator."""
        record, given_up = same[0].record, same[0].record.is_soft
        called = user_code.best(record.stack)
        functions = list(dict.fromkeys(_line(seen.record) for seen in same))
        data = SuppressedData(
            function=record.function,
            file=record.file,
            line=record.line,
            error=record.error,
            is_given_up=given_up,
            operator=Code(
                file=called.file, line=called.line, function=called.function, code=called.code
            )
            if called is not None
            else None,
            others=tuple(functions[1:]),
        )
        error = f" The error: {record.error}." if record.error else ""
        if record.error.endswith(_NO_WORDS) and not any(map(_has_output, same)):
            error += " What the compiler said, below `Output:`, is not in the log."
        name = stories.as_written(record.function)
        behind = "" if name == record.function else " behind its graph break"
        told = f"`{name}`" if name == record.function else f"the rest of `{name}`"
        at = f" ({user_code.short(record.file, record.line)})"
        title = f"{told}{at} was not compiled: its error was suppressed"
        message = f"Compiling {told}{behind} failed, so it runs eagerly.{error}"
        if given_up:
            title = f"{told}{at} was not compiled: Dynamo gave it up"
            message = f"Dynamo gave {told} up at a graph break, so it runs eagerly.{error}"
        elif called is not None:
            line = user_code.short(called.file, called.line)
            number = len(functions)
            lost = f"{number} functions around it run" if number > 1 else f"{told} runs"
            title = f"the operator at {line} cannot be compiled: {lost} eagerly"
            if _reads(data):
                title = f"an operator at {line} reads a number out of a tensor: {lost} eagerly"
            message = (
                f"Compiling {_listed(functions)} failed at {_shown(called.code, line)}.{error}"
            )
        return self.finding(
            record.function,
            user_code.short(record.file),
            title=title,
            message=message,
            severity=Severity.WARNING if given_up else None,
            count=sum(seen.count for seen in same),
            where=user_code.where(called)
            or Where(file=record.file, line=record.line, function=record.function),
            evidence=[seen.quote() for seen in same[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )


def _has_output(seen: Seen[NotConverted]) -> bool:
    """Tell whether what the compiler said stands below the error."""
    return "Output:" in seen.text or "error: " in seen.text


def _line(record: NotConverted) -> Line:
    return Line(file=record.file, line=record.line, function=record.function)


def _listed(functions: list[Line]) -> str:
    shown = [
        f"`{stories.as_written(one.function)}` ({user_code.short(one.file, one.line)})"
        for one in functions[:MAX_QUOTED]
    ]
    more = len(functions) - MAX_QUOTED
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _shown(code: str, line: str) -> str:
    return f"`{code}` ({line})" if code else line
