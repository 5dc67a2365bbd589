"""GBR005 user-disabled."""

from __future__ import annotations

from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite
from tracelens.dynamo.reporting import is_statement
from tracelens.remedies import Remedy
from tracelens.report import Severity
from tracelens.rules.gbr._called import called, editable
from tracelens.rules.gbr._site_rule import LIBRARY, BreakData, SiteRule

__all__ = ["UserDisabled"]


def _shown(data: BreakData) -> str:
    name = called(data)
    return f"`{name}`" if name else "the disabled function"


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
    remedies = (
        Remedy(
            "remove-break",
            "Remove the call of `graph_break()` if its reason is gone.",
            when="`torch._dynamo.graph_break()` in code of your own",
            applies=lambda data: data.family == "explicit" and editable(data),
            basis="tested",
            proof="tests/advice/GBR005/remove-break.py",
        ),
        Remedy(
            "call-outside",
            lambda data: (
                f"Call {_shown(data)} after the compiled function has returned: let it return "
                "what the call takes."
                if is_statement(data.code)
                else f"Call {_shown(data)} before the compiled function, or after it."
            ),
            when="`torch.compiler.disable` in code of your own",
            applies=lambda data: data.family == "disabled" and editable(data),
            basis="tested",
            proof="tests/advice/GBR005/call-outside.py",
        ),
        Remedy(
            "remove-disable",
            "Or remove `torch.compiler.disable` from the function if its reason is gone.",
            when="`torch.compiler.disable` in code of your own",
            applies=lambda data: data.family == "disabled" and editable(data),
            basis="tested",
            proof="tests/advice/GBR005/remove-disable.py",
        ),
        Remedy(
            "disable-less",
            "Or let the functions that the disabled one calls be compiled again; the break stays.",
            when="`torch.compiler.disable` in code of your own",
            applies=lambda data: data.family == "disabled" and editable(data),
            code="@torch.compiler.disable(recursive=False)",
            since="2.1",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.compiler.disable.html",
        ),
        *LIBRARY,
    )

    def what(self, site: BreakSite) -> str:
        """Say who asked."""
        asked = "torch.compiler.disable" if site.family == "disabled" else "graph_break()"
        return f"`{asked}` breaks the graph on purpose"

    def graded(self, site: BreakSite) -> Severity:
        """Grade all alike: it was asked for."""
        del site
        return self.severity

    def harmless(self, site: BreakSite) -> str:
        """Take torch's own breaks as a note."""
        calls = [one for one in site.stack if not user_code.forwards(one)]
        file = calls[-1].file if calls else site.record.file
        own_code = user_code.distance(file) == 0
        return "" if own_code else "torch itself leaves this function out, on purpose"
