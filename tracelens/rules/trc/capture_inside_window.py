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
from tracelens.traces.rows import Timeline
from tracelens.traces.views import stories

__all__ = ["CaptureInsideWindow"]

MAX_QUOTED = 4
#: Of the window, what captures must take to be told before what the program runs.
WARN_SHARE = 0.2


class Captures(FindingData):
    """What is captured in the window."""

    captures: int
    kernels: int
    #: While graphs are captured, and of what, milliseconds; 0 where the trace does not say.
    idle_ms: float = 0.0
    of_ms: float = 0.0


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
    Record after warm-up and capture.

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
        self, windows: Table[Window], *, calls: Table[RuntimeCall], timelines: Table[Timeline]
    ) -> Iterator[Finding]:
        """Yield one finding per trace that holds captures."""
        for window in windows:
            mine = calls.within(window.first.input)
            captures = [row for row in mine if row.record.captures]
            if captures:
                rows = [row.record for row in timelines.within(window.first.input)]
                yield self._finding(window.record, captures, rows)

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Whatever is said of the time of such a window follows from this."""
        return stories(["capture"], finding)

    def _finding(
        self, window: Window, rows: list[Seen[RuntimeCall]], times: list[Timeline]
    ) -> Finding:
        made = sum(row.count for row in rows if "Instantiate" in row.record.name)
        data = Captures(
            captures=made or window.captures,
            kernels=window.kernels,
            idle_ms=max((row.idle_ms for row in times if row.phase == "capture"), default=0.0),
            of_ms=max((row.window_ms for row in times if row.phase == "window"), default=0.0),
        )
        share = min(1.0, data.idle_ms / data.of_ms) if data.of_ms else 0.0
        of = "the time from the first kernel to the last"
        many = f"{data.captures} CUDA graphs" if data.captures > 1 else "a CUDA graph"
        return self.finding(
            "capture",
            title=f"the window records the capture of {many}",
            message=(
                f"The program captures {many} in this window. Kernels are noted down then, not "
                "run: idle times and shares are not those of the steady program."
            ),
            confidence=Confidence.HIGH,
            severity=Severity.WARNING if share >= WARN_SHARE else None,
            cost=Cost(ms=data.idle_ms, share=share, basis="upper_bound", of=of) if share else None,
            count=data.captures,
            evidence=[row.quote(f"{row.count} calls") for row in rows[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )
