"""TUN010 tf32-disabled-in-templates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.inductor.autotune_search import is_gpu
from tracelens.inductor.autotune_tables import label
from tracelens.inductor.tuning_data import TuningData
from tracelens.logs.autotune import AutotuneTable
from tracelens.logs.warnings import TorchWarning
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import and_more, plural

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts

__all__ = ["Tf32DisabledInTemplates"]

#: Tables told apart in a message and quoted.
MAX_TOLD = 3
OFF, ON = "ALLOW_TF32=False", "ALLOW_TF32=True"


class Tf32DisabledInTemplates(Rule):
    """float32 matrix products were tuned without TF32: the tensor cores of the GPU are not used.

    ## Why it matters
    NVIDIA GPUs since Ampere multiply float32 matrices on tensor cores when they may round the
    factors to 10 bits of mantissa (TF32). The peak rate of an A100 is 156 instead of 19.5 TFLOP/s.
    Torch does not round unless it is told to.

    ## What it looks like
    float32 operands, and templates with ``ALLOW_TF32=False``:

        AUTOTUNE mm(4096x2048, 2048x2048)
        strides: [2048, 1], [1, 2048]
        dtypes: torch.float32, torch.float32
          mm 1.9845 ms 100.0%
          triton_mm_8 2.2133 ms 89.7% ACC_TYPE='tl.float32', ALLOW_TF32=False, BLOCK_K=16, BLOCK_M=64, BLOCK_N=64, EVEN_K=True, GROUP_M=8, num_stages=2, num_warps=4

    ## When it is harmless
    For 16-bit operands, which always show ``ALLOW_TF32=False``, so that the data types have to be
    known: torch 2.8 and later print them. For small products (fewer than 16 rows, or a side below
    512), where torch 2.13 and later print ``False`` even when TF32 is allowed: they count only where
    torch itself warns. On GPUs before Ampere, which have no TF32. And where the program needs the
    precision of float32: TF32 keeps three decimal digits of each factor.

    ## What to do
    Allow TF32 and compare the results with those of float32; or use bfloat16.

    ## How a live run confirms it
    The products are timed with ``torch.set_float32_matmul_precision("high")``, and the largest
    error against float32 is reported. Confirmed when they are faster and the error is acceptable;
    refuted when no float32 product is in the step.

    ## See also
    ENV002 for the warning alone;
    <https://pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-devices>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "TUN010"
    name = "tf32-disabled-in-templates"
    severity = Severity.INFO
    experiment = Experiment(
        Knob(
            "TF32 in matrix products",
            changes_results=True,
            env={"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"},
        )
    )

    class Data(TuningData):
        """float32 products whose templates do without TF32."""

        products: int
        #: torch itself says that this GPU has TF32.
        is_warned: bool

    remedies = (
        Remedy(
            id="high",
            text="Allow TF32 for float32 products, and compare the results.",
            setting='torch.set_float32_matmul_precision("high")',
            since="1.12",
            basis="tested",
            proof="tests/advice/TUN010/high.py",
            knob=experiment.knob,
        ),
    )

    def check(
        self,
        tables: Table[AutotuneTable],
        *,
        warnings: Table[TorchWarning],
        run: Table[RunFacts],
    ) -> Iterator[Finding]:
        """Yield one finding for all tables: the setting is the program's."""
        products = [row for row in tables if row.record.gemm is not None and is_gpu(row.record)]
        if any(_says(row.record, ON) for row in products):
            return
        warned = [row for row in warnings if row.record.topic == "tf32"]
        found = [row for row in products if _is_float32(row.record) and _says(row.record, OFF)]
        if not warned:
            found = [row for row in found if _is_large(row.record)]
        if found:
            yield self._finding(found, warned, run)

    def _finding(
        self,
        found: list[Seen[AutotuneTable]],
        warned: list[Seen[TorchWarning]],
        run: Table[RunFacts],
    ) -> Finding:
        found = sorted(found, key=lambda row: -_flops(row.record))
        count = len(found)
        data = self.Data.about(run, found, products=count, is_warned=bool(warned))
        names = ", ".join(label(row.record) for row in found[:MAX_TOLD])
        more = and_more(count, MAX_TOLD)
        sure = (
            "torch warns that this GPU has TF32"
            if warned
            else "GPUs since Ampere multiply several times as fast with TF32"
        )
        lines = [_quote(row) for row in found[:MAX_TOLD]]
        return self.finding(
            "tf32",
            title=f"{plural(count, 'float32 matrix product')} tuned without TF32",
            message=f"{names}{more}: every template was compiled without TF32; {sure}.",
            confidence=Confidence.HIGH if warned else Confidence.MEDIUM,
            count=count,
            evidence=[*lines, *(row.quote() for row in warned[:1])],
            advice=self.advise(data),
            data=data,
        )


def _is_float32(table: AutotuneTable) -> bool:
    return bool(table.dtypes) and set(table.dtypes) == {"float32"}


def _is_large(table: AutotuneTable) -> bool:
    """Whether the sizes are such that every version prints what was set."""
    gemm = table.gemm
    return gemm is not None and gemm.m >= 16 and min(gemm.n, gemm.k) >= 512


def _says(table: AutotuneTable, word: str) -> bool:
    return any(word in choice.parameters for choice in table.choices)


def _flops(table: AutotuneTable) -> int:
    return table.gemm.flops if table.gemm is not None else 0


def _quote(row: Seen[AutotuneTable]) -> EvidenceLine:
    choice = next(choice for choice in row.record.choices if OFF in choice.parameters)
    return row.quote(label(row.record).replace("`", ""), at=choice.at)
