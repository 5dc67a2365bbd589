"""The device of a trace as rules judge it: its steady time, and why it was idle then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tracelens.dynamo.user_code import is_generated
from tracelens.evidence import Seen, Table
from tracelens.report import EvidenceLine, Finding, Where
from tracelens.report.stories import Story
from tracelens.traces.cold import EARLIER, STEADY
from tracelens.traces.measured import DeviceBusy, Step, Window
from tracelens.traces.rows import HeldBy, Timeline
from tracelens.traces.runs import IDLE, Run, runs
from tracelens.words import is_whole, length

__all__ = [
    "CAUSES",
    "COMPUTING",
    "MOVING",
    "View",
    "beside",
    "computing",
    "devices",
    "generated",
    "on_each",
    "stories",
    "views",
    "where_of",
    "whole",
]

#: Fields of a row, and what a person would say of them.
CAUSES = {
    "idle_not_launched_ms": "the host had not launched the next kernel yet",
    "idle_data_ms": "the host waited for the next batch",
    "idle_blocked_ms": "the host waited for the GPU or for a copy",
    "idle_start_ms": "the host loaded code, took memory or made a stream",
    "idle_queued_ms": "the next kernel was launched, but did not start",
    "idle_unknown_ms": "the trace does not show why",
}
#: Part of a trace that is all of it.
MOST = 0.9
#: Code that torch generated: what holds it up is how it launches.
GENERATED = ("torchinductor", "/torch_inductor/", "<eval_with_key>", "<string>")


@dataclass(frozen=True, slots=True)
class View:
    """The device that computes most: in the steady steps or part, or from first to last kernel."""

    run: Run
    rows: tuple[Seen[Timeline], ...]
    #: What the host did in the gaps above 0.2 ms of that time, the longest first.
    held: tuple[HeldBy, ...]
    #: Before it the device still did what was launched before the recording: for how long.
    earlier_ms: float = 0.0
    #: Share of the kernels of all devices that it runs.
    part: float = 1.0

    @property
    def source(self) -> str:
        """The trace."""
        return self.run.window.first.input

    @property
    def in_steps(self) -> bool:
        """Whether the time is that of steps."""
        return self.rows[0].record.phase not in {"window", STEADY}

    @property
    def of(self) -> str:
        """What ``window_ms`` is, to be read after "of"."""
        if self.in_steps:
            return self.run.of
        if self.rows[0].record.phase == STEADY:
            return "the steady part of the trace"
        return "the time from the first kernel to the last"

    @property
    def n(self) -> int:
        """Steps; 1 without."""
        return len(self.rows)

    @property
    def known(self) -> bool:
        """Whether the trace joins kernels and the calls that launch them."""
        return any(row.record.idle_queued_ms is not None for row in self.rows)

    @property
    def window_ms(self) -> float:
        """The time that is looked at."""
        return self.total("window_ms")

    @property
    def bound_ms(self) -> float:
        """What the profiler can have added to the time in which the host was late."""
        window = self.run.window.record
        share = min(1.0, self.window_ms / window.ms) if window.ms > 0 else 0.0
        late = self.total("idle_not_launched_ms" if self.known else "idle_ms")
        return min(late, share * window.added_ms)

    def is_much(self, ms: float) -> bool:
        """Whether the device waits for so long that it counts, without what the profiler adds."""
        return ms >= IDLE * (self.window_ms - self.bound_ms) > 0

    @property
    def kernels(self) -> float:
        """How many kernels the device runs in that time: others may run as many beside it."""
        return self.part * self.run.total("kernels")

    @property
    def launches(self) -> float:
        """How many calls launch them: what each device has of all calls, by its kernels."""
        return self.part * self.run.total("launches")

    @property
    def idle_ms(self) -> float:
        """How long nothing runs, less what the profiler can have added."""
        return self.total("idle_ms") - self.bound_ms

    @property
    def late_ms(self) -> float:
        """How long the host is late, less what the profiler can have added.

        Where the trace does not say: all that is not spent on data or compilation.
        """
        if self.known:
            return self.total("idle_not_launched_ms") - self.bound_ms
        others = self.run.total("idle_loading_ms") + self.run.total("idle_compile_ms")
        return max(0.0, self.idle_ms - others)

    @property
    def beyond(self) -> str:
        """What times of the whole trace are told with, where that is more than is looked at."""
        part = self.window_ms < MOST * self.run.window.record.ms
        return ", in the whole trace" if part else ""

    @property
    def before(self) -> str:
        """What came before, as a sentence that can follow others; empty for nothing."""
        if not self.earlier_ms:
            return ""
        return (
            f" It begins after {length(self.earlier_ms)} in which the GPU did what was launched "
            "before the recording."
        )

    def total(self, field: str) -> float:
        """Return the sum of a field; what is not known is 0."""
        return sum(getattr(row.record, field) or 0.0 for row in self.rows)

    def quote(self, note: str) -> EvidenceLine:
        """Return where the device's events begin, as evidence."""
        return self.rows[0].quote(note)


