"""GBR013 suppressed-errors."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.logs.graph_breaks import GraphBreak, NotConverted
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity, Where, stories
from tracelens.rules import Rule

__all__ = ["SuppressedErrors"]


#: What Dynamo raises where a graph breaks.
_UNSUPPORTED = "Unsupported"
#: Errors of operators whose result depends on the data: they break the graph, and one more of them
#: behind a break ends the compiling of what is left.
_UNKNOWN = ("DynamicOutputShapeException", "DataDependentOutputException")


class SuppressedData(FindingData):
    """A function that runs eagerly because compiling it failed."""

    function: str
    file: str
    line: int
    error: str = ""
    #: Whether Dynamo gave it up by itself at a graph break, of which the log has no record.
    is_given_up: bool = False


def _disabled(data: SuppressedData) -> str:
    """Return how to leave the function out: in a package, from outside of it."""
    if not user_code.package(data.file):
        return "@torch.compiler.disable"
    owner = f"OWNER.{stories.as_written(data.function)}"
    return (
        f"{owner} = torch.compiler.disable({owner})  # OWNER: the class or module that "
        f"defines it, at {user_code.short(data.file, data.line)}"
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
            "leave-out",
            lambda data: (
                f"Leave `{stories.as_written(data.function)}` out on purpose until it is fixed."
            ),
            when="its error was suppressed",
            applies=lambda data: not data.is_given_up,
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
            applies=lambda data: bool(data.error) and not data.is_given_up,
            basis="untestable",
            proof="a report changes nothing in the program",
        ),
    )

    def follows(self, finding: Finding) -> Iterator[stories.Story]:
        """Follow from the error, where a rule knows it, or from the break before it."""
        data = self.data_of(finding)
        if isinstance(data, SuppressedData):
            yield stories.left_out(data.function, data.file)
            if any(one in data.error for one in _UNKNOWN):
                yield from stories.resumed(data.function, data.file)

    def check(
        self, *, skipped: Table[NotConverted], breaks: Table[GraphBreak]
    ) -> Iterator[Finding]:
        """Yield one finding per function; torch prints these lines without being asked.

        What Dynamo gives up at a graph break is told with the break, where the log has its record.
        """
        for seen in skipped:
            record = seen.record
            given_up = record.is_soft
            if given_up and (len(breaks) or _UNSUPPORTED not in record.error):
                continue
            data = SuppressedData(
                function=record.function,
                file=record.file,
                line=record.line,
                error=record.error,
                is_given_up=given_up,
            )
            error = f" The error: {record.error}." if record.error else ""
            name = stories.as_written(record.function)
            behind = "" if name == record.function else " behind its graph break"
            told = f"`{name}`" if name == record.function else f"the rest of `{name}`"
            place = f"{told} ({user_code.short(record.file, record.line)}) was not compiled: "
            why = f"Dynamo gave {told} up at a graph break" if given_up else ""
            why = why or f"Compiling {told}{behind} failed"
            yield self.finding(
                record.function,
                user_code.short(record.file),
                title=place + ("Dynamo gave it up" if given_up else "its error was suppressed"),
                message=f"{why}, so it runs eagerly.{error}",
                severity=Severity.WARNING if given_up else None,
                count=seen.count,
                where=Where(file=record.file, line=record.line, function=record.function),
                evidence=[seen.quote()],
                advice=self.advise(data),
                data=data,
            )
