"""GBR010 autograd-inside-graph."""

from __future__ import annotations

from typing import ClassVar

from tracelens.dynamo.breaks import BreakSite
from tracelens.experiment import Experiment, Knob
from tracelens.report import Advice, Severity
from tracelens.rules.gbr._site_rule import SiteRule

__all__ = ["AutogradInsideGraph"]


class AutogradInsideGraph(SiteRule):
    """``backward()`` or ``requires_grad_()`` inside the compiled function breaks the graph.

    ## Why it matters
    The backward pass is made from the graph of the forward pass; a call that starts it cannot be part
    of that graph. Everything after the call belongs to another one.

    ## What it looks like
        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/train.py:19
        [0/0] [__graph_breaks] Graph Break Reason: Unsupported Tensor.backward() call
        [0/0] [__graph_breaks]   Explanation: Dynamo currently does not support tracing `Tensor.backward()`.

    ## When it is harmless
    When a whole training step is compiled on purpose: forward and loss still form one graph.

    ## What to do
    Compile the model, or forward and loss, and call ``backward`` outside.

    ## How a live run confirms it
    The same step with ``backward`` outside: one break less.

    ## See also
    GBR012 (all breaks).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0123.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "GBR010"
    name = "autograd-inside-graph"
    severity = Severity.INFO
    experiment = Experiment(
        Knob(
            "autograd operators are traced",
            config={"torch._dynamo.config.trace_autograd_ops": True},
        )
    )
    families: ClassVar[frozenset[str]] = frozenset({"autograd"})

    def what(self, site: BreakSite) -> str:
        """Name the call."""
        text = site.record.text
        call = "requires_grad_()" if "requires_grad_" in text else "backward()"
        return f"`{call}` breaks the graph"

    def advice(self, site: BreakSite) -> list[Advice]:
        """Move the call out."""
        del site
        return [
            Advice(
                text="Compile forward and loss, and call backward outside.",
                code="loss = compiled_forward_and_loss(batch)\nloss.backward()",
            ),
            Advice(
                text="Or let Dynamo trace it.",
                setting="torch._dynamo.config.trace_autograd_ops = True",
                since="2.11",
            ),
        ]
