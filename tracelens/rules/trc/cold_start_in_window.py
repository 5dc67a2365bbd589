"""TRC023 cold-start-in-window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import RuntimeCall
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.traces.cold import STEADY
from tracelens.traces.measured import Step, Window
from tracelens.traces.printed import AnyProfile, PrintedProfile
from tracelens.traces.rows import FirstCall, Timeline
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
#: Of one-off work, what is done before the first kernel is told from this part on.
EARLY = 0.1
#: Where a start leaves no more of the trace than the rest of this, it says nothing of the program.
MOSTLY = 0.8
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
    #: Of that what is done before the first kernel.
    before_ms: float = 0.0
    #: The trace has no steps, and hardly any of it is steady.
    mostly: bool = False


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
    the first kernel counts where the trace has no steps, alone from half of the whole trace on. A name
    such as ``warmup`` counts for nothing: calls that start something are what is measured, or, where
    no device was recorded, first calls of operators, from half of the trace on. Where memory is
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
        first: Table[FirstCall],
    ) -> Iterator[Finding]:
        """Yield one finding per trace that holds much one-off work."""
        del profiles
        for told in printed:
            yield from self._printed(told)
        for view in views(windows, steps, timelines, whole=True):
            start = view.total("idle_start_ms")
            whole = view.run.window.record.ms
            cold = 0.0 if view.run.all_steps else view.run.window.record.cold_ms
            if cold + start >= max(MIN_MS, MIN_BEFORE * whole) or (
                start >= max(MIN_MS, MIN_SHARE * view.window_ms)
                or (start >= MIN_MOST_MS and start >= MIN_BEFORE * view.window_ms)
            ):
                mine = list(calls.within(view.source))
                slow = [row for row in mine if row.record.starts or _slow(row)]
                slow.sort(key=lambda row: -row.ms)
                yield self._finding(view, (cold, start), slow, _steady(view, timelines))
        for window in windows:
            mine_first = list(first.within(window.first.input))
            ms = sum(row.record.ms + row.record.again_ms for row in mine_first)
            again = any(row.record.later for row in mine_first)
            if again and ms >= MIN_BEFORE * window.record.ms:
                yield self._first_calls(window.record.ms, ms, mine_first)

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

    def _first_calls(self, whole: float, ms: float, rows: list[Seen[FirstCall]]) -> Finding:
        """Return the finding about a trace of no device, in which first calls take most."""
        rows = sorted(rows, key=lambda row: -row.record.ms)
        share = min(1.0, ms / whole)
        data = ColdStart(start_ms=ms, window_ms=whole, mostly=share >= MOSTLY)
        return self.finding(
            "start",
            title=f"first calls of operators take {percent(share)} of the trace{_hardly(data)}",
            message=(
                f"{', '.join(map(_called, rows[:MAX_QUOTED]))}. An operator that works on the GPU "
                "returns once it has launched: so long a first call makes the context, loads code "
                "and libraries, or takes memory, which is done once."
            ),
            confidence=Confidence.MEDIUM,
            count=len(rows),
            evidence=[
                row.quote(f"first call: {length(row.record.ms)}") for row in rows[:MAX_QUOTED]
            ],
            cost=Cost(ms=ms, share=share, basis="measured", of="the trace"),
            advice=self.advise(data),
            data=data,
        )

    def _finding(
        self,
        view: View,
        once: tuple[float, float],
        slow: list[Seen[RuntimeCall]],
        steady: float | None,
    ) -> Finding:
        """Return the finding about work that is done ``once``: before the first kernel, and later.

        ``steady`` is how long the steady part is, where it is told from what comes before.
        """
        before, start = once
        whole, of, ms = view.window_ms, view.of, start
        early = before >= EARLY * (before + start)
        if early:
            whole, of, ms = view.run.window.record.ms, "the trace", before + start
        freeing = [row for row in slow if str(row.record) in FREES]
        room = (
            view.in_steps
            and sum(row.count for row in freeing) >= MIN_FREED
            and sum(row.ms for row in freeing) >= FREEING * start
        )
        rest = steady if steady is not None else view.window_ms - start
        most = not view.run.all_steps and rest <= (1 - MOSTLY) * view.run.window.record.ms
        mostly = most and ms >= MIN_BEFORE * whole
        data = ColdStart(
            start_ms=ms,
            window_ms=whole,
            before_ms=before if early else 0.0,
            makes_room=room,
            mostly=mostly,
        )
        return self.finding(
            "start",
            title=f"{'making room for memory' if room else 'one-off work'} takes "
            f"{percent(ms / whole)} of {of}{_hardly(data)}",
            message=_told(data, once, slow) + _last(data, rest),
            confidence=Confidence.HIGH,
            count=max(1, len(slow)),
            evidence=[
                view.quote(f"{length(ms)} of one-off work"),
                *[
                    row.quote(f"{row.count} calls, {length(row.ms)} in all")
                    for row in slow[:MAX_QUOTED]
                ],
            ],
            cost=Cost(ms=ms, share=ms / whole, basis="measured", of=of),
            advice=self.advise(data),
            data=data,
        )


def _told(data: ColdStart, once: tuple[float, float], slow: list[Seen[RuntimeCall]]) -> str:
    """Say how long the GPU waits for a start, before the first kernel and later."""
    before, start = once
    whole = length(data.window_ms)
    named = ", ".join(f"`{row.record}`" for row in slow[:MAX_QUOTED])
    which = f" in {named}" if named else ""
    most = data.start_ms >= MIN_BEFORE * data.window_ms
    if data.makes_room:
        return (
            f"For {length(data.start_ms)} of {whole} the GPU waits for work that is not done in "
            f"every step{which}. Memory is given back and taken anew: PyTorch's allocator makes "
            "room, or its cache was emptied."
        )
    if not data.before_ms:
        about = " The window is about starting, not about running." if most else ""
        return (
            f"For {length(start)} of {whole} the GPU waits for work that is done once{which}: "
            f"code is loaded, memory taken, streams made.{about}"
        )
    later = ""
    if start >= MIN_MOST_MS:
        later = f" For {length(start)} more it waits for such work later{which}."
    about = " The trace is about starting, not about running." if most else ""
    return (
        f"Before the GPU does anything, {length(before)} of {whole} go into calls that "
        f"make its context, load code, or take memory.{later}{about}"
    )


def _last(data: ColdStart, steady: float) -> str:
    """Say how little is left of a trace that is nearly all start."""
    if not data.mostly:
        return ""
    return f" What is steady of it is {length(steady)}: too little to judge the program by."


def _hardly(data: ColdStart) -> str:
    """Say in a title that a trace is nearly all start."""
    if not data.mostly:
        return ""
    return ", which holds hardly any steady part: record after a warm-up"


def _steady(view: View, timelines: Table[Timeline]) -> float | None:
    """Return how long the steady part is, where it is told from what comes before."""
    device = view.rows[0].record.device
    rows = [row.record for row in timelines.within(view.source) if row.record.phase == STEADY]
    return next((row.window_ms for row in rows if row.device == device), None)


def _called(row: Seen[FirstCall]) -> str:
    """Say how long a first call took, and those after it."""
    call = row.record
    told = f"`{call.operator}` takes {length(call.ms)} the first time"
    if not call.later:
        return told
    if call.again:
        told += f", {length(call.again_ms)} in the next {'one' if call.again == 1 else call.again}"
    each = length(call.later_ms / call.later)
    return f"{told}, and {each} on average in {plural(call.later, 'later call')}"


def _slow(row: Seen[RuntimeCall]) -> bool:
    """Tell whether launches of that name took longer on average than any steady one does."""
    return bool(row.record.launches and row.times and row.ms >= SLOW_MS * row.count)
