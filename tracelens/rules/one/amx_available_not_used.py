"""ONE010 amx-available-not-used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.remedies import can_compile, can_freeze, compile_frozen, freeze
from tracelens.logs._isa import matrix_types
from tracelens.onednn.data import PrimitiveData
from tracelens.onednn.implementations import Grade
from tracelens.onednn.precision import PRODUCTS, arithmetic
from tracelens.onednn.runs import Runs, Spent, groups, instruction_set, times
from tracelens.onednn.shapes import product_of
from tracelens.onednn.summary import quote
from tracelens.onednn.user_lines import UserLines
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import few, percent

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.inductor.library_calls import LibraryCall, LibraryRun
    from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveExec

__all__ = ["AmxAvailableNotUsed"]

#: A tile holds 16 rows; with fewer than two tiles the vector kernels are as fast.
MIN_ROWS = 32
#: ... and 32 bfloat16 or 64 bytes of depth.
MIN_DEPTH = 32
MIN_COLUMNS = 16
MIN_SHARE = 0.05
#: How the vector kernels' names end.
_VECTOR = ("avx512_core", "avx10", "avx2")


class AmxAvailableNotUsed(Rule):
    """The CPU has AMX, but large bfloat16, float16 or int8 products ran on vector kernels.

    ## Why it matters
    AMX multiplies 16x32 by 32x16 bfloat16 values in one instruction: 8 times the rate of
    AVX-512, or more. oneDNN takes it where the shapes fill its tiles and the layout suits. Most of
    these CPUs have it for bfloat16 and not for float16: a vision transformer took 10.7 ms in
    float16 and 5.4 ms in bfloat16 on one core.

    ## What it looks like
    The header names AMX; the implementation of a product that is large enough does not:

        onednn_verbose,v1,info,cpu,isa:Intel AVX-512 with float16, Intel DL Boost and bfloat16 support and Intel AMX with bfloat16 and 8-bit integer support
        onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core_bf16,undef,src:bf16::blocked:ab::f0 wei:bf16::blocked:ba::f0 dst:bf16::blocked:ab::f0,attr-scratchpad:user,,256x1024:1024x1024,0.9

    ## When it is harmless
    For fewer than 32 rows, as when text is generated: the vector kernels are chosen on purpose and
    are as fast. Where the header names float16 for AMX, too, or no AMX, float16 is left alone. Names
    without instructions, such as ``x64:gemm:jit``, do not tell and are left out. Below 5 % of the
    time nothing is reported. Where an excerpt has no header, a kernel with ``amx`` in its name
    shows that AMX is there.

    ## What to do
    Freeze the model, so that weights are packed for AMX; batch more rows; make sizes multiples of
    32 (bfloat16) or 64 (int8). Of float16: use bfloat16, whose numbers have a digit less.

    ## How a live run confirms it
    Not by a setting: the shape or the data type is the program's. After the change, the
    implementation's name has ``amx`` in it.

    ## See also
    ONE008 for limits, ONE018 for weights that are not packed;
    <https://docs.pytorch.org/tutorials/recipes/amx.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ONE010"
    name = "amx-available-not-used"
    severity = Severity.INFO
    claim = "time"
    unconfirmable = IN_THE_PROGRAM

    class Data(PrimitiveData):
        """Products that AMX could take; the most expensive ones first."""

        products: int
        #: Part of all oneDNN time that AMX kernels took.
        amx_share: float
        #: The log has no header: that there is AMX shows in the names of kernels only.
        is_excerpt: bool
        #: They are of a type that this AMX does not multiply, beside one that it does.
        is_float16: bool = False

    remedies = (
        Remedy(
            id="bfloat16",
            text="Use bfloat16 where the program says float16, autocast's `dtype` included. It has "
            "three digits, float16 has four: compare the results.",
            when="float16 on a CPU whose AMX has bfloat16 and not float16",
            applies=lambda data: data.is_float16,
            code="model = model.to(torch.bfloat16)\nx = x.to(torch.bfloat16)  # data, not ids",
            basis="untestable",
            proof="needs a CPU with AMX",
        ),
        freeze(
            text="If the model is only used for inference, freeze it: weights are packed for AMX.",
            applies=lambda data: can_freeze(data) and not data.is_float16,
            basis="untestable",
            proof="needs a CPU with AMX",
        ),
        compile_frozen(
            applies=lambda data: can_compile(data) and not data.is_float16,
            basis="untestable",
            proof="needs a CPU with AMX",
        ),
        Remedy(
            id="sizes",
            text="Batch more rows, and make sizes multiples of 32 (bfloat16) or 64 (int8).",
            applies=lambda data: not data.is_float16,
            basis="untestable",
            proof="needs a CPU with AMX",
        ),
    )

    def check(
        self,
        execs: Table[PrimitiveExec],
        *,
        run: Table[RunFacts],
        calls: Table[LibraryCall],
        isas: Table[CpuIsa],
        ran: Table[LibraryRun],
    ) -> Iterator[Finding]:
        """Yield one finding for all such products, and one for those in float16."""
        isa = instruction_set(isas)
        runs = groups(execs)
        witness = None if isa else _witness(runs)
        types = _types(witness) if witness is not None else matrix_types(isa)
        lacking = frozenset({"f16"} if isa and "bf16" in types else ()) - types
        spent = Spent.of(execs, calls, ran)
        used = spent.share(sum(group.ms for group in runs if "amx" in group.run.impl))
        for wanted in (types, lacking):
            found = [group for group in runs if _could(group, wanted, isa)]
            found.sort(key=lambda group: -group.ms)
            ms, count = sum(group.ms for group in found), sum(group.count for group in found)
            if not found or spent.share(ms) < MIN_SHARE:
                continue
            data = self.Data.about(
                run,
                [group.rows[0] for group in found],
                ms=ms,
                share=spent.share(ms),
                products=count,
                amx_share=used,
                is_excerpt=witness is not None,
                is_float16=wanted is lacking,
            )
            worst = found[0]
            yield self.finding(
                "float16" if data.is_float16 else "products",
                title="float16 products ran on vector kernels, and AMX is there for bfloat16"
                if data.is_float16
                else "products that AMX could compute ran on vector kernels",
                message=(
                    f"{times(count)} took {spent.tell(ms)}. The most expensive is {worst.label} on "
                    f"`{worst.run.impl}`. {_others(data)}"
                ),
                confidence=Confidence.MEDIUM,
                count=count,
                where=UserLines(ran).of(worst.rows),
                evidence=[
                    next(iter(isas)).quote("AMX is there")
                    if witness is None
                    else quote(witness.rows[0], "AMX is there"),
                    *(quote(group.rows[0], f"{group.count} times") for group in few(found)),
                ],
                cost=spent.cost(ms, "upper_bound"),
                advice=self.advise(data),
                data=data,
            )


