"""IND004 cpu-inference-not-frozen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.dynamo.run_facts import InRun, facts_of
from tracelens.evidence import Table
from tracelens.experiment import Experiment
from tracelens.inductor.cpp import lacks_bfloat16
from tracelens.inductor.epilogues import quote
from tracelens.inductor.graphs import (
    call_ms,
    heaviest,
    is_arm,
    is_below_guards,
    is_little,
    is_training,
)
from tracelens.inductor.natives import leaves_some, natives
from tracelens.inductor.origins import Lines
from tracelens.inductor.remedies import FREEZING, bfloat16, can_freeze, float32, freeze
from tracelens.inductor.weights import SLOWER_PACKED, Unprepared, slower_packed, unprepared
from tracelens.logs.output_code import OutputModule
from tracelens.onednn.runs import Spent
from tracelens.onednn.stories import FLOAT16, UNFROZEN
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.words import exact_percent, plural, size

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.chrome_trace import CompiledRegion
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.guards import GuardLatency
    from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveExec

__all__ = ["CpuInferenceNotFrozen"]

#: Bytes of weights per graph from which it is worth a warning: more than a core's own caches hold.
LARGE = 1 << 20
#: Weights of float32 layers that a cache holds: measured, freezing changed nothing.
CACHED = 32 << 10
#: The part of oneDNN's time that reorders take, below which preparing weights gains little.
FEW_REORDERS = 0.05
_LITTLE = "the weights are a small part of what the graph reads, or stay in a cache"
_BELOW_GUARDS = "checking the guards of a call takes longer than reading these weights"
_NOT_PACKED = "without AVX-512, freezing packs no bfloat16 weights"
MAX_QUOTED = 3
#: Bytes of weights that a second copy of matters for.
MANY = 1 << 28


class CpuInferenceNotFrozen(Rule):
    """An inference graph on a CPU takes its weights as inputs, so nothing is prepared in advance.

    ## Why it matters
    A graph that may be called with other weights cannot prepare them. oneDNN and MKL then rearrange
    the weights in every call, a batch norm cannot be folded into its convolution, no activation
    becomes a post-op, and Inductor's own matrix templates are not considered at all, not even with
    ``mode="max-autotune"``. Freezing makes the weights constants.

    ## What it looks like
    The generated code hands ``argN_1`` to a library call where frozen code has ``_frozen_paramN``:

        [0/0] [__output_code] def call(args):
        [0/0] [__output_code]     arg0_1, arg1_1, arg2_1 = args
        [0/0] [__output_code]     extern_kernels.addmm(arg2_1, arg0_1, arg1_1, out=buf0)

    ## When it is harmless
    In training, where the weights change, and this rule is quiet as soon as a graph of the log is
    differentiated; also where weights are exchanged between calls (adapters), or where memory does
    not suffice for a second copy of them. On AArch64, do not freeze bfloat16 layers before torch
    2.15: they run in oneDNN's reference kernels then (ONE001). It is a note below 1 MiB of weights,
    and where all of them belong to float32 products and none is copied: libraries rearrange those
    within the product. Where a log of oneDNN shows all of its convolutions, and all reorders take
    less than 5 % of its time, it is folded: measured there, a step took 0.9 to 1.1 of the time
    frozen. Below 8 KiB (32 KiB of float32 layers), or 0.5
    % of a call that a trace has timed, it is folded; float32 products also where checking the
    guards took twice as long as reading their weights at 5 GB/s, or longer, or where rows are a
    symbol and no weight has 256 KiB: frozen, those took 1.3 to 2 times as long; and so are bfloat16
    layers on a CPU without AVX-512: torch packs none of them there (ONE023).

    It is no note where convolutions over three dimensions left no line of oneDNN's, though others
    of the same graph did: ATen computes those of one sample in its own way, however wide they are.
    Frozen, a step took 0.2 to 0.4 of the time (3.6 ms in place of 17.6, 51 in place of 134).

    ## What to do
    Freeze, and call the model under ``torch.no_grad()``. It is not always a win: compare, and see
    IND006 if a kernel becomes much slower.

    ## How a live run confirms it
    The same command with ``TORCHINDUCTOR_FREEZING=1``. Confirmed when packed operators
    (``mkldnn._linear_pointwise``, ``mkl._mkl_linear``) replace the calls and the step is faster;
    refuted when it is not, and then the kernel that grew is named.

    ## See also
    IND002 (what is not fused therefore), ONE003 (weights that are rearranged each time), TUN008;
    <https://docs.pytorch.org/tutorials/unstable/max_autotune_on_CPU_tutorial.html>
    """

    code = "IND004"
    name = "cpu-inference-not-frozen"
    severity = Severity.WARNING
    experiment = Experiment(
        FREEZING,
        confirms="packed operators replace the calls, and a step takes less time",
        refutes="a step takes longer",
        leaves_open="the difference is within that of two unchanged runs",
    )

    class Data(InRun):
        """The graph that takes most bytes of weights as inputs."""

        products: int
        convolutions: int
        #: Bytes of its weights, as far as sizes are known.
        bytes: int
        #: Weights that kernels copy to another layout in every call.
        copied: int
        graphs: int
        #: Convolutions over three dimensions without a line of oneDNN's, though others have one.
        natives: int = 0
        #: Data type of the largest weight.
        dtypes: str

    remedies = (
        freeze(
            "IND004",
            text="Freeze the model, if it is only used for inference. Call it under "
            "torch.no_grad().",
        ),
        Remedy(
            id="discard-parameters",
            text="Where memory is short, drop the original weights after freezing, if all sizes "
            "are compiled by then: another one raises, and so do the model without compiling and "
            "its `state_dict()`.",
            when="large weights",
            applies=lambda data: can_freeze(data) and data.bytes >= MANY,
            setting="torch._inductor.config.freezing_discard_parameters = True",
            since="2.1",
            proof="https://docs.pytorch.org/tutorials/unstable/max_autotune_on_CPU_tutorial.html",
        ),
        bfloat16("IND004"),
        float32("ONE023"),
        Remedy(
            id="newer-torch",
            text="Update torch to 2.15, then freeze: bfloat16 layers that are frozen run in "
            "reference kernels before.",
            when="bfloat16 on AArch64 before torch 2.15",
            applies=lambda data: (
                data.arch == "aarch64"
                and data.dtypes == "bfloat16"
                and (data.torch or (2,)) < (2, 15)
            ),
            since="2.15",
            basis="untestable",
            proof="needs an AArch64 machine",
        ),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is the cause of."""
        del finding
        return [UNFROZEN]

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is a symptom of."""
        return [FLOAT16] if finding.data.get("dtypes") in {"float16", "bfloat16"} else ()

    def check(
        self,
        modules: Table[OutputModule],
        *,
        run: Table[RunFacts],
        graphs: Table[FxGraph],
        isas: Table[CpuIsa],
        regions: Table[CompiledRegion],
        latencies: Table[GuardLatency],
        execs: Table[PrimitiveExec],
    ) -> Iterator[Finding]:
        """Yield one finding for the whole log: it is one setting."""
        if is_training(modules):
            return
        lines = graphs.derived(Lines)
        rows = [row for row in modules if row.record.device == "cpu" and lines.has_state(row)]
        found = [product for row in rows for product in unprepared(row)]
        if not found:
            return
        count = len({id(product.seen) for product in found})
        slower = slower_packed(found)
        found = heaviest(found, lambda product: id(product.seen), lambda product: product.bytes)
        found.sort(key=lambda product: -product.bytes)
        own = natives(found, execs)
        total = sum({product.weight.name: product.bytes for product in found}.values())
        arm = is_arm(isas) and any(p.weight.dtype == "bfloat16" for p in found)
        ops = Counter(product.call.op == "convolution" for product in found)
        data = self.Data.of(
            run,
            products=ops[False],
            convolutions=ops[True],
            bytes=total,
            copied=sum(product.is_copied for product in found),
            graphs=count,
            natives=len(own),
            dtypes=found[0].weight.dtype,
        )
        # In runs with and without freezing such products took the same time, or a little less.
        plain = not ops[True] and data.dtypes == "float32" and not data.copied
        little = 0 < total < CACHED and not ops[True] and data.dtypes == "float32"
        little |= total > 0 and is_little(total, found[0].seen.record, call_ms(regions))
        guarded = plain and total > 0 and is_below_guards(total, latencies)
        # Arm's kernels lay weights out within themselves, which leaves no line.
        few = _reorders(execs) if ops[True] and not own and data.arch != "aarch64" else None
        if few is not None and leaves_some(found, execs):  # what is frozen is always oneDNN's
            few = None
        harmless = _LITTLE if little and not own else _BELOW_GUARDS if guarded else ""
        if slower and not (harmless or own):
            harmless = SLOWER_PACKED
        if few is not None and not harmless:
            harmless = _measured(few)
        if data.dtypes == "bfloat16" and lacks_bfloat16(facts_of(run), modules) is not False:
            harmless = _NOT_PACKED
        yield self.finding(
            "not frozen",
            title=f"an inference graph takes the weights of {_told(found)} as inputs",
            message=_message(found, total, count, arm=arm, plain=plain) + _of_natives(own),
            severity=Severity.WARNING if total >= LARGE and not (arm or plain) else Severity.INFO,
            harmless=harmless or None,
            count=len(found),
            where=user_code.where(user_code.best(lines.of(found[0].seen, found[0].step.comment))),
            evidence=[quote(p.seen, p.step, _note(p)) for p in found[:MAX_QUOTED]],
            advice=() if harmless else self.advise(data),
            data=data,
        )


def _reorders(execs: Table[PrimitiveExec]) -> float | None:
    """Return the part of oneDNN's time that reorders take, where it is small and convolutions ran.

    What frozen weights save are reorders; other work stays.
    """
    spent = Spent.of(execs)
    kinds = {row.record.primitive for row in execs}
    if "convolution" not in kinds or not spent.whole:
        return None
    share = spent.share(sum(row.ms for row in execs if row.record.primitive == "reorder"))
    return share if share < FEW_REORDERS else None


def _measured(reorders: float) -> str:
    part = f"{exact_percent(reorders)} of oneDNN's time" if reorders else "no time in oneDNN"
    return f"all reorders together take {part}, and freezing saves little more"


def _told(found: list[Unprepared]) -> str:
    ops = Counter("convolution" if p.call.op == "convolution" else "product" for p in found)
    words = {"convolution": ("convolution", ""), "product": ("matrix product", "")}
    return " and ".join(plural(ops[op], *words[op]) for op in words if ops[op])


def _message(found: list[Unprepared], total: int, count: int, *, arm: bool, plain: bool) -> str:
    weights = f"Weights of {size(total)}" if total else "Weights"
    text = f"{weights} are prepared anew in every call, if at all."
    copied = sum(product.is_copied and product.call.op == "convolution" for product in found)
    if copied:
        text += f" Kernels copy {plural(copied, 'weight')} to another layout each time."
    made = sum(product.is_copied for product in found) - copied
    if made:  # no matrix is copied for a product: it is normalized, scaled or cast
        text += f" Kernels compute {plural(made, 'weight')} anew each time."
    if count > 1:
        text += f" This is the largest of {count} such graphs."
    if plain:
        text += " For float32 products this is a small part of their time: freeze, and measure."
    if arm:
        text += " Freezing does not help bfloat16 layers on AArch64 before torch 2.15: they run in "
        text += "reference kernels then."
    return text


def _of_natives(own: list[Unprepared]) -> str:
    if not own:
        return ""
    number = "one convolution" if len(own) == 1 else f"{len(own)} convolutions"
    return (
        f" oneDNN has no line of {number} over three dimensions: ATen computes small ones of one "
        "sample by itself. Frozen, oneDNN computes them: in two programs with such volumes, a step "
        "took 0.2 to 0.4 of the time."
    )


def _note(product: Unprepared) -> str:
    shape = "x".join(map(str, product.weight.size or ())) or "unknown size"
    return f"weight {product.weight.name}: {shape}, {product.weight.dtype or 'unknown type'}"
