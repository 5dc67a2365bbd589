"""ONE023 float16-outside-onednn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from tracelens.dynamo import user_code
from tracelens.dynamo.run_facts import InRun, facts_of
from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.cpp import lacks_bfloat16
from tracelens.inductor.epilogues import quote
from tracelens.inductor.graphs import heaviest
from tracelens.inductor.origins import Lines
from tracelens.inductor.remedies import bfloat16, float32
from tracelens.inductor.weights import weight_of
from tracelens.logs._dataflow import Content, Dataflow
from tracelens.logs._statements import KernelCall
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
#: With fewer rows, reading the weights takes the time: one row took as long as in float32, 8 rows
#: three times as long, 64 rows 20 times (AVX2).
MIN_ROWS = 8
#: In oneDNN's words.
_SHORT = {"float16": "f16", "bfloat16": "bf16"}
MAX_QUOTED = 3


def _has_bfloat16(data: InRun) -> bool:
    return getattr(data, "dtypes", "") == "float16" and "bf16" in (data.native_types or ())


def _float32(data: InRun) -> str:
    if data.native_types is not None:
        return "Use float32: this CPU multiplies neither float16 nor bfloat16."
    if getattr(data, "dtypes", "") == "bfloat16":
        return "Use float32, unless `lscpu | grep avx512bw` prints something."
    return (
        "Use float32: nothing in the log says that this CPU multiplies float16. Where it has "
        "bfloat16 (`lscpu | grep -E 'avx512_bf16|amx_bf16'` prints something), that is faster yet."
    )


class Float16OutsideOnednn(Rule):
    """float16 or bfloat16 products on a CPU that lacks the type never reach oneDNN.

    ## Why it matters
    oneDNN takes float16 where the CPU multiplies it (AVX512_FP16, AMX-FP16). Elsewhere ATen does
    it alone, with loops that widen every value. Two linear layers took 11.7 ms in float16 and 1.3
    ms in bfloat16 on the same core (AVX512_BF16, torch 2.13), a vision transformer 95.6 and 10.8
    ms. Freezing or tuning changes nothing. Without either type bfloat16 is no faster: a residual
    network took 152 ms in float16, 177 in bfloat16 and 23 in float32 (AVX2).

    bfloat16 reaches oneDNN where the CPU has AVX-512, with or without bfloat16 instructions, or
    AVX-NE-CONVERT. With AVX2 alone, layers took 3 times as long as in float32 for 8 rows, 20 times
    for 64 and more, convolutions 100 times; a single row took the same.

    ## What it looks like
    A product of ATen with a float16 result on the CPU, and no line of oneDNN for it:

        [0/0] [__output_code]     buf0 = empty_strided_cpu((64, 1024), (1024, 1), torch.float16)
        [0/0] [__output_code]     extern_kernels.addmm(arg1_1, arg2_1, arg0_1, alpha=1, beta=1, out=buf0)

    ## When it is harmless
    On a CPU with float16 instructions, as oneDNN's header tells; where neither the header nor the
    processor's flags are in the log, it is a note of low confidence. Small products are left out,
    and so are logs in which oneDNN runs float16 products (ONE009 is about those). A trace alone
    names neither the processor nor what an operator calls: nothing is said of it. Of bfloat16
    something is said only where the processor's flags, oneDNN's header or the vectors of generated
    code (8 numbers) show a CPU without AVX-512. Products of less than 8 rows are left out: reading
    the weights takes their time.

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
        """float16 or bfloat16 products of ATen, of the graph with most of them."""

        products: int
        #: Elements of their factors and results.
        elements: int
        dtypes: str = "float16"
        #: The weights are float32, and converted in every call: by autocast, as a rule.
        is_cast: bool = False

    remedies = (
        bfloat16("ONE023", applies=lambda data: _has_bfloat16(data) and not data.is_cast),
        Remedy(
            id="no-autocast",
            text=lambda data: (
                "Call the model without `torch.autocast`: its weights are float32, which is the "
                f"faster type {'here' if data.native_types is not None else 'on such a CPU'}."
            ),
            when="float32 weights that each call converts, not float16 with bfloat16 instructions",
            applies=lambda data: data.is_cast and not _has_bfloat16(data),
            code='with torch.autocast("cpu", enabled=False): model(x)',
            proof="tests/advice/ONE023/no-autocast.py",
            basis="tested",
        ),
        float32(
            "ONE023",
            text=_float32,
            applies=lambda data: not data.is_cast and "bf16" not in (data.native_types or ()),
        ),
        Remedy(
            id="float32-too",
            text="Or use float32: twice the memory, and the library's fast kernels.",
            when="a CPU with bfloat16",
            applies=lambda data: _has_bfloat16(data) and not data.is_cast,
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
        """Yield one finding per data type."""
        facts = facts_of(run)
        if facts.arch == "aarch64":
            return
        lines = graphs.derived(Lines)
        for dtype, short in _SHORT.items():
            if any(_is_of(row, short) for row in execs):
                continue
            lacks = _lacks(facts, short, modules)
            if lacks is not False:
                yield from self._told(dtype, modules, run, isas, lines, sure=lacks is True)

    def _told(
        self,
        dtype: str,
        modules: Table[OutputModule],
        run: Table[RunFacts],
        isas: Table[CpuIsa],
        lines: Lines,
        *,
        sure: bool,
    ) -> Iterator[Finding]:
        found = [one for row in modules for one in _products(row, dtype)]
        found = heaviest(found, lambda one: id(one.seen), lambda one: one.elements)
        elements = sum(one.elements for one in found)
        if elements < MIN_ELEMENTS:
            return
        found.sort(key=lambda one: -one.elements)
        data = self.Data.of(
            run,
            products=len(found),
            elements=elements,
            dtypes=dtype,
            is_cast=all(one.is_cast for one in found[:MAX_QUOTED]),
        )
        yield self.finding(
            dtype,
            title=f"{plural(len(found), f'{dtype} product')} on the CPU never "
            f"reach{'es' if len(found) == 1 else ''} oneDNN",
            message=_message(found[0], dtype, sure=sure),
            severity=Severity.WARNING if sure else Severity.INFO,
            confidence=Confidence.HIGH if sure else Confidence.LOW,
            count=len(found),
            where=user_code.where(user_code.best(lines.of(found[0].seen, found[0].step.comment))),
            evidence=[*_quotes(found, dtype), *[row.quote(f"no {dtype}") for row in isas][:1]],
            advice=self.advise(data),
            data=data,
        )


def _lacks(facts: RunFacts, short: str, modules: Table[OutputModule]) -> bool | None:
    """Whether torch keeps products of a type from oneDNN on this CPU; None if that is not sure."""
    if short == "bf16":
        return lacks_bfloat16(facts, modules)
    has = facts.has_type("f16")
    return None if has is None else not has


class _Product(msgspec.Struct, frozen=True):
    """A call of ATen that multiplies matrices of a short type on the CPU."""

    seen: Seen[OutputModule]
    step: Step
    result: Content
    elements: int
    #: Whether its weight is float32, and a kernel converts it.
    is_cast: bool


def _products(row: Seen[OutputModule], dtype: str) -> Iterator[_Product]:
    module = row.record
    if module.device != "cpu":
        return
    for step, call in module.extern_calls():
        if call.op not in _PRODUCTS or not call.target.startswith("extern_kernels."):
            continue
        for result in module.flow.results(step):
            if result.dtype == dtype and not _is_short(call.op, result):
                factors = module.flow.operands(step)
                elements = sum(content.count or 0 for content in (*factors, result))
                weight = weight_of(module.flow, step)
                is_cast = weight is not None and _is_cast(module.flow, weight)
                yield _Product(row, step, result, elements, is_cast)


def _is_short(op: str, result: Content) -> bool:
    """Whether a layer is given a few rows, so that reading its weights is what takes time."""
    layer = op in {"addmm", "bias_addmm", "mm"}
    last = (result.size or (None,))[-1]
    count = result.count
    return layer and count is not None and isinstance(last, int) and count < MIN_ROWS * last


def _is_cast(flow: Dataflow, weight: Content) -> bool:
    step = weight.producer
    if step is None or not isinstance(step.code, KernelCall):
        return False
    given = (each for each in flow.operands(step) if each.producer is None)
    return any(each.dtype == "float32" and each.count == weight.count for each in given)


def _is_of(row: Seen[PrimitiveExec], short: str) -> bool:
    """Whether oneDNN runs products of a type in this log."""
    run = row.record
    products = {"convolution", "inner_product", "matmul"}
    return run.primitive in products and run.dtypes.get("src") == short


def _message(first: _Product, dtype: str, *, sure: bool) -> str:
    size = "x".join(map(str, first.result.size or ()))
    lacks, other = "float16 instructions", "bfloat16 or float32"
    if dtype == "bfloat16":
        lacks, other = "AVX-512, which torch asks for to hand bfloat16 to oneDNN", "float32"
    cpu = f"This CPU has no {lacks}; ATen"
    if not sure:
        cpu = f"Unless this CPU has {lacks}, ATen"
        if dtype == "float16":
            cpu = f"Unless this CPU has {lacks}, which the log does not tell, ATen"
    return (
        f"{cpu} multiplies with plain loops, many times slower than oneDNN in {other}. "
        f"The largest result is `{first.result.name}` ({size})."
    )


def _quotes(found: list[_Product], dtype: str) -> list[EvidenceLine]:
    return [quote(one.seen, one.step, dtype) for one in found[:MAX_QUOTED]]
