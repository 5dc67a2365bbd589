"""TUN012 bf16-on-fp32-microkernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tracelens.evidence import Seen, Table
from tracelens.experiment import UNCHANGED, Experiment, Knob
from tracelens.inductor.autotune_tables import implausible, label
from tracelens.inductor.tuning_data import TuningData
from tracelens.logs.autotune import AutotuneTable
from tracelens.onednn.stories import BUSY_TUNING
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.words import and_more

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.dynamo.settings import Setting
    from tracelens.logs.cpu_info import IsaLimit

__all__ = ["Bf16OnFp32Microkernel"]

#: Multiplications and additions from which on arithmetic, not the call, takes the time.
MIN_FLOPS = 10_000_000
#: Rows from which on the weights are used often enough for arithmetic to count.
MIN_ROWS = 16
#: Tables told apart in a message and quoted.
MAX_TOLD = 3
HALF = ("bfloat16", "float16")

Rows = list[Seen[AutotuneTable]]


def _is_native(data: Any) -> bool:
    """Whether the CPU is known to multiply the type of the first table."""
    short = {"bfloat16": "bf16", "float16": "f16"}.get(data.tables[0].dtype, "")
    return short in (data.native_types or ())


class Bf16OnFp32Microkernel(Rule):
    """A 16-bit matrix product runs on Inductor's float32 micro-kernel: it computes in float32.

    ## Why it matters
    Inductor's C++ template has micro-kernels for 16-bit types on CPUs with AMX only. Elsewhere it
    widens both factors to float32 and multiplies those, so 16 bits save memory and no arithmetic.
    oneDNN has kernels for AVX512_BF16, which multiply twice as fast. When the template wins all the
    same, oneDNN had none: it found no such instructions, or is kept from using them.

    ## What it looks like
    The winner is ``CppMicroGemmFP32Vec`` and the operands are bfloat16 or float16:

        AUTOTUNE linear_unary(128x512, 512x512, 512)
        strides: [512, 1], [1, 0], [1]
        dtypes: torch.bfloat16, torch.bfloat16, torch.bfloat16
          cpp_CppMicroGemmFP32Vec_1 0.7712 ms 100.0%
          _linear_pointwise 0.8097 ms 95.2%

    ## When it is harmless
    When the library won: nothing is reported. For few rows or little arithmetic (fewer than 16 rows
    or 10 million operations) the weights' way from memory is what takes the time, and the template
    wins for good reasons: a note.

    ## What to do
    Look whether the CPU has AVX512_BF16 or AMX (``lscpu``) and whether ONEDNN_MAX_CPU_ISA or
    ATEN_CPU_CAPABILITY keeps torch from it. Where it has neither, float32 is as fast, unless memory
    is what is short.

    ## How a live run confirms it
    The product alone is run with the template forced, and with the backend ``ATEN`` alone.
    Confirmed when the library's kernel is faster; refuted when the template was the right choice
    here.

    ## See also
    ONE001 for oneDNN's reference kernels, TUN001 for tables that cannot be believed.
    """

    code = "TUN012"
    name = "bf16-on-fp32-microkernel"
    severity = Severity.INFO
    experiment = Experiment(
        UNCHANGED,
        micro="autotune",
        confirms="the library's kernel is faster than the template",
        refutes="the template is as fast",
        leaves_open="the template cannot be made here",
    )

    class Data(TuningData):
        """16-bit products on the float32 micro-kernel, the largest first."""

        products: int
        #: Enough arithmetic for it to count.
        is_heavy: bool
        #: Other shapes have a kernel for AMX.
        has_amx: bool = False
        #: The times of some cannot be believed, so the library may be faster.
        is_doubtful: bool = False
        #: The log shows a variable that keeps instructions from torch or oneDNN.
        is_limited: bool = False

    remedies = (
        Remedy(
            id="no-limit",
            text="Let torch and oneDNN use all instructions of the CPU: "
            "`unset ONEDNN_MAX_CPU_ISA ATEN_CPU_CAPABILITY`.",
            when="the log shows one of the variables",
            applies=lambda data: data.is_heavy and data.is_limited,
            proof="https://uxlfoundation.github.io/oneDNN/dev_guide_cpu_dispatcher_control.html",
        ),
        Remedy(
            id="library-only",
            text="Compare with oneDNN: leave Inductor's templates out.",
            when="the CPU multiplies the type, or the times cannot be believed",
            applies=lambda data: data.is_heavy and (data.is_doubtful or _is_native(data)),
            setting='torch._inductor.config.max_autotune_gemm_backends = "ATEN"',
            env="TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS=ATEN",
            proof="https://docs.pytorch.org/tutorials/unstable/max_autotune_on_CPU_tutorial.html",
            knob=Knob(
                "libraries only",
                config={"torch._inductor.config.max_autotune_gemm_backends": "ATEN"},
            ),
        ),
        Remedy(
            id="even-depth",
            text="Give the layer an even number of inputs (K): kernels for AMX take no others.",
            when="other shapes have a kernel for AMX",
            applies=lambda data: data.is_heavy and data.has_amx,
            basis="untestable",
            proof="needs a CPU with AMX",
        ),
        Remedy(
            id="float32",
            text="Run on a CPU with AVX512_BF16 or AMX, or keep these layers in float32: as fast, "
            "in twice the memory.",
            when="the CPU is not known to multiply the type",
            applies=lambda data: data.is_heavy and not _is_native(data),
            proof="https://docs.pytorch.org/tutorials/recipes/amx.html",
        ),
    )

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is a symptom of."""
        return [BUSY_TUNING] if finding.data.get("is_doubtful") else ()

    def check(
        self,
        tables: Table[AutotuneTable],
        *,
        run: Table[RunFacts],
        limits: Table[IsaLimit],
        settings: Table[Setting],
    ) -> Iterator[Finding]:
        """Yield one finding about products that compute, and a note about those that wait."""
        amx = any("CppMicroGemmAMX" in c.kernel for row in tables for c in row.record.choices)
        won = [row for row in tables if _computes_in_float32(row.record)]
        heavy = [row for row in won if _is_heavy(row.record)]
        light = [row for row in won if not _is_heavy(row.record)]
        limited = bool(len(limits)) or any(
            row.record.name == "ATEN_CPU_CAPABILITY" for row in settings
        )
        if heavy:
            heavy.sort(key=lambda row: -_flops(row.record))
            data = self.Data.about(
                run,
                heavy,
                products=len(heavy),
                is_heavy=True,
                has_amx=amx,
                is_doubtful=any(implausible(row.record) for row in heavy),
                is_limited=limited,
            )
            yield self._heavy(heavy, data)
        if light:
            yield self.finding(
                "light",
                title=f"{_products(len(light))} in 16 bits went to the float32 micro-kernel",
                message=(f"{_names(light)}: the template was measured as faster than the library."),
                harmless="with so little arithmetic the loads take the time, and these are of 16 "
                "bits",
                data=self.Data.about(run, light, products=len(light), is_heavy=False),
                count=len(light),
                evidence=[_quote(row) for row in light[:MAX_TOLD]],
            )

    def _heavy(self, rows: Rows, data: Data) -> Finding:
        table = rows[0].record
        best = table.best
        rate = table.gflops(best) if best is not None else None
        doubtful = sum(bool(implausible(row.record)) for row in rows)
        at = f" at {rate:.3g} GFLOP/s" if rate and not implausible(table) else ""
        if doubtful:
            why = " The times cannot be believed: see TUN001."
        elif data.has_amx:
            why = " Other shapes have an AMX kernel: it takes an even number of inputs (K) only."
        else:
            why = (
                " The library was no faster: this CPU has no instructions for it, or torch may not "
                "use them."
            )
        return self.finding(
            "heavy",
            title=f"{_products(len(rows))} in {table.dtype} computed in float32",
            message=(
                f"{_names(rows)}: the winner widens its factors and multiplies in float32{at}, so "
                f"{table.dtype} saves memory here, and no arithmetic.{why}"
            ),
            confidence=Confidence.LOW if doubtful == len(rows) else Confidence.HIGH,
            count=len(rows),
            evidence=[_quote(row) for row in rows[:MAX_TOLD]],
            advice=self.advise(data),
            data=data,
        )


def _computes_in_float32(table: AutotuneTable) -> bool:
    best = table.best
    return best is not None and "CppMicroGemmFP32Vec" in best.kernel and table.dtype in HALF


def _is_heavy(table: AutotuneTable) -> bool:
    gemm = table.gemm
    return gemm is not None and gemm.flops >= MIN_FLOPS and gemm.m >= MIN_ROWS


def _flops(table: AutotuneTable) -> int:
    return table.gemm.flops if table.gemm is not None else 0


def _names(rows: Rows) -> str:
    names = list(dict.fromkeys(label(row.record) for row in rows))
    more = and_more(len(names), MAX_TOLD)
    return ", ".join(names[:MAX_TOLD]) + more


def _products(count: int) -> str:
    return f"{count} matrix products" if count > 1 else "a matrix product"


def _quote(row: Seen[AutotuneTable]) -> EvidenceLine:
    best = row.record.best
    return row.quote(label(row.record).replace("`", ""), at=best.at if best is not None else 0)
