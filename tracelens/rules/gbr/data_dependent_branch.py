"""GBR002 data-dependent-branch."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import effect, once, sites
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.report import Advice, Finding, Severity
from tracelens.rules import Rule

__all__ = ["DataDependentBranch"]


class DataDependentBranch(Rule):
    """A Python ``if``, ``while``, ``and`` or ``assert`` looks at the value of a tensor.

    ## Why it matters
    Which side is taken is known only when the code runs, so the graph ends at the branch. Each side
    is compiled on its own; and inside a loop Dynamo gives up the whole function.

    ## What it looks like
    The reason names no function, since it is the language that cannot be traced:

        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:10
        [0/0] [__graph_breaks] Graph Break Reason: Data-dependent branching
        [0/0] [__graph_breaks]   Explanation: Detected data-dependent branching.

    Torch 2.6 calls it "Data-dependent jump", earlier versions ``generic_jump TensorVariable()``;
    torch 2.4 prints nothing at all.

    ## When it is harmless
    When the check is for debugging and can be switched off, or stands outside the hot path.

    ## What to do
    Make it branchless with ``torch.where``, ``torch.clamp`` or ``torch.nan_to_num``; use
    ``torch.cond`` where the two sides differ in work; move a check out of the compiled function.
    For a check in a library, compile the part of the model that does not hold it.

    ## How a live run confirms it
    The same calls with the branch replaced: one graph less per call, and the step is faster.

    ## See also
    GBR001 (numbers out of tensors), GBR006 (a break in a loop), GBR012 (all breaks).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html>
    """

    code = "GBR002"
    name = "data-dependent-branch"
    severity = Severity.WARNING
    experiment = Experiment(
        UNCHANGED,
        micro="graph_break",
        confirms="with one of both sides selected, the break is gone and the step is faster",
        refutes="the break stays",
        leaves_open="the break is gone, and the step as slow: the break was cheap",
    )

    def check(self, breaks: Table[GraphBreak], *, setup: Table[SetupBreak]) -> Iterator[Finding]:
        """Yield one finding per line of the program."""
        for site in sites(breaks, {"branch"}, setup=setup):
            line = site.line
            yield self.finding(
                *site.identity,
                title=f"a branch depends on a tensor's value at "
                f"{user_code.short(line.file, line.line)}",
                message=f"{once(site)}. {effect(site)}",
                count=site.count,
                where=user_code.where(line),
                evidence=site.quotes(),
                advice=_ADVICE,
            )


_ADVICE = [
    Advice(
        text="Compute both sides and select, where they are cheap.",
        code="x = torch.where(condition, on_true, on_false)",
    ),
    Advice(
        text="Let the compiled code branch, where they are not.",
        code="x = torch.cond(condition, true_function, false_function, (x,))",
        since="2.3",
    ),
    Advice(
        text="Leave a check of values to eager mode: move it out of the compiled function, or "
        "compile the part of the model that does not hold it.",
        code="torch.compiler.disable(check)",
        since="2.1",
    ),
]
