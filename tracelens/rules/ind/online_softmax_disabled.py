"""IND016 online-softmax-disabled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.warnings import TorchWarning
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.rules import Rule

__all__ = ["OnlineSoftmaxDisabled"]


class OnlineSoftmaxDisabled(Rule):
    """A softmax is computed in two passes, since Inductor split its reduction.

    ## Why it matters
    Maximum and sum of a row can be found in one pass. If the reduction is split, because there are
    few long rows, Inductor of torch 2.7 to 2.11 takes two, and reads the row once more.

    ## What it looks like
    A warning, printed without any setting:

        /home/ana/venv/lib/python3.11/site-packages/torch/_inductor/lowering.py:7245: UserWarning:
        Online softmax is disabled on the fly since Inductor decides to
        split the reduction. Cut an issue to PyTorch if this is an
        important use case and you want to speed it up with online
        softmax.

          warnings.warn(

    ## When it is harmless
    Nearly always: splitting the reduction is worth more than the pass that it costs. It is a note.

    ## What to do
    Nothing. Where such a softmax dominates the step (a loss over a large vocabulary), a newer
    torch, which does not print this any more, may be faster.

    ## How a live run confirms it
    The kernel's time in a trace with ``torch._inductor.config.split_reductions = False``.

    ## See also
    IND017 for attention.
    """

    code = "IND016"
    name = "online-softmax-disabled"
    severity = Severity.INFO
    moved_by: ClassVar = {"warnings.topic": {"online-softmax"}}
    experiment = Experiment(
        Knob("reductions are not split", config={"torch._inductor.config.split_reductions": False})
    )

    class Data(FindingData):
        """torch's warning, and how often it came."""

        warnings: int

    remedies = (
        Remedy(
            id="nothing",
            text="Nothing is needed; torch 2.13 does not print this any more.",
            proof="https://github.com/pytorch/pytorch/blob/main/torch/_inductor/lowering.py",
        ),
    )

    def check(self, *, warnings: Table[TorchWarning]) -> Iterator[Finding]:
        """Yield one finding: torch warns once per place."""
        rows = [row for row in warnings if row.record.topic == "online-softmax"]
        if rows:
            data = self.Data(warnings=sum(row.count for row in rows))
            yield self.finding(
                "split",
                title="a softmax takes two passes over its rows",
                message="Inductor split the reduction, which mostly is worth more than the pass.",
                count=sum(row.count for row in rows),
                evidence=[row.quote(at=1) for row in rows[:1]],
                advice=self.advise(data),
                data=data,
            )
