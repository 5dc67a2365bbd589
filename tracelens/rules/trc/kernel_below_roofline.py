"""TRC009 kernel-below-roofline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.report import Confidence, Cost, Finding, Severity
from tracelens.rules import Rule
from tracelens.rules.trc._below import REMEDIES, Below
from tracelens.traces.data_sheets import DataSheet
from tracelens.traces.measured import KernelWork, TraceHeader
from tracelens.traces.peaks import peak, reach
from tracelens.traces.rows import Timeline
from tracelens.traces.views import COMPUTING, computing, on_each
from tracelens.words import is_whole, length, percent

__all__ = ["KernelBelowRoofline"]

#: What a good kernel reaches of a data sheet, and what is reported.
GOOD, LOW = 0.7, 0.3
#: Kernels that are shorter cannot fill the device, however good they are. Milliseconds.
MIN_MS = 0.02
#: Share of the device's time.
MIN_SHARE = 0.05
MAX_TOLD = 3
#: Sides that tensor cores want to be multiples of, in elements of 16 bits.
ALIGNED = 8

#: Kind of kernel -> the part of the bound below which it is reported, and the share of the
#: device's time from which on. Of other kinds the shapes say what is needed at least, not what is
#: good.
BARS = {
    "product": (LOW, MIN_SHARE),
    "annotated": (LOW, MIN_SHARE),
    "attention": (LOW, 0.1),
    "memory": (0.4, 0.1),
}
#: What memory limits moves as much in a call, and no cache holds it. Bytes.
MIN_MOVED = 64 * 2**20


class _Reached(NamedTuple):
    """One product or kernel, and the part of the bound that it reaches."""

    row: Seen[KernelWork]
    reached: float
    bound: str

    @property
    def lost(self) -> float:
        """Milliseconds that a good kernel would not take."""
        return self.row.record.ms * (1 - self.reached / GOOD)


class KernelBelowRoofline(Rule):
    """The kernels that take most time stay far below what the device can compute or move.

    ## Why it matters
    A kernel can be no faster than its operations at the device's peak, or its bytes at the memory's
    rate, whichever takes longer. Good kernels reach 60 to 80 % of that. One at 20 % is of the wrong
    kind for its shape: sides that no tensor core fits, too few rows, a layout that is copied first.

    ## What it looks like
    An operator with its shapes, and the kernel that it starts under the same ``External id``:

        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 10.0, "dur": 30.0, "pid": 1, "tid": 1, "args": {"External id": 7, "Input type": ["c10::BFloat16", "c10::BFloat16"], "Input Dims": [[8192, 4095], [4095, 4095]]}}
        {"ph": "X", "cat": "kernel", "name": "sm80_xmma_gemm_bf16bf16", "ts": 50.0, "dur": 1400.0, "pid": 0, "tid": 7, "args": {"External id": 7}}

    Kernels of Inductor count where the trace holds ``kernel_num_gb`` or ``kernel_flop``.

    ## When it is harmless
    Kernels below 20 microseconds cannot fill a device, and what takes less than 5 % of its time does
    not matter: neither is reported. Data that stays in the cache moves faster than memory does, so
    only too slow kernels are told. Peaks are those of data sheets; a device that tracelens has no
    data sheet of, and the CPU, are not judged. Attention is told from a tenth of the time on, and so are
    elementwise operators below 40 % that move 64 MiB and more a call; convolutions are not. These bars lie
    well below what good kernels reach: between 30 and 60 % a shape, or a product that is cut short by its
    edges, explains as much as the kernel does. The table ``ops`` has the share for all of them.

    ## What to do
    Let Inductor choose among kernels; make sides multiples of 8 elements of 16 bits (16 for float8);
    keep factors contiguous.

    ## How a live run confirms it
    The workload runs with ``max_autotune``. Confirmed when the kernel's name changes and a step gets
    faster.

    ## See also
    TUN011 (sides in AUTOTUNE tables), TRC019 (float32 on plain cores);
    <https://docs.pytorch.org/docs/stable/torch.compiler_profiling_torch_compile.html>
    """  # noqa: E501 -- the excerpt is events of a trace

    code = "TRC009"
    name = "kernel-below-roofline"
    severity = Severity.INFO
    claim = "time"
    experiment = Experiment(
        Knob(
            "max-autotune",
            config={"torch._inductor.config.max_autotune": True},
            changes_results=True,
        )
    )

    Data = Below
    remedies = REMEDIES

    def check(
        self, works: Table[KernelWork], timelines: Table[Timeline], *, headers: Table[TraceHeader]
    ) -> Iterator[Finding]:
        """Yield one finding per trace with expensive kernels far below the bound."""
        for header in headers:
            source = header.first.input
            name = next((name for name in header.record.devices if name), "")
            busy = computing(timelines, source)
            limits = peak(name)
            if limits is None or busy <= 0:
                continue
            low = [
                found
                for row in works.within(source)
                if _is_large(row.record, busy)
                and (found := _reached(row, limits)) is not None
                and found.reached < BARS[row.record.kind][0]
            ]
            if low:
                order = sorted(low, key=lambda one: -one.lost)
                told = self._finding(name, order, busy, ampere=_is_ampere(name, limits))
                yield on_each(told, timelines, source)

    def _finding(self, device: str, low: list[_Reached], busy: float, *, ampere: bool) -> Finding:
        ms = sum(one.row.record.ms for one in low)
        first = low[0]
        kinds = {one.row.record.kind for one in low}
        odd = any(one.row.record.kind == "product" and _is_odd(one.row.record) for one in low)
        told = "; ".join(_told(one) for one in low[:MAX_TOLD])
        data = Below(
            device=device,
            kernels=tuple(one.row.record.what for one in low),
            reached=first.reached,
            lost_ms=sum(one.lost for one in low),
            odd=odd,
            products="product" in kinds,
            attention="attention" in kinds,
            cudnn=ampere and any(_is_half_attention(one.row.record) for one in low),
            streaming="memory" in kinds,
        )
        return self.finding(
            *sorted({one.row.record.what for one in low}),
            title=(
                f"kernels that take {percent(ms / busy)} of {COMPUTING} reach "
                f"{percent(first.reached)} of what it can do"
                if len(low) == 1
                else f"{len(low)} kinds of kernels, {percent(ms / busy)} of {COMPUTING}, stay "
                f"below {percent(max(BARS[kind][0] for kind in kinds))} of what it can do"
            ),
            message=f"On {device}: {told}.",
            confidence=Confidence.MEDIUM,
            count=sum(one.row.record.count for one in low),
            evidence=[
                one.row.quote(f"{one.row.record.count} times, {length(one.row.record.ms)} in all")
                for one in low[: MAX_TOLD + 1]
            ],
            cost=Cost(
                ms=sum(one.lost for one in low),
                share=min(1.0, sum(one.lost for one in low) / busy),
                basis="upper_bound",
                of=COMPUTING,
            ),
            advice=self.advise(data),
            data=data,
        )


def _is_large(work: KernelWork, busy: float) -> bool:
    """Whether it takes long enough, in all and a call, to be held against the bound."""
    if work.on_host or work.kind not in BARS or (work.kind == "memory" and work.bytes < MIN_MOVED):
        return False
    return work.ms >= BARS[work.kind][1] * busy and work.ms >= MIN_MS * work.count


def _reached(row: Seen[KernelWork], limits: DataSheet) -> _Reached | None:
    work = row.record
    each = work.ms / work.count
    found = reach(limits, flops=work.flops, moved=work.bytes, dtype=work.dtype, ms=each)
    if found is None:
        return None
    bound, reached = found
    return _Reached(row, reached, "memory" if bound == "memory" else "arithmetic")


def _told(one: _Reached) -> str:
    work = one.row.record
    what = f"`{work.what}` {work.shape} {work.dtype}".rstrip()
    each = length(work.ms / work.count)
    return f"{what} takes {each} a call, {percent(one.reached)} of the rate of {one.bound}"


def _is_ampere(device: str, limits: DataSheet) -> bool:
    """Whether it is a GPU of NVIDIA from Ampere on: those are the ones that know bfloat16."""
    return limits.bf16 and not device.startswith("AMD")


def _is_half_attention(work: KernelWork) -> bool:
    return work.kind == "attention" and work.dtype in {"f16", "bf16"}


def _is_odd(work: KernelWork) -> bool:
    """Whether a side is no multiple of what tensor cores want."""
    sides = (side for part in work.shape.split(" by ") for side in part.split(" ")[-1].split("x"))
    return any(is_whole(side) and int(side) > ALIGNED and int(side) % ALIGNED for side in sides)
