"""ONE014 integer-weights-not-decompressed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.onednn.data import PrimitiveData
from tracelens.onednn.implementations import Grade
from tracelens.onednn.runs import Runs, Spent, groups, instruction_set, times
from tracelens.onednn.shapes import unpacks
from tracelens.onednn.stories import primitive
from tracelens.onednn.summary import quote
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.words import few

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveExec

__all__ = ["IntegerWeightsNotDecompressed"]


class IntegerWeightsNotDecompressed(Rule):
    """Integer weights met float activations, and no kernel that unpacks them took the product.

    ## Why it matters
    Weights in 8 or 4 bits save memory traffic if the kernel unpacks them as it multiplies. oneDNN
    does so for some types only, and only where the caller allows it: ``attr-fpmath`` has to cover
    integers, which the log shows as ``:true``. Otherwise the product falls to loops over single
    elements, slower than the float32 product that it replaced.

    ## What it looks like
    Activations in a float type, weights in an integer one, and a reference or generic
    implementation:

        onednn_verbose,v1,primitive,exec,cpu,matmul,ref:any,undef,src:f32::blocked:ab::f0 wei:s8::blocked:ab::f0 dst:f32::blocked:ab::f0,attr-scratchpad:user attr-scales:wei:2:f32,,16x640:640x1920,38.2

    ## When it is harmless
    When the implementation is a generated one, or the activations are integers as well
    (dynamic quantization). Below 1 ms and 2 % of the time nothing is reported. Where ONE001
    reports the same product as a reference kernel, this finding explains it, and is a note.

    ## What to do
    Use kernels that are made for it: torchao's weight-only quantization calls ATen's own. Or
    quantize the activations as well, or keep the weights in bfloat16.

    ## How a live run confirms it
    Not by a setting: the data type is the program's. After the change, a generated implementation
    takes the product.

    ## See also
    ONE001; <https://github.com/uxlfoundation/oneDNN/issues/1893>,
    <https://uxlfoundation.github.io/oneDNN/dev_guide_attributes_fpmath_mode.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "ONE014"
    name = "integer-weights-not-decompressed"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM

    class Data(PrimitiveData):
        """Products of float activations and integer weights."""

        source: str
        weights: str
        executions: int
        #: The caller lets oneDNN unpack integers in the product.
        is_permitted: bool

    remedies = (
        Remedy(
            id="torchao",
            text="Use torchao's weight-only quantization, which calls kernels made for it: "
            "`quantize_(model, Int8WeightOnlyConfig())` of `torchao.quantization`.",
            proof="https://github.com/pytorch/ao/tree/main/torchao/quantization",
        ),
        Remedy(
            id="bfloat16",
            text="Or use bfloat16 activations, or bfloat16 weights.",
            proof="https://uxlfoundation.github.io/oneDNN/dev_guide_matmul.html",
        ),
    )

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is a symptom of."""
        return [primitive(str(finding.data.get("primitive")), str(finding.data.get("dtypes")))]

    def check(
        self, execs: Table[PrimitiveExec], *, isas: Table[CpuIsa], run: Table[RunFacts]
    ) -> Iterator[Finding]:
        """Yield one finding per pair of types and implementation."""
        isa = instruction_set(isas)
        spent = Spent.of(execs, run=run)
        causes: dict[tuple[str, str, str], list[Runs]] = {}
        for group in groups(execs):
            if unpacks(group.run) and group.grade(isa) is not Grade.OPTIMISED:
                types = group.run.dtypes
                key = (types["src"], types["wei"], group.run.impl)
                causes.setdefault(key, []).append(group)
        for (source, weights, impl), found in causes.items():
            ms, count = sum(g.ms for g in found), sum(g.count for g in found)
            if not spent.matters(ms):
                continue
            accused = found[0].grade(isa) is Grade.REFERENCE
            found.sort(key=lambda group: -group.ms)
            worst = found[0]
            data = self.Data.about(
                run,
                [group.rows[0] for group in found],
                ms=ms,
                share=spent.share(ms),
                source=source,
                weights=weights,
                executions=count,
                is_permitted=worst.run.attributes.fpmath.endswith(":true"),
            )
            yield self.finding(
                source,
                weights,
                impl,
                title=f"{weights} weights are not unpacked by a fast kernel for {source}",
                message=(
                    f"{times(count)} on `{impl}` took {spent.tell(ms)}. The most expensive is "
                    f"{worst.run.primitive} {worst.run.shape}. {_permission(worst.run, source)}"
                    f"{' ONE001 tells what it costs.' if accused else ''}"
                ),
                severity=Severity.INFO if accused else Severity.WARNING,
                confidence=Confidence.HIGH if count > 1 else Confidence.MEDIUM,
                count=count,
                evidence=[quote(group.rows[0], f"{group.count} times") for group in few(found)],
                cost=None if accused else spent.cost(ms, "upper_bound"),
                advice=self.advise(data),
                data=data,
            )


def _permission(run: PrimitiveExec, source: str) -> str:
    if run.attributes.fpmath.endswith(":true"):
        return f"The caller permits unpacking, but no kernel does it for {source} here."
    return "The caller does not permit unpacking: `attr-fpmath` does not cover integers."
