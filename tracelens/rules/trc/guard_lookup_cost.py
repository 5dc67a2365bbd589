"""TRC004 guard-lookup-cost."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.frames import Frame
from tracelens.frames.user_frames import Compiled
from tracelens.logs.chrome_trace import DispatchStage
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.traces.distortion import PER_OPERATOR_US
from tracelens.traces.measured import Step, Window
from tracelens.traces.runs import Run, runs
from tracelens.words import length, percent, share_of

__all__ = ["GuardLookupCost"]

#: Share of the time that may be compilation.
COMPILING = 0.01
MIN_SHARE = 0.05
#: Less than this per step, milliseconds, is the profiler's own time on spans of microseconds.
MIN_MS = 0.1


class Lookups(FindingData):
    """Time before compiled code runs."""

    dispatch_ms: float
    of_ms: float
    frames: tuple[str, ...]
    #: Whether the trace shows that something was compiled again: a guard failed.
    again: bool = False


class GuardLookupCost(Rule):
    """Guards and prologues of compiled functions take a large share of the step.

    ## Why it matters
    Each call of a compiled function first checks its guards, in every cached variant until one fits.
    Thousands of guards take a millisecond, in which nothing of the model runs. Large models with
    many small calls, such as the decode loop of ``generate()``, pay it for every token.

    ## What it looks like
        {"ph": "X", "cat": "cpu_op", "name": "TorchDynamo Cache Lookup", "ts": 100.0, "dur": 831.0, "pid": 1, "tid": 1}

    ## When it is harmless
    The profiler itself adds a microsecond or so to each span: less than 0.1 ms per step does not
    count, nor does a lookup that a busy GPU hides. What the profiler can have added (TRC018) is taken
    off.

    ## What to do
    Fewer graphs per step (TRC005), fewer variants per frame (RCP rules), fewer guards:
    ``guard_filter_fn`` drops those that cannot fail in this program; where something was compiled
    again, a guard has failed, and without it results may be wrong: then it is not advised. A larger compiled region pays
    once for more work.

    ## How a live run confirms it
    The program runs with ``torch.compiler.skip_guard_on_all_nn_modules_unsafe`` as
    ``guard_filter_fn``. Confirmed when the time of the lookups and that of the step fall.

    ## See also
    GRD001 for the guards themselves.
    <https://docs.pytorch.org/docs/main/user_guide/torch_compiler/compile/programming_model.reducing_guard_overhead.html>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC004"
    name = "guard-lookup-cost"
    severity = Severity.INFO
    claim = "time"
    unconfirmable = IN_THE_PROGRAM

    Data = Lookups
    remedies = (
        Remedy(
            id="filter",
            text="Drop guards on the attributes of modules, if no module changes after "
            "compilation.",
            when="nothing in the trace was compiled again",
            applies=lambda data: not data.again,
            code=(
                "torch.compile(model, options={"
                '"guard_filter_fn": torch.compiler.skip_guard_on_all_nn_modules_unsafe})'
            ),
            since="2.8",
            basis="tested",
            proof="tests/advice/TRC004/filter.py",
        ),
        Remedy(
            id="variants",
            text="See which guards fail: each variant of a function has guards of its own, and all "
            "that do not fit are checked before the one that does.",
            when="something was compiled again",
            applies=lambda data: data.again,
            env="TORCH_LOGS=recompiles",
            since="2.1",
            proof="https://docs.pytorch.org/docs/stable/logging.html",
        ),
        Remedy(
            id="larger",
            text="Compile a larger region, or remove graph breaks: each frame has a lookup of "
            "its own.",
            when="several frames are called",
            applies=lambda data: len({frame.partition("/")[0] for frame in data.frames}) > 1,
            env="TORCH_LOGS=graph_breaks,recompiles",
            proof="https://docs.pytorch.org/docs/stable/logging.html",
        ),
    )

    def check(
        self,
        windows: Table[Window],
        *,
        steps: Table[Step],
        stages: Table[DispatchStage],
        frames: Table[Frame],
    ) -> Iterator[Finding]:
        """Yield one finding per trace in which the lookups take long."""
        for run in runs(windows, steps):
            of_it = list(stages.within(run.window.first.input))
            ms = max(0.0, run.total("dispatch_ms") - _added(run, of_it))
            if run.total("compile_ms") >= COMPILING * run.ms:
                continue  # then lookups miss, and prologues run for the first time
            if ms < MIN_SHARE * run.ms or ms < MIN_MS * run.n:
                continue
            if run.waits_for_host:
                yield self._finding(run, ms, of_it, Compiled(frames, run.window.first.input))

    def _finding(
        self, run: Run, ms: float, stages: list[Seen[DispatchStage]], known: Compiled
    ) -> Finding:
        rows = [row for row in stages if row.record.stage != "CompiledFunction"]
        rows.sort(key=lambda row: -row.ms)
        parts = ", ".join(
            f"`{row.record.stage}` {length(row.ms)} in {row.count} calls" for row in rows
        )
        frames = {frame for row in run.spans for frame in row.record.frames}
        numbers = {frame.partition("/")[0] for frame in frames}
        several = (
            f" The calls go to {len(frames)} variants of {len(numbers)} "
            f"{'frame' if len(numbers) == 1 else 'frames'}."
            if len(frames) > 1
            else ""
        )
        seen = {*frames, *run.window.record.compiles}
        seen.update(name for row in run.all_steps for name in row.record.compiles)
        data = Lookups(
            dispatch_ms=ms,
            of_ms=run.ms,
            frames=tuple(sorted(frames)),
            again=any(_is_again(name) for name in seen),
        )
        return self.finding(
            "lookups",
            title=f"guards and prologues take {percent(ms / run.ms)} of {run.of}",
            message=(
                f"{length(ms)} of {length(run.ms)} pass before compiled code runs. In the whole "
                f"trace: {parts}.{several}"
            ),
            confidence=Confidence.HIGH if ms >= 0.1 * run.ms else Confidence.MEDIUM,
            count=sum(row.count for row in rows),
            where=known.function(frames),
            evidence=[
                row.quote(f"{row.count} calls, {1000 * share_of(row.ms, row.count):.3g} us each")
                for row in rows
            ],
            cost=Cost(ms=ms, share=ms / run.ms, basis="measured", of=run.of),
            advice=self.advise(data),
            data=data,
        )


def _is_again(compile_id: str) -> bool:
    """Tell whether a compile id is that of a recompilation: ``0/1``, also ``!1/0/1``, ``0/1_2``."""
    return compile_id.rpartition("/")[2].partition("_")[0] not in {"", "0"}


def _added(run: Run, stages: list[Seen[DispatchStage]]) -> float:
    """Return what the profiler can have added to these spans, which hold no Python of their own."""
    window = run.window.record
    spans = sum(row.count for row in stages)
    share = min(1.0, share_of(run.ms, window.ms))
    return share * spans * PER_OPERATOR_US / 1000
