"""TRC003 recompile-inside-window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.frames import Frame
from tracelens.frames.user_frames import Compiled
from tracelens.logs.chrome_trace import CompilePhase
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, EvidenceLine, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.traces.measured import Step, Window
from tracelens.traces.runs import Run, runs
from tracelens.traces.views import stories
from tracelens.words import and_more, few, length, percent

__all__ = ["RecompileInsideWindow"]

#: Less than this, milliseconds, is no compilation.
MIN_MS = 1.0
MAX_QUOTED = 4
MAX_NAMED = 8


class Compiling(FindingData):
    """What is compiled in the window."""

    compile_ms: float
    of_ms: float
    compiles: tuple[str, ...]
    again: bool


class RecompileInsideWindow(Rule):
    """A compilation happened in the steps that were profiled.

    ## Why it matters
    Compiling takes seconds, a step milliseconds: the step that compiles says nothing about the
    others, and in production some request has to wait for it. A compilation after warm-up is a
    recompilation, or code that is reached for the first time.

    ## What it looks like
    Phases of the compiler among the steps, and the compile id, the second number of which counts
    the variants of one frame:

        {"ph": "X", "cat": "cpu_op", "name": "_compile.compile_inner (dynamo_timed)", "ts": 100.0, "dur": 2310000.0, "pid": 1, "tid": 1}
        {"ph": "X", "cat": "user_annotation", "name": "entire_frame_compile_data: fn_name=_compile.compile_inner, compile_id=0/1", "ts": 100.0, "dur": 3.0, "pid": 1, "tid": 1}

    ## When it is harmless
    In the first recorded step: that is warm-up, which TRC020 tells. A trace without steps that holds
    the first compilations of its frames and nothing more was begun too early: a note.

    ## What to do
    Call the compiled function with every kind of input before the profiler starts. If it compiles
    again all the same, ``TORCH_LOGS=recompiles`` says which guard failed, and the RCP rules read it.

    ## How a live run confirms it
    The same steps run after a warm-up with the same inputs. Confirmed when nothing is compiled.

    ## See also
    RCP001 to RCP004, TRC020.
    """  # noqa: E501 -- the excerpt is events of a trace

    code = "TRC003"
    name = "recompile-inside-window"
    severity = Severity.ERROR
    unconfirmable = IN_THE_PROGRAM

    Data = Compiling
    remedies = (
        Remedy(
            id="guards",
            text="See which guard fails.",
            when="something is compiled again",
            applies=lambda data: data.again,
            setting="torch._logging.set_logs(recompiles=True)",
            env="TORCH_LOGS=recompiles",
            since="2.1",
            proof="https://docs.pytorch.org/docs/stable/logging.html",
        ),
        Remedy(
            id="warm-up",
            text="Warm up with every shape before recording.",
            code="torch.profiler.schedule(wait=1, warmup=2, active=3)",
            basis="tested",
            proof="tests/advice/TRC003/warm-up.py",
        ),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """While the program compiles, the device is idle."""
        return stories(["compile"], finding)

    def check(
        self,
        windows: Table[Window],
        *,
        steps: Table[Step],
        phases: Table[CompilePhase],
        frames: Table[Frame],
    ) -> Iterator[Finding]:
        """Yield one finding per trace that compiles after its first step."""
        for run in runs(windows, steps):
            within = list(phases.within(run.window.first.input))
            late = [row for row in run.all_steps[1:] if _compiles(row)]
            if late and all(map(_compiles, run.all_steps)):
                late = list(run.all_steps)
            known = Compiled(frames, run.window.first.input)
            if late:
                yield self._in_steps(run, late, within, known)
            elif not run.all_steps and (run.window.record.compile_ms or 0.0) >= MIN_MS:
                yield self._in_trace(run, within, known)

    def _in_steps(
        self,
        run: Run,
        late: list[Seen[Step]],
        phases: Sequence[Seen[CompilePhase]],
        known: Compiled,
    ) -> Finding:
        ms = sum(row.record.compile_ms or 0.0 for row in late)
        whole = sum(row.record.ms for row in run.all_steps)
        ids = list(dict.fromkeys(name for row in late for name in row.record.compiles))
        numbers = [f"#{row.record.number}" for row in late if row.record.number is not None]
        after = ", after the first step" if len(late) < len(run.all_steps) else ""
        others = [row.record.ms for row in run.all_steps if not _compiles(row)]
        without = f" A step without takes {length(fmean(others))}." if others else ""
        data = Compiling(compile_ms=ms, of_ms=whole, compiles=tuple(ids), again=True)
        return self.finding(
            "steps",
            title=_counted(run, late),
            message=(
                f"Compilation takes {length(ms)} in {_named('step', numbers)}{after}"
                f"{_what(ids)}.{without}"
            ),
            confidence=Confidence.HIGH,
            count=len(late),
            where=known.function(ids),
            evidence=[
                *[
                    row.quote(f"compiles for {length(row.record.compile_ms or 0.0)}")
                    for row in few(late)
                ],
                *_quotes(phases, ids, " of the whole trace" if _first_alone(run, late) else ""),
            ],
            cost=Cost(ms=ms, share=min(1.0, ms / whole), basis="measured", of="the profiled steps"),
            advice=self.advise(data),
            data=data,
        )

    def _in_trace(self, run: Run, phases: Sequence[Seen[CompilePhase]], known: Compiled) -> Finding:
        window = run.window.record
        ms, ids = window.compile_ms or 0.0, list(window.compiles)
        again = [name for name in ids if not name.endswith("/0")]
        share = min(1.0, ms / window.ms)
        data = Compiling(compile_ms=ms, of_ms=window.ms, compiles=tuple(ids), again=bool(again))
        return self.finding(
            "trace",
            title="the trace holds recompilations"
            if again
            else "the trace begins before the code is compiled",
            message=(
                f"Compilation takes {length(ms)}, {percent(share)} of the trace{_what(ids)}. "
                f"{'Compile ids that do not end in 0 are recompilations. ' if again else ''}"
                "The trace has no steps, so its totals contain all of it."
            ),
            severity=Severity.ERROR if again else Severity.INFO,
            confidence=Confidence.HIGH if again else Confidence.MEDIUM,
            count=max(1, len(ids)),
            where=known.function(again or ids),
            evidence=_quotes(phases, again or ids),
            cost=Cost(ms=ms, share=share, basis="measured", of="the trace"),
            advice=self.advise(data),
            data=data,
        )


def _compiles(row: Seen[Step]) -> bool:
    return (row.record.compile_ms or 0.0) >= MIN_MS


def _first_alone(run: Run, late: list[Seen[Step]]) -> bool:
    """Tell whether the first step compiles as well, and is left out: it is warm-up."""
    return len(late) < len(run.all_steps) and _compiles(run.all_steps[0])


def _counted(run: Run, late: list[Seen[Step]]) -> str:
    """Say how many steps compile, and of which."""
    left_out = _first_alone(run, late)
    after = "after the first, " if left_out else ""
    return f"{after}{len(late)} of {len(run.all_steps) - left_out} profiled steps compile"


def _named(word: str, numbers: list[str]) -> str:
    if not numbers:
        return f"{word}s"
    more = and_more(len(numbers), MAX_NAMED)
    return f"{word} {', '.join(numbers[:MAX_NAMED])}{more}"


def _what(ids: list[str]) -> str:
    if not ids:
        return ""
    more = and_more(len(ids), MAX_NAMED)
    return f" (compile ids {', '.join(f'`{name}`' for name in ids[:MAX_NAMED])}{more})"


def _quotes(
    phases: Sequence[Seen[CompilePhase]], ids: list[str], of: str = ""
) -> list[EvidenceLine]:
    notes = [row for row in phases if row.record.compile_id in ids and row.record.compile_id]
    frames = [row for row in notes if row.record.phase.startswith("entire_frame")]
    timed = sorted((row for row in phases if not row.record.values), key=lambda row: -row.ms)
    return [
        *[row.quote(f"{length(row.ms)} in {row.count} spans{of}") for row in few(timed)],
        *[row.quote() for row in (frames or notes)[:MAX_QUOTED]],
    ]