def views(
    windows: Table[Window],
    steps: Table[Step],
    timelines: Table[Timeline],
    held: Table[HeldBy] | None = None,
    *,
    whole: bool = False,
    ran: Table[DeviceBusy] | None = None,
) -> Iterator[View]:
    """Yield the view of each trace with a device.

    Without steps it is of the steady part, if that is told from what comes before; with ``whole``,
    or where most of the work is done after the steps, of all from the first kernel to the last.
    Without ``ran`` kernels are counted on all devices.
    """
    for run in runs(windows, steps):
        source = run.window.first.input
        rows = list(timelines.within(source))
        windowed = [row for row in rows if row.record.phase == "window"]
        if not windowed:
            continue
        main = max(windowed, key=lambda row: row.record.compute_ms)
        names = {f"ProfilerStep#{step.record.number}" for step in run.steps}
        if run.runs_ahead:
            names = set()
        if not run.all_steps and not whole:
            names = {STEADY}
        mine = [row for row in rows if row.record.device == main.record.device]
        steady = tuple(row for row in mine if row.record.phase in names)
        holding = held.within(source) if held is not None else ()
        kept = [row.record for row in holding if row.record.device == main.record.device]
        if steady:
            kept = _within(kept, {row.record.phase for row in steady})
        before = (row.record.window_ms for row in mine if row.record.phase == EARLIER)
        earlier = sum(before) if steady and STEADY in names else 0.0
        counts = [row.record for row in ran.within(source)] if ran is not None else []
        part = _part(counts, main.record.device)
        yield View(run, steady or (main,), tuple(kept), earlier, part)


def _within(rows: Iterable[HeldBy], phases: set[str]) -> list[HeldBy]:
    """Return what the host did in gaps of ``phases``, the longest first."""
    inside = (row.within(phases) for row in rows)
    return sorted((row for row in inside if row is not None), key=lambda row: -row.ms)


def _part(counts: Sequence[DeviceBusy], device: str) -> float:
    """Return which share of all kernels a device runs."""
    every = sum(row.kernels for row in counts)
    return sum(row.kernels for row in counts if row.device == device) / every if every else 1.0


#: What :func:`computing` returns, to be read after "of".
COMPUTING = "the time in which the GPU computes"
MOVING = "the time in which the GPU computes or copies"


def computing(timelines: Table[Timeline], source: str, *, copies: bool = False) -> float:
    """Return for how long the devices of one trace compute, or compute or copy: milliseconds."""
    rows = [row.record for row in timelines.within(source) if row.record.phase == "window"]
    return sum(row.compute_ms + (row.exposed_copy_ms if copies else 0.0) for row in rows)


def whole(timelines: Table[Timeline], source: str) -> float:
    """Return how long the windows of the devices of one trace are, added up: milliseconds."""
    rows = [row.record for row in timelines.within(source) if row.record.phase == "window"]
    return sum(row.window_ms for row in rows)


def devices(timelines: Table[Timeline], source: str) -> int:
    """Return how many devices of one trace compute: what is added up over them takes less time."""
    rows = [row.record for row in timelines.within(source) if row.record.phase == "window"]
    return max(1, sum(row.compute_ms > 0 for row in rows))


def on_each(finding: Finding, timelines: Table[Timeline], source: str) -> Finding:
    """Return a finding whose times are added up over devices with the cost that one of them has."""
    cost, each = finding.cost, devices(timelines, source)
    if each == 1 or cost is None or cost.ms is None or cost.of not in {COMPUTING, MOVING}:
        return finding
    return finding.model_copy(
        update={"cost": cost.model_copy(update={"ms": cost.ms / each})},
    )


def where_of(frame: str) -> Where | None:
    """Return the place that the name of a Python frame gives: the line is that of its ``def``."""
    file, _, rest = frame.rpartition("(")
    line, _, function = rest.partition("): ")
    return Where(file=file, line=int(line), function=function) if is_whole(line) else None


def generated(frame: str) -> bool:
    """Tell whether a frame is of code that torch generated."""
    return any(word in frame for word in GENERATED) or is_generated(frame.rpartition("(")[0])


def beside(finding: Finding) -> str:
    """Return the key that findings about one function share."""
    where = finding.where
    return f"beside {where.file}:{where.line}" if where is not None else "beside"


def stories(words: Iterable[str], finding: Finding) -> list[Story]:
    """Return the keys of what findings about one trace share: ``capture``, ``data``, ``late``.

    A finding about several ranks shares them with findings about any of these.
    """
    sources = dict.fromkeys(line.input for line in finding.evidence) or {"": None}
    return [(f"trace {word}", source) for word in words for source in sources]
