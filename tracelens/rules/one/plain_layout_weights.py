"""ONE018 plain-layout-weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment
from tracelens.inductor.remedies import FREEZING, bfloat16, compile_frozen, freeze
from tracelens.onednn.data import PrimitiveData
from tracelens.onednn.excerpts import SHARE_OF_EXCERPT, is_excerpt
from tracelens.onednn.implementations import Grade, grade
from tracelens.onednn.runs import Spent, instruction_set, steady, times
from tracelens.onednn.shapes import Product, product_of
from tracelens.onednn.stories import UNFROZEN
from tracelens.onednn.summary import quote
from tracelens.onednn.user_lines import UserLines
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.words import few

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.inductor.library_calls import LibraryCall, LibraryRun
    from tracelens.logs.autotune import AutotuneTable
    from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveExec

__all__ = ["PlainLayoutWeights"]

#: Executions of one product from which on its weights are constant rather than new each time.
MIN_COUNT = 5
#: Products in a few pasted lines that show it, where nothing is repeated.
MIN_IN_EXCERPT = 3
#: A single row gains nothing from packed weights, and many rows pay for packing in passing.
MIN_ROWS, MAX_ROWS = 2, 512
#: Elements of a weight that take longer to rearrange than to call for.
MIN_WEIGHT = 128 * 128
MIN_SHARE = 0.05

#: What tells one product from another: its sizes and its type.
Key = tuple[Product, str]


class PlainLayoutWeights(Rule):
    """Constant weights are in torch's plain layout, and reordered inside every product.

    ## Why it matters
    oneDNN's matrix kernels want weights in blocks. Where they come in a plain layout, the kernel
    copies each block before it uses it, in every call. For few rows that is a good part of the
    work: the same layers of a vision transformer took 1.1 to 1.7 times as long with plain weights
    as with packed ones (68 rows, bfloat16, AVX-512).

    ## What it looks like
    Weights with a tag of lower-case letters (``ba``), where packed ones would read
    ``AB16b64a2b``:

        onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core_bf16,undef,src:bf16::blocked:ab::f0 wei:bf16::blocked:ba::f0 dst:bf16::blocked:ab::f0,attr-scratchpad:user attr-post-ops:sum,,68x192:192x384,0.0349

    ## When it is harmless
    For one row, for very many, and for small weights. In training, where the weights change with every step, so that
    nothing can be packed: products whose gradients are in the log are left out. So are products
    that the same log also runs with packed weights (the eager reference before the compiled model),
    products of activations, and logs of autotuning, whose executions are benchmarks. Reference
    kernels are ONE001's. In an excerpt of a few lines, three products that take a fifth of the time
    are reported with low confidence.

    ## What to do
    Freeze the compiled model for inference: weights are packed once.

    ## How a live run confirms it
    The workload runs with ``TORCHINDUCTOR_FREEZING=1``. Confirmed when the tag becomes a blocked
    one and the products get faster.

    ## See also
    ONE003 for weights that are reordered before each call, IND004 for weights that are not constant;
    <https://docs.pytorch.org/tutorials/intermediate/inductor_debug_cpu.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "ONE018"
    name = "plain-layout-weights"
    severity = Severity.INFO
    claim = "time"
    experiment = Experiment(
        FREEZING,
        micro="onednn_primitive:packed",
        confirms="with packed weights the product takes less time",
        refutes="it takes as long with packed weights",
        leaves_open=(
            "the primitive cannot be run from torch here, or another implementation is chosen"
        ),
    )

    class Data(PrimitiveData):
        """Products that read weights in a plain layout; the most expensive ones first."""

        products: int
        #: Layers of different shapes.
        shapes: int
        is_excerpt: bool

    remedies = (
        freeze("ONE018"),
        compile_frozen("ONE018"),
        bfloat16(),
        Remedy(
            id="newer-torch",
            text="Update torch to 2.15, then freeze: bfloat16 layers that are frozen run in "
            "reference kernels before.",
            when="bfloat16 on AArch64 before torch 2.15",
            applies=lambda data: (
                data.arch == "aarch64" and "bf16" in data.stored and (data.torch or (2,)) < (2, 15)
            ),
            basis="untestable",
            proof="needs an AArch64 machine",
        ),
    )

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is a symptom of."""
        return [UNFROZEN] if finding.data.get("is_compiled") else ()

    def check(
        self,
        execs: Table[PrimitiveExec],
        *,
        run: Table[RunFacts],
        calls: Table[LibraryCall],
        isas: Table[CpuIsa],
        tunings: Table[AutotuneTable],
        ran: Table[LibraryRun],
    ) -> Iterator[Finding]:
        """Yield one finding for all plain weights."""
        if len(tunings):
            return
        isa = instruction_set(isas)
        by_key: dict[Key, list[Seen[PrimitiveExec]]] = {}
        for row in execs:
            product = product_of(row.record)
            if row.record.primitive in {"matmul", "inner_product"} and product is not None:
                by_key.setdefault((product, row.record.precision), []).append(row)
        untrained = {
            key: rows
            for key, rows in by_key.items()
            if not any(_is_packed(row.record) for row in rows) and not _is_trained(*key, by_key)
        }
        spent = Spent.of(execs, calls, ran)
        found = _plain(untrained, isa, MIN_COUNT)
        once = not found and is_excerpt(execs)
        if once:
            found = _plain(untrained, isa, 1)
        ms = steady(found)
        few = once and sum(row.count for row in found) < MIN_IN_EXCERPT
        if not found or few or spent.share(ms) < (SHARE_OF_EXCERPT if once else MIN_SHARE):
            return
        data = self.Data.about(
            run,
            found,
            ms=ms,
            share=spent.share(ms),
            products=sum(row.count for row in found),
            shapes=len(found),
            is_excerpt=once,
        )
        finding = self._finding(found, data, spent)
        yield finding.model_copy(update={"where": UserLines(ran).of(found[:1])})

    def _finding(self, found: list[Seen[PrimitiveExec]], data: Data, spent: Spent) -> Finding:
        count, ms = data.products, data.ms or 0.0
        worst = found[0].record
        kinds = "one layer" if len(found) == 1 else f"{len(found)} shapes of layers"
        return self.finding(
            "weights",
            title=f"the weights of {kinds} are reordered in every call",
            message=(
                f"{times(count, 'product')} with weights in a plain layout took {spent.tell(ms)}. "
                f"The most expensive is {worst.primitive} {worst.precision} {worst.shape}, with "
                f"weights in `{worst.weights[0].tag}`. Packing them once saves a part of that."
            ),
            confidence=Confidence.LOW if data.is_excerpt else Confidence.MEDIUM,
            count=count,
            evidence=[quote(row, f"{row.count} times") for row in few(found)],
            advice=self.advise(data),
            data=data,
        )


def _plain(
    by_key: dict[Key, list[Seen[PrimitiveExec]]], isa: str, least: int
) -> list[Seen[PrimitiveExec]]:
    """Return what ran ``least`` times with plain weights, the most expensive first."""
    found = [
        row
        for (product, _), rows in by_key.items()
        for row in rows
        if row.count >= least and _is_plain_weight(row, product, isa)
    ]
    return sorted(found, key=lambda row: -row.ms)


def _is_plain_weight(row: Seen[PrimitiveExec], product: Product, isa: str) -> bool:
    """Whether ``row`` reads what looks like a linear layer's weight, as torch keeps it.

    That is transposed: ``ba``. In ``ab`` it could be anything.
    """
    run = row.record
    weights = run.weights
    return (
        run.engine.startswith("cpu")
        and MIN_ROWS <= product.rows <= MAX_ROWS
        and product.batch == 1
        and product.depth * product.columns >= MIN_WEIGHT
        and bool(run.impl)
        and grade(run.primitive, run.impl, isa) is Grade.OPTIMISED
        and not run.is_training
        and len(weights) == 1
        and (weights[0].tag == "ba" or (run.primitive == "inner_product" and weights[0].is_plain))
    )


def _is_packed(run: PrimitiveExec) -> bool:
    return any(md.kind != "undef" and not md.is_plain for md in run.weights)


def _is_trained(product: Product, dtype: str, by_key: dict[Key, list[Seen[PrimitiveExec]]]) -> bool:
    """Whether the log holds the product that makes the gradient of the weights."""
    rows, depth, columns, _ = product
    gradients = (Product(depth, rows, columns), Product(columns, rows, depth))
    if any((gradient, dtype) in by_key for gradient in gradients if gradient != product):
        return True
    return any(row.record.is_training for row in by_key.get((product, dtype), ()))
