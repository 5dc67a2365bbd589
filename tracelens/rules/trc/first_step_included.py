"""TRC020 first-step-included."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.traces.measured import Step, Window
from tracelens.traces.runs import runs, warm_up
from tracelens.words import length, number

__all__ = ["FirstStepIncluded"]

#: Share of the trace that a first step must take for totals of the trace to be worthless.
MOST = 0.5


class First(FindingData):
    """The first step, and the others."""

    first_ms: float
    usual_ms: float
    steps: int


class FirstStepIncluded(Rule):
    """The first recorded step is warm-up: it compiles, allocates or fills caches.

    ## Why it matters
    Averages over all steps, and tables such as ``key_averages()``, then show the start of the program
    instead of its steady state.

    ## What it looks like
    A first step that takes more than three times the median of those after it, and 1 ms more:

        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", "ts": 0.0, "dur": 69400.0, "pid": 1, "tid": 1}
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 69410.0, "dur": 630.0, "pid": 1, "tid": 1}
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "ts": 70050.0, "dur": 470.0, "pid": 1, "tid": 1}

    ## When it is harmless
    The trace rules leave such a step out by themselves. Where it is most of the trace, totals over
    the whole trace say nothing about the steps: then the finding is a note that is shown, and it
    silences claims about time. Otherwise its severity is ``none``. Two recorded steps are too few to
    tell: at least three are compared.

    ## What to do
    Let the profiler's schedule wait and warm up before it records.

    ## How a live run confirms it
    The program is profiled with two steps of warm-up. Confirmed when the recorded steps are alike.

    ## See also
    TRC003 for compilations in later steps.
    <https://docs.pytorch.org/docs/stable/profiler.html#torch.profiler.schedule>
    """  # noqa: E501 -- the excerpt is events of a trace

    code = "TRC020"
    name = "first-step-included"
    severity = Severity.NONE
    suppresses = "time"
    unconfirmable = "it is about how the trace was recorded, not about the program"

    Data = First
    remedies = (
        Remedy(
            id="warm-up",
            text="Warm up before recording.",
            code="torch.profiler.schedule(wait=1, warmup=2, active=3)",
            basis="tested",
            proof="tests/advice/TRC020/warm-up.py",
        ),
    )

    def check(self, windows: Table[Window], steps: Table[Step]) -> Iterator[Finding]:
        """Yield one finding per trace that begins with a much longer step."""
        for run in runs(windows, steps):
            found = warm_up(run.all_steps)
            if found is None:
                continue
            first, usual = found
            step, whole = first.record, sum(row.record.ms for row in run.all_steps)
            compiled = step.compile_ms or 0.0
            why = f" It compiles for {length(compiled)}." if compiled >= 0.05 * step.ms else ""
            most = step.ms >= MOST * whole
            data = First(first_ms=step.ms, usual_ms=usual, steps=len(run.all_steps))
            yield self.finding(
                "first step",
                title="the first recorded step is warm-up",
                message=(
                    f"It takes {length(step.ms)}, {number(step.ms / usual)} times the "
                    f"{length(usual)} of the {len(run.all_steps) - 1} steps after it.{why} "
                    "It is left out of what "
                    "other findings say about steps."
                ),
                severity=Severity.INFO if most else Severity.NONE,
                evidence=[
                    first.quote(f"{length(step.ms)}"),
                    *[row.quote(f"{length(row.record.ms)}") for row in run.all_steps[1:3]],
                ],
                advice=self.advise(data),
                data=data,
            )
