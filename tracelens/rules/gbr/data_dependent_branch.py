"""GBR002 data-dependent-branch."""

from __future__ import annotations

from typing import ClassVar

from tracelens.dynamo.breaks import BreakSite
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.remedies import Remedy
from tracelens.report import Severity
from tracelens.rules.gbr._site_rule import LIBRARY, BreakData, SiteRule, condition, own

__all__ = ["DataDependentBranch"]


class DataDependentBranch(SiteRule):
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
    families: ClassVar[frozenset[str]] = frozenset({"branch"})
    experiment = Experiment(
        UNCHANGED,
        micro="graph_break:branch",
        confirms="with one of both sides selected, the break is gone and the step is faster",
        refutes="the break stays",
        leaves_open="the break is gone, and the step as slow: the break was cheap",
    )
    remedies = (
        Remedy(
            "assert-in-graph",
            "Let the compiled code check the value.",
            when="an `assert` in code of your own, whose condition is a tensor",
            applies=lambda data: _branches(data, "assert"),
            code=lambda data: f"torch._assert_async({condition(data)})",
            since="2.0",
            basis="tested",
            proof="tests/advice/GBR002/assert-in-graph.py",
        ),
        Remedy(
            "select",
            "Compute both sides and select, where they are cheap.",
            when="an `if` in code of your own",
            applies=lambda data: _branches(data, "if"),
            code=lambda data: f"torch.where({condition(data)}, if_true, if_false)",
            basis="tested",
            proof="tests/advice/GBR002/select.py",
        ),
        Remedy(
            "cond",
            "Let the compiled code branch, where both sides are expensive: both are functions of "
            "the same tensors, and return tensors of the same shape.",
            when="an `if` in code of your own",
            applies=lambda data: _branches(data, "if"),
            code=lambda data: f"torch.cond({condition(data)}, if_true, if_false, (x,))",
            since="2.3",
            basis="tested",
            proof="tests/advice/GBR002/cond.py",
        ),
        Remedy(
            "check-outside",
            "Check the value before the compiled function is called, or after.",
            when="code of your own",
            applies=own,
            basis="tested",
            proof="tests/advice/GBR002/check-outside.py",
        ),
        *LIBRARY,
    )

    def what(self, site: BreakSite) -> str:
        """Say what the branch looks at."""
        del site
        return "a branch depends on a tensor's value"

    def graded(self, site: BreakSite) -> Severity:
        """Grade all alike."""
        del site
        return self.severity

    def identity(self, site: BreakSite) -> tuple[str, ...]:
        """Return the line."""
        return site.identity


def _branches(data: BreakData, word: str) -> bool:
    return own(data) and data.code.startswith(f"{word} ") and bool(condition(data))