def _others(data: AmxAvailableNotUsed.Data) -> str:
    if data.is_float16:
        return "This AMX multiplies bfloat16 and not float16."
    if data.amx_share:
        return f"{percent(data.amx_share)} of the time was spent on AMX kernels."
    return "No primitive of this log used AMX."


def _could(group: Runs, types: frozenset[str], isa: str) -> bool:
    """Whether AMX has the type and the shape of ``group``, and a vector kernel took it."""
    run = group.run
    if run.primitive not in PRODUCTS or group.grade(isa) is not Grade.OPTIMISED:
        return False
    product = product_of(run)
    last = run.impl.rpartition(":")[2]
    return (
        product is not None
        and arithmetic(run).ran_in in types
        and last.startswith(_VECTOR)
        and "amx" not in last
        and product.rows >= MIN_ROWS
        and product.depth >= MIN_DEPTH
        and product.columns >= MIN_COLUMNS
    )


def _witness(runs: list[Runs]) -> Runs | None:
    """Return executions on an AMX kernel: without the header, they show that it is there."""
    return next((group for group in runs if "amx" in group.run.impl), None)


def _types(witness: Runs) -> frozenset[str]:
    """Return the types that the machine's AMX multiplies for sure."""
    return frozenset({"bf16", "int8"} | {arithmetic(witness.run).ran_in})
