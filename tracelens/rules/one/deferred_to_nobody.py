"""ONE020 deferred-to-nobody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

from tracelens.evidence import Seen, Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.logs.onednn_verbose import (
    CpuIsa,
    DispatchRejection,
    LibraryRejection,
    LibraryVersion,
    Primitive,
    PrimitiveCreate,
    PrimitiveExec,
)
from tracelens.onednn.data import PrimitiveData
from tracelens.onednn.implementations import COMPUTE, Grade, grade
from tracelens.onednn.reasons import Reason
from tracelens.onednn.refusals import Refusal, Refusals
from tracelens.onednn.runs import instruction_set
from tracelens.onednn.stories import primitive
from tracelens.onednn.summary import quote
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts

__all__ = ["DeferredToNobody"]


class DeferredToNobody(Rule):
    """A fast implementation stepped aside for another one that is not there.

    ## Why it matters
    Some implementations refuse problems that another one is thought to do faster. If that other one
    refuses too, or is not in the list for the data type, nobody is left but the reference kernel.
    Neither the program nor its data type is at fault: it is a bug of the library, and each side of
    the threshold behaves well. torch 2.15.0 on AArch64 does this to float16 convolutions with input
    times output channels of at most 2048; 2.13.0 does not.

    ## What it looks like
    A refusal that names another implementation, and then the reference one:

        onednn_verbose,v1,primitive,create:dispatch,convolution,cpu,convolution,indirect_gemm:acl,forward_training,src:f16:a:any:any::f0 wei:f16:a:any:any::f0 bia:f16:a:any:any::f0 dst:f16:a:any:any::f0,attr-scratchpad:user,alg:convolution_direct,mb1_ic3oc16_ih16oh16kh3sh1dh0ph1_iw16ow16kw3sw1dw0pw1,brgconv:sve is faster for small OC * IC,src/cpu/aarch64/acl_indirect_gemm_convolution.cpp:108
        onednn_verbose,v1,primitive,create:cache_miss,cpu,convolution,ref:any,forward_training,src:f16:a:blocked:acdb::f0 wei:f16:a:blocked:abcd::f0 bia:f16:a:blocked:a::f0 dst:f16:a:blocked:acdb::f0,attr-scratchpad:user,alg:convolution_direct,mb1_ic3oc16_ih16oh16kh3sh1dh0ph1_iw16ow16kw3sw1dw0pw1,0.21

    ## When it is harmless
    When the implementation that is named, or another fast one, is chosen after all: then nothing is
    reported. Where the product ran, ONE001 reports its time, and this is the explanation: a note.

    ## What to do
    Change what the refusal is about: for the convolutions above more channels, bfloat16 or float32.
    Report it to oneDNN with the two lines.

    ## How a live run confirms it
    The layer alone is run from torch, as recorded and in float32. Confirmed when the reference
    lines vanish and a step takes less time.

    ## See also
    ONE001; <https://uxlfoundation.github.io/oneDNN/dev_guide_verbose.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ONE020"
    name = "deferred-to-nobody"
    severity = Severity.ERROR
    experiment = Experiment(
        UNCHANGED,
        micro="onednn_primitive:float32",
        confirms=(
            "the small program runs on the reference "
            "implementation, and the same in float32 is faster"
        ),
        refutes="float32 is as slow",
        leaves_open=(
            "the primitive cannot be run from torch here, or another implementation is chosen"
        ),
    )

    class Data(PrimitiveData):
        """What an implementation refused in favour of one that did not take it."""

        who: str
        refusal: str
        shapes: int
        was_run: bool
        #: Data type of what is read.
        source: str

    remedies = (
        Remedy(
            id="bfloat16",
            text="Use bfloat16 or float32 for this convolution.",
            when="float16 convolutions",
            applies=lambda data: data.primitive == "convolution" and data.source == "f16",
            code="model = model.to(torch.bfloat16)\nx = x.to(torch.bfloat16)",
            since="2.15.0",
            basis="untestable",
            proof="needs an AArch64 machine",
        ),
        Remedy(
            id="float32",
            text="Use another data type for this layer: float32.",
            when="bfloat16, or float16 that is not a convolution's",
            applies=lambda data: (
                data.source in {"bf16", "f16"}
                and not (data.primitive == "convolution" and data.source == "f16")
            ),
            basis="untestable",
            proof="needs an AArch64 machine",
        ),
        Remedy(
            id="report",
            text="Report it at github.com/uxlfoundation/oneDNN with both lines of the evidence.",
            basis="untestable",
            proof="it is a report",
        ),
    )

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is a symptom of."""
        return (
            [primitive(str(finding.data.get("primitive")), str(finding.data.get("dtypes")))]
            if finding.data.get("was_run")
            else ()
        )

    def check(
        self,
        dispatches: Table[DispatchRejection],
        *,
        run: Table[RunFacts],
        creates: Table[PrimitiveCreate],
        execs: Table[PrimitiveExec],
        library: Table[LibraryRejection],
        isas: Table[CpuIsa],
        versions: Table[LibraryVersion],
    ) -> Iterator[Finding]:
        """Yield one finding per primitive, data types and message."""
        isa = instruction_set(isas)
        refusals = Refusals(dispatches, library, creates, execs)
        found: dict[tuple[str, str, str], list[_Deferred]] = {}
        made = [*cast("Table[Primitive]", execs), *cast("Table[Primitive]", creates)]
        for row in made:
            one = row.record
            slow = grade(one.primitive, one.impl, isa) is Grade.REFERENCE
            if one.primitive not in COMPUTE or not slow:
                continue
            for refusal in refusals.of(one):
                if refusal.reason is Reason.DEFERRED:
                    key = (one.primitive, one.precision, refusal.message)
                    ran = isinstance(one, PrimitiveExec)
                    found.setdefault(key, []).append(_Deferred(row, refusal, ran))
        onednn = next((f" {row.record.version}" for row in versions), "")
        for key, deferred in found.items():
            yield self._finding(key, deferred, onednn, run)

    def _finding(
        self,
        key: tuple[str, str, str],
        found: list[_Deferred],
        onednn: str,
        run: Table[RunFacts],
    ) -> Finding:
        primitive, precision, message = key
        row, refusal, _ = found[0]
        shapes = len({one.row.record.shape for one in found})
        ran = any(one.ran for one in found)
        where = "ONE001 tells what it costs." if ran else "Its executions are not in the log."
        data = self.Data.about(
            run,
            [row],
            who=refusal.who.strip("`"),
            refusal=message,
            shapes=shapes,
            was_run=ran,
            source=row.record.mds[0].dtype if row.record.mds else "",
        )
        return self.finding(
            *key,
            title=f"{primitive} {precision}: left to an implementation that is not there",
            message=(
                f"{refusal.who} refused {'one shape' if shapes == 1 else f'{shapes} shapes'}: "
                f'"{message}". What is named did not take it, and `{row.record.impl}` was chosen. '
                f"This is a defect of oneDNN{onednn}, not of the model. {where}"
            ),
            severity=Severity.INFO if ran else Severity.ERROR,
            count=shapes,
            evidence=[refusal.quote, quote(row, "chosen instead")],
            advice=self.advise(data),
            data=data,
        )


class _Deferred(NamedTuple):
    row: Seen[Primitive]
    refusal: Refusal
    ran: bool
