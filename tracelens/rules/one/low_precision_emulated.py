"""ONE009 low-precision-emulated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.inductor.remedies import bfloat16
from tracelens.onednn.data import PrimitiveData
from tracelens.onednn.implementations import Grade
from tracelens.onednn.precision import PRODUCTS, arithmetic, is_emulated
from tracelens.onednn.runs import Runs, Spent, groups, instruction_set, times
from tracelens.onednn.shapes import rows_of
from tracelens.onednn.summary import quote
from tracelens.onednn.user_lines import UserLines
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import few, length

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.inductor.library_calls import LibraryCall, LibraryRun
    from tracelens.logs.cpu_info import IsaLimit
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
        micro="onednn_primitive:float32",
        confirms="the same work in float32 takes less time",
        refutes="float32 takes as long or longer",
        leaves_open=(
            "the primitive cannot be run from torch here, or another implementation is chosen"
        ),
    )

    class Data(PrimitiveData):
        """Products in a type that the CPU does not multiply."""

        #: ``bf16`` or ``f16``.
        dtype: str
        products: int
        #: Milliseconds that float32 would save, where the log has equal work in it.
        saving_ms: float | None
        #: The log shows a variable that limits the instructions.
        is_limited: bool

    remedies = (
        bfloat16(),
        Remedy(
            id="float32",
            text="Use float32 on this CPU.",
            code="model = model.float()\nx = x.float()",
            proof="tests/advice/ONE009/float32.py",
            basis="tested",
        ),
        Remedy(
            id="no-limit",
            text="A limit hides the instructions: `unset ONEDNN_MAX_CPU_ISA DNNL_MAX_CPU_ISA`.",
            when="the log shows the limit",
            applies=lambda data: data.is_limited,
            proof="tests/advice/ONE009/no-limit.py",
            basis="tested",
        ),
    )

    def check(
        self,
        execs: Table[PrimitiveExec],
        *,
        run: Table[RunFacts],
        limits: Table[IsaLimit],
        calls: Table[LibraryCall],
        isas: Table[CpuIsa],
        ran: Table[LibraryRun],
    ) -> Iterator[Finding]:
        """Yield one finding per data type."""
        isa = instruction_set(isas)
        runs = groups(execs)
        found: dict[str, list[Runs]] = {}
        for group in runs:
            one = group.run
            if (
                one.primitive in PRODUCTS
                and is_emulated(one, isa)
                and group.grade(isa) is not Grade.REFERENCE
                and (rows_of(one) or MIN_ROWS) >= MIN_ROWS
            ):
                found.setdefault(arithmetic(one).stored, []).append(group)
        spent, floats = Spent.of(execs, calls, ran, run), _floats(runs)
        lines = UserLines(ran)
        for dtype, emulated in found.items():
            emulated.sort(key=lambda group: -group.ms)
            data = self.Data.about(
                run,
                emulated[0].rows,
                dtype=dtype,
                products=sum(group.count for group in emulated),
                ms=sum(group.ms for group in emulated),
                share=spent.share(sum(group.ms for group in emulated)),
                saving_ms=_saving(emulated, floats),
                is_limited=bool(len(limits)),
            )
            where = lines.of(emulated[0].rows)
            for finding in self._finding(data, emulated, spent, isa):
                yield finding.model_copy(update={"where": where})

    def _finding(self, data: Data, found: list[Runs], spent: Spent, isa: str) -> Iterator[Finding]:
        dtype, count, ms = data.dtype, data.products, data.ms or 0.0
        compared, saving = data.saving_ms is not None, data.saving_ms or 0.0
        if not spent.matters(ms) or (compared and saving <= 0):
            return
        known = f" In float32, equal work took {length(saving)} less." if compared else ""
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
            evidence=[quote(group.rows[0], f"{group.count} times") for group in few(found)],
            cost=spent.cost(saving, "estimated") if compared else None,
            advice=self.advise(data),
            data=data,
        )


#: Primitive and shape -> the shortest median of it in float32.
_Floats = Mapping[tuple[str, str], float]


def _floats(runs: Sequence[Runs]) -> _Floats:
    found: dict[tuple[str, str], float] = {}
    for group in runs:
        if group.run.precision == "f32":
            key = (group.run.primitive, group.run.shape)
            found[key] = min(found.get(key, group.times.median), group.times.median)
    return found


def _saving(found: Sequence[Runs], floats: _Floats) -> float | None:
    """Return what float32 would save; None where the log has no equal work in it."""
    keys = [(group, (group.run.primitive, group.run.shape)) for group in found]
    known = [group.ms - floats[key] * group.count for group, key in keys if key in floats]
    return sum(known) if known else None
