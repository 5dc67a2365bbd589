"""IND024 layout-optimisation-skipped."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.inductor_debug import LayoutForced, LayoutSkipped
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import plural

__all__ = ["LayoutOptimisationSkipped"]

#: How a reason begins -> what it means.
_WHY = {
    "found grouped": "A convolution has groups of several channels, which are slower in "
    "channels-last layout.",
    "some convolutions have smaller": "A convolution has at most half as many channels out as in.",
    "all convolution channels": "No convolution has more than 64 channels.",
    "only a few conv": "The graph has few convolutions among many other operators.",
    "inference because weighted flops": "By the operations that they take, the convolutions would "
    "be slower.",
}
#: Reasons with which there is nothing to win.
_RIGHT = ("all convolution channels", "only a few conv")


class LayoutOptimisationSkipped(Rule):
    """Inductor left convolutions in the layout that they came in, by a rule of thumb.

    ## Why it matters
    Most convolutions on a GPU are faster in channels-last layout, and Inductor changes it for all
    convolutions of a graph, or for none. One that would become slower decides for all of them.

    ## What it looks like
    A debug record of Inductor:

        V1120 12:00:00.000000 100 torch/_inductor/graph.py:877] [0/0] Skip layout opt because found grouped convolution with >1 in_channels!

    ## When it is harmless
    Mostly: the rule of thumb comes from benchmarks and is usually right, so it is a note. With few
    channels or few convolutions there is nothing to win (severity ``none``). With oneDNN on a CPU
    the layout is always changed.

    ## What to do
    Try it, and measure: force the layout, or choose it by hand for a part of the model.

    ## How a live run confirms it
    The step with ``TORCHINDUCTOR_FORCE_LAYOUT_OPT=1``. Confirmed when it is faster.

    ## See also
    IND008 (kernels that only change the layout).
    """  # noqa: E501 -- the excerpt is a line of a log

    code = "IND024"
    name = "layout-optimisation-skipped"
    severity = Severity.INFO
    experiment = Experiment(
        Knob(
            "layout optimisation is forced",
            config={"torch._inductor.config.force_layout_optimization": True},
        )
    )

    class Data(FindingData):
        """Why a graph kept its layout, in the words of Inductor."""

        reason: str
        graphs: int
        #: Inductor is right: there is nothing to win.
        is_right: bool

    remedies = (
        Remedy(
            id="force",
            text="Force channels-last layout, and measure.",
            when="a rule of thumb that may be wrong here",
            applies=lambda data: not data.is_right,
            setting="torch._inductor.config.force_layout_optimization = True",
            env="TORCHINDUCTOR_FORCE_LAYOUT_OPT=1",
            since="2.2",
            proof="https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
            knob=experiment.knob,
        ),
        Remedy(
            id="part",
            text="Or choose it for the part of the model that gains, with "
            ".to(memory_format=torch.channels_last).",
            when="a rule of thumb that may be wrong here",
            applies=lambda data: not data.is_right,
            proof="https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
        ),
    )

    def check(
        self, *, skipped: Table[LayoutSkipped], forced: Table[LayoutForced]
    ) -> Iterator[Finding]:
        """Yield one finding per reason."""
        changed = sum(row.record.count for row in forced)
        for row in skipped:
            reason = row.record.reason
            start = next((start for start in _WHY if reason.startswith(start)), "")
            others = f" In other graphs it was changed for {plural(changed, 'convolution')}."
            right = start in _RIGHT
            data = self.Data(reason=start or reason, graphs=row.count, is_right=right)
            yield self.finding(
                start or reason,
                title="convolutions keep their memory layout",
                message=f"{_WHY.get(start, reason)}{others if changed else ''}",
                harmless="in such a graph channels-last wins nothing" if right else None,
                confidence=Confidence.MEDIUM,
                count=row.count,
                evidence=[row.quote()],
                advice=self.advise(data),
                data=data,
            )
