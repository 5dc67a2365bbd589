"""TRC014 copy-and-layout-overhead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.chrome_trace import (
    BackwardNode,
    DeviceKernel,
    MemoryCopy,
    Operator,
    PythonFunction,
)
from tracelens.report import Confidence, Cost, EvidenceLine, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.rules.trc._copied import (
    COPY,
    biases,
    converted,
    copied_deeply,
    largest,
    made_contiguous,
)
from tracelens.rules.trc._lines import holding
from tracelens.rules.trc._moved import REMEDIES, Moved, before_convolutions, casting
from tracelens.rules.trc._parallel import REDUCER
from tracelens.traces.measured import KernelWork, SelfTime, TraceHeader, Window
from tracelens.traces.printed import AnyProfile, PrintedProfile
from tracelens.traces.rows import Timeline
from tracelens.traces.sequences import KernelSequence
from tracelens.traces.views import MOVING, computing, on_each, stories, where_of
from tracelens.words import length, listed, percent

__all__ = ["CopyAndLayoutOverhead"]

MIN_SHARE = 0.1
#: Kernels that take less in all are no load, milliseconds.
MIN_MS = 0.05
#: On the CPU, milliseconds of a call below which calling it is the price, and not moving data.
MIN_CALL_MS = 0.02
#: Share of the trace that compilation may take: it copies, too.
COMPILING = 0.05
MAX_TOLD = 4
#: Operators that only move or convert elements.
COPIES = frozenset(
    {"aten::copy_", "aten::clone", "aten::contiguous", "aten::_to_copy", "aten::to", "aten::cat"}
)
JOINING = "aten::cat"
#: Parts of the names of kernels that change the layout for one convolution ...
LAYOUT = ("nchwToNhwc", "nhwcToNchw", "convertTensor", "batched_transpose")
#: ... and of those that copy or convert.
COPYING = ("direct_copy_kernel", "_copy_kernel_cuda", "CatArrayBatchedCopy")
#: ... of them, those that join tensors, and those that convert between types.
JOINS = "CatArrayBatchedCopy"
#: Copies between the host and the device, as Nsight Systems and nvprof name them.
_BETWEEN = ("[CUDA memcpy H", "[CUDA memcpy DtoH", "[CUDA memcpy Device-to-H")
CASTS = re.compile(r"LoadWithCast|float\w*_copy_kernel_cuda")


def _without(rows: Iterable[_Row], share: float) -> list[_Row]:
    """Leave out a share of the copies: as they are not told apart, of their time as well."""
    parts = ((row, row.ms * (1 - share) if row.name == COPY else row.ms) for row in rows)
    return [_Row(row.seen, ms, row.name, row.count) for row, ms in parts if ms]


class CopyAndLayoutOverhead(Rule):
    """Copies, conversions and changes of layout take a large share of the time.

    ## Why it matters
    ``contiguous()``, ``to(dtype)``, slices that are written back and convolutions that want another
    layout read and write every byte without computing anything.

    ## What it looks like
        {"ph": "X", "cat": "kernel", "name": "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)2>(int)", "ts": 100.0, "dur": 25.0, "pid": 0, "tid": 7}

    ## When it is harmless
    One conversion of the input per step is needed. Below 10 % of the GPU's time, or of the trace on
    the CPU, or 0.05 ms in all, the rule keeps quiet; as it does on the CPU where the trace holds compilations,
    or where copies take less than 20 us each: then calling them is the price.

    ## What to do
    ``channels_last`` for convolutions; convert once, outside of the step; compile, which fuses copies
    into what surrounds them.

    ## How a live run confirms it
    The program runs with ``memory_format=torch.channels_last``, or compiled. Confirmed when the share
    of these kernels and the step's time fall.

    ## See also
    <https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC014"
    name = "copy-and-layout-overhead"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM

    Data = Moved
    remedies = REMEDIES

    def check(
        self,
        profiles: Table[AnyProfile],
        *,
        windows: Table[Window],
        printed: Table[PrintedProfile],
        timelines: Table[Timeline],
        kernels: Table[DeviceKernel],
        copies: Table[MemoryCopy],
        own: Table[SelfTime],
        headers: Table[TraceHeader],
        ops: Table[Operator],
        following: Table[KernelSequence],
        works: Table[KernelWork],
        nodes: Table[BackwardNode],
        frames: Table[PythonFunction],
    ) -> Iterator[Finding]:
        """Yield one finding per trace, or printed table, that spends much time on moving data."""
        del profiles
        for told in printed:
            yield from self._printed(told)
        for window in windows:
            source = window.first.input
            busy = computing(timelines, source, copies=True)
            if busy:
                rows = [
                    _Row(row, row.ms, str(row.record), row.count)
                    for row in (*kernels.within(source), *copies.within(source))
                    if _moves(row.record)
                ]
                for found in self._found(rows, busy, MOVING, ""):
                    yield on_each(found, timelines, source)
            elif (window.record.compile_ms or 0.0) <= COMPILING * window.record.ms:
                rows = [
                    _Row(row, row.record.ms, row.record.name, 0)
                    for row in own.within(source)
                    if row.record.name in COPIES
                ]
                called = {str(row.record): row.count for row in ops.within(source)}
                calls = sum(called.get(name, 0) for name in COPIES)
                if n := biases(called):  # what is joined counts all the same
                    rows = _without(rows, n / called[COPY])
                    calls -= n
                ms = sum(row.ms for row in rows)
                if ms < MIN_CALL_MS * calls:
                    continue
                shapes = [row.record for row in works.within(source) if row.record.on_host]
                trains = any(True for _ in nodes.within(source))
                named = (name for row in headers.within(source) for name in row.record.devices)
                most = max(rows, key=lambda row: row.ms).name if rows else ""
                moved = called.get(most, 0) - (n if most == COPY else 0)
                yield from self._found(
                    rows,
                    window.record.ms,
                    "the trace",
                    next(named, ""),
                    calls=moved,
                    before=made_contiguous(called, following.within(source)),
                    buckets=0 < called.get(REDUCER, 0) <= calls,
                    halved=0.0 if trains else converted(shapes),
                    most=largest(shapes, ms),
                    unfolds="aten::im2col" in called,
                    line=holding(frames, source, window.record.ms, ms),
                    deep=copied_deeply(
                        *(frames.within(source), called, ms),
                        stacks=window.record.python_calls > 0,
                    ),
                )

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Copies between elementwise kernels go with them when these are fused."""
        data = Moved.model_validate(finding.data)
        return () if data.mostly_layout else stories(["unfused"], finding)

    def _printed(self, row: Seen[PrintedProfile]) -> Iterator[Finding]:
        told = row.record
        whole = told.host_ms if told.device_ms is None else told.device_ms
        if whole <= 0 or told.copy_ms < MIN_SHARE * whole:
            return
        named = "`aten::copy_` and its like take"
        if not told.by_torch:
            apart = [one.name for one in told.of(lambda name: name.startswith("[CUDA "))]
            named = f"{listed(apart, 3)} take{'s' if len(apart) == 1 else ''}"
        data = Moved(
            ms=told.copy_ms,
            layout_ms=0.0,
            of_ms=whole,
            mostly_layout=False,
            between=bool(told.of(lambda name: name.startswith(_BETWEEN))),
        )
        of = "the table" if told.device_ms is None else "the GPU's time in the table"
        yield self.finding(
            "printed",
            title=f"copies take {percent(told.copy_ms / whole)} of {of}",
            message=f"{named} {length(told.copy_ms)} of {length(whole)}. "
            "Which line of the program they come from, a trace with stacks tells.",
            confidence=Confidence.MEDIUM,
            evidence=[told.table.quote()],
            cost=Cost(
                ms=told.copy_ms, share=min(1.0, told.copy_ms / whole), basis="upper_bound", of=of
            ),
            advice=self.advise(data),
            data=data,
        )

    def _found(
        self,
        rows: list[_Row],
        whole: float,
        of: str,
        unseen: str,
        *,
        calls: int = 0,
        before: float = 0.0,
        buckets: bool = False,
        halved: float = 0.0,
        most: str = "",
        unfolds: bool = False,
        line: Seen[PythonFunction] | None = None,
        deep: float = 0.0,
    ) -> Iterator[Finding]:
        ms = sum(row.ms for row in rows)
        if not whole or ms < max(MIN_MS, MIN_SHARE * whole):
            return
        rows.sort(key=lambda row: (-row.ms, row.name))
        layout = sum(row.ms for row in rows if any(word in row.name for word in LAYOUT))
        mostly = layout >= ms / 2
        cast = sum(row.ms for row in rows if CASTS.search(row.name))
        told = ", ".join(f"`{_short(row.name)}` {length(row.ms)}" for row in rows[:MAX_TOLD])
        data = Moved(
            ms=ms,
            layout_ms=layout,
            of_ms=whole,
            mostly_layout=mostly,
            unseen=unseen,
            before_ms=before,
            buckets=buckets,
            halved_ms=halved,
            unfolds=unfolds,
            joined_ms=sum(row.ms for row in rows if row.name == JOINING or JOINS in row.name),
            cast_ms=cast,
            deep_ms=deep,
        )
        what = "conversions between types" if casting(data) else "copies"
        what = "changes of layout" if mostly else what
        what = "copies, as `copy.deepcopy` makes them," if deep else what
        where = (
            f" They may go to the GPU ({unseen}), of which nothing was recorded." if unseen else ""
        )
        if before_convolutions(data):
            where += f" {length(before)} of it make tensors contiguous right before convolutions."
        yield self.finding(
            "layout" if mostly else "copies",
            title=f"{what} take {percent(ms / whole)} of {of}",
            message=(
                f"Moving and converting data takes {length(ms)} of {length(whole)}: {told}."
                f"{most}{where}"
            ),
            where=where_of(str(line.record)) if line is not None else None,
            confidence=Confidence.MEDIUM,
            count=calls or sum(row.count for row in rows) or len(rows),
            evidence=[row.quote() for row in rows[:MAX_TOLD]],
            cost=Cost(ms=ms, share=min(1.0, ms / whole), basis="upper_bound", of=of),
            advice=self.advise(data),
            data=data,
        )


class _Row:
    """One kind of copy."""

    def __init__(
        self,
        seen: Seen[DeviceKernel] | Seen[MemoryCopy] | Seen[SelfTime],
        ms: float,
        name: str,
        count: int,
    ) -> None:
        self.seen, self.ms, self.name, self.count = seen, ms, name, count

    def quote(self) -> EvidenceLine:
        """Return the first such event as evidence."""
        often = f"{self.count} times, " if self.count else ""
        return self.seen.quote(f"{often}{length(self.ms)} in all")


def _moves(record: DeviceKernel | MemoryCopy) -> bool:
    if isinstance(record, MemoryCopy):
        return record.direction == "DtoD"
    return any(word in record.name for word in (*LAYOUT, *COPYING))


def _short(name: str) -> str:
    words = [word for word in (*LAYOUT, *COPYING) if word in name]
    return words[0].strip("_") if words else name
