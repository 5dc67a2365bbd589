"""GBR015 many-small-graphs."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import records, sites
from tracelens.dynamo.frames import Frame
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.evidence import Table
from tracelens.inductor.statements import ExternCall, KernelCall
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.output_code import OutputModule
from tracelens.report import Advice, Finding, Severity
from tracelens.rules import Rule

__all__ = ["ManySmallGraphs"]

#: Code objects compiled, and breaks between them, from which a model counts as cut to pieces.
MIN_FRAMES, MIN_BREAKS = 10, 5
#: Kernels and library calls of the median graph; larger graphs are worth having.
SMALL = 10


class ManySmallGraphs(Rule):
    """Graph breaks cut the model into many graphs of a few kernels each.

    ## Why it matters
    Every graph checks its guards, runs a wrapper and launches its kernels by itself, and nothing is
    fused across its border. A model in dozens of pieces often gains nothing from being compiled.

    ## What it looks like
    Many compile ids, most of functions named ``torch_dynamo_resume_in_...``:

        V1120 12:00:00.000000 71 torch/_dynamo/guards.py:5396] [7/1] [__recompiles] Recompiling function torch_dynamo_resume_in_forward_at_265 in /home/ana/proj/model.py:265
        V1120 12:00:00.000000 71 torch/_dynamo/guards.py:5396] [7/1] [__recompiles]     triggered by the following guard failure(s):
        V1120 12:00:00.000000 71 torch/_dynamo/guards.py:5396] [7/1] [__recompiles]     - 7/0: n == 2

    ## When it is harmless
    When the graphs between the breaks are large. Where the log shows the generated code, graphs of
    more than ten kernels are left alone.

    ## What to do
    Remove the breaks that come first; or compile the parts of the model that have none.

    ## How a live run confirms it
    ``torch._dynamo.explain`` counts the graphs per call before and after.

    ## See also
    GBR012 (all breaks by place).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.graph_breaks_index.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "GBR015"
    name = "many-small-graphs"
    severity = Severity.WARNING
    unconfirmable = "it counts breaks that have findings of their own, whose experiments test them"

    def check(
        self, frames: Table[Frame], breaks: Table[GraphBreak], *, setup: Table[SetupBreak]
    ) -> Iterator[Finding]:
        """Yield at most one finding: the cause is the breaks together."""
        places = sites(breaks, setup=setup)
        compiled = {seen.record.id.partition("/")[0] for seen in frames}
        sizes = [size for seen in frames if (size := _size(seen.record)) is not None]
        typical = statistics.median(sizes) if sizes else None
        if len(compiled) < MIN_FRAMES or records(places) < MIN_BREAKS:
            return
        if typical is not None and typical >= SMALL:
            return
        each = f", half of them with at most {typical:g} kernels or library calls" if sizes else ""
        worst = max(places, key=lambda site: site.count)
        yield self.finding(
            "pieces",
            title=f"the model runs as {len(compiled)} separately compiled functions",
            message=(
                f"{records(places)} graph breaks at {len(places)} places cut it into "
                f"{len(compiled)} compiled functions{each}. Each of them checks guards and "
                "launches kernels by itself."
            ),
            count=1,
            where=user_code.where(worst.line),
            evidence=[seen.quote(place=place) for place, seen in worst.events[:2]],
            advice=[
                Advice(text="Remove the breaks with most records first: GBR012 lists them."),
                Advice(
                    text="Or compile the parts of the model that have no break.",
                    code="model.encoder = torch.compile(model.encoder)",
                ),
            ],
        )


def _size(frame: Frame) -> int | None:
    """Return how many kernels and library calls a frame's first code has; None without code."""
    modules = frame.of(OutputModule)
    if not modules or frame.entry:
        return None
    steps = modules[0].record.steps
    return sum(isinstance(step.code, ExternCall | KernelCall) for step in steps)
