"""TRC029 capture-inside-window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import RuntimeCall
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.traces.measured import Window
from tracelens.traces.recording import Recorded
from tracelens.traces.rows import Timeline
from tracelens.traces.views import stories
from tracelens.words import length

__all__ = ["CaptureInsideWindow"]

MAX_QUOTED = 4
#: Share of the window that recording again must take where the window is hardly anything else.
MOST = 0.5
#: Of the window, what captures must take to be told before what the program runs.
WARN_SHARE = 0.2


class Captures(FindingData):
    """What is captured in the window."""

    captures: int
    kernels: int
    #: While graphs are captured, and of what, milliseconds; 0 where the trace does not say.
    idle_ms: float = 0.0
    of_ms: float = 0.0
    #: Calls of compiled functions that record, after a call of the same that did not.
    again: int = 0
    #: Whether recording again is most of the time.
    mostly: bool = False


class CaptureInsideWindow(Rule):
    """The window records how CUDA graphs are captured, not how the program runs.

    ## Why it matters
    While a graph is captured, kernels are noted down and not run: the GPU is idle by design, and the
    host does work that no later step repeats. Shares and idle times of such a window say nothing
    about the steady program.

    ## What it looks like
        {"ph": "X", "cat": "cuda_runtime", "name": "hipGraphInstantiateWithFlags", "ts": 100.0, "dur": 440.0, "pid": 1, "tid": 1}

    ## When it is harmless
    Where the capture itself is what is looked at; it is information where the GPU is idle for less
    than 20 % of the window because of it. A window that only replays graphs has
    ``cudaGraphLaunch`` alone, and the rule keeps quiet.

    ## What to do
    Record after warm-up and capture. Where calls of a compiled function record after one that did
    not, it is the program that goes on recording: see why.

    ## How a live run confirms it
    The program is profiled later. Confirmed when no capture is in the trace.

    ## See also
    TRC023 for other one-off work, TRC003 for compilation.
    <https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC029"
    name = "capture-inside-window"
    severity = Severity.INFO
    unconfirmable = "it is about how the trace was recorded, not about the program"
    Data = Captures
    remedies = (
        Remedy(
            id="why",
            text="See why they are recorded: each new shape has a graph of its own, and so has "
            "each new address of what stays in place, and each way through several of them. Keep "
            "shapes the same (pad); where results of the last step are kept, clone them.",
            env="TORCH_LOGS=cudagraphs",
            when="a compiled function records in a call after one that did not",
            applies=lambda data: data.again > 0,
            proof="https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html",
        ),
        Remedy(
            id="later",
            text="Record after warm-up and capture.",
            code=(
                "torch.profiler.profile("
                "schedule=torch.profiler.schedule(wait=1, warmup=3, active=3))"
            ),
            proof="https://docs.pytorch.org/docs/stable/profiler.html#torch.profiler.schedule",
        ),
    )

    def check(
        self,
        windows: Table[Window],
        *,
        calls: Table[RuntimeCall],
        timelines: Table[Timeline],
        recorded: Table[Recorded],
    ) -> Iterator[Finding]:
        """Yield one finding per trace that holds captures."""
        for window in windows:
            mine = calls.within(window.first.input)
            captures = [row for row in mine if row.record.captures]
            if captures:
                rows = [row.record for row in timelines.within(window.first.input)]
                functions = [row.record for row in recorded.within(window.first.input)]
                yield self._finding(window.record, captures, rows, functions)

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Whatever is said of the time of such a window follows from this."""
        return stories(["capture"], finding)

    def _finding(
        self,
        window: Window,
        rows: list[Seen[RuntimeCall]],
        times: list[Timeline],
        functions: list[Recorded],
    ) -> Finding:
        again = sum(row.again for row in functions)
        made = sum(row.count for row in rows if "Instantiate" in row.record.name)
        data = Captures(
            captures=made or window.captures,
            kernels=window.kernels,
            idle_ms=max((row.idle_ms for row in times if row.phase == "capture"), default=0.0),
            of_ms=max((row.window_ms for row in times if row.phase == "window"), default=0.0),
            again=again,
        )
        share = min(1.0, data.idle_ms / data.of_ms) if data.of_ms else 0.0
        data = data.model_copy(update={"mostly": again > 0 and share >= MOST})
        of = "the time from the first kernel to the last"
        many = f"{data.captures} CUDA graphs" if data.captures > 1 else "a CUDA graph"
        return self.finding(
            "capture",
            title=_title(functions, f"the window records the capture of {many}"),
            message=(
                f"The program captures {many} in this window. Kernels are noted down then, not "
                "run: idle times and shares are not those of the steady program."
                f"{_told(functions)}"
            ),
            confidence=Confidence.HIGH,
            severity=Severity.WARNING if share >= WARN_SHARE else None,
            cost=Cost(ms=data.idle_ms, share=share, basis="upper_bound", of=of) if share else None,
            count=data.captures,
            evidence=[row.quote(f"{row.count} calls") for row in rows[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )


def _told(functions: list[Recorded]) -> str:
    """Say which compiled function records, in how many of its calls, and for how long."""
    if not functions:
        return ""
    row = next((row for row in functions if row.again), functions[0])
    some = f"{row.recorded} of {row.calls} calls" if row.calls > 1 else "The call"
    verb, it = ("record", "they take") if row.recorded > 1 else ("records", "it takes")
    others = (
        f"; of the others the shortest takes {length(row.replayed_ms)}"
        if row.recorded < row.calls
        else ""
    )
    each = f", {length(row.recorded_ms / row.recorded)} each" if row.recorded > 1 else ""
    verb_of_these = "follow" if row.again > 1 else "follows"
    after = f" {row.again} of these {verb_of_these} one that does not record." if row.again else ""
    return (
        f" {some} of `{row.name}` {verb}: with all that belongs to it {it} "
        f"{length(row.recorded_ms)}{each}{others}.{after}"
    )


def _title(functions: list[Recorded], otherwise: str) -> str:
    """Name the function that goes on recording, where there is one."""
    row = next((row for row in functions if row.again), None)
    if row is None:
        return otherwise
    return f"CUDA graphs are recorded in {row.recorded} of {row.calls} calls of `{row.name}`"
