"""GBR011 fake-tensor-failure."""

from __future__ import annotations

from typing import ClassVar

from tracelens.dynamo.breaks import BreakSite
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.remedies import Remedy
from tracelens.report import Severity
from tracelens.rules.gbr._site_rule import BreakData, SiteRule

__all__ = ["FakeTensorFailure"]


class FakeTensorFailure(SiteRule):
    """An operator cannot be run on tensors without data, so the graph breaks around it.

    ## Why it matters
    Dynamo runs every operator on fake tensors, which have a shape and a type but no data, to know
    what comes out. An operator of an extension that has no such implementation cannot be in a graph:
    it runs by itself, between two of them.

    ## What it looks like
    The context names the operator:

        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:22
        [0/0] [__graph_breaks] Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):
        [0/0] [__graph_breaks]
        [0/0] [__graph_breaks] Operator does not support running with fake tensors
        [0/0] [__graph_breaks]   Explanation:
        [0/0] [__graph_breaks]
        [0/0] [__graph_breaks]   Developer debug context: unsupported operator: ana.smooth.default

    Up to torch 2.6 the reason itself reads ``unsupported operator: ana.smooth.default``. Where an
    operator of torch refuses the shapes, the same call fails without compilation, too.

    ## When it is harmless
    When the operator is called once, outside of the hot path.

    ## What to do
    Give the operator a fake implementation, which makes an empty tensor of the right shape.

    ## How a live run confirms it
    The same calls with a fake implementation registered: one graph less per call.

    ## See also
    GBR009 (functions that are not traced), IND001 (operators without generated code).
    <https://docs.pytorch.org/docs/stable/library.html#torch.library.register_fake>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "GBR011"
    name = "fake-tensor-failure"
    severity = Severity.WARNING
    experiment = Experiment(
        UNCHANGED,
        micro="graph_break:no_fake",
        confirms="with the fake implementation, the break is gone and the step is faster",
        refutes="the break stays",
        leaves_open="the break is gone, and the step as slow: the break was cheap",
    )
    families: ClassVar[frozenset[str]] = frozenset({"fake"})
    remedies = (
        Remedy(
            "register-fake",
            "Register a fake implementation of the operator: a tensor of the shape and type that "
            "it returns, without its values.",
            when="the log names the operator, and it is none of torch's own",
            applies=lambda data: bool(_schema(data)),
            code=lambda data: (
                f'@torch.library.register_fake("{_schema(data)}")\n'
                "def _(*args):\n    return torch.empty_like(args[0])"
            ),
            since="2.4",
            basis="tested",
            proof="tests/advice/GBR011/register-fake.py",
        ),
        Remedy(
            "register-abstract",
            "Up to torch 2.3 the decorator is called `torch.library.impl_abstract`.",
            when="the log names the operator",
            applies=lambda data: bool(_schema(data)),
            since="2.2",
            until="2.3",
            basis="untestable",
            proof="the decorator has another name since torch 2.4",
        ),
        Remedy(
            "operator-outside",
            "Call the operator outside of the compiled function.",
            when="the log does not name the operator, or it is torch's own",
            applies=lambda data: not _schema(data),
            proof="https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0087.html",
            edits=True,
        ),
    )

    def what(self, site: BreakSite) -> str:
        """Name the operator."""
        name = self.named(site)
        if name:
            return f"`{name}` has no implementation for tensors without data: the graph breaks"
        return "an operator fails on tensors without data: the graph breaks"

    def named(self, site: BreakSite) -> str:
        """Return the operator, ``ana.smooth.default``, where the log names it."""
        cause = site.record.cause
        return cause.context.unsupported if cause is not None and cause.context is not None else ""


def _schema(data: BreakData) -> str:
    """Return ``ana::smooth`` for ``ana.smooth.default``; nothing for an operator of torch's."""
    if data.name.startswith(("aten.", "prim.", "prims.")):
        return ""
    return data.name.rpartition(".")[0].replace(".", "::", 1)
