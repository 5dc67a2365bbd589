"""GBR001 scalar-from-tensor."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import effect, once, sites
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.report import Advice, Confidence, Finding, Severity
from tracelens.rules import Rule

__all__ = ["ScalarFromTensor"]


class ScalarFromTensor(Rule):
    """A number is read out of a tensor: ``.item()``, ``.tolist()``, ``int(t)``, ``float(t)``.

    ## Why it matters
    The value is not known while the code is compiled, so the graph ends there. What follows is a
    graph of its own, with Python, guards and a launch in between, and nothing is fused across. On a
    GPU, reading the number waits for all work that is queued.

    ## What it looks like
    A record, and besides it a warning that is printed without any setting:

        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:8
        [0/0] [__graph_breaks] Graph Break Reason: Unsupported Tensor.item() call
        [0/0] [__graph_breaks]   Explanation: Dynamo does not support tracing `Tensor.item()`.

    Up to torch 2.6 the reason reads ``Tensor.item``; ``int(t)`` gives "Data dependent operator"
    with ``aten._local_scalar_dense``. Warning and record are one break.

    ## When it is harmless
    In code that runs once per epoch, such as logging a loss outside the hot loop, or in validation.

    ## What to do
    Keep the number a tensor; move ``.item()`` out of the compiled function. Where the value is a
    size, let Dynamo capture it: ``torch._dynamo.config.capture_scalar_outputs = True``.

    ## How a live run confirms it
    The same calls with ``TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1``: one graph less per call, and the
    step is faster.

    ## See also
    GBR002 (branches on tensors), GBR012 (all breaks), GBR006 (the same inside a loop).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0124.html>
    """

    code = "GBR001"
    name = "scalar-from-tensor"
    severity = Severity.WARNING
    experiment = Experiment(
        Knob(
            "scalars stay in the graph",
            config={"torch._dynamo.config.capture_scalar_outputs": True},
        ),
        micro="graph_break",
        confirms="the break is gone, and a step takes less time",
        refutes="another break takes its place, or a step takes longer",
        leaves_open="the run does not reach the line",
    )

    def check(self, breaks: Table[GraphBreak], *, setup: Table[SetupBreak]) -> Iterator[Finding]:
        """Yield one finding per line of the program."""
        for site in sites(breaks, {"scalar"}, setup=setup):
            yield self.finding(
                *site.identity,
                title=f"a number is read out of a tensor at {_at(site.line.file, site.line.line)}",
                message=f"{once(site) or 'The log does not say where'}. {effect(site)}",
                confidence=Confidence.HIGH if site.record.file else Confidence.MEDIUM,
                count=site.count,
                where=user_code.where(site.line),
                evidence=site.quotes(),
                advice=_ADVICE,
            )


def _at(file: str, line: int) -> str:
    return user_code.short(file, line) if file else "a place that the log does not name"


_ADVICE = [
    Advice(
        text="Keep the number a tensor, or move the read out of the compiled function.",
        code="losses.append(loss.detach())  # instead of loss.item()",
    ),
    Advice(
        text="Where the value is used as a size, let Dynamo capture it as a symbol.",
        setting="torch._dynamo.config.capture_scalar_outputs = True",
        env="TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1",
        since="2.1",
    ),
]
