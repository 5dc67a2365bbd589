"""ONE013 post-op-not-fused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.inductor.remedies import can_compile, compile_frozen, freeze
from tracelens.logs import _onednn_work as work
from tracelens.onednn.data import PrimitiveData
from tracelens.onednn.runs import Spent, instruction_set, steady, times
from tracelens.onednn.summary import quote
from tracelens.report import Confidence, Finding, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveExec
    from tracelens.logs.output_code import OutputModule

__all__ = ["PostOpNotFused"]

#: Executions from which on it is a habit.
MIN_COUNT = 3
#: Executions of the activation per execution of the product before it.
MOST_PER_PRODUCT = 1.1
_PRODUCTS = frozenset({"matmul", "inner_product", "convolution", "deconvolution"})
#: Activations that x86-64 kernels take as a post-op.
_FUSABLE = frozenset(
    f"eltwise_{name}"
    for name in (
        "clip",
        "elu",
        "gelu_erf",
        "gelu_tanh",
        "hardsigmoid",
        "hardswish",
        "logistic",
        "mish",
        "relu",
        "swish",
        "tanh",
    )
)


class PostOpNotFused(Rule):
    """An activation runs as a oneDNN primitive of its own, although the product could apply it.

    ## Why it matters
    oneDNN's products apply activations and sums to their result while it is still in registers: a
    post-op. As a primitive of its own, the activation writes and reads the whole result once more.

    ## What it looks like
    A product without ``attr-post-ops:eltwise_...``, and an ``eltwise`` on a tensor of the size of
    its result, equally often:

        onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core_bf16,undef,src:bf16::blocked:ab::f0 wei:bf16::blocked:ba::f0 dst:bf16::blocked:ab::f0,attr-scratchpad:user attr-post-ops:sum,,68x192:192x384,0.0349
        onednn_verbose,v1,primitive,exec,cpu,eltwise,jit:avx512_core_bf16,forward_training,data:bf16::blocked:abc::f0 diff:undef::undef:::,attr-scratchpad:user,alg:eltwise_gelu_erf alpha:0 beta:0,4x17x384,0.00616

    ``attr-post-ops:sum`` alone is a linear layer's bias, not an activation.

    ## When it is harmless
    When the activation takes less than 1 ms and 2 % of the time, which is not reported. In
    training, where it is needed again for the gradient. Compiled models show it in their generated
    code, which is IND002's business, so nothing is said here where the log holds some. AArch64
    builds register no such fusions: there it is a note.

    ## What to do
    Compile and freeze the model for inference, with the activation directly after the layer.

    ## How a live run confirms it
    The workload runs compiled and frozen. Confirmed when ``eltwise`` becomes a post-op and the step
    is faster.

    ## See also
    IND002 for generated code, IND003 for AArch64;
    <https://uxlfoundation.github.io/oneDNN/dev_guide_attributes_post_ops.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ONE013"
    name = "post-op-not-fused"
    severity = Severity.INFO
    claim = "time"
    experiment = Experiment(
        Knob("freezing", config={"torch._inductor.config.freezing": True}), structure="fewer"
    )

    class Data(PrimitiveData):
        """The product and the activation behind it; time and share are the activation's."""

        #: ``gelu_erf``, ``relu`` ...
        activation: str
        executions: int

    remedies = (
        freeze(text="Freeze the model: the activation becomes a post-op."),
        compile_frozen(
            "ONE013",
            text="Compile the model with freezing, and measure: the activation becomes a post-op.",
            when="nothing is known to be compiled, inference; not AArch64",
            applies=lambda data: can_compile(data) and data.arch != "aarch64",
        ),
    )

    def check(
        self,
        execs: Table[PrimitiveExec],
        *,
        run: Table[RunFacts],
        isas: Table[CpuIsa],
        modules: Table[OutputModule],
    ) -> Iterator[Finding]:
        """Yield one finding per activation."""
        if len(modules) or any(row.record.is_training for row in execs):
            return
        spent = Spent.of(execs, run=run)
        arm = instruction_set(isas).startswith("AArch64")
        products = _by_result(execs)
        by_name: dict[str, list[_Pair]] = {}
        for row in execs:
            record, name = row.record, row.record.setting("alg")
            if not record.engine.startswith("cpu") or row.count < MIN_COUNT:
                continue
            if record.primitive == "eltwise" and name in _FUSABLE:
                product = _product_before(row, products)
                if product is not None:
                    by_name.setdefault(name, []).append(_Pair(product, row))
        for name, pairs in by_name.items():
            if spent.matters(steady(pair.activation for pair in pairs)):
                yield self._finding(name, pairs, spent, run, arm=arm)

    def _finding(
        self, name: str, pairs: list[_Pair], spent: Spent, run: Table[RunFacts], *, arm: bool
    ) -> Finding:
        ms = steady(pair.activation for pair in pairs)
        count = sum(pair.activation.count for pair in pairs)
        product, activation = max(pairs, key=lambda pair: pair.activation.ms)
        short = name.removeprefix("eltwise_")
        data = self.Data.about(
            run,
            [product, activation],
            activation=short,
            executions=count,
            ms=ms,
            share=spent.share(ms),
        )
        return self.finding(
            product.record.primitive,
            name,
            title=f"{short} runs separately after {product.record.primitive}",
            message=(
                f"{times(count)} of `{name}` took {spent.tell(ms)}; the largest, "
                f"{activation.record.shape}, follows {product.record.primitive} "
                f"{product.record.shape}, which could apply it."
            ),
            severity=Severity.INFO,
            harmless="AArch64 builds of torch register no such fusions" if arm else None,
            confidence=Confidence.MEDIUM,
            count=count,
            evidence=[
                quote(product, f"{product.count} times"),
                quote(activation, f"{activation.count} times"),
            ],
            cost=spent.cost(ms, "upper_bound"),
            advice=() if arm else self.advise(data),
            data=data,
        )


#: Elements and data type of a result.
_Result = tuple[int | None, str]


class _Pair(NamedTuple):
    product: Seen[PrimitiveExec]
    activation: Seen[PrimitiveExec]


def _by_result(execs: Table[PrimitiveExec]) -> dict[_Result, list[Seen[PrimitiveExec]]]:
    """Return the products by what they write. A log tells no addresses, so size and type it is."""
    found: dict[_Result, list[Seen[PrimitiveExec]]] = {}
    for row in execs:
        if row.record.primitive in _PRODUCTS:
            key = (_written(row.record), row.record.dtypes.get("dst", ""))
            found.setdefault(key, []).append(row)
    return found


def _product_before(
    activation: Seen[PrimitiveExec], by_result: dict[_Result, list[Seen[PrimitiveExec]]]
) -> Seen[PrimitiveExec] | None:
    """Return the product whose result ``activation`` can be of; None where one so large fuses."""
    products = by_result.get((_written(activation.record), activation.record.precision), [])
    if any(op.op.startswith("eltwise") for r in products for op in r.record.attributes.post_ops):
        return None
    count = sum(row.count for row in products)
    if not count or activation.count > MOST_PER_PRODUCT * count:
        return None
    return max(products, key=lambda row: row.count)


def _written(run: PrimitiveExec) -> int | None:
    """Return the elements of the result."""
    md = next((md for md in run.mds if md.arg in {"dst", "data"}), None)
    size = work.elements(run, md) if md is not None else None
    # ``data`` is read and written: it counts twice.
    return size // 2 if size and md is not None and md.arg == "data" else size
