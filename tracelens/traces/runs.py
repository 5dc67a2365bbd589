"""The steps of a trace that say how the program runs: without warm-up, compilation and remnants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from tracelens.evidence import Seen, Table
from tracelens.report import EvidenceLine
from tracelens.traces.measured import DeviceBusy, Span, Step, Window

__all__ = ["Run", "runs", "warm_up"]

#: The first step is warm-up when it takes this many times the median of the others.
WARM_UP = 3.0
#: ... and longer by this, milliseconds.
MIN_MS = 1.0
#: A last step that is shorter than this part of any other is what was left of the schedule.
REMNANT = 0.1
#: Of so many steps, the last is where the recording ends when it takes this many times the median,
#: and this much of what it takes longer is neither on the device nor in operators.
MIN_STEPS = 4
LONG_END = 1.3
MOST_OF_IT = 0.8
#: A step that spends more than this share of its time compiling says nothing about the others.
COMPILING = 0.2
#: Part of what a device does that the steps hold at least where the time is told by them: else the
#: host runs ahead, and their spans are when it launched the work, not when that was done.
HELD = 0.5
#: Time that the device may be idle before the program is said to hold it up.
IDLE = 0.2


@dataclass(frozen=True, slots=True)
class Run:
    """One trace."""

    window: Seen[Window]
    #: Steps of the profiler's schedule that are like each other; none without a schedule.
    steps: tuple[Seen[Step], ...]
    #: All steps of the schedule, but for an empty rest at its end.
    all_steps: tuple[Seen[Step], ...]

    @property
    def spans(self) -> Sequence[Seen[Step] | Seen[Window]]:
        """The steps, or the whole trace."""
        return self.steps or (self.window,)

    @property
    def ms(self) -> float:
        """Length of the steps, or of the trace without its compilations."""
        if self.steps:
            return self.total("ms")
        return self.total("ms") - self.total("compile_ms")

    @property
    def n(self) -> int:
        """Number of steps; 1 without a schedule."""
        return len(self.spans)

    @property
    def of(self) -> str:
        """What ``ms`` is, to be read after "of"."""
        if not self.steps:
            return "the trace"
        return f"the {self.n} profiled steps" if self.n > 1 else "the profiled step"

    @property
    def on_device(self) -> bool:
        """Whether kernels ran on a device."""
        return self.window.record.kernels > 0

    @property
    def idle(self) -> float:
        """Share of the time in which no device was at work; 1 on the CPU."""
        return 1 - min(1.0, self.total("busy_ms") / self.ms) if self.ms > 0 else 0.0

    @property
    def runs_ahead(self) -> bool:
        """Whether devices do most of what they do when the steps are over on the host."""
        held = sum(row.record.busy_ms for row in self.all_steps)
        return held < HELD * self.window.record.busy_ms

    @property
    def waits_for_host(self) -> bool:
        """Whether time on the CPU is time that the step takes."""
        return not self.on_device or self.idle >= IDLE

    def total(self, field: str) -> float:
        """Return the sum of a field; what is not known is 0."""
        return sum(getattr(row.record, field) or 0 for row in self.spans)

    def quote(self, note: str) -> EvidenceLine:
        """Return the first step, or the beginning of the trace, as evidence."""
        return self.spans[0].quote(note)

    def holds(self, row: Seen[DeviceBusy]) -> bool:
        """Tell whether a record is of the same trace."""
        return row.first.input == self.window.first.input


def runs(windows: Table[Window], steps: Table[Step]) -> Iterator[Run]:
    """Yield the run that each trace shows."""
    for window in windows:
        of_it = sorted(
            steps.within(window.first.input),
            key=lambda row: row.record.start_ms,
        )
        yield Run(window, tuple(_steady(of_it)), tuple(_whole(of_it)))


def warm_up(steps: Sequence[Seen[Step]]) -> tuple[Seen[Step], float] | None:
    """Return the first step and the median of the others, where it takes much longer than they."""
    rest = [row.record.ms for row in _whole(steps)[1:]]
    if len(rest) < 2:
        return None
    usual = median(rest)
    first = steps[0].record.ms
    return (steps[0], usual) if first > WARM_UP * usual and first - usual >= MIN_MS else None


def _whole(steps: Sequence[Seen[Step]]) -> Sequence[Seen[Step]]:
    if len(steps) < 2:
        return steps
    last, shortest = steps[-1].record, min(row.record.ms for row in steps[:-1])
    return steps[:-1] if last.ms < REMNANT * shortest and _nothing(last) else steps


def _nothing(step: Span) -> bool:
    return not step.kernels and not step.launches and not step.operators_ms


def _steady(steps: Sequence[Seen[Step]]) -> Sequence[Seen[Step]]:
    kept = _whole(steps)
    if warm_up(steps) is not None:
        kept = kept[1:]
    calm = [row for row in kept if (row.record.compile_ms or 0.0) <= COMPILING * row.record.ms]
    kept = calm or kept
    return kept[:-1] if _ends_in(kept) else kept


def _ends_in(steps: Sequence[Seen[Step]]) -> bool:
    """Tell whether the recording ends in the last step: it is long, and by nothing in the trace."""
    if len(steps) < MIN_STEPS or not steps[-1].record.kernels:
        return False
    last, rest = steps[-1].record, [row.record for row in steps[:-1]]
    usual = median(step.ms for step in rest)
    return last.ms > LONG_END * usual and _unseen(last) - median(
        _unseen(step) for step in rest
    ) >= MOST_OF_IT * (last.ms - usual)


def _unseen(step: Step) -> float:
    """Return for how long no device works, no operator runs and nothing is waited for."""
    seen = step.busy_ms + step.idle_host_ms + step.idle_loading_ms + step.idle_compile_ms
    return step.ms - seen
