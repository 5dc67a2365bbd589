"""ONE022 plain-prepack-target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from tracelens.evidence import Seen, Table
from tracelens.logs import _onednn_work as work
from tracelens.logs.onednn_verbose import CpuIsa, Primitive, PrimitiveCreate, PrimitiveExec
from tracelens.onednn.data import PrimitiveData
from tracelens.onednn.implementations import Grade, grade, has_jit_gemm
from tracelens.onednn.runs import instruction_set, times
from tracelens.onednn.summary import quote
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts

__all__ = ["PlainPrepackTarget"]

_FLOATS = frozenset({"f32", "bf16", "f16"})
Rows = list[Seen[Primitive]]


class PlainPrepackTarget(Rule):
    """Weights were packed into a plain layout, which foretells a slow kernel.

    ## Why it matters
    When a model is frozen, torch asks oneDNN which layout it wants for each weight, and packs the
    weight so. Fast kernels want blocks. If the answer is a plain layout, no fast kernel wanted the
    weight: on AArch64, a bfloat16 weight that was packed to ``ba`` was then multiplied by the
    reference kernel, one that was packed to ``AB8a4b`` by the Compute Library's. The line appears
    when the model is compiled, before anything has been slow.

    ## What it looks like
    A ``reorder`` of a matrix between two plain layouts, before the first product:

        onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:bf16::blocked:ab::f0 dst:bf16::blocked:ba::f0,attr-scratchpad:user,,64x64,0.0472

    ## When it is harmless
    On x86-64, whose kernels take plain weights: nothing is reported there. Where the product is in
    the log and ran on a fast kernel, nothing is reported either; where it ran on the reference one,
    ONE001 says so, and this is a note.

    ## What to do
    Look at the first product with ``ONEDNN_VERBOSE=all``. If it is a reference kernel, do what
    ONE001 says: another data type, no freezing, or a newer torch.

    ## How a live run confirms it
    The layer runs once. Confirmed when its implementation is a reference one.

    ## See also
    ONE001, ONE018; <https://github.com/pytorch/pytorch/issues/180447>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "ONE022"
    name = "plain-prepack-target"
    severity = Severity.INFO
    unconfirmable = "what runs with the weights is tested by ONE001"

    class Data(PrimitiveData):
        """The packing, and what read the packed weights where the log shows it."""

        weights: int
        layout: str
        #: The implementation that read them; empty where the log does not show it.
        read_by: str = ""

    remedies = (
        Remedy(
            id="record-call",
            text="Record up to the first call: the log ends before the product that reads them.",
            when="the log does not show what reads the weights",
            applies=lambda data: not data.read_by,
            proof="https://uxlfoundation.github.io/oneDNN/dev_guide_verbose.html",
        ),
        Remedy(
            id="not-frozen",
            text="If it runs on a reference kernel, do not freeze the model, or use another data "
            "type.",
            when="frozen, or unknown whether",
            applies=lambda data: data.is_frozen is not False,
            setting="torch._inductor.config.freezing = False",
            env="TORCHINDUCTOR_FREEZING=0",
            until="2.15.0",
            basis="untestable",
            proof="needs an AArch64 machine",
        ),
    )

    def check(
        self,
        execs: Table[PrimitiveExec],
        *,
        run: Table[RunFacts],
        creates: Table[PrimitiveCreate],
        isas: Table[CpuIsa],
    ) -> Iterator[Finding]:
        """Yield one finding per data type."""
        isa = instruction_set(isas)
        if not isa or has_jit_gemm(isa):
            return
        packings = [row for row in execs if _is_transposed(row.record)]
        by_weight = _by_weight(execs, creates) if packings else {}
        by_dtype: dict[str, tuple[Rows, Rows]] = {}
        for row in packings:
            target = row.record.mds[-1]
            readers = by_weight.get((target.layout, work.elements(row.record, target)), [])
            grades = {grade(r.record.primitive, r.record.impl, isa) for r in readers}
            if grades and Grade.REFERENCE not in grades:
                continue
            packed, slow = by_dtype.setdefault(row.record.mds[-1].dtype, ([], []))
            packed.append(cast("Seen[Primitive]", row))
            slow += [r for r in readers if r.record.impl]
        for dtype, (packed, slow) in by_dtype.items():
            yield self._finding(dtype, packed, slow, run)

    def _finding(self, dtype: str, packed: Rows, slow: Rows, run: Table[RunFacts]) -> Finding:
        count = sum(row.count for row in packed)
        then = "The product that reads it is not in the log yet."
        if slow:
            reader = slow[0].record
            then = f"{reader.primitive} {reader.shape} then ran on `{reader.impl}`."
        target = packed[0].record.mds[-1].tag
        data = self.Data.about(
            run,
            packed,
            weights=count,
            layout=target,
            read_by=slow[0].record.impl if slow else "",
        )
        return self.finding(
            dtype,
            target,
            title=f"{dtype} weights were packed into the plain layout `{target}`",
            message=(
                f"{times(count, 'weight')}, the first of {packed[0].record.shape}. No fast kernel "
                f"asks for that layout. {then}"
            ),
            severity=Severity.INFO,
            harmless="ONE001 is about the product that reads it" if slow else None,
            confidence=Confidence.HIGH if slow else Confidence.LOW,
            count=count,
            evidence=[
                quote(packed[0], "packed into a plain layout"),
                *(quote(row, "reads it") for row in slow[:1]),
            ],
            advice=() if slow else self.advise(data),
            data=data,
        )


def _is_transposed(run: Primitive) -> bool:
    """Whether ``run`` writes a matrix in the order in which inner products read weights."""
    if run.primitive != "reorder" or len(run.mds) < 2:
        return False
    source, target = run.mds[0], run.mds[-1]
    plain = source.is_plain and target.is_plain
    return plain and source.tag == "ab" and target.tag == "ba" and target.dtype in _FLOATS


def _by_weight(
    execs: Table[PrimitiveExec], creates: Table[PrimitiveCreate]
) -> dict[tuple[tuple[str, str, str, str], int | None], Rows]:
    """Return the products that ran or were made, by layout and size of their weights."""
    found: dict[tuple[tuple[str, str, str, str], int | None], Rows] = {}
    for row in (*cast("Table[Primitive]", execs), *cast("Table[Primitive]", creates)):
        if row.record.primitive in {"matmul", "inner_product"}:
            for md in row.record.weights:
                found.setdefault((md.layout, work.elements(row.record, md)), []).append(row)
    return found
