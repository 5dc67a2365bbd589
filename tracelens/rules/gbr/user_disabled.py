"""GBR005 user-disabled."""

from __future__ import annotations

from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite
from tracelens.report import Advice, Severity
from tracelens.rules.gbr._site_rule import SiteRule

__all__ = ["UserDisabled"]


class UserDisabled(SiteRule):
    """The graph breaks where the program, or torch itself, asked for it.

    ## Why it matters
    ``torch.compiler.disable`` and ``torch._dynamo.graph_break`` do what they say: Python runs
    between two graphs in every call. That is worth knowing when counting graphs, and when the
    reason for the decoration is long gone.

    ## What it looks like
        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:7
        [0/0] [__graph_breaks] Graph Break Reason: Call to `torch._dynamo.graph_break()`
        [0/0] [__graph_breaks]   Explanation: User-inserted graph break. Message: None

    ## When it is harmless
    Nearly always: it is on purpose. Torch does it around its optimizers. The finding is a note for
    torch's own code and information for yours.

    ## What to do
    Nothing; or narrow the region that is disabled.

    ## How a live run confirms it
    Not applicable: the break is asked for.

    ## See also
    GBR012 (all breaks).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0098.html>
    """

    code = "GBR005"
    name = "user-disabled"
    severity = Severity.INFO
    unconfirmable = "the break was asked for in the program"
    families: ClassVar[frozenset[str]] = frozenset({"explicit", "disabled"})

    def what(self, site: BreakSite) -> str:
        """Say who asked."""
        asked = "torch.compiler.disable" if site.family == "disabled" else "graph_break()"
        return f"`{asked}` breaks the graph on purpose"

    def graded(self, site: BreakSite) -> Severity:
        """Take torch's own breaks as a note."""
        own = user_code.distance(site.record.file) == 0
        return Severity.INFO if own else Severity.NONE

    def advice(self, site: BreakSite) -> list[Advice]:
        """Narrow it, where that is possible."""
        if site.family == "explicit":
            return [Advice(text="Remove the call if its reason is gone.")]
        return [
            Advice(
                text="Let the functions that the disabled one calls be compiled again.",
                code="@torch.compiler.disable(recursive=False)",
                since="2.1",
            )
        ]
