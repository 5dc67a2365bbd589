"""TRC019 tf32-not-used."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.chrome_trace import DeviceKernel
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.traces.measured import TraceHeader
from tracelens.traces.printed import AnyProfile, PrintedProfile
from tracelens.traces.rows import Timeline
from tracelens.traces.views import COMPUTING, computing, devices, whole
from tracelens.words import length, percent

__all__ = ["Tf32NotUsed"]

#: Compute capability of the first devices with TF32: Ampere.
AMPERE = 8
MIN_SHARE = 0.05
#: Share of the time of a GPU that has enough to do, from which on nothing else is worth more.
MAIN = 0.5
MAX_QUOTED = 4
#: What products on tensor cores have in their names.
TENSOR_CORES = ("tf32", "s1688", "tensorop", "xmma")
#: ... and what of other types is called by the same name: ``precomputed_convolve_sgemm<half>``.
SHORTER = ("half", "bfloat16", "bf16", "fp16", "f16")
#: ... and newer ones on plain cores: fused multiply-adds of float32.
FFMA = "xmma_gemm_f32f32_f32f32_f32"


#: Share of the GPU's time in a printed table, and what kernels are called for a GPU with TF32.
MIN_PRINTED = 0.2
WITH_TF32 = ("ampere_", "hopper_", "blackwell_", "sm80_", "sm86_", "sm89_", "sm90_", "sm100_")


class Plain(FindingData):
    """Float32 products on plain cores."""

    device: str
    ms: float
    of_ms: float


class Tf32NotUsed(Rule):
    """Float32 products run on the plain cores of a GPU that has tensor cores for them.

    ## Why it matters
    From Ampere on, TF32 computes float32 products on the tensor cores: several times faster, with
    ten bits of mantissa in the inputs. torch leaves it off for products unless it is asked.

    ## What it looks like
        {"ph": "X", "cat": "kernel", "name": "ampere_sgemm_128x64_tn", "ts": 100.0, "dur": 310.0, "pid": 0, "tid": 7}

    ## When it is harmless
    Where the program needs all 24 bits. It is a warning where the GPU is busy for more than half of
    the time, and with such products for more than half of that. On older GPUs, which have no TF32, the rule keeps quiet, as it
    does below 5 % of the time in which the GPU computes.

    ## What to do
    Allow TF32, or compute in bfloat16.

    ## How a live run confirms it
    The program runs with ``torch.set_float32_matmul_precision("high")``, and its results are compared.
    Confirmed when the kernels' names and their time change.

    ## See also
    <https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-devices>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC019"
    name = "tf32-not-used"
    severity = Severity.INFO
    experiment = Experiment(
        Knob(
            "TF32 in matrix products",
            changes_results=True,
            env={"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"},
        )
    )

    Data = Plain
    remedies = (
        Remedy(
            id="tf32",
            text="Allow TF32 in products of float32 matrices; check that the results are good "
            "enough.",
            setting='torch.set_float32_matmul_precision("high")',
            since="1.12",
            basis="tested",
            proof="tests/advice/TRC019/tf32.py",
        ),
    )

    def check(
        self,
        profiles: Table[AnyProfile],
        *,
        headers: Table[TraceHeader],
        timelines: Table[Timeline],
        printed: Table[PrintedProfile],
        kernels: Table[DeviceKernel],
    ) -> Iterator[Finding]:
        """Yield one finding per trace with slow products on a device that has faster ones."""
        del profiles
        for told in printed:
            yield from self._printed(told)
        for header in headers:
            source = header.first.input
            rows = [row for row in kernels.within(source) if _is_plain(row.record)]
            busy = computing(timelines, source)
            ms = sum(row.ms for row in rows)
            if _has_tf32(header.record) and busy and ms >= MIN_SHARE * busy:
                rows.sort(key=lambda row: -row.ms)
                each = devices(timelines, source)
                fed = busy >= MAIN * whole(timelines, source)
                yield self._finding(header.record, rows, ms, busy, each=each, fed=fed)

    def _printed(self, row: Seen[PrintedProfile]) -> Iterator[Finding]:
        """Yield it of a printed table, whose kernels name the GPU that they are made for."""
        told = row.record
        rows = told.of(lambda name: _is_plain_name(name) and any(w in name for w in WITH_TF32))
        ms, whole = sum(one.device_ms for one in rows), told.device_ms
        if not whole or ms < MIN_PRINTED * whole:
            return
        share, of = min(1.0, ms / whole), "the GPU's time in the table"
        calls = sum(one.calls for one in rows)
        data = Plain(device="", ms=ms, of_ms=whole)
        yield self.finding(
            "printed",
            title=f"float32 products without TF32 take {percent(share)} of {of}",
            message=f"`{rows[0].name[:80]}` computes on the GPU's plain cores; it is made for one "
            f"whose tensor cores have TF32. {calls:,} such products take {length(ms)}.",
            confidence=Confidence.MEDIUM,
            count=max(1, calls),
            evidence=[told.table.quote()],
            cost=Cost(ms=ms, share=share, basis="upper_bound", of=of),
            advice=self.advise(data),
            data=data,
        )

    def _finding(
        self,
        header: TraceHeader,
        rows: list[Seen[DeviceKernel]],
        ms: float,
        busy: float,
        *,
        each: int,
        fed: bool,
    ) -> Finding:
        data = Plain(device=header.devices[0], ms=ms, of_ms=busy)
        most = ms >= MAIN * busy and fed
        return self.finding(
            "sgemm",
            title=f"float32 products without TF32 take {percent(ms / busy)} of {COMPUTING}",
            message=(
                f"{sum(row.count for row in rows)} float32 products take {length(ms)} on the plain "
                f"cores of {header.devices[0]}, whose tensor cores could compute them in TF32."
            ),
            severity=Severity.WARNING if most else Severity.INFO,
            confidence=Confidence.HIGH,
            count=sum(row.count for row in rows),
            evidence=[
                row.quote(f"{row.count} times, {length(row.ms)} in all")
                for row in rows[:MAX_QUOTED]
            ],
            cost=Cost(ms=ms / each, share=min(1.0, ms / busy), basis="upper_bound", of=COMPUTING),
            advice=self.advise(data),
            data=data,
        )


def _is_plain(kernel: DeviceKernel) -> bool:
    return _is_plain_name(kernel.name)


def _is_plain_name(name: str) -> bool:
    name = name.lower()
    if FFMA in name:
        return True
    return "sgemm" in name and not any(word in name for word in (*TENSOR_CORES, *SHORTER))


def _has_tf32(header: TraceHeader) -> bool:
    nvidia = any("NVIDIA" in name for name in header.devices) or header.runtime.startswith("CUDA")
    return nvidia and (header.major or 0) >= AMPERE
