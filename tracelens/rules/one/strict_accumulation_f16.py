"""ONE012 strict-accumulation-f16."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.onednn.data import PrimitiveData
from tracelens.onednn.implementations import Grade
from tracelens.onednn.runs import Spent, groups, instruction_set, times
from tracelens.onednn.summary import quote
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import few, is_whole

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.onednn_verbose import (
        CpuIsa,
        ExternalKernel,
        LibraryVersion,
        PrimitiveExec,
    )

__all__ = ["StrictAccumulationF16"]

#: The first oneDNN whose strict mode is strict for float16 on AArch64.
STRICT_SINCE = (3, 9)
MIN_SHARE = 0.05
#: How the Compute Library's kernels are named that add float16 products in float32.
_WIDE = "_fp16fp32fp16_"


class StrictAccumulationF16(Rule):
    """float16 products on AArch64 are accumulated in float32, which is exact and slower.

    ## Why it matters
    Up to version 3.8, oneDNN on AArch64 added float16 products in float16, against its own rules.
    Since 3.9 it adds them in float32 unless told otherwise. Results are better; on an Apple M2 Pro,
    attention of 8x1500x1500 by 8x1500x64 went from 3.3 to 8.1 ms. Who upgrades sees a slowdown
    without any other change.

    ## What it looks like
    A float16 product without ``attr-acc-mode``, and, with ``ONEDNN_VERBOSE=all``, a kernel of the
    Compute Library whose name goes from fp16 over fp32 to fp16:

        onednn_verbose,v1,primitive,exec:external,CpuGemmAssemblyWrapperKernel/a64_ffhybrid_fp16fp32fp16_mla_6x16,0.724854
        onednn_verbose,v1,primitive,exec,cpu,matmul,gemm:acl,undef,src:f16::blocked:ab::f0 wei:f16:a:blocked:Ba8b::f0 dst:f16::blocked:ab::f0,attr-scratchpad:user,,32x64:64x48,0.952148

    ## When it is harmless
    It is intended, and the right default: this finding explains, it does not accuse. Convolutions
    are not meant: with oneDNN 3.12 they still add in float16. Below 5 % of the time nothing is
    reported.

    ## What to do
    torch gives no access to the accumulation mode (2.13). Use bfloat16, whose products have their
    own fast instructions, or compare with the older version before blaming the model.

    ## How a live run confirms it
    The product runs in float16 and in bfloat16, and in an older wheel where one is at hand.
    Confirmed when the older one is faster by more than the spread.

    ## See also
    <https://github.com/uxlfoundation/oneDNN/issues/4476>,
    <https://uxlfoundation.github.io/oneDNN/dev_guide_attributes_accumulation_mode.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ONE012"
    name = "strict-accumulation-f16"
    severity = Severity.INFO
    unconfirmable = "it takes another version of oneDNN"

    class Data(PrimitiveData):
        """float16 products on AArch64 that are accumulated in float32."""

        onednn: str
        products: int
        #: A kernel of the Compute Library that adds in float32, where the log names it.
        kernel: str = ""

    remedies = (
        Remedy(
            id="bfloat16",
            text="Use bfloat16 for these layers, and compare.",
            code="model = model.to(torch.bfloat16)\nx = x.to(torch.bfloat16)",
            basis="untestable",
            proof="needs an AArch64 machine",
        ),
        Remedy(
            id="older-torch",
            text="Or compare with a version of torch before oneDNN 3.9: 2.10.0 has 3.7.",
            until="oneDNN 3.8",
            basis="untestable",
            proof="needs an AArch64 machine",
        ),
    )

    def check(
        self,
        execs: Table[PrimitiveExec],
        versions: Table[LibraryVersion],
        *,
        run: Table[RunFacts],
        isas: Table[CpuIsa],
        kernels: Table[ExternalKernel],
    ) -> Iterator[Finding]:
        """Yield one finding for all float16 matrix products."""
        version = next(iter(versions)).record.version
        if not instruction_set(isas).startswith("AArch64") or _release(version) < STRICT_SINCE:
            return
        spent = Spent.of(execs)
        found = [group for group in groups(execs) if _is_strict(group.run)]
        found = [group for group in found if group.grade("") is Grade.OPTIMISED]
        found.sort(key=lambda group: -group.ms)
        ms, count = sum(group.ms for group in found), sum(group.count for group in found)
        if not found or spent.share(ms) < MIN_SHARE:
            return
        proof = _proof(kernels)
        shown = f" `{proof.record.kernel.rpartition('/')[2]}` ran, which does so." if proof else ""
        data = self.Data.about(
            run,
            [group.rows[0] for group in found],
            ms=ms,
            share=spent.share(ms),
            onednn=version,
            products=count,
            kernel=proof.record.kernel if proof else "",
        )
        yield self.finding(
            "matmul",
            title="float16 products are accumulated in float32 since oneDNN 3.9",
            message=(
                f"With oneDNN {version}, {times(count, 'product')} took {spent.tell(ms)}.{shown} "
                "Versions up to 3.8 added in float16: less exact, and up to 2.5 times faster."
            ),
            confidence=Confidence.HIGH if proof else Confidence.MEDIUM,
            count=count,
            evidence=[
                *(quote(group.rows[0], f"{group.count} times") for group in few(found)),
                *([quote(proof, "adds in float32")] if proof else []),
            ],
            advice=self.advise(data),
            data=data,
        )


def _is_strict(run: PrimitiveExec) -> bool:
    """Whether ``run`` is a float16 matrix product in the default accumulation mode."""
    return (
        run.primitive in {"matmul", "inner_product"}
        and run.dtypes.get("src") == run.dtypes.get("wei") == "f16"
        and not any(other.startswith("attr-acc-mode") for other in run.attributes.others)
    )


def _proof(kernels: Table[ExternalKernel]) -> Seen[ExternalKernel] | None:
    return next((row for row in kernels if _WIDE in row.record.kernel), None)


def _release(version: str) -> tuple[int, ...]:
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts) if all(map(is_whole, parts)) else (0, 0)
