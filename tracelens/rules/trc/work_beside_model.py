"""TRC036 work-beside-model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.chrome_trace import BackwardNode, Operator, OptimizerCall, PythonFunction
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.rules.trc._forward import Forward, forward_alone
from tracelens.traces.form_rows import LaunchedIn
from tracelens.traces.host_work import Work, work_of
from tracelens.traces.measured import Step, Window
from tracelens.traces.own_frames import mine
from tracelens.traces.rows import BetweenOperators, Timeline
from tracelens.traces.runs import COMPILING, Run, runs
from tracelens.traces.span_rows import Recomputed
from tracelens.traces.views import COMPUTING, beside, computing, on_each, stories, where_of
from tracelens.words import length, percent, plural

__all__ = ["WorkBesideModel"]

#: Share of the trace that the function takes at least and at most, and milliseconds.
MIN_SHARE = 0.2
MAX_SHARE = 0.95
MIN_MS = 5.0
#: ... that forward passes without a backward pass take.
MIN_FORWARD = 0.1
#: ... and how many for each backward pass are no second one of the same batch.
MANY_PASSES = 3.0
#: Calls for each step from which on they are of single samples.
SINGLE = 8
#: Share of the function in which no operator runs from which on it is TRC024's.
ELSEWHERE = 0.5
#: Features are what models extract, too, and a log may be a logarithm.
_MODEL = re.compile(r"extract|^_?log(?:_(?:loss(?:es)?|model|state|weights))?$")
#: A second model follows the weights: of a teacher, a target, or an average.
_AVERAGES = re.compile(
    r"(?:^|_)ema(?:_|$)|polyak|moving_average|soft_update|(?:update|sync)_(?:the_)?(?:target|teacher)"
    r"|(?:target|teacher)(?:_\w+)?_update|momentum_update|update_(?:\w+_)?(?:momentum|key)_encoder"
    r"|average_(?:weights|parameters|params|models?)|(?:^|_)swa_update|update_swa",
    re.IGNORECASE,
)
_DOES = {
    Work.AVERAGES: "follows the weights with those of a second model",
    Work.PREPARES: "prepares data",
    Work.REPORTS: "reports or saves",
}


class Beside(FindingData):
    """A function that is no part of the model."""

    function: str
    work: Work
    ms: float
    of_ms: float
    calls: int
    #: Whether it is called for each sample.
    single: bool
    #: Whether it computes the model to see how good it is.
    validates: bool = False
    #: Forward passes for each backward pass, where only that is known of them.
    passes: float = 0.0


class WorkBesideModel(Rule):
    """Much of the time of the steps is work beside the model: data, reports, averages of weights.

    ## Why it matters
    Augmentation, preprocessing, histograms of gradients and images for a dashboard are computed by
    the same operators as the model is, and wait for each other with it. None of it has to. A second
    model that follows the weights takes a few calls; written by hand, some for each of its tensors.

    ## What it looks like
    A function of the program with such a name and much of the time:

        {"ph": "X", "cat": "python_function", "name": "train.py(31): log_histograms", "ts": 150.0, "dur": 7000.0, "pid": 1, "tid": 1}

    ## When it is harmless
    Where it is what the program is for, or happens in few steps: a rollout, a teacher of the same
    kind, or validation runs the model without a backward pass, too. The name of the function tells what
    it does. Below a fifth of the trace it is not named; functions that compute without operators are
    TRC024's, and the ``DataLoader`` is TRC013's. Recordings with stacks are looked at: of programs
    on the CPU and, for validation in the steps of training, of those on a GPU.

    ## What to do
    Prepare data in the workers of the ``DataLoader``, whole batches at once; report, and validate,
    every N steps.

    ## How a live run confirms it
    The program runs without it. Confirmed when a step gets shorter by as much.

    ## See also
    TRC013 for the loader, TRC024 for Python between operators.
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC036"
    name = "work-beside-model"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM
    Data = Beside
    remedies = (
        Remedy(
            id="first-pass",
            text="Where they compute what the pass before the backward pass has computed, for "
            "metrics say, take its outputs.",
            code="correct = (outputs.detach().argmax(1) == y).sum()",
            when="the model is trained on the CPU, and runs more often than its backward pass",
            applies=lambda data: 0 < data.passes < MANY_PASSES,
            basis="untestable",
            proof="it depends on the program",
        ),
        Remedy(
            id="validate-rarely",
            text="Validate after an epoch, or every N steps; and on part of the data in between.",
            code="if step % 1000 == 0: validate()",
            when="the model is, or may be, validated in the steps of training",
            applies=lambda data: data.validates or data.passes > 0,
            basis="untestable",
            proof="it depends on the program",
        ),
        Remedy(
            id="batch",
            text="Prepare a whole batch at once, not each of its samples: operators take tensors "
            "with one more side.",
            when="data is prepared, sample by sample",
            applies=lambda data: data.work == Work.PREPARES and data.single,
            basis="untestable",
            proof="it depends on the function",
        ),
        Remedy(
            id="workers",
            text="Move it to the workers of the DataLoader: they prepare the next batch meanwhile.",
            code="DataLoader(dataset, num_workers=4, collate_fn=prepare)",
            when="data is prepared",
            applies=lambda data: data.work == Work.PREPARES,
            proof="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
        ),
        Remedy(
            id="average",
            text="Change the second model in place, all of its tensors in a few calls: "
            "`AveragedModel` does. Nothing is to be copied, or loaded from a `state_dict`, for it.",
            code="swa_utils = torch.optim.swa_utils\n"
            "ema = swa_utils.AveragedModel(model, "
            "multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.999))  # once\n"
            "ema.update_parameters(model)  # in each step",
            when="a second model follows the weights",
            applies=lambda data: data.work == Work.AVERAGES,
            since="2.1",
            proof="https://docs.pytorch.org/docs/stable/optim.html#weight-averaging-swa-and-ema",
        ),
        Remedy(
            id="rarely",
            text="Do it every N steps.",
            code="if step % 100 == 0: report()",
            when="something is reported or saved",
            applies=lambda data: data.work == Work.REPORTS,
            basis="untestable",
            proof="it depends on the function",
        ),
    )

    def check(
        self,
        windows: Table[Window],
        *,
        steps: Table[Step],
        frames: Table[PythonFunction],
        between: Table[BetweenOperators],
        nodes: Table[BackwardNode],
        inside: Table[LaunchedIn],
        timelines: Table[Timeline],
        optimizers: Table[OptimizerCall],
        operators: Table[Operator],
        again: Table[Recomputed],
    ) -> Iterator[Finding]:
        """Yield one finding per trace of the CPU, for the function with most of the time.

        One for forward passes without a backward pass, and for validation in the steps of training
        on a GPU.
        """
        for run in runs(windows, steps):
            whole, source = run.window.record, run.window.first.input
            if len(nodes.within(source)) and run.on_device:
                # Without steps, of the schedule or of the optimizer, once may be after an epoch.
                ran = list(inside.within(source))
                calls = optimizers.within(source)
                updates = sum(row.count for row in calls if row.record.call == "step")
                count = len(run.all_steps) or updates
                whole_ms = computing(timelines, source)
                if count:
                    called = list(frames.within(source))
                    for found in self._validates(whole_ms, count, called, ran):
                        yield on_each(found, timelines, source)
            compiles = (whole.compile_ms or 0.0) > COMPILING * whole.ms
            if run.on_device or whole.launches or whole.unread or compiles:
                continue
            if not len(again.within(source)):
                forward = forward_alone(operators.within(source), nodes.within(source))
                if forward is not None and forward.ms >= max(MIN_MS, MIN_FORWARD * whole.ms):
                    yield self._forward(whole.ms, forward)
            least = max(MIN_MS, MIN_SHARE * whole.ms)
            rows = [
                row
                for row in frames.within(source)
                if least <= row.ms <= MAX_SHARE * whole.ms and mine([str(row.record)])
            ]
            rows = [row for row in rows if _work(row.record, whole) in _DOES]
            most = max(rows, key=lambda row: row.ms, default=None)
            pauses = [row.record for row in between.within(source)]
            if most is None:
                continue
            averages = _work(most.record, whole) == Work.AVERAGES  # copying modules is Python, too
            if averages or _without(most.record, pauses) < ELSEWHERE * most.ms:
                yield self._finding(run, most)

    def causes(self, finding: Finding) -> Iterable[Story]:
        """What its function does without operators is part of it."""
        return stories([beside(finding)], finding)

    def _forward(self, whole: float, forward: Forward) -> Finding:
        ms, row = min(whole, forward.ms), forward.longest
        data = Beside(
            function="",
            work=Work.OWN,
            ms=ms,
            of_ms=whole,
            calls=row.count,
            single=False,
            passes=round(forward.passes, 3),
        )
        return self.finding(
            "forward",
            title=f"the model runs forward {forward.passes:.3g} times for each backward pass",
            message=(
                f"Every kind of operator that the backward pass tells of is called about "
                f"{forward.passes:.3g} times as often as its node there. Forward passes that no "
                f"backward pass follows take about {length(ms)} of {length(whole)}."
            ),
            confidence=Confidence.MEDIUM,
            count=row.count,
            evidence=[row.quote(f"{plural(row.count, 'call')}, {length(row.ms)} in all")],
            cost=Cost(ms=ms, share=ms / whole, basis="estimated", of="the trace"),
            advice=self.advise(data),
            data=data,
        )

    def _validates(
        self,
        whole: float,
        steps: int,
        frames: list[Seen[PythonFunction]],
        inside: list[Seen[LaunchedIn]],
    ) -> Iterator[Finding]:
        """Yield that a GPU validates the model while it is trained, at least every second step."""
        took = {row.record.operator: row.record.device_ms for row in inside}
        rows = [
            row
            for row in frames
            if took.get(str(row.record), 0.0) >= max(MIN_MS, MIN_SHARE * whole)
            and 2 * row.count >= max(2, steps)
            and mine([str(row.record)])
        ]
        row = max(rows, key=lambda row: took[str(row.record)], default=None)
        if row is None:
            return
        name, ms = row.record.function, min(whole, took[str(row.record)])
        times, share = plural(row.count, "call"), ms / whole
        data = Beside(
            function=name,
            work=Work.OWN,
            ms=ms,
            of_ms=whole,
            calls=row.count,
            single=False,
            validates=True,
        )
        yield self.finding(
            name,
            title=f"`{name}`, in steps of training, takes {percent(share)} of {COMPUTING}",
            message=(
                f"What {times} of `{name}`, {row.record.file}, line {row.record.line}, launch "
                f"takes {length(ms)} of {length(whole)}: validation is part of the steps."
            ),
            where=where_of(str(row.record)),
            confidence=Confidence.MEDIUM,
            count=row.count,
            evidence=[row.quote(f"{times}, {length(row.ms)} of the host")],
            cost=Cost(ms=ms, share=share, basis="upper_bound", of=COMPUTING),
            advice=self.advise(data),
            data=data,
        )

    def _finding(self, run: Run, row: Seen[PythonFunction]) -> Finding:
        whole, name = run.window.record.ms, row.record.function
        work, share = _work(row.record, run.window.record), row.ms / whole
        each = row.count / max(1, len(run.all_steps))
        data = Beside(
            function=name,
            work=work,
            ms=row.ms,
            of_ms=whole,
            calls=row.count,
            single=bool(run.all_steps) and each >= SINGLE,
        )
        times = plural(row.count, "call")
        return self.finding(
            name,
            title=f"`{name}` {_DOES[work]} for {percent(share)} of the trace",
            message=(
                f"{times} of `{name}`, {row.record.file}, line {row.record.line}, take "
                f"{length(row.ms)} of {length(whole)}, with all that it calls."
                + (f" It is called {each:,.0f} times in each step." if data.single else "")
            ),
            where=where_of(str(row.record)),
            confidence=Confidence.MEDIUM,
            count=row.count,
            evidence=[row.quote(f"{times}, {length(row.ms)} in all")],
            cost=Cost(ms=row.ms, share=share, basis="upper_bound", of="the trace"),
            advice=self.advise(data),
            data=data,
        )


def _work(function: PythonFunction, whole: Window) -> Work:
    """Return what a function does, by its name alone; what a loader does is told elsewhere."""
    if _AVERAGES.search(function.function):
        return Work.AVERAGES
    if _MODEL.search(function.function):
        return Work.OWN
    work = work_of(f"program.py(1): {function.function}", "")
    loads = (whole.loading_ms or 0.0) >= MIN_SHARE * whole.ms
    return Work.OWN if work == Work.PREPARES and loads else work


def _without(function: PythonFunction, pauses: list[BetweenOperators]) -> float:
    """Return for how long it runs no operator."""
    return sum(row.ms for row in pauses if row.user_frame == str(function))
