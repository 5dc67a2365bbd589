"""TRC013 input-starved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.chrome_trace import DataLoading, PythonFunction
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.traces.measured import Step, Window
from tracelens.traces.printed import AnyLoading, PrintedProfile, is_loading
from tracelens.traces.rows import Timeline
from tracelens.traces.runs import Run, runs
from tracelens.traces.views import devices, stories
from tracelens.traces.views import whole as windows_of
from tracelens.words import length, percent, share_of

__all__ = ["InputStarved"]

MIN_SHARE = 0.1
#: Of the host's time in a printed table, in which the GPU may be at work.
MIN_PRINTED = 0.2
#: Batches of a trace without steps from which on one may be an exception.
MIN_BATCHES = 5
#: How many times as long as the others one is that is none of them.
EXCEPTION = 5
#: Share of the time of all batches from which on it is named what makes them.
MIN_MAKING = 0.5
#: What makes a sample, and a batch of samples; but for what passes on to the program's own.
MAKING = frozenset({"__getitem__", "__getitems__"})
COLLATING = "collate"
_PASSING = "torch/utils/data/"
#: What starts workers, and the share of all waits that as many of the longest have where it is
#: them: the first batch of an epoch waits for workers to start, its end for them to stop.
_BEGINS = "_get_iterator"
MOST_STARTING = 0.25


class Starved(FindingData):
    """How long the program waits for data."""

    #: Whether the process that computes loads the data too.
    alone: bool
    loading_ms: float
    of_ms: float
    #: How often workers were started, where waiting for them to start is most of it.
    started: int = 0
    #: One batch of several, the first as a rule, has nearly all of it.
    once: bool = False


class InputStarved(Rule):
    """The step waits for the DataLoader.

    ## Why it matters
    While the program waits for the next batch it launches nothing. With ``num_workers=0`` the batch is
    loaded and transformed in the training process itself, between the steps.

    ## What it looks like
        {"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "ts": 100.0, "dur": 69298.0, "pid": 1, "tid": 1}

    ## When it is harmless
    The first batch, for which workers have to start, does not count: of several steps the first is
    left out, and without steps one batch is told as such, where the others take little of what the
    device is at work for: from its first kernel to its last.
    Time in which the GPU is at work is not lost: only what it is idle for counts. Below 10 % of the
    step the rule keeps quiet.

    ## What to do
    More workers that stay alive and fetch ahead; less work per sample; data in the page cache.

    ## How a live run confirms it
    The program runs with more workers, and with one batch used again and again. Confirmed when the
    wait and the step's time fall.

    ## See also
    <https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC013"
    name = "input-starved"
    severity = Severity.WARNING
    claim = "time"
    unconfirmable = IN_THE_PROGRAM
    Data = Starved
    remedies = (
        Remedy(
            id="processes",
            text="Load in processes of their own, which fetch ahead.",
            code="DataLoader(dataset, num_workers=4, persistent_workers=True)",
            when="num_workers is 0, and not one batch alone is waited for",
            applies=lambda data: data.alone and not data.once,
            proof="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
        ),
        Remedy(
            id="workers",
            text="More workers, or more batches ahead.",
            code="DataLoader(dataset, num_workers=8, prefetch_factor=4, persistent_workers=True)",
            when="there are workers, and they are too slow",
            applies=lambda data: not (data.alone or data.once or data.started),
            proof="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
        ),
        Remedy(
            id="later",
            text="Record when the program runs: leave the first batches out.",
            code="torch.profiler.profile("
            "schedule=torch.profiler.schedule(wait=1, warmup=2, active=3))",
            when="one batch of several is what is waited for",
            applies=lambda data: data.once,
            proof="https://docs.pytorch.org/docs/stable/profiler.html#torch.profiler.schedule",
        ),
        Remedy(
            id="stay",
            text=lambda data: (
                "Let the workers stay from one epoch to the next."
                if data.started
                else "If each epoch begins so: let the workers stay."
            ),
            code="DataLoader(dataset, num_workers=4, persistent_workers=True)",
            when="workers are waited for until they have started",
            applies=lambda data: (data.once or data.started > 0) and not data.alone,
            proof="https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader",
        ),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """A device without data is idle, and what waits next waits for it."""
        return stories(["data"], finding)

    def follows(self, finding: Finding) -> Iterable[Story]:
        """A window of capture says nothing about data."""
        return stories(["capture"], finding)

    def check(
        self,
        any_loads: Table[AnyLoading],
        *,
        windows: Table[Window],
        loads: Table[DataLoading],
        printed: Table[PrintedProfile],
        steps: Table[Step],
        called: Table[PythonFunction],
        timelines: Table[Timeline],
    ) -> Iterator[Finding]:
        """Yield one finding per trace, or printed table, that waits for data."""
        del any_loads
        for told in printed:
            yield from self._printed(told)
        for each in runs(windows, steps):
            run = replace(each, steps=each.steps[1:]) if each.n > 1 else each
            of_it = list(loads.within(run.window.first.input))
            ms = run.total("idle_loading_ms" if run.on_device else "loading_ms")
            if not of_it or run.ms <= 0 or ms < MIN_SHARE * run.ms:
                continue
            source = run.window.first.input
            ran = share_of(windows_of(timelines, source), devices(timelines, source))
            longest = _longest(run, of_it, ran)
            rest = _rest(run, of_it, longest, ran)
            if longest and rest[0] < MIN_SHARE * rest[1]:
                yield self._once(run, of_it, ms, (longest, *rest))
            elif longest and run.on_device and len(of_it) == 1:
                yield self._others(of_it, longest, rest)
            else:
                made = _making(run, of_it, called)
                yield self._finding(run, of_it, ms, made, 0 if made else _started(of_it, called))

    def _printed(self, row: Seen[PrintedProfile]) -> Iterator[Finding]:
        told = row.record
        rows = told.of(is_loading)
        ms = sum(one.host_ms for one in rows)
        if told.host_ms <= 0 or ms < MIN_PRINTED * told.host_ms:
            return
        share = min(1.0, ms / told.host_ms)
        alone = any("SingleProcess" in one.name for one in rows)
        data = Starved(alone=alone, loading_ms=ms, of_ms=told.host_ms)
        calls = max(1, sum(one.calls for one in rows))
        how = (
            " The process loads the data itself: `num_workers` is 0."
            if alone
            else " The first of an epoch may wait for its workers to start, too."
        )
        yield self.finding(
            "printed",
            title=f"waiting for batches takes {percent(share)} of the host's time in the table",
            message=f"{calls:,} batches took {length(ms / calls)} each to come.{how} Whether the "
            "GPU was idle meanwhile, a trace tells.",
            confidence=Confidence.MEDIUM,
            count=calls,
            evidence=[told.table.quote()],
            cost=Cost(ms=ms, share=share, basis="upper_bound", of="the host's time in the table"),
            advice=self.advise(data),
            data=data,
        )

    def _others(
        self, loads: list[Seen[DataLoading]], longest: float, rest: tuple[float, float]
    ) -> Finding:
        """Return that batches are waited for, also without the one that took longest."""
        alone = any("SingleProcess" in row.record.iterator for row in loads)
        count, (ms, whole) = sum(row.count for row in loads) - 1, rest
        of = "the time from the first kernel to the last"
        return self.finding(
            *sorted({row.record.iterator for row in loads}),
            title=f"waiting for data takes {percent(ms / whole)} of {of}",
            message=(
                f"The program waits {length(ms)} for {count} batches, of {length(whole)}. One more "
                f"is waited for {length(longest)}: the first, as a rule."
                + (" It loads the data itself: `num_workers` is 0." if alone else "")
            ),
            confidence=Confidence.MEDIUM,
            count=count,
            evidence=[row.quote(f"{row.count:,} calls, {length(row.ms)} in all") for row in loads],
            cost=Cost(ms=ms, share=ms / whole, basis="upper_bound", of=of),
            advice=self.advise(data := Starved(alone=alone, loading_ms=ms, of_ms=whole)),
            data=data,
        )

    def _once(
        self,
        run: Run,
        loads: list[Seen[DataLoading]],
        ms: float,
        waits: tuple[float, float, float],
    ) -> Finding:
        alone = any("SingleProcess" in row.record.iterator for row in loads)
        count = sum(row.count for row in loads)
        longest, rest, whole = waits
        lost = min(longest, ms)  # of a GPU that is at work meanwhile only what it is idle
        data = Starved(alone=alone, loading_ms=ms, of_ms=run.ms, once=True)
        return self.finding(
            *sorted({row.record.iterator for row in loads}),
            title=f"one batch of {count} is waited for {length(longest)}, "
            f"{percent(longest / run.ms)} of {run.of}",
            message=(
                f"For the other {count - 1} the program waits {length(rest)} in all, "
                f"{percent(rest / whole)} of the rest. The long one is the first as a "
                "rule: workers start, or the data set is opened."
            ),
            severity=Severity.INFO,
            confidence=Confidence.MEDIUM,
            count=count,
            evidence=[row.quote(f"{row.count:,} calls, {length(row.ms)} in all") for row in loads],
            cost=Cost(ms=lost, share=lost / run.ms, basis="measured", of=run.of),
            advice=self.advise(data),
            data=data,
        )

    def _finding(
        self,
        run: Run,
        loads: list[Seen[DataLoading]],
        ms: float,
        making: Seen[PythonFunction] | None,
        started: int,
    ) -> Finding:
        alone = any("SingleProcess" in row.record.iterator for row in loads)
        idle = ", and the GPU is idle meanwhile" if run.on_device else ""
        rows: list[Seen[DataLoading] | Seen[PythonFunction]] = [*loads]
        data = Starved(alone=alone, loading_ms=ms, of_ms=run.ms, started=started)
        begins = f"workers start anew {started} times: " if started else ""
        how = " It loads the data itself: `num_workers` is 0." if alone else ""
        if making is not None:
            rows.append(making)
            how += (
                f" Most of it is in `{making.record.function}`, {making.record.file}, line "
                f"{making.record.line}: {making.count:,} calls, {length(making.ms)} in all."
            )
        return self.finding(
            *sorted({row.record.iterator for row in loads}),
            title=f"{begins}waiting for data takes {percent(ms / run.ms)} of {run.of}",
            message=(
                f"The program waits {length(ms / run.n)} per step for the next batch, of "
                f"{length(run.ms / run.n)}{idle}.{how}"
                if run.steps
                else f"The program waits {length(ms)} for batches{idle}.{how}"
            ),
            confidence=Confidence.HIGH if run.n > 1 else Confidence.MEDIUM,
            count=run.n,
            evidence=[row.quote(f"{row.count:,} calls, {length(row.ms)} in all") for row in rows],
            cost=Cost(ms=ms, share=ms / run.ms, basis="measured", of=run.of),
            advice=self.advise(data),
            data=data,
        )


def _longest(run: Run, loads: list[Seen[DataLoading]], ran: float) -> float | None:
    """Return the longest wait of a trace without steps, if the others take little of the rest.

    Or if each of them takes little beside it, and it comes before the device begins.
    """
    if run.steps or sum(row.count for row in loads) < MIN_BATCHES:
        return None
    longest = max((row.times.max for row in loads if row.times is not None), default=0.0)
    others = sum(row.ms for row in loads) - longest
    each = others / (sum(row.count for row in loads) - 1)
    before = run.on_device and EXCEPTION * each <= longest <= run.ms - ran
    return longest if before or others < MIN_SHARE * (run.ms - longest) else None


def _rest(
    run: Run, loads: list[Seen[DataLoading]], longest: float | None, ran: float
) -> tuple[float, float]:
    """Return how long the other batches are waited for, and of which time.

    On a device that is from its first kernel to its last: what comes before is no step.
    """
    ms = sum(row.ms for row in loads) - (longest or 0.0)
    whole = ran if run.on_device and ran else run.ms
    inside = run.ms - whole < (longest or 0.0)
    return ms, max(whole - (longest or 0.0) if inside else whole, ms, 1e-9)


def _started(loads: list[Seen[DataLoading]], called: Table[PythonFunction]) -> int:
    """Return how often workers start, where the longest wait of each time is most of all waits.

    A loader whose workers stay asks for them once.
    """
    source = loads[0].first.input
    asked = sum(
        row.count
        for row in called.within(source)
        if row.record.function == _BEGINS and _PASSING in row.record.file.replace("\\", "/")
    )
    longest = max((row.times.max for row in loads if row.times is not None), default=0.0)
    most = asked * longest >= MOST_STARTING * sum(row.ms for row in loads)
    several = any("MultiProcessing" in row.record.iterator for row in loads)
    return asked if asked > 1 and most and several else 0


def _making(
    run: Run, loads: list[Seen[DataLoading]], called: Table[PythonFunction]
) -> Seen[PythonFunction] | None:
    """Return what makes the samples, or the batches of them, where stacks name it."""
    whole = sum(row.ms for row in loads)
    makers = [
        row
        for row in called.within(run.window.first.input)
        if _PASSING not in row.record.file.replace("\\", "/")
        and (row.record.function in MAKING or COLLATING in row.record.function)
        and MIN_MAKING * whole <= row.ms <= whole
    ]
    return max(makers, key=lambda row: row.ms, default=None)
