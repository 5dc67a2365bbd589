"""GBR007 break-in-try-or-with."""

from __future__ import annotations

from typing import ClassVar

from tracelens.dynamo.breaks import BreakSite
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.remedies import Remedy
from tracelens.report import Severity
from tracelens.rules.gbr._site_rule import LIBRARY, SiteRule, own

__all__ = ["BreakInTryOrWith"]


class BreakInTryOrWith(SiteRule):
    """The graph breaks inside a ``with`` block that cannot be left and entered again.

    ## Why it matters
    After a break Dynamo resumes in the middle of the function. Inside a context manager that it does
    not know it cannot: leaving and entering it again would change what the program does. So the whole
    function runs eagerly.

    ## What it looks like
        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:29
        [0/0] [__graph_breaks] Graph Break Reason: Unsupported context manager
        [0/0] [__graph_breaks]   Explanation: Dynamo does not know how to enter a `TextIOWrapper` context manager.

    Up to torch 2.6 ``BEFORE_WITH UserDefinedObjectVariable(...)``.

    ## When it is harmless
    Where the function is small and what it calls is compiled by itself.

    ## What to do
    Enter the context manager outside of the compiled function.

    ## How a live run confirms it
    The same calls with the block outside: the function has a graph.

    ## See also
    GBR006 (breaks in loops), GBR012 (all breaks).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0142.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "GBR007"
    name = "break-in-try-or-with"
    severity = Severity.INFO
    experiment = Experiment(
        UNCHANGED,
        confirms="without the context manager, the break is gone and the step is faster",
        refutes="the break stays",
        leaves_open="the break is gone, and the step as slow: the break was cheap",
    )
    families: ClassVar[frozenset[str]] = frozenset({"context_manager"})
    remedies = (
        Remedy(
            "enter-outside",
            "Enter the context manager outside of the compiled function, where all of that may run "
            "under it; otherwise compile only what runs inside it.",
            when="code of your own",
            applies=own,
            code=lambda data: data.code if data.code.startswith("with ") else None,
            basis="tested",
            proof="tests/advice/GBR007/enter-outside.py",
        ),
        *LIBRARY,
    )

    def what(self, site: BreakSite) -> str:
        """Say what stands around the break."""
        del site
        return "a context manager that Dynamo does not know breaks the graph"
