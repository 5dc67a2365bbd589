"""TRC024 host-work-holds-device."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.chrome_trace import PythonFunction, RuntimeCall
from tracelens.report import Confidence, Cost, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.rules.trc._graphs import in_use
from tracelens.rules.trc._holding import BACKWARD, GARBAGE, REMEDIES, WAITS, Holding, Known, doing
from tracelens.rules.trc._pauses import called_away, called_in, is_stray, named
from tracelens.traces.host_work import Work, work_of
from tracelens.traces.measured import Step, Window
from tracelens.traces.rows import BetweenOperators, CopyTime, HeldBy, MemoryTraffic, Timeline
from tracelens.traces.taking import Taking
from tracelens.traces.views import View, beside, generated, stories, views, where_of
from tracelens.words import length, percent, plural, share_of

__all__ = ["HostWorkHoldsDevice"]

#: Share of the time from which on a line is worth naming; from the second on as a warning.
MIN_SHARE = 0.05
WARN_SHARE = 0.1
MIN_MS = 1.0
#: ... of the trace on the CPU, where nothing names what the host does.
UNNAMED = 0.3
#: ... and on the CPU, where the program starts and ends, too.
MIN_CPU_MS = 5.0
#: An operator without a line is named where its gaps are this long on average, milliseconds.
MIN_OPERATOR_MS = 1.0
#: Findings per trace.
MOST = 5
#: The profiler itself, and what only waits for others.
NOT_WORK = ("torch/profiler/", "torch/autograd/profiler", "threading.py(", "selectors.py(")
#: What is an operator, and no annotation around half of the step.
_OPERATOR = re.compile(r"\w::\w|Backward\d*$")
#: Gaps of a line that calls torch are its own, not those between launches, from as many times the
#: time from one launch to the next on.
BETWEEN = 5.0
#: How the calls of compiled frames are named.
_REGION = "Torch-Compiled Region: "
#: Share of the idle time that one line explains.
MAIN = 0.5
#: Gaps from which on they may follow from results that are copied to the host, and bytes of one:
#: fewer are a loss that is read.
MANY_RESULTS = 20
RESULT_BYTES = 1024


def _results(row: CopyTime) -> bool:
    return row.direction == "DtoH" and (row.bytes or 0) >= RESULT_BYTES * row.n


class HostWorkHoldsDevice(Rule):
    """The GPU waits for work on the host that the trace names: a line of Python, or an operator.

    ## Why it matters
    A kernel can only run once it is launched. While the thread that launches tokenizes, logs,
    builds a tensor from a list or walks a dictionary, the GPU has nothing to do.

    ## What it looks like
    A gap between two kernels, the second of which is launched late, and a Python frame that covers it:

        {"ph": "X", "cat": "python_function", "name": "train.py(40): tokenize", "ts": 150.0, "dur": 7000.0, "pid": 1, "tid": 1}

    ## When it is harmless
    Once per epoch. Short gaps of a line that most of the trace is in are those of launches
    (TRC001). Below a twentieth of the time a line is not named; waiting for a ``DataLoader``
    is TRC013's, and code that torch generated is TRC002's. Of a program on the CPU a tenth of the
    trace is named, and 5 ms, as information: what no operator does need not be wrong. Where nothing
    names it, for want of stacks, that is said from three tenths of the trace on.

    ## What to do
    Move the work out of the step: to the workers of the ``DataLoader``, to another thread, to the device,
    or to every hundredth step. Where it is a library's on the way to its launches, a CUDA graph leaves it out.

    ## How a live run confirms it
    The program runs without that work. Confirmed when the gaps and the step's time shrink.

    ## See also
    TRC001 for the idle time as a whole, TRC006 for waits.
    <https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC024"
    name = "host-work-holds-device"
    severity = Severity.WARNING
    claim = "time"
    unconfirmable = IN_THE_PROGRAM
    Data = Holding
    remedies = REMEDIES

    def check(
        self,
        windows: Table[Window],
        *,
        timelines: Table[Timeline],
        between: Table[BetweenOperators],
        steps: Table[Step],
        held: Table[HeldBy],
        traffic: Table[MemoryTraffic],
        calls: Table[RuntimeCall],
        frames: Table[PythonFunction],
        copies: Table[CopyTime],
    ) -> Iterator[Finding]:
        """Yield one finding per line or operator that holds the device up for long."""
        for window in windows:
            source = window.first.input
            yield from self._on_cpu(window, list(between.within(source)), frames)
        for view in views(windows, steps, timelines, held):
            for taken in traffic.within(view.source):
                yield from self._on_memory(view, taken, list(calls.within(view.source)))
            late = view.total("idle_not_launched_ms")
            every = sum(row.ms for row in view.held if row.cause == "not_launched")
            part = min(1.0, share_of(late, every))
            keep = 1 - view.bound_ms / late if late else 0.0
            sums: defaultdict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
            inside: dict[tuple[str, str], HeldBy] = {}
            for row in view.held:
                if (place := _place(row)) is not None:
                    sums[place][0] += row.ms * part * keep
                    sums[place][1] += row.count
                    inside[place] = max(inside.get(place, row), row, key=lambda each: each.ms)
            read = sum(r.record.n for r in copies.within(view.source) if _results(r.record))
            took = {str(row.record): row.ms for row in frames.within(view.source)}
            longest = sorted(sums.items(), key=lambda pair: (-pair[1][0], pair[0]))
            for place, (ms, gaps) in longest[:MOST]:
                if _holds_all(took.get(place[0], 0.0), view, ms, gaps):
                    continue
                own = bool(place[0]) and not place[0].endswith("): forward")  # which launches
                inner = inside[place].frame
                if own and inner != place[0] and _work(place[0], "", inner) == Work.OWN:
                    own = ms >= BETWEEN * gaps * view.window_ms / max(view.launches, 1.0)
                long = own or ms >= MIN_OPERATOR_MS * gaps
                if long and ms >= max(MIN_MS, MIN_SHARE * view.window_ms):
                    known = MANY_RESULTS <= gaps <= read, in_use(calls, view.source)
                    yield self._finding(view, place, inside[place], (ms, int(gaps), *known))

    def _on_cpu(
        self,
        window: Seen[Window],
        rows: list[Seen[BetweenOperators]],
        frames: Table[PythonFunction],
    ) -> Iterator[Finding]:
        """Yield where a program on the CPU is between its operators."""
        whole = window.record.ms
        bound = window.record.added_ms
        stacks = window.record.python_calls
        unnamed = [row for row in rows if not stacks and not named(row.record)]
        ms = sum(row.record.ms for row in unnamed)
        if ms - bound * share_of(ms, whole) >= max(MIN_CPU_MS, UNNAMED * whole):
            yield self._unnamed(window, unnamed, ms)
        sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0])
        inner: dict[str, Seen[BetweenOperators]] = {}
        known = frames.within(window.first.input)
        calls = {str(row.record): row.count for row in known}
        took = {str(row.record): row.ms for row in known}
        for row in rows:
            name = named(row.record)
            if row.record.called == BACKWARD or is_stray(row.record, calls, took):
                continue  # torch's own: it sorts its nodes, and lets go of what was kept
            if name and not any(word in name for word in NOT_WORK[:2]):
                sums[name][0] += row.record.frame_ms if called_away(row.record) else row.record.ms
                sums[name][1] += row.record.count
                longest = inner.get(name, row)
                inner[name] = max(longest, row, key=lambda each: each.record.ms)
        for name, (ms, pauses) in sorted(sums.items(), key=lambda pair: (-pair[1][0], pair[0])):
            less = ms - bound * share_of(ms, whole)
            if less >= max(MIN_CPU_MS, WARN_SHARE * whole):
                most = called_in(name, less, frames, window.first.input)
                yield self._between(window, name, less, int(pauses), inner[name], most=most)

    def _unnamed(
        self, window: Seen[Window], rows: list[Seen[BetweenOperators]], ms: float
    ) -> Finding:
        whole = window.record.ms
        pauses = sum(row.record.count for row in rows)
        share = ms / whole
        data = Holding(
            frame="", operator="", ms=ms, gaps=pauses, of_ms=whole, of_late=0.0, on_cpu=True
        )
        return self.finding(
            "between operators",
            title=f"no operator runs for {percent(share)} of the trace",
            message=(
                f"In {plural(pauses, 'pause')} of 0.2 ms and more, {length(ms)} of "
                f"{length(whole)}, torch computes nothing, and the trace does not show what the "
                "program does: its own Python, other libraries, files, or waiting."
            ),
            severity=Severity.INFO,
            confidence=Confidence.MEDIUM,
            count=pauses,
            evidence=[rows[0].quote(f"between operators: {length(ms)}")],
            cost=Cost(ms=ms, share=share, basis="upper_bound", of="the trace"),
            advice=self.advise(data),
            data=data,
        )

    def _between(
        self,
        window: Seen[Window],
        name: str,
        ms: float,
        pauses: int,
        longest: Seen[BetweenOperators],
        *,
        most: Seen[PythonFunction] | None,
    ) -> Finding:
        whole, inner = window.record.ms, longest.record
        share = ms / whole
        where = where_of(name) if "(" in name else None
        region = inner.operator.removeprefix(_REGION) if _REGION in inner.operator else ""
        shown = f"`{where.function}`" if where is not None else f"`{name}`"
        if region and where is None:
            shown = f"Python beside the graphs of `{region}`"
        many = plural(pauses, "pause")
        at_once = length(min(inner.longest_ms, ms))
        at_once = f"; the longest pause takes {at_once}" if inner.count > 1 else ""
        there = (
            f" Of it {length(min(inner.frame_ms, ms))} in `{inner.frame}`, which it calls{at_once}."
            if where is not None and inner.frame not in {"", name} and not inner.called
            else ""
        )
        if inner.called:
            there = (
                f" Of {length(min(inner.ms, ms))}, most is in a call of `{inner.called}`{at_once}."
            )
        elif most is not None:
            place = f"{most.record.file}, line {most.record.line}"
            there = f" `{most.record.function}`, {place}, takes {length(most.ms)} in "
            there += f"{plural(most.count, 'call')}."
            where = where_of(str(most.record))
            shown = f"a loop over `{most.record.function}`"
        data = Holding(
            frame=name if where is not None else "",
            operator="" if where is not None else name,
            ms=ms,
            gaps=pauses,
            of_ms=whole,
            of_late=0.0,
            on_cpu=True,
            work=_work(name, called_away(inner), inner.frame, model=inner.in_model),
            called=inner.called if inner.ms >= MAIN * ms else "",
            region=region,
        )
        return self.finding(
            where.function if where is not None else name,
            title=f"{shown} takes {percent(share)} of the trace, and runs no operator",
            message=(
                f"In {many} of 0.2 ms and more torch computes nothing, and the host is in "
                f"{shown}: {length(ms)} of {length(whole)}.{there} {doing(data)}"
            ),
            severity=Severity.WARNING if region else Severity.INFO,
            confidence=Confidence.MEDIUM,
            count=pauses,
            where=where,
            evidence=[longest.quote(f"{length(ms)} in {many}")],
            cost=Cost(ms=ms, share=share, basis="upper_bound", of="the trace"),
            advice=self.advise(data),
            data=data,
        )

    def _on_memory(
        self, view: View, taken: Seen[MemoryTraffic], calls: list[Seen[RuntimeCall]]
    ) -> Iterator[Finding]:
        """Yield that memory is taken and given back for as long as the program runs."""
        host, window = taken.record.host, view.run.window.record.ms
        idle = taken.record.idle_ms * min(1.0, share_of(view.window_ms, window))
        if idle < max(MIN_MS, MIN_SHARE * view.window_ms):
            return
        mine = [row for row in calls if Taking.takes(row.record.name)]
        mine = [row for row in mine if Taking.of_host(row.record.name) is host]
        mine.sort(key=lambda row: -row.ms)
        names = " and ".join(f"`{row.record}`" for row in mine[:2])
        share = idle / view.window_ms
        waiting = max(idle, view.total("idle_ms"))
        data = Holding(
            frame="",
            operator="",
            ms=idle,
            gaps=0,
            of_ms=view.window_ms,
            of_late=idle / waiting,
            work=Work.MEMORY,
            pinned=host,
        )
        what = "pins memory" if host else "takes memory and gives it back"
        yield self.finding(
            "pinned memory" if host else "memory",
            title=f"the GPU waits for {percent(share)} of {view.of} while the program {what}",
            message=(
                f"{sum(row.count for row in mine):,} calls of {names} go on for as long as the "
                f"program runs, and nothing runs on the GPU in {length(idle)} of them. Each waits "
                "for the GPU; PyTorch needs them at the beginning only, and keeps what it took."
            ),
            severity=Severity.WARNING if share >= WARN_SHARE else Severity.INFO,
            confidence=Confidence.HIGH,
            count=sum(row.count for row in mine),
            evidence=[row.quote(f"{row.count} calls, {length(row.ms)} in all") for row in mine[:2]],
            cost=Cost(ms=idle, share=share, basis="upper_bound", of=view.of),
            advice=self.advise(data),
            data=data,
        )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """What explains most of the time in which the host is late explains the idle device."""
        data = Holding.model_validate(finding.data)
        words = ["memory"] if data.work == Work.MEMORY else ["late", "held"]
        return stories(words, finding) if data.of_late >= MAIN else ()

    def follows(self, finding: Finding) -> Iterable[Story]:
        """While graphs are captured, the host is late by design; or another rule knows the line."""
        starts = ["data"] if finding.data.get("work") == Work.STARTS else []
        return stories(["capture", *starts, beside(finding)], finding)

    def _finding(
        self, view: View, place: tuple[str, str], longest: HeldBy, known: Known
    ) -> Finding:
        (frame, operator), (ms, gaps, results, graphed) = place, known
        late = max(view.late_ms, ms)
        computes = ms >= MIN_OPERATOR_MS * gaps  # to launch takes less
        within = longest.operator if computes else ""
        work = _work(frame, within, longest.frame, model=longest.in_model)
        data = Holding(
            frame=frame,
            operator=longest.operator if work == Work.COMPUTES else operator,
            ms=ms,
            gaps=gaps,
            of_ms=view.window_ms,
            of_late=ms / late,
            work=work,
            called=longest.called if longest.called in {GARBAGE, *WAITS} else "",
            results=results,
            graphed=graphed,
        )
        inner = f" It calls `{data.called}`: {doing(data)}" if data.called else ""
        if work == Work.COMPUTES:
            inner = f" Longest in `{longest.operator}`, which computes on the CPU."
        share = ms / view.window_ms
        where = where_of(frame) if frame else None
        # A cell of a notebook, or a file itself, is no name.
        inside = longest.operator if computes and "): <" in frame else ""
        name = f"`{inside or (where.function if where is not None else frame or operator)}`"
        if work == Work.UPDATES:
            name = f"the optimizer on the host ({name})"
        bound = " Less what the profiler can have added." if view.bound_ms >= 0.01 * ms else ""
        return self.finding(
            where.function if where is not None else operator,
            title=f"the GPU waits for {name} for {percent(share)} of {view.of}",
            message=(
                f"In {plural(gaps, 'gap')} of 0.2 ms and more the next kernel is not launched "
                f"yet, and the host is in {name}: {length(ms)} of {length(view.window_ms)}."
                f"{bound}{inner}"
            ),
            severity=Severity.WARNING if share >= WARN_SHARE else Severity.INFO,
            confidence=Confidence.HIGH if frame else Confidence.MEDIUM,
            count=gaps,
            where=where,
            evidence=[view.quote(f"{length(ms)} in {plural(gaps, 'gap')}")],
            cost=Cost(ms=ms, share=share, basis="upper_bound", of=view.of),
            advice=self.advise(data),
            data=data,
        )


def _holds_all(took: float, view: View, ms: float, gaps: float) -> bool:
    """Tell whether a line is around most of the trace, and its gaps as short as launches are.

    Then the model and its passes are in it: it is no pause, and all that is said is TRC001's.
    """
    most = took >= MAIN * view.run.window.record.ms and ms < MAIN * took
    return most and ms < MIN_OPERATOR_MS * gaps


def _work(name: str, operator: str, inner: str, *, model: bool = False) -> Work:
    """Return what a line of the program does, by its own name or that of what it calls longest."""
    own = work_of(name, operator)
    called = work_of(inner, "")
    known = {Work.REPORTS, Work.PREPARES, Work.STARTS, Work.UPDATES}
    found = called if own == Work.OWN and called in known else own
    return Work.MODEL if found == Work.OWN and model else found


def _place(row: HeldBy) -> tuple[str, str] | None:
    """Return the line, and the operator where there is no line; None for what is told elsewhere."""
    frame = row.user_frame or row.frame
    if row.cause != "not_launched" or generated(row.frame) or generated(frame):
        return None
    if any(word in row.frame for word in NOT_WORK):
        return None
    if frame:
        return frame, ""
    return ("", row.operator) if _OPERATOR.search(row.operator) else None
