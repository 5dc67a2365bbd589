"""ONE009 low-precision-emulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.onednn.implementations import Grade
from tracelens.onednn.precision import PRODUCTS, arithmetic, is_emulated
from tracelens.onednn.runs import Runs, Spent, groups, instruction_set, times
from tracelens.onednn.shapes import rows_of
from tracelens.onednn.summary import quote
from tracelens.onednn.user_lines import UserLines
from tracelens.report import Advice, Confidence, Finding, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.inductor.library_calls import LibraryRun
    from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveExec

__all__ = ["LowPrecisionEmulated"]

#: With fewer rows, reading the weights is what takes the time, and short weights are half as long.
MIN_ROWS = 8
_NAMES = {"bf16": "bfloat16", "f16": "float16"}


class LowPrecisionEmulated(Rule):
    """bfloat16 or float16 is multiplied on a CPU that has no instructions for it.

    ## Why it matters
    A short type is fast where the CPU multiplies it: AVX512_BF16 or AMX for bfloat16, AVX512_FP16
    for float16. Elsewhere each value is widened to float32 first, so the product costs what the
    float32 one costs, and the conversions on top. What remains is half the memory traffic.

    ## What it looks like
    The header names no ``bfloat16``, and the products have it:

        onednn_verbose,v1,info,cpu,isa:Intel AVX-512 with AVX512BW, AVX512VL, and AVX512DQ extensions
        onednn_verbose,v1,primitive,exec,cpu,matmul,gemm:jit:bf16,undef,src:bf16::blocked:ab::f0 wei:bf16::blocked:ba::f0 dst:bf16::blocked:ab::f0,attr-scratchpad:user attr-post-ops:sum,,64x128:128x96,19.4

    A suffix such as ``avx512_core_bf16`` on a float32 primitive names instructions, not a type.

    ## When it is harmless
    For a few rows at a time, as when text is generated: reading the weights takes the time, and
    short ones are read faster. Such products are left out, and so is a type that was faster than
    float32 in the same log. AArch64's header does not tell, so nothing is reported there.

    ## What to do
    Use float32, or int8 weights; or a CPU with the instructions. First see whether oneDNN may use
    all that the CPU has: ONE008.

    ## How a live run confirms it
    The product alone is run from torch, as recorded and in float32. Confirmed when float32 takes
    less time.

    ## See also
    ONE008 for limits, ONE001 for reference kernels, which are not counted here;
    <https://docs.pytorch.org/tutorials/recipes/amx.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ONE009"
    name = "low-precision-emulated"
    severity = Severity.WARNING
    experiment = Experiment(
        UNCHANGED,
        micro="onednn_primitive",
        confirms="the same work in float32 takes less time",
        refutes="float32 takes as long or longer",
        leaves_open=(
            "the primitive cannot be run from torch here, or another implementation is chosen"
        ),
    )

    def check(
        self,
        execs: Table[PrimitiveExec],
        *,
        isas: Table[CpuIsa],
        ran: Table[LibraryRun],
    ) -> Iterator[Finding]:
        """Yield one finding per data type."""
        isa = instruction_set(isas)
        runs = groups(execs)
        found: dict[str, list[Runs]] = {}
        for group in runs:
            run = group.run
            if (
                run.primitive in PRODUCTS
                and is_emulated(run, isa)
                and group.grade(isa) is not Grade.REFERENCE
                and (rows_of(run) or MIN_ROWS) >= MIN_ROWS
            ):
                found.setdefault(arithmetic(run).stored, []).append(group)
        for dtype, emulated in found.items():
            emulated.sort(key=lambda group: -group.ms)
            where = UserLines(ran).of(emulated[0].rows)
            for finding in self._finding(dtype, emulated, runs, Spent.of(execs), isa):
                yield finding.model_copy(update={"where": where})

    def _finding(
        self, dtype: str, found: list[Runs], runs: Sequence[Runs], spent: Spent, isa: str
    ) -> Iterator[Finding]:
        ms, count = sum(group.ms for group in found), sum(group.count for group in found)
        saving, compared = _saving(found, runs)
        if not spent.matters(ms) or (compared and saving <= 0):
            return
        known = f" In float32, equal work took {saving:.3g} ms less." if compared else ""
        name = _NAMES[dtype]
        yield self.finding(
            dtype,
            title=f"{name} products are emulated: no {name} instructions",
            message=(
                f"oneDNN may use {isa}, which multiplies no {name}. {times(count, 'product')} took "
                f"{spent.tell(ms)}; the most expensive is {found[0].run.primitive} "
                f"{found[0].run.shape} on `{found[0].run.impl}`.{known}"
            ),
            confidence=Confidence.HIGH if compared else Confidence.MEDIUM,
            count=count,
            evidence=[quote(group.rows[0], f"{group.count} times") for group in found[:3]],
            cost=spent.cost(saving, "estimated") if compared else None,
            advice=_ADVICE,
        )


def _saving(found: Sequence[Runs], runs: Sequence[Runs]) -> tuple[float, bool]:
    """Return what float32 would save where the log has equal work in it, and whether it has."""
    saving, compared = 0.0, False
    for group in found:
        equal = [
            other.times.median
            for other in runs
            if other.run.primitive == group.run.primitive
            and other.run.shape == group.run.shape
            and other.run.precision == "f32"
        ]
        if equal:
            compared = True
            saving += group.ms - min(equal) * group.count
    return saving, compared


_ADVICE = (
    Advice(text="Use float32 on this CPU.", code="model.float()"),
    Advice(
        text="Or see whether a limit hides the instructions: ONE008.",
        code="unset ONEDNN_MAX_CPU_ISA DNNL_MAX_CPU_ISA",
    ),
)
