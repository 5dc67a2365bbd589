"""GBR021 first-call-only-breaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import records, sites
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.evidence import Seen, Table
from tracelens.experiment import EXPECTED
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.rules.gbr._site_rule import Line
from tracelens.words import few

__all__ = ["FirstCallOnlyBreaks"]

#: Places that are spelled out.
MAX_LISTED = 5


class FirstCallData(FindingData):
    """Graph breaks of a first call, and what it sets."""

    function: str
    cause: str
    records: int
    places: tuple[Line, ...]


class FirstCallOnlyBreaks(Rule):
    """The graph breaks in set-up code of the first call; from the second call on there is one graph.

    ## Why it matters
    It does not, once the model is warm. A log that begins with ten breaks looks alarming; where they
    are in code that installs hooks or prints a banner once, the second call is compiled again
    without any of them, and that is what runs.

    ## What it looks like
    Breaks in the first entry of a function, and a second entry because the model has changed
    itself, without a break:

        V1120 16:11:49.911000 16372 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:32
        V1120 16:11:49.911000 16372 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] Graph Break Reason: Failed to trace builtin operator
        V1120 16:11:49.911000 16372 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks]   Explanation: Dynamo does not know how to trace builtin operator `print`
        V1120 16:11:50.159000 16372 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] Recompiling function forward in /home/ana/proj/model.py:28
        V1120 16:11:50.159000 16372 torch/_dynamo/guards.py:5396] [0/1] [__recompiles]     triggered by the following guard failure(s):
        V1120 16:11:50.159000 16372 torch/_dynamo/guards.py:5396] [0/1] [__recompiles]     - 0/0: self.ready == False

    The other pages about graph breaks leave these out. Breaks of certain shapes or of training only
    are not meant: they come back with the shape, or the mode. Told from torch 2.7 on, which prints
    every break and not each place once.

    ## When it is harmless
    Always a note. The first call compiles some graphs more; RCP031 tells about the second
    compilation.

    ## What to do
    Nothing; or call the model once before compiling it, so that the set-up is done.

    ## How a live run confirms it
    The same calls after one eager call: no break is left.

    ## See also
    RCP031 (what the first call changes), GBR012 (breaks that stay).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.graph_breaks_index.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "GBR021"
    name = "first-call-only-breaks"
    severity = Severity.NONE
    moved_by: ClassVar = {"setup": ()}
    unconfirmable = EXPECTED

    Data = FirstCallData
    remedies = (
        Remedy(
            "first-call",
            "Nothing has to be done; one call of the model before it is compiled saves the extra "
            "graphs.",
            basis="tested",
            proof="tests/advice/GBR022/first-call.py",
        ),
    )

    def check(self, breaks: Table[GraphBreak], *, setup: Table[SetupBreak]) -> Iterator[Finding]:
        """Yield one note per function and change."""
        found: dict[tuple[str, str], list[Seen[SetupBreak]]] = {}
        for seen in setup:
            found.setdefault((seen.record.function, seen.record.cause), []).append(seen)
        for (function, cause), group in found.items():
            places = {(seen.record.file, seen.record.line, seen.record.family) for seen in group}
            broken = [
                site
                for site in sites(breaks)
                if (site.record.file, site.record.line, site.family) in places
            ]
            count = records(broken)
            listed = [
                user_code.short(site.line.file, site.line.line) for site in broken[:MAX_LISTED]
            ]
            data = FirstCallData(
                function=function,
                cause=cause,
                records=count,
                places=tuple(Line(file=s.record.file, line=s.record.line) for s in broken),
            )
            yield self.finding(
                function,
                cause,
                title=f"the first call of `{function}` breaks the graph, later calls do not",
                message=f"{count} graph breaks, at {', '.join(listed)}, are in code that runs "
                f"until `{cause}` is set. The function is then compiled again, without a break.",
                confidence=Confidence.MEDIUM,
                count=count,
                where=user_code.where(broken[0].line),
                evidence=[*few(broken[0].quotes()), group[0].quote("compiled again, without")],
                advice=self.advise(data),
                data=data,
                harmless="the later calls run one graph",
            )
