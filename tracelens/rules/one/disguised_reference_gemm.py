"""ONE021 disguised-reference-gemm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.onednn.data import PrimitiveData
from tracelens.onednn.implementations import Grade, grade
from tracelens.onednn.runs import Fast, Runs, Spent, groups, instruction_set, times
from tracelens.onednn.shapes import unpacks
from tracelens.onednn.summary import quote
from tracelens.onednn.user_lines import UserLines
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import few

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.inductor.library_calls import LibraryRun
    from tracelens.logs.onednn_verbose import CpuIsa, NestedCreate, PrimitiveExec

__all__ = ["DisguisedReferenceGemm"]


class DisguisedReferenceGemm(Rule):
    """A product named like generated code ran on plain loops, because the machine is no x86-64.

    ## Why it matters
    ``gemm:jit``, ``gemm:jit:f32`` and ``gemm:jit:bf16`` are fixed names. On x86-64 generated code
    stands behind them. Elsewhere the same names lead to ``ref_gemm``: loops without vectors or
    blocks, 10 to 100 times slower than the Compute Library or a BLAS. Nothing in the line says so.

    ## What it looks like
    The header is not one of x86-64, and the implementation begins with ``gemm:jit``:

        onednn_verbose,v1,info,cpu,isa:AArch64 SVE (256 bits)
        onednn_verbose,v1,primitive,exec,cpu,matmul,gemm:jit:bf16,undef,src:bf16::blocked:ab::f0 wei:bf16::blocked:ab::f0 dst:f32::blocked:ab::f0,attr-scratchpad:user,,64x64:64x64,24.1

    ## When it is harmless
    In a build of oneDNN with a BLAS, which the log does not show; torch's wheels for AArch64 have
    none. 8-bit products of POWER and IBM Z have code of their own. Below 1 ms and 2 % of the time
    nothing is reported. Inside a recurrent network, ONE001 reports the network: then this is a
    note. Integer weights with float activations are ONE014's.

    ## What to do
    Use a data type that the Compute Library takes (float32 nearly always), or a build with a BLAS.

    ## How a live run confirms it
    The product runs in float32. Confirmed when ``gemm:acl`` or ``brg`` takes it and the time falls.

    ## See also
    ONE001; ``src/cpu/gemm/gemm.cpp`` in <https://github.com/uxlfoundation/oneDNN>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ONE021"
    name = "disguised-reference-gemm"
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
        """Products on plain loops; the most expensive ones first."""

        executions: int
        #: Whether they run inside other primitives, which another finding is about.
        is_nested: bool = False

    remedies = (
        Remedy(
            id="float32",
            text="Run these products in float32.",
            when="bfloat16, float16 or integers",
            applies=lambda data: data.dtypes != "f32",
            basis="untestable",
            proof="needs an AArch64 machine",
        ),
        Remedy(
            id="other-build",
            text="Or use a build of torch whose oneDNN has the Compute Library or a BLAS: the "
            "wheels for AArch64 on the package index have the former.",
            basis="untestable",
            proof="needs an AArch64 machine",
        ),
    )

    def check(
        self,
        isas: Table[CpuIsa],
        *,
        run: Table[RunFacts],
        execs: Table[PrimitiveExec],
        nested: Table[NestedCreate],
        ran: Table[LibraryRun],
    ) -> Iterator[Finding]:
        """Yield one finding per data types, and a note on what runs inside other primitives."""
        isa = instruction_set(isas)
        runs = groups(execs)
        spent = Spent.of(execs, run=run)
        fast = Fast(runs, isa)
        found: dict[tuple[str, str], list[Runs]] = {}
        for group in runs:
            if group.grade(isa) is Grade.DISGUISED and not unpacks(group.run):
                key = (group.run.primitive, group.run.precision)
                found.setdefault(key, []).append(group)
        for slow in found.values():
            if spent.matters(sum(group.ms for group in slow)):
                slow.sort(key=lambda group: -group.ms)
                ms = sum(group.ms for group in slow)
                data = self.Data.about(
                    run,
                    [group.rows[0] for group in slow],
                    ms=ms,
                    share=spent.share(ms),
                    executions=sum(group.count for group in slow),
                )
                finding = self._finding(data, slow, fast, spent, isa)
                yield finding.model_copy(update={"where": UserLines(ran).of(slow[0].rows)})
        if not found:
            yield from self._note(nested, isa, run)

    def _finding(self, data: Data, slow: list[Runs], fast: Fast, spent: Spent, isa: str) -> Finding:
        ms, count, worst = data.ms or 0.0, data.executions, slow[0]
        key = (data.primitive, data.dtypes)
        known = [group.alternative(fast) for group in slow]
        saving = sum(
            max(0.0, group.ms - (other[0] * group.count if other else 0.0))
            for group, other in zip(slow, known, strict=True)
        )
        compared = f" For comparison, {known[0][1]}." if known[0] else ""
        return self.finding(
            *key,
            title=f"{' '.join(key)} ran on `{worst.run.impl}`, which is plain loops here",
            message=(
                f"{times(count)} took {spent.tell(ms)}. oneDNN has generated code for this name on "
                f"x86-64 only; this is {isa}, so it is the reference product, unless this oneDNN "
                f"was built with a BLAS.{compared}"
            ),
            confidence=Confidence.MEDIUM if isa.startswith("AArch64") else Confidence.LOW,
            count=count,
            evidence=[quote(group.rows[0], f"{group.count} times") for group in few(slow)],
            cost=spent.cost(saving, "estimated" if all(known) else "upper_bound"),
            advice=self.advise(data),
            data=data,
        )

    def _note(
        self, nested: Table[NestedCreate], isa: str, run: Table[RunFacts]
    ) -> Iterator[Finding]:
        inner = [
            row
            for row in nested
            if grade(row.record.primitive, row.record.impl, isa) is Grade.DISGUISED
        ]
        if inner:
            yield self.finding(
                "nested",
                title="products inside another primitive are plain loops",
                message=(
                    f"`{inner[0].record.impl}` was made inside another primitive, {inner[0].count} "
                    "times."
                ),
                harmless="ONE001 reports the primitive around it, where its time matters",
                confidence=Confidence.MEDIUM,
                count=sum(row.count for row in inner),
                evidence=[quote(row, "plain loops on this machine") for row in few(inner)],
                data=self.Data.about(
                    run, inner, executions=sum(row.count for row in inner), is_nested=True
                ),
            )
