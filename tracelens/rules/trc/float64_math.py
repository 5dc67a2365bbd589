"""TRC033 float64-math."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.rules.trc._lines import Line, launching
from tracelens.traces.measured import KernelWork, TraceHeader, Window
from tracelens.traces.peaks import float32_to_float64
from tracelens.traces.rows import KernelTime, Timeline
from tracelens.traces.sites import LaunchedAt
from tracelens.traces.views import COMPUTING, computing, on_each
from tracelens.words import length, percent

__all__ = ["Float64Math"]

#: Share of the time of the device, or of the trace of a program on the CPU, and milliseconds.
MIN_SHARE = 0.1
MIN_MS = 1.0
MAX_QUOTED = 4
#: How many times as fast float32 is at the least, where the device is not known.
HALF = 2
#: ... and on GPUs of Pascal and Turing: the only one of these numbers that ends in "nd".
PASCAL = 32
#: What arithmetic limits: half the width is computed at least twice as fast.
KINDS = frozenset({"product", "convolution", "attention"})
CLASSES = frozenset({"gemm", "convolution", "attention"})


#: What float32 would save; whether it is on the CPU -> a sentence.
_SAVED = {
    True: "in float32 it would be half of that at most.",
    False: "in float32 it would be half of that or less, and as much only where tensor cores "
    "compute float64 (A100, H100) and TF32 is off.",
}


class Float64(FindingData):
    """What is computed in float64."""

    ms: float
    of_ms: float
    on_cpu: bool
    #: How many times as fast the device computes float32, at the least.
    times: int = 2


class _Computed(NamedTuple):
    """Products of one kind."""

    row: Seen[KernelWork] | Seen[KernelTime]
    n: int
    ms: float


class Float64Math(Rule):
    """Products are computed in float64, which mostly takes twice as long as float32 at the least.

    ## Why it matters
    A vector register holds half as many numbers of 64 bits, so a CPU computes half as many at a time.
    GPUs for data centers compute float64 at half the rate of float32 (in tensor cores, as those of A100
    and H100, as fast as float32 without TF32), B300 at a 60th, GPUs for graphics at a 16th to a 64th. Mostly nobody asked for it: arrays of numpy are float64 unless told otherwise, and what is made
    of them is, too.

    ## What it looks like
    An operator on the CPU, with its types:

        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 100.0, "dur": 9100.0, "pid": 1, "tid": 1, "args": {"External id": 7, "Input type": ["double", "double"], "Input Dims": [[512, 512], [512, 512]]}}

    ## When it is harmless
    Where the results need 53 bits, as in some solvers and statistics. Below a tenth of the time in
    which the GPU computes, or of the trace of a program on the CPU, the rule keeps quiet. On the
    CPU the types are known only with ``record_shapes=True``.

    ## What to do
    Convert the data where it comes in, and the model's parameters.

    ## How a live run confirms it
    The program runs in float32, and its results are compared. Confirmed when the operators' types
    change and a step gets faster.

    ## See also
    RCP013 where the type changes between calls, TRC019 and TRC028 for float32.
    <https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch-dtype>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC033"
    name = "float64-math"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM
    Data = Float64
    remedies = (
        Remedy(
            id="float32",
            text="Unless the results need it, make float32 of the data where it comes in; a model "
            "with parameters in float64, too.",
            code="x = torch.from_numpy(array).float(); model = model.float()",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.Tensor.float.html",
        ),
    )

    def check(
        self,
        headers: Table[TraceHeader],
        *,
        windows: Table[Window],
        timelines: Table[Timeline],
        works: Table[KernelWork],
        kernels: Table[KernelTime],
        lines: Table[LaunchedAt],
    ) -> Iterator[Finding]:
        """Yield one finding per trace that computes much in float64."""
        for header in headers:
            source = header.first.input
            busy = computing(timelines, source)
            whole = busy or sum(row.record.ms for row in windows.within(source))
            found = _on_gpu(kernels, source) if busy else _on_cpu(works, source)
            found.sort(key=lambda one: -one.ms)
            if sum(one.ms for one in found) >= max(MIN_MS, MIN_SHARE * whole):
                names = header.record.devices if busy else ()
                line = _line(lines, source, found) if busy else Line()
                told = self._finding(found, whole, names, line, on_cpu=not busy)
                yield on_each(told, timelines, source)

    def _finding(
        self,
        found: Sequence[_Computed],
        whole: float,
        names: Sequence[str],
        line: Line,
        *,
        on_cpu: bool,
    ) -> Finding:
        ms = sum(one.ms for one in found)
        n = sum(one.n for one in found)
        of = "the trace" if on_cpu else COMPUTING
        share = min(1.0, ms / whole)  # threads add up
        times = min((float32_to_float64(name) or HALF for name in names), default=HALF)
        saved = share * (1 - 1 / times)
        data = Float64(ms=ms, of_ms=whole, on_cpu=on_cpu, times=times)
        return self.finding(
            "float64",
            title=f"products in float64 take {percent(share)} of {of}",
            message=(
                f"{n:,} matrix products, convolutions or attentions in float64 take {length(ms)}; "
                f"{_saved(names, times, on_cpu=on_cpu)} Arrays of numpy are float64 unless told "
                f"otherwise.{line.told}"
            ),
            where=line.where,
            confidence=Confidence.HIGH,
            count=n,
            evidence=[
                one.row.quote(f"{one.n} times, {length(one.ms)} in all")
                for one in found[:MAX_QUOTED]
            ],
            cost=Cost(ms=saved * whole, share=saved, basis="estimated", of=of),
            advice=self.advise(data),
            data=data,
        )


def _saved(names: Sequence[str], times: int, *, on_cpu: bool) -> str:
    """Say what float32 would save, where it is known by the device."""
    if times == HALF:
        return _SAVED[on_cpu]
    part = "a 32nd" if times == PASCAL else f"a {times}th"
    return (
        f"this GPU ({names[0]}) computes float64 at {part} of the rate of float32: where "
        f"memory does not limit them, in float32 it would be about {part} of that."
    )


def _line(lines: Table[LaunchedAt], source: str, found: Sequence[_Computed]) -> Line:
    """Return where what is computed in float64 is launched."""
    names = {
        str(one.row.record.full_name) for one in found if isinstance(one.row.record, KernelTime)
    }
    rows = (row.record for row in lines.within(source))
    return launching(rows, sum(one.ms for one in found), lambda row: row.kernel in names)


def _on_cpu(works: Table[KernelWork], source: str) -> list[_Computed]:
    return [
        _Computed(row, row.record.count, row.record.ms)
        for row in works.within(source)
        if row.record.on_host and row.record.kind in KINDS and row.record.dtype == "f64"
    ]


def _on_gpu(kernels: Table[KernelTime], source: str) -> list[_Computed]:
    return [
        _Computed(row, row.record.n, row.record.sum_ms)
        for row in kernels.within(source)
        if row.record.dtype == "f64" and row.record.kind in CLASSES
    ]
