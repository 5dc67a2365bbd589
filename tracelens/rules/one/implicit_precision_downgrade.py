"""ONE011 implicit-precision-downgrade."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.onednn.data import PrimitiveData
from tracelens.onednn.precision import PRODUCTS, Arithmetic, arithmetic
from tracelens.onednn.runs import Runs, Spent, groups, instruction_set, times
from tracelens.onednn.summary import quote
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules import Rule
from tracelens.words import few

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveExec

__all__ = ["ImplicitPrecisionDowngrade"]

_NAMES = {"bf16": "bfloat16", "f16": "float16", "tf32": "TensorFloat-32"}


class ImplicitPrecisionDowngrade(Rule):
    """float32 values were multiplied in a shorter type, because a setting allows it.

    ## Why it matters
    bfloat16 keeps 8 bits of a float32's 24. With ``fp32_precision = 'bf16'`` or
    ``ONEDNN_DEFAULT_FPMATH_MODE=BF16`` products get up to 7 times faster and relative errors grow
    from 1e-6 to 1e-2, in a model whose tensors all say float32.

    ## What it looks like
    The permission is an attribute. That it was used shows in the weights, which stand as ``bf16``
    between ``f32`` arguments:

        onednn_verbose,v1,primitive,exec,cpu,matmul,gemm:acl,undef,src:f32::blocked:ab::f0 wei:bf16:a:blocked:BA8b4a::f0 dst:f32::blocked:ab::f0,attr-scratchpad:user attr-fpmath:bf16,,32x64:64x48,1.5

    or in an implementation for AMX, which has no float32 product.

    ## When it is harmless
    When it is wanted: somebody set it. The finding states the fact. Where the attribute is there
    and the kernel and its weights are float32, as on a CPU with AVX-512 and no AMX, nothing was
    lowered: that is a note of severity ``none``.

    ## What to do
    If the errors matter, take the permission back, for all products or around one layer.

    ## How a live run confirms it
    The product runs with the setting and without, both compared with float64. Confirmed when the
    error falls by at least 10 times without it.

    ## See also
    The table of precisions in the report;
    <https://docs.pytorch.org/docs/stable/notes/mkldnn.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "ONE011"
    name = "implicit-precision-downgrade"
    severity = Severity.INFO
    experiment = Experiment(
        Knob(
            "float32 stays float32",
            config={"torch.backends.mkldnn.matmul.fp32_precision": "ieee"},
            changes_results=True,
        ),
        time="any",
    )

    class Data(PrimitiveData):
        """float32 products that may be, or were, computed in a shorter type."""

        #: ``bf16``, ``f16`` or ``tf32``.
        allowed: str
        was_used: bool
        products: int

    remedies = (
        Remedy(
            id="ieee",
            text="If the errors matter, compute matrix products in float32.",
            when="the shorter type was used",
            applies=lambda data: data.was_used,
            setting="torch.backends.mkldnn.matmul.fp32_precision = 'ieee'",
            env="ONEDNN_DEFAULT_FPMATH_MODE=STRICT",
            since="2.10",
            basis="untestable",
            proof="needs a CPU with AMX or AArch64, where the shorter type is used",
            knob=experiment.knob,
        ),
    )

    def check(
        self, execs: Table[PrimitiveExec], *, isas: Table[CpuIsa], run: Table[RunFacts]
    ) -> Iterator[Finding]:
        """Yield one finding per type that was used, and a note on permissions that were not."""
        isa = instruction_set(isas)
        lowered: dict[str, list[tuple[Runs, Arithmetic]]] = {}
        declined: dict[str, list[tuple[Runs, Arithmetic]]] = {}
        for group in groups(execs):
            if group.run.primitive in PRODUCTS:
                said = arithmetic(group.run, isa)
                if said.is_lowered:
                    lowered.setdefault(said.ran_in, []).append((group, said))
                elif said.is_declined:
                    declined.setdefault(said.requested, []).append((group, said))
        spent = Spent.of(execs)
        for dtype, found in lowered.items():
            yield self._finding(dtype, found, spent, run)
        for dtype, found in declined.items():
            yield self._note(dtype, found, run)

    def _finding(
        self,
        dtype: str,
        found: list[tuple[Runs, Arithmetic]],
        spent: Spent,
        run: Table[RunFacts],
    ) -> Finding:
        found.sort(key=lambda pair: -pair[0].ms)
        count = sum(group.count for group, _ in found)
        group, said = found[0]
        ms = sum(g.ms for g, _ in found)
        rows = [g.rows[0] for g, _ in found]
        told = {"allowed": dtype, "products": count, "ms": ms, "share": spent.share(ms)}
        data = self.Data.about(run, rows, was_used=True, **told)
        return self.finding(
            dtype,
            "used",
            title=f"float32 products were computed in {_NAMES.get(dtype, dtype)}",
            message=(
                f"{times(count, 'product')} with float32 arguments, "
                f"{spent.tell(ms)}. The largest is {group.label}: "
                f"{said.why}. Results differ from float32 ones in the third digit."
            ),
            count=count,
            evidence=[quote(g.rows[0], arithmetic_.why) for g, arithmetic_ in few(found)],
            advice=self.advise(data),
            data=data,
        )

    def _note(
        self, dtype: str, found: list[tuple[Runs, Arithmetic]], run: Table[RunFacts]
    ) -> Finding:
        group, said = found[0]
        count = sum(g.count for g, _ in found)
        rows = [g.rows[0] for g, _ in found]
        data = self.Data.about(run, rows, allowed=dtype, was_used=False, products=count)
        name = _NAMES.get(dtype, dtype)
        return self.finding(
            dtype,
            "allowed",
            title=f"{name} is allowed for float32 products, and was not used",
            message=(
                f"{times(count, 'product')} carry the permission. "
                f"{group.run.primitive} {group.run.shape}: {said.why}."
            ),
            harmless="the products were computed in float32 all the same",
            count=count,
            data=data,
            evidence=[quote(g.rows[0], "a permission, not a proof") for g, _ in few(found)],
        )
