"""GBR003 print-or-builtin."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite, effect, once, sites
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.report import Advice, Finding, Severity
from tracelens.rules import Rule

__all__ = ["PrintOrBuiltin"]


class PrintOrBuiltin(Rule):
    """``print``, ``open``, ``id``, a clock or another builtin of Python breaks the graph.

    ## Why it matters
    A builtin with an effect outside of the graph cannot be traced. The graph ends before it and a
    new one begins after it: more launches, more guards, no fusion across the line.

    ## What it looks like
    The name stands in the explanation and in the context:

        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:7
        [0/0] [__graph_breaks] Graph Break Reason: Failed to trace builtin operator
        [0/0] [__graph_breaks]   Explanation: Dynamo does not know how to trace `print`.
        [0/0] [__graph_breaks]
        [0/0] [__graph_breaks]   Developer debug context: builtin print [<class 'str'>] False

    Up to torch 2.6: ``builtin: print [...]``; 2.1: ``call_function BuiltinVariable(print)``.

    ## When it is harmless
    In code that runs once, while a model warms up. Inside a ``try`` or a loop it costs the whole
    function.

    ## What to do
    Remove it. A ``print`` may also be moved behind the graph by Dynamo:
    ``torch._dynamo.config.reorderable_logging_functions.add(print)``.

    ## How a live run confirms it
    The same calls without the line: one graph less per call.

    ## See also
    GBR004 (loggers), GBR009 (functions that are not traced), GBR012 (all breaks).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html>
    """

    code = "GBR003"
    name = "print-or-builtin"
    severity = Severity.INFO
    experiment = Experiment(
        Knob(
            "print is called after the graph",
            config={"torch._dynamo.config.reorderable_logging_functions": "builtins.print"},
        ),
        micro="graph_break",
    )

    def experiments(self, finding: Finding) -> tuple[Experiment, ...]:
        """Only ``print`` can be moved behind the graph by a setting."""
        return (self.experiment,) if finding.title.startswith("`print`") else ()

    def check(self, breaks: Table[GraphBreak], *, setup: Table[SetupBreak]) -> Iterator[Finding]:
        """Yield one finding per line of the program."""
        for site in sites(breaks, {"builtin", "clock"}, setup=setup):
            line = site.line
            name = _builtin(site)
            yield self.finding(
                name,
                *site.identity,
                title=f"`{name}` breaks the graph at {user_code.short(line.file, line.line)}",
                message=f"{once(site)}. {effect(site)}",
                severity=Severity.WARNING if site.skipped else self.severity,
                count=site.count,
                where=user_code.where(line),
                evidence=site.quotes(),
                advice=_advice(name),
            )


def _builtin(site: BreakSite) -> str:
    """Return the name of the builtin, wherever the version prints it."""
    cause = site.record.cause
    if cause is None or site.family == "clock":
        return "a clock"
    in_context = cause.context.builtin if cause.context else ""
    return in_context or cause.kind.builtin or "a builtin"


def _advice(name: str) -> list[Advice]:
    if name != "print":
        return [Advice(text="Call it outside of the compiled function.")]
    return [
        Advice(text="Remove the print, or move it out of the compiled function."),
        Advice(
            text="Or let Dynamo print after the graph has run.",
            setting="torch._dynamo.config.reorderable_logging_functions.add(print)",
            since="2.3",
        ),
    ]
