"""ONE023 float16-outside-onednn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from tracelens.dynamo import user_code
from tracelens.dynamo.run_facts import InRun, facts_of
from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.epilogues import quote
from tracelens.inductor.graphs import heaviest
from tracelens.inductor.origins import Lines
from tracelens.inductor.remedies import bfloat16, float32
from tracelens.logs._dataflow import Content
from tracelens.logs.output_code import OutputModule, Step
from tracelens.onednn.stories import FLOAT16
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.words import plural

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveExec

__all__ = ["Float16OutsideOnednn"]

#: ATen's products, which hand bfloat16 and float32 to a library.
_PRODUCTS = frozenset({"addmm", "baddbmm", "bias_addmm", "bmm", "convolution", "mm"})
#: Elements of all factors and results below which nobody would notice.
MIN_ELEMENTS = 1 << 14
MAX_QUOTED = 3


class Float16OutsideOnednn(Rule):
    """float16 products on a CPU without float16 instructions never reach oneDNN.

    ## Why it matters
    oneDNN takes float16 where the CPU multiplies it (AVX512_FP16, AMX-FP16). Elsewhere ATen does
    it alone, with loops that widen every value. Two linear layers took 11.7 ms in float16 and 1.3
    ms in bfloat16 on the same core (AVX512_BF16, torch 2.13), a vision transformer 95.6 and 10.8
    ms. Freezing or tuning changes nothing. Without either type bfloat16 is no faster: a residual
    network took 152 ms in float16, 177 in bfloat16 and 23 in float32 (AVX2).

    ## What it looks like
    A product of ATen with a float16 result on the CPU, and no line of oneDNN for it:

        [0/0] [__output_code]     buf0 = empty_strided_cpu((64, 1024), (1024, 1), torch.float16)
        [0/0] [__output_code]     extern_kernels.addmm(arg1_1, arg2_1, arg0_1, alpha=1, beta=1, out=buf0)

    ## When it is harmless
    On a CPU with float16 instructions, as oneDNN's header tells; where neither the header nor the
    processor's flags are in the log, it is a note of low confidence. Small products are left out,
    and so are logs in which oneDNN runs float16 products (ONE009 is about those). A trace alone
    names neither the processor nor what an operator calls: nothing is said of it.

    ## What to do
    Use bfloat16 where the CPU has it, else float32.

    ## How a live run confirms it
    Not by a setting: the data type is the program's. After the change, oneDNN prints a line for
    each product.

    ## See also
    ONE009 for types that oneDNN emulates, IND004 for models that are not frozen;
    <https://uxlfoundation.github.io/oneDNN/dev_guide_data_types.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ONE023"
    name = "float16-outside-onednn"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM

    class Data(InRun):
        """float16 products of ATen, of the graph with most of them."""

        products: int
        #: Elements of their factors and results.
        elements: int
        dtypes: str = "float16"

    remedies = (
        bfloat16("ONE023"),
        float32("ONE023", applies=lambda data: "bf16" not in (data.native_types or ())),
        Remedy(
            id="float32-too",
            text="Or use float32: twice the memory, and the library's fast kernels.",
            when="a CPU with bfloat16",
            applies=lambda data: "bf16" in (data.native_types or ()),
            code="model = model.float()\nx = x.float()",
            proof="https://uxlfoundation.github.io/oneDNN/dev_guide_data_types.html",
        ),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is the cause of."""
        del finding
        return [FLOAT16]

    def check(
        self,
        modules: Table[OutputModule],
        *,
        run: Table[RunFacts],
        execs: Table[PrimitiveExec],
        isas: Table[CpuIsa],
        graphs: Table[FxGraph],
    ) -> Iterator[Finding]:
        """Yield one finding: it is one data type."""
        facts = facts_of(run)
        if facts.has_type("f16") or facts.arch == "aarch64" or any(map(_is_float16, execs)):
            return
        found = [one for row in modules for one in _products(row)]
        found = heaviest(found, lambda one: id(one.seen), lambda one: one.elements)
        elements = sum(one.elements for one in found)
        if elements < MIN_ELEMENTS:
            return
        found.sort(key=lambda one: -one.elements)
        sure = facts.has_type("f16") is False
        data = self.Data.of(run, products=len(found), elements=elements)
        yield self.finding(
            "float16",
            title=f"{plural(len(found), 'float16 product')} on the CPU never "
            f"reach{'es' if len(found) == 1 else ''} oneDNN",
            message=_message(found[0], sure=sure),
            severity=Severity.WARNING if sure else Severity.INFO,
            confidence=Confidence.HIGH if sure else Confidence.LOW,
            count=len(found),
            where=user_code.where(
                user_code.best(graphs.derived(Lines).of(found[0].seen, found[0].step.comment))
            ),
            evidence=[*_quotes(found), *[row.quote("no float16") for row in isas][:1]],
            advice=self.advise(data),
            data=data,
        )


class _Product(msgspec.Struct, frozen=True):
    """A call of ATen that multiplies float16 matrices on the CPU."""

    seen: Seen[OutputModule]
    step: Step
    result: Content
    elements: int


def _products(row: Seen[OutputModule]) -> Iterator[_Product]:
    module = row.record
    if module.device != "cpu":
        return
    for step, call in module.extern_calls():
        if call.op not in _PRODUCTS or not call.target.startswith("extern_kernels."):
            continue
        for result in module.flow.results(step):
            if result.dtype == "float16":
                factors = module.flow.operands(step)
                elements = sum(content.count or 0 for content in (*factors, result))
                yield _Product(row, step, result, elements)


def _is_float16(row: Seen[PrimitiveExec]) -> bool:
    """Whether oneDNN runs products of float16 in this log."""
    run = row.record
    products = {"convolution", "inner_product", "matmul"}
    return run.primitive in products and run.dtypes.get("src") == "f16"


def _message(first: _Product, *, sure: bool) -> str:
    size = "x".join(map(str, first.result.size or ()))
    cpu = "This CPU has no float16 instructions, so that ATen"
    if not sure:
        cpu = "Unless this CPU has float16 instructions, which the log does not tell, ATen"
    return (
        f"{cpu} multiplies with plain loops, many times slower than oneDNN in bfloat16 or float32. "
        f"The largest result is `{first.result.name}` ({size})."
    )


def _quotes(found: list[_Product]) -> list[EvidenceLine]:
    return [quote(one.seen, one.step, "float16") for one in found[:MAX_QUOTED]]
