"""TRC012 single-tensor-optimizer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.chrome_trace import OptimizerCall
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.traces.apple import MPS
from tracelens.traces.measured import Step, Window
from tracelens.traces.rows import Timeline
from tracelens.traces.runs import Run, runs
from tracelens.traces.views import stories
from tracelens.words import length, percent, share_of

__all__ = ["SingleTensorOptimizer", "with_fused"]

#: Operators per step from which on a loop over parameters is worth a word.
MIN_OPERATORS = 50
MIN_SHARE = 0.05
#: Share from which on it is why the device waits for launches, if it waits.
MOST = 0.5

#: Optimizers that have a fused version.
FUSED = frozenset({"Adam", "AdamW", "SGD", "Adagrad"})
#: ... and those of torch that take lists of tensors.
LISTS = FUSED | {
    *("Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"),
}


class Single(FindingData):
    """What the optimizer runs per step."""

    optimizers: tuple[str, ...]
    operators: float
    ms: float
    of_ms: float
    on_device: bool
    #: Share of the time in which the device is idle that falls into the optimizer.
    idle_share: float = 0.0


class SingleTensorOptimizer(Rule):
    """The optimizer loops over the parameters, with a handful of small operators for each.

    ## Why it matters
    Adam runs about ten operators per parameter tensor. For a model of 150 tensors that is 1,500
    dispatches per step, on a GPU as many kernels of a few microseconds. ``fused=True`` does all of it
    in one call per group of parameters.

    ## What it looks like
    Hundreds of operators such as ``aten::lerp_`` and ``aten::addcdiv_`` inside

        {"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#AdamW.step", "ts": 100.0, "dur": 1867.0, "pid": 1, "tid": 1}

    ## When it is harmless
    Few parameters, or an optimizer that takes less than 5 % of the step: then the rule keeps quiet,
    as it does for ``foreach``, ``fused`` and compiled optimizers, and for those whose step is
    mostly calls of compiled functions. Not every optimizer has a fused version.

    ## What to do
    ``fused=True``: on CUDA for Adam, AdamW, SGD and Adagrad; on the CPU for them since 2.4.
    ``foreach=True`` is the default on CUDA and does not help on the CPU. Or compile the step.

    ## How a live run confirms it
    The program runs with ``fused=True``. Confirmed when operators in the optimizer and its time fall.

    ## See also
    <https://docs.pytorch.org/docs/stable/optim.html#default-algorithms>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC012"
    name = "single-tensor-optimizer"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM

    Data = Single
    remedies = (
        Remedy(
            id="fused",
            text="Use the fused version (on the CPU since 2.4).",
            when="Adam, AdamW, SGD, Adagrad",
            applies=lambda data: bool(FUSED & {*data.optimizers}),
            code=lambda data: (
                f"torch.optim.{next(n for n in data.optimizers if n in FUSED)}"
                "(model.parameters(), fused=True)"
            ),
            since="2.0",
            basis="tested",
            proof="tests/advice/TRC012/fused.py",
        ),
        Remedy(
            id="foreach",
            text="Let it take lists of tensors (the default on CUDA, unless it was turned off).",
            when="an optimizer of torch that does so, on a device",
            applies=lambda data: data.on_device and bool(LISTS & {*data.optimizers}),
            code=lambda data: (
                f"torch.optim.{next(n for n in data.optimizers if n in LISTS)}"
                "(model.parameters(), foreach=True)"
            ),
            proof="https://docs.pytorch.org/docs/stable/optim.html#default-algorithms",
        ),
        Remedy(
            id="compile",
            text="Or compile the step.",
            code="step = torch.compile(optimizer.step)",
            since="2.2",
            basis="tested",
            proof="tests/advice/TRC012/compile.py",
        ),
    )

    def check(
        self,
        windows: Table[Window],
        calls: Table[OptimizerCall],
        *,
        steps: Table[Step],
        timelines: Table[Timeline],
    ) -> Iterator[Finding]:
        """Yield one finding per trace whose optimizer runs many single operators."""
        for run in runs(windows, steps):
            if MPS in dict(run.window.record.unread):
                continue  # its operators are handed over, and wait for what was before them
            single, multi = run.total("optimizer_plain"), run.total("optimizer_multi")
            rows = [
                row
                for row in calls.within(run.window.first.input)
                if row.record.call == "step" and not row.record.category.startswith("gpu_")
            ]
            every = sum(row.ms for row in rows)
            compiled = {name for row in run.spans for name in row.record.optimizers_compiled}
            rows = [row for row in rows if str(row.record) not in compiled]
            n = run.n if run.steps else max(1, sum(row.count for row in rows))
            ms = run.total("optimizer_ms") * share_of(sum(row.ms for row in rows), every)
            share = share_of(ms, run.ms)
            if multi >= n:
                continue  # it takes lists of tensors; what is left are counters and the like
            if rows and single >= MIN_OPERATORS * n and share >= MIN_SHARE:
                times = [row.record for row in timelines.within(run.window.first.input)]
                yield self._finding(run, Table(rows), (single / n, ms), _idle_share(times))

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Its kernels, and a device that waits for them, where it is most of the time."""
        keeps = finding.cost is not None and _keeps_waiting(Single.model_validate(finding.data))
        return stories(["updates", *(["optimizer"] if keeps else ())], finding)

    def _finding(
        self, run: Run, calls: Table[OptimizerCall], took: tuple[float, float], idle: float
    ) -> Finding:
        names = list(dict.fromkeys(row.record.optimizer for row in calls))
        single, ms = took
        data = Single(
            optimizers=tuple(names),
            operators=single,
            ms=ms,
            of_ms=run.ms,
            on_device=run.on_device,
            idle_share=round(idle, 6),
        )
        waited = (
            f" Of the time in which the GPU is idle, {percent(idle)} falls into it."
            if idle >= MOST and run.waits_for_host
            else ""
        )
        return self.finding(
            *names,
            title=f"{', '.join(names)} updates one parameter at a time",
            message=(
                f"The optimizer runs {single:.0f} operators per step, most of them on one tensor, "
                f"and takes {percent(ms / run.ms)} of {run.of}{_beside(run)}: {length(ms)} of "
                f"{length(run.ms)}.{waited}"
            ),
            severity=Severity.WARNING if _keeps_waiting(data) and run.waits_for_host else None,
            confidence=Confidence.HIGH,
            count=calls.count,
            evidence=[row.quote(f"{row.count} calls, {length(row.ms)} in all") for row in calls],
            cost=Cost(ms=ms, share=ms / run.ms, basis="upper_bound", of=run.of)
            if run.waits_for_host
            else None,
            advice=self.advise(data),
            data=data,
        )


def with_fused(optimizers: Iterable[str]) -> str:
    """Return the first of the optimizers that has a fused version; an empty text without one."""
    return next((name for name in optimizers if name in FUSED), "")


def _keeps_waiting(data: Single) -> bool:
    """Tell whether a device waits for it most of the time: launching is slow because of it."""
    return data.on_device and max(data.ms / data.of_ms, data.idle_share) >= MOST


def _idle_share(times: list[Timeline]) -> float:
    """Return the share of the time in which devices are idle that falls into the optimizer."""
    whole = sum(row.idle_ms for row in times if row.phase == "window")
    inside = [row.idle_ms for row in times if row.phase.startswith("Optimizer.step#")]
    return min(1.0, max(inside, default=0.0) / whole) if whole else 0.0


def _beside(run: Run) -> str:
    """Say so where the device has other work meanwhile: then the time is not the optimizer's."""
    busy = run.on_device and not run.waits_for_host
    return " on the host, while the GPU has other work" if busy else ""
