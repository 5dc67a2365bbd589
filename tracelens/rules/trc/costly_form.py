"""TRC035 costly-form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.chrome_trace import BackwardNode, Operator, PythonFunction
from tracelens.report import Confidence, Cost, Finding, Severity
from tracelens.rules import Rule
from tracelens.rules.trc._device_remedies import REMEDIES_ON_DEVICE
from tracelens.rules.trc._forms import (
    FORMS,
    REMEDIES,
    WHOLE_NUMBERS,
    Costly,
    Form,
    is_long_filter,
    is_slow_half,
    one_hot_products,
)
from tracelens.rules.trc._lines import Line, holding, launching, told
from tracelens.rules.trc._needless import NEEDLESS, Saved, saved_by
from tracelens.rules.trc._on_device import Launched, launched
from tracelens.traces.form_rows import LaunchedIn
from tracelens.traces.measured import KernelWork, SelfTime, Step, TraceHeader, Window
from tracelens.traces.needless import Needless
from tracelens.traces.rows import KernelTime, Timeline
from tracelens.traces.runs import COMPILING, Run, runs
from tracelens.traces.sites import LaunchedAt
from tracelens.traces.span_rows import Recomputed
from tracelens.traces.views import COMPUTING, View, computing, on_each, views, where_of
from tracelens.words import length, percent, plural

__all__ = ["CostlyForm"]

#: Share of the trace from which on an operator is named, and milliseconds.
MIN_SHARE = 0.2
MIN_MS = 2.0
MAX_QUOTED = 4
#: What a GPU computes at least, milliseconds: while a graph is captured, hardly anything runs.
MIN_ON_DEVICE_MS = 0.1
_ONE_HOT = "aten::one_hot"
#: What operators are known by their shapes or types -> what they do, and why it takes long.
_SHAPED = {
    "long-filter": ("convolving with long filters", "Each tap is multiplied with each sample."),
    "whole-numbers": (
        "multiplying matrices of whole numbers",
        "Libraries of the CPU multiply floats: whole numbers take torch's own loop.",
    ),
    "halves": (
        "multiplying in 16 bits, which is slow here,",
        "Less than 10 GFLOP/s: the CPU has no instructions for them, or they are not used.",
    ),
    "one-hot": (
        "multiplying with one-hot matrices",
        "Each row is zero but for one place: the product takes a row of the other matrix.",
    ),
}


class _Part(NamedTuple):
    """An operator, and what it takes."""

    row: Seen[Operator] | Seen[BackwardNode]
    ms: float
    calls: int


class CostlyForm(Rule):
    """Much of the time is in operators that have a cheaper form, where that form is enough.

    ## Why it matters
    To sort all of a vocabulary costs more than to find its ten largest; to invert a matrix costs
    more than to solve with it; to resize float32 images takes several times as long as uint8 ones.
    Checkpointing computes in the backward pass what the forward pass has computed before.

    ## What it looks like
    An operator of the CPU with much of the time, or kernels of a GPU with such a name:

        {"ph": "X", "cat": "cpu_op", "name": "aten::_linalg_svd", "ts": 100.0, "dur": 41000.0, "pid": 1, "tid": 1}

    Products with one-hot matrices, and those of whole numbers, are known by their shapes and types;
    scores of all positions of which the last is taken, products that are multiplied with a vector and
    those with diagonal matrices by what comes right before and after them.

    ## When it is harmless
    Where all of the result is needed: every place of a sorted list, the inverse itself; and where
    memory does not suffice without checkpoints. Below a fifth of the trace, or on a GPU of the time
    in which it computes, the rule keeps quiet.

    ## What to do
    Use the cheaper form, where it gives what the program needs.

    ## How a live run confirms it
    The program runs with the cheaper form, and its results are compared. Confirmed when the operator
    is gone and a step gets faster.

    ## See also
    TRC030 for what else the CPU computes, TRC014 for copies, TRC033 for float64.
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC035"
    name = "costly-form"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM
    Data = Costly
    remedies = (*REMEDIES, *REMEDIES_ON_DEVICE)

    def check(
        self,
        windows: Table[Window],
        *,
        steps: Table[Step],
        operators: Table[Operator],
        nodes: Table[BackwardNode],
        again: Table[Recomputed],
        frames: Table[PythonFunction],
        own: Table[SelfTime],
        works: Table[KernelWork],
        timelines: Table[Timeline],
        kernels: Table[KernelTime],
        inside: Table[LaunchedIn],
        headers: Table[TraceHeader],
        needless: Table[Needless],
        lines: Table[LaunchedAt],
    ) -> Iterator[Finding]:
        """Yield one finding per form that takes much of a trace of the CPU, or of a GPU."""
        for view in views(windows, steps, timelines):
            shown = list(kernels.within(view.source))
            ran = [row.record for row in inside.within(view.source)]
            took = computing(timelines, view.source)
            if took < MIN_ON_DEVICE_MS:
                continue
            asked = {str(row.record): row.count for row in operators.within(view.source)}
            places = [row.record for row in lines.within(view.source)]
            for each in launched([row.record for row in shown], ran, asked, took):
                amd = _of_amd(headers, view.source)
                place = launching(places, each.ms, each.launches)
                told_of = self._launched(view, each, shown, took, place, amd=amd)
                yield on_each(told_of, timelines, view.source)
        yield from self._by_place(windows, timelines, needless, works, nodes)
        for run in runs(windows, steps):
            whole, source = run.window.record, run.window.first.input
            compiles = (whole.compile_ms or 0.0) > COMPILING * whole.ms
            if run.on_device or whole.launches or whole.unread or compiles:
                continue
            least = max(MIN_MS, MIN_SHARE * whole.ms)
            trained = [row for row in nodes.within(source) if not row.record.evaluated]
            called = [*operators.within(source), *trained]
            names = [str(row.record) for row in called]
            known, times = set(names), {str(row.record): row.count for row in called}
            alone = {row.record.name: row.record for row in own.within(source)}
            for form in FORMS:
                named = set(filter(form.names.fullmatch, known))
                rows = [row for row, name in zip(called, names, strict=True) if name in named]
                parts = [_Part(row, _taken(row, alone), _called(row, alone)) for row in rows]
                ms = sum(part.ms for part in parts)
                moot = bool(form.evaluates and trained) or not form.moot.isdisjoint(known)
                moot = moot or bool(form.needs and form.needs.isdisjoint(known))
                moot = moot or (form.counts is not None and not form.counts(times))
                if ms >= least and not moot:
                    line = holding(frames, source, whole.ms, ms)
                    yield self._finding(run, form, parts, line)
            mine = [row for row in works.within(source) if row.record.on_host]
            written = sum(row.count for row in called if str(row.record) == _ONE_HOT)
            hot = one_hot_products((row.record for row in mine), written)
            for id_, shaped in (
                ("long-filter", [row for row in mine if is_long_filter(row.record)]),
                ("whole-numbers", [row for row in mine if _of_whole_numbers(row.record)]),
                ("one-hot", [row for row in mine if row.record in hot]),
                ("halves", [row for row in mine if is_slow_half(row.record)]),
            ):
                if sum(row.record.ms for row in shaped) >= least:
                    yield self._shaped(run, id_, shaped)
            for row in again.within(source):
                if row.record.host_ms >= least:
                    yield self._again(run, row)

    def _finding(
        self, run: Run, form: Form, parts: list[_Part], line: Seen[PythonFunction] | None
    ) -> Finding:
        whole = run.window.record.ms
        parts = sorted(parts, key=lambda part: -part.ms)
        ms = min(whole, sum(part.ms for part in parts))
        calls = sum(part.calls for part in parts)
        names = ", ".join(f"`{part.row.record}` {length(part.ms)}" for part in parts[:MAX_QUOTED])
        where = f" {told(line, whole)}." if line is not None else ""
        data = Costly(form=form.id, operator=str(parts[0].row.record), ms=ms, of_ms=whole)
        return self.finding(
            form.id,
            title=f"{form.what} takes {percent(ms / whole)} of the trace",
            message=f"{names} in {plural(calls, 'call')}, of {length(whole)}.{where}",
            where=where_of(str(line.record)) if line is not None else None,
            confidence=Confidence.MEDIUM,
            count=calls,
            evidence=[
                part.row.quote(f"{plural(part.calls, 'call')}, {length(part.ms)} in all")
                for part in parts[:MAX_QUOTED]
            ],
            cost=_cost(ms, whole),
            advice=self.advise(data),
            data=data,
        )

    def _launched(
        self,
        view: View,
        each: Launched,
        kernels: list[Seen[KernelTime]],
        whole: float,
        line: Line,
        *,
        amd: bool,
    ) -> Finding:
        form, ms = each.form, min(each.ms, whole)
        names = ", ".join(f"`{name}`" for name in each.names[:MAX_QUOTED])
        mine = [row for row in kernels if form.kernels.search(row.record.full_name)]
        mine.sort(key=lambda row: -row.record.sum_ms)
        data = Costly(
            form=form.id,
            operator=next(iter(each.names), ""),
            ms=ms,
            of_ms=whole,
            on_device=True,
            amd=amd,
            compiled=bool(view.run.total("compiled_ms")),
        )
        return self.finding(
            form.id,
            title=f"{form.what} takes {percent(ms / whole)} of {COMPUTING}",
            message=f"{names}: {plural(each.n, 'kernel')}, {length(ms)} of {length(whole)}."
            f"{line.told}",
            where=line.where,
            confidence=Confidence.MEDIUM,
            count=each.n,
            evidence=[
                row.quote(f"{row.record.n} times, {length(row.record.sum_ms)} in all")
                for row in mine[:MAX_QUOTED]
            ]
            or [view.quote(f"{length(ms)} in {names}")],
            cost=Cost(ms=ms, share=ms / whole, basis="upper_bound", of=COMPUTING),
            advice=self.advise(data),
            data=data,
        )

    def _shaped(self, run: Run, form: str, rows: list[Seen[KernelWork]]) -> Finding:
        """Tell of operators that are known by what they work on."""
        whole, n = run.window.record.ms, sum(row.record.count for row in rows)
        ms = min(whole, sum(row.record.ms for row in rows))
        most = max(rows, key=lambda row: row.record.ms)
        what, why = _SHAPED[form]
        data = Costly(form=form, operator=most.record.what, ms=ms, of_ms=whole)
        return self.finding(
            form,
            title=f"{what} takes {percent(ms / whole)} of the trace",
            message=f"`{most.record.what}` of {most.record.shape}: {plural(n, 'call')}, "
            f"{length(ms)} of {length(whole)}. {why}",
            confidence=Confidence.HIGH,
            count=n,
            evidence=[most.quote(f"{most.record.shape}, {length(most.record.ms)} in all")],
            cost=_cost(ms, whole),
            advice=self.advise(data),
            data=data,
        )

    def _by_place(
        self,
        windows: Table[Window],
        timelines: Table[Timeline],
        needless: Table[Needless],
        works: Table[KernelWork],
        nodes: Table[BackwardNode],
    ) -> Iterator[Finding]:
        """Yield products that have a cheaper form, of programs that are not trained."""
        for window in windows:
            source = window.first.input
            if any(not row.record.evaluated for row in nodes.within(source)):
                continue
            on_host = not window.record.kernels
            whole = window.record.ms if on_host else computing(timelines, source)
            of = "the trace" if on_host else COMPUTING
            for each in saved_by(needless.within(source), works.within(source), on_host=on_host):
                if each.ms >= max(MIN_MS * on_host, MIN_SHARE * whole) > 0:
                    yield on_each(self._needless(each, whole, of), timelines, source)

    def _needless(self, each: Saved, whole: float, of: str) -> Finding:
        """Tell of products that have a cheaper form, by what comes before and after them."""
        share, said = min(1.0, each.ms / whole), NEEDLESS[each.form]
        data = Costly(form=each.form, operator=each.work.record.what, ms=each.ms, of_ms=whole)
        return self.finding(
            each.form,
            title=f"{said.what} takes {percent(min(1.0, each.took / whole))} of {of}",
            message=f"`{each.work.record.what}` of {each.work.record.shape}: "
            f"{plural(each.n, 'call')}, {length(each.took)} of {length(whole)}. "
            f"{said.why}",
            confidence=Confidence.MEDIUM,
            count=each.n,
            evidence=[each.work.quote(f"{each.work.record.shape}, {length(each.took)} in all")],
            cost=Cost(ms=min(whole, each.ms), share=share, basis="upper_bound", of=of),
            advice=self.advise(data),
            data=data,
        )

    def _again(self, run: Run, row: Seen[Recomputed]) -> Finding:
        whole = run.window.record.ms
        ms = min(whole, row.record.host_ms)
        data = Costly(form="checkpoint", operator="", ms=ms, of_ms=whole)
        return self.finding(
            "checkpoint",
            title=f"checkpointing computes again for {percent(ms / whole)} of the trace",
            message=(
                f"In the backward pass {plural(row.record.calls, 'operator')} of the forward pass "
                f"run a second time: {length(ms)} of {length(whole)}. It saves memory, not time."
            ),
            confidence=Confidence.HIGH,
            count=row.record.calls,
            evidence=[row.quote(f"the first of {row.record.calls}")],
            cost=_cost(ms, whole),
            advice=self.advise(data),
            data=data,
        )


def _of_whole_numbers(work: KernelWork) -> bool:
    return work.kind == "product" and work.dtype in WHOLE_NUMBERS


def _of_amd(headers: Table[TraceHeader], source: str) -> bool:
    return any("AMD" in name for row in headers.within(source) for name in row.record.devices)


def _taken(row: Seen[Operator] | Seen[BackwardNode], alone: dict[str, SelfTime]) -> float:
    """Return what an operator takes: its own time, where it calls hardly anything but itself."""
    known = alone.get(str(row.record))
    return known.ms if known is not None and known.ms >= row.ms / 3 else row.ms


def _called(row: Seen[Operator] | Seen[BackwardNode], alone: dict[str, SelfTime]) -> int:
    """Return how often the program calls it: a call inside of one of the same name is the same."""
    known = alone.get(str(row.record))
    return row.count - (known.inner if known is not None else 0)


def _cost(ms: float, whole: float) -> Cost:
    return Cost(ms=ms, share=ms / whole, basis="upper_bound", of="the trace")
