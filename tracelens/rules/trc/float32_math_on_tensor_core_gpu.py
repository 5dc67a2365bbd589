"""TRC028 float32-math-on-tensor-core-gpu."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.traces.measured import TraceHeader
from tracelens.traces.peaks import peak
from tracelens.traces.rows import KernelTime, Timeline
from tracelens.traces.views import COMPUTING, computing, devices, whole
from tracelens.words import length, percent

__all__ = ["Float32MathOnTensorCoreGpu"]

MIN_SHARE = 0.05
MIN_MS = 1.0
#: TF32: share of the computing from which on it is told, and of the time that the GPU computes.
MIN_TF32 = 0.25
FED = 0.9
#: What tensor cores compute in less than 32 bits.
SHORTER = frozenset({"bf16", "f16", "fp8", "fp4"})
MAX_QUOTED = 4
#: What tensor cores would compute.
KINDS = frozenset({"gemm", "convolution"})
#: Compute capabilities of CUDA devices: Volta has tensor cores for 16 bits, Ampere for TF32 too.
VOLTA, AMPERE = 7, 8


class Float32(FindingData):
    """What is computed in float32, and what the device has instead."""

    device: str
    ms: float
    of_ms: float
    bfloat16: bool


class Float32MathOnTensorCoreGpu(Rule):
    """Matrix products and convolutions run in float32 on a GPU whose tensor cores are left out.

    ## Why it matters
    The tensor cores of a V100 compute products in half precision eight times faster than its plain
    cores compute them in float32. Without mixed precision they do nothing.

    ## What it looks like
        {"ph": "X", "cat": "kernel", "name": "volta_sgemm_128x32_nt", "ts": 100.0, "dur": 310.0, "pid": 0, "tid": 7}

    ## When it is harmless
    Where the results need 24 bits. Below 5 % of the time in which the GPU computes the rule keeps
    quiet; so it does for products on Ampere and later, which TRC019 is about. Products in TF32 are
    told from 25 % on, where the GPU computes for 90 % of the time and hardly any product is in 16 bits.

    ## What to do
    Mixed precision: ``autocast``, with a ``GradScaler`` for float16.

    ## How a live run confirms it
    The program runs under ``autocast``, and its results are compared. Confirmed when the kernels'
    names and their time change.

    ## See also
    TRC019 for TF32.
    <https://docs.pytorch.org/docs/stable/notes/amp_examples.html>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC028"
    name = "float32-math-on-tensor-core-gpu"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM
    Data = Float32
    remedies = (
        Remedy(
            id="bfloat16",
            text="Compute in bfloat16; check that the results are good enough.",
            code='with torch.autocast("cuda", dtype=torch.bfloat16): loss = model(batch)',
            when="the device computes in bfloat16",
            applies=lambda data: data.bfloat16,
            since="1.10",
            proof="https://docs.pytorch.org/docs/stable/amp.html",
        ),
        Remedy(
            id="float16",
            text="Compute in float16, and scale the loss; check that the results are good enough.",
            code='with torch.autocast("cuda", dtype=torch.float16): loss = model(batch)',
            when="the device has no bfloat16",
            applies=lambda data: not data.bfloat16,
            since="1.10",
            proof="https://docs.pytorch.org/docs/stable/notes/amp_examples.html",
        ),
    )

    def check(
        self,
        headers: Table[TraceHeader],
        timelines: Table[Timeline],
        *,
        kernels: Table[KernelTime],
    ) -> Iterator[Finding]:
        """Yield one finding per trace that computes much in float32."""
        for header in headers:
            source = header.first.input
            rows = list(_slow(header.record, kernels.within(source)))
            busy = computing(timelines, source)
            ms = sum(row.record.sum_ms for row in rows)
            if ms >= max(MIN_MS, MIN_SHARE * busy):
                rows.sort(key=lambda row: -row.record.sum_ms)
                each = devices(timelines, source)
                yield self._finding(header.record, rows, ms, busy, each=each)
            yield from self._in_tf32(header.record, list(kernels.within(source)), timelines, source)

    def _in_tf32(
        self,
        header: TraceHeader,
        kernels: list[Seen[KernelTime]],
        timelines: Table[Timeline],
        source: str,
    ) -> Iterator[Finding]:
        """Yield that a busy GPU computes products in TF32, and hardly any in 16 bits."""
        products = [row for row in kernels if row.record.kind in KINDS]
        rows = [row for row in products if row.record.dtype == "tf32"]
        shorter = sum(row.record.sum_ms for row in products if row.record.dtype in SHORTER)
        ms, busy = sum(row.record.sum_ms for row in rows), computing(timelines, source)
        fed = busy >= FED * whole(timelines, source) > 0
        newer = (header.major or 0) >= AMPERE and any("NVIDIA" in n for n in header.devices)
        if not (fed and newer) or ms < max(MIN_MS, MIN_TF32 * busy) or shorter >= MIN_SHARE * ms:
            return
        rows.sort(key=lambda row: -row.record.sum_ms)
        data = Float32(device=header.devices[0], ms=ms, of_ms=busy, bfloat16=True)
        saved = ms / 2
        yield self.finding(
            "tf32",
            title=f"products in TF32 take {percent(ms / busy)} of {COMPUTING}, hardly any are in "
            "16 bits",
            message=(
                f"The GPU has enough to do. {sum(row.record.n for row in rows):,} matrix products "
                f"and convolutions in TF32 take {length(ms)}: in 16 bits tensor cores do twice as "
                "many operations, and what is around the products moves half as many bytes."
            ),
            confidence=Confidence.MEDIUM,
            count=sum(row.record.n for row in rows),
            evidence=[
                row.quote(f"{row.record.n} times, {length(row.record.sum_ms)} in all")
                for row in rows[:MAX_QUOTED]
            ],
            cost=Cost(
                ms=saved / devices(timelines, source),
                share=min(1.0, saved / busy),
                basis="upper_bound",
                of=COMPUTING,
            ),
            advice=self.advise(data),
            data=data,
        )

    def _finding(
        self,
        header: TraceHeader,
        rows: list[Seen[KernelTime]],
        ms: float,
        busy: float,
        *,
        each: int,
    ) -> Finding:
        device = next((name for name in header.devices if name), "this GPU")
        newer = (header.major or 0) >= AMPERE or "AMD" in device
        data = Float32(device=device, ms=ms, of_ms=busy, bfloat16=newer)
        rates = peak(device)
        faster = (
            f" Its tensor cores reach {rates.half:.0f} TFLOP/s in 16 bits, its plain ones "
            f"{rates.single:.3g}."
            if rates
            else ""
        )
        return self.finding(
            "float32",
            title=f"products in float32 take {percent(ms / busy)} of {COMPUTING}",
            message=(
                f"{sum(row.record.n for row in rows):,} matrix products and convolutions in "
                f"float32 take {length(ms)} on {device}.{faster}"
            ),
            confidence=Confidence.HIGH,
            count=sum(row.record.n for row in rows),
            evidence=[
                row.quote(f"{row.record.n} times, {length(row.record.sum_ms)} in all")
                for row in rows[:MAX_QUOTED]
            ],
            cost=Cost(ms=ms / each, share=min(1.0, ms / busy), basis="upper_bound", of=COMPUTING),
            advice=self.advise(data),
            data=data,
        )


def _slow(header: TraceHeader, kernels: Iterable[Seen[KernelTime]]) -> Iterator[Seen[KernelTime]]:
    """Yield the kernels that a device with tensor cores, or matrix cores, need not run so."""
    matrix_cores = any("Instinct" in name for name in header.devices)
    major = header.major or 0
    if not matrix_cores and major < VOLTA:
        return
    for row in kernels:
        kernel = row.record
        plain = kernel.dtype == "f32" and kernel.kind in KINDS
        told = not matrix_cores and major >= AMPERE and "sgemm" in kernel.full_name.lower()
        tensor = any(word in kernel.full_name for word in ("tensorop", "xmma", "s1688", "s884"))
        if plain and not told and not tensor and kernel.source != "other":
            yield row
