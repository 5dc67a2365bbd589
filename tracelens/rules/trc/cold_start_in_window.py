"""TRC023 cold-start-in-window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import RuntimeCall
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.traces.measured import Step, Window
from tracelens.traces.printed import AnyProfile, PrintedProfile
from tracelens.traces.rows import Timeline
from tracelens.traces.views import View, stories, views
from tracelens.words import length, percent, plural

__all__ = ["ColdStartInWindow"]

#: One-off work from which on it distorts a window: milliseconds, and share.
MIN_MS = 5.0
MIN_SHARE = 0.1
#: ... and where it is most of a short trace.
MIN_MOST_MS = 1.0
MAX_QUOTED = 3
#: Share of the host's time in a printed table, and milliseconds of a call that starts something.
MIN_PRINTED, LONG_MS = 0.2, 1.0
#: Calls that take memory or load code, which is done once.
STARTS = ("cudaMalloc", "cudaHostAlloc", "cudaFree", "cuModuleLoad", "cuLibraryLoad", "hipMalloc")
#: What gives memory of the device back.
FREES = frozenset({"cudaFree", "hipFree"})
#: Of a trace without steps, what one-off work before the first kernel must take to be told.
MIN_BEFORE = 0.5
#: Calls that give memory back from which on the allocator makes room, and their share of it.
MIN_FREED = 3
FREEING = 0.2
#: A launch that takes longer on average has a slow one among them.
SLOW_MS = 0.1


class ColdStart(FindingData):
    """How long the device waits for one-off work."""

    start_ms: float
    window_ms: float
    #: In steps, memory is given back for other memory to be taken: it is short, or in pieces.
    makes_room: bool = False


class ColdStartInWindow(Rule):
    """The window holds work that is done once: code is loaded, a context made, memory taken.

    ## Why it matters
    The first launch of a kernel loads its module, the first allocation asks the driver, the first
    use of a library makes its handles: milliseconds each, once per process. A short window that holds
    them is about starting, not about running.

    ## What it looks like
    A launch that takes a thousand times longer than usual, with nothing running under it:

        {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "ts": 100.0, "dur": 6540.0, "pid": 1, "tid": 1}

    ## When it is harmless
    In a long window. Below 5 ms, or a tenth of the time, the rule keeps quiet. What is done before
    the first kernel is told where the trace has no steps, from half of the whole trace on. A name such
    as ``warmup`` counts for nothing: calls that start something are what is measured. Where memory is
    given back in steps three times and more, for a fifth of it, the allocator is said to make room.

    ## What to do
    Run a few steps before recording.

    ## How a live run confirms it
    The program is profiled after a warm-up. Confirmed when these calls are gone.

    ## See also
    TRC020 for a first step that is longer, TRC003 for compilation.
    <https://docs.pytorch.org/docs/stable/profiler.html#torch.profiler.schedule>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC023"
    name = "cold-start-in-window"
    severity = Severity.WARNING
    unconfirmable = "it is about how the trace was recorded, not about the program"
    Data = ColdStart
    remedies = (
        Remedy(
            id="segments",
            text="Call no torch.cuda.empty_cache() in steps. Let what is taken grow, so that less "
            "is left over in pieces that fit nothing; if memory is short all the same, use less "
            "of it.",
            env="PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
            when="memory is given back in the profiled steps",
            applies=lambda data: data.makes_room,
            since="2.1",
            proof="https://docs.pytorch.org/docs/2.13/notes/cuda.html"
            "#optimizing-memory-usage-with-pytorch-cuda-alloc-conf",
        ),
        Remedy(
            id="warm-up",
            text="Warm up before recording.",
            code=(
                "torch.profiler.profile("
                "schedule=torch.profiler.schedule(wait=1, warmup=2, active=3))"
            ),
            proof="https://docs.pytorch.org/docs/stable/profiler.html#torch.profiler.schedule",
        ),
    )

    def check(
        self,
        profiles: Table[AnyProfile],
        *,
        windows: Table[Window],
        timelines: Table[Timeline],
        printed: Table[PrintedProfile],
        steps: Table[Step],
        calls: Table[RuntimeCall],
    ) -> Iterator[Finding]:
        """Yield one finding per trace that holds much one-off work."""
        del profiles
        for told in printed:
            yield from self._printed(told)
        for view in views(windows, steps, timelines, whole=True):
            start = view.total("idle_start_ms")
            whole = view.run.window
            cold = 0.0 if view.run.all_steps else whole.record.cold_ms
            if cold >= max(MIN_MS, MIN_BEFORE * whole.record.ms):
                yield self._before(view, whole.record.ms, cold)
            elif start >= max(MIN_MS, MIN_SHARE * view.window_ms) or (
                start >= MIN_MOST_MS and start >= MIN_BEFORE * view.window_ms
            ):
                mine = list(calls.within(view.source))
                slow = [row for row in mine if row.record.starts or _slow(row)]
                slow.sort(key=lambda row: -row.ms)
                yield self._finding(view, start, slow)

    def _printed(self, row: Seen[PrintedProfile]) -> Iterator[Finding]:
        told = row.record
        rows = [
            one
            for one in told.of(lambda name: name.startswith(STARTS) and "Async" not in name)
            if one.host_ms >= LONG_MS * one.calls > 0
        ]
        ms = sum(one.host_ms for one in rows)
        if ms < max(MIN_MS, MIN_PRINTED * told.host_ms):
            return
        share = min(1.0, ms / told.host_ms)
        data = ColdStart(start_ms=ms, window_ms=told.host_ms)
        shown = ", ".join(
            f"`{one.name}` {length(one.host_ms)} in {plural(one.calls, 'call')}"
            for one in rows[:MAX_QUOTED]
        )
        yield self.finding(
            "printed",
            title=f"starting up takes {percent(share)} of the host's time in the table",
            message=f"{shown}: memory is taken and code loaded once, not in every step. The table "
            "is as much about starting as about running.",
            severity=Severity.INFO,
            confidence=Confidence.MEDIUM,
            count=max(1, sum(one.calls for one in rows)),
            evidence=[told.table.quote()],
            cost=Cost(ms=ms, share=share, basis="upper_bound", of="the host's time in the table"),
            advice=self.advise(data),
            data=data,
        )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """What waits for a start is idle."""
        return stories(["start"], finding)

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Capture takes memory and loads code."""
        return stories(["capture"], finding)

    def _before(self, view: View, whole: float, cold: float) -> Finding:
        """Return the finding about a trace that is mostly start, before the first kernel."""
        data = ColdStart(start_ms=cold, window_ms=whole)
        return self.finding(
            "start",
            title=f"one-off work takes {percent(cold / whole)} of the trace",
            message=(
                f"Before the GPU does anything, {length(cold)} of {length(whole)} go into calls "
                "that make its context, load code, or take memory. The trace is about starting, "
                "not about running."
            ),
            confidence=Confidence.HIGH,
            evidence=[view.quote(f"{length(cold)} of one-off work")],
            cost=Cost(ms=cold, share=cold / whole, basis="measured", of="the trace"),
            advice=self.advise(data),
            data=data,
        )

    def _finding(self, view: View, start: float, slow: list[Seen[RuntimeCall]]) -> Finding:
        whole = view.window_ms
        freeing = [row for row in slow if str(row.record) in FREES]
        room = (
            view.in_steps
            and sum(row.count for row in freeing) >= MIN_FREED
            and sum(row.ms for row in freeing) >= FREEING * start
        )
        data = ColdStart(start_ms=start, window_ms=whole, makes_room=room)
        named = ", ".join(f"`{row.record}`" for row in slow[:MAX_QUOTED])
        which = f" in {named}" if named else ""
        told = (
            f" is done once{which}: code is loaded, memory taken, streams made. The window is "
            "about starting, not about running."
        )
        if room:
            told = (
                f" is not done in every step{which}. Memory is given back and taken anew: "
                "PyTorch's allocator makes room, or its cache was emptied."
            )
        return self.finding(
            "start",
            title=f"{'making room for memory' if room else 'one-off work'} takes "
            f"{percent(start / whole)} of {view.of}",
            message=(f"For {length(start)} of {length(whole)} the GPU waits for work that{told}"),
            confidence=Confidence.HIGH,
            count=max(1, len(slow)),
            evidence=[
                view.quote(f"{length(start)} of one-off work"),
                *[
                    row.quote(f"{row.count} calls, {length(row.ms)} in all")
                    for row in slow[:MAX_QUOTED]
                ],
            ],
            cost=Cost(ms=start, share=start / whole, basis="measured", of=view.of),
            advice=self.advise(data),
            data=data,
        )


def _slow(row: Seen[RuntimeCall]) -> bool:
    """Tell whether launches of that name took longer on average than any steady one does."""
    return bool(row.record.launches and row.times and row.ms >= SLOW_MS * row.count)
