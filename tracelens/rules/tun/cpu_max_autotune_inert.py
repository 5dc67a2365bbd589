"""TUN008 cpu-max-autotune-inert."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo.run_facts import InRun
from tracelens.evidence import Table
from tracelens.experiment import Experiment
from tracelens.inductor.autotune_untuned import (
    Cause,
    Product,
    Searched,
    asks_by_mode,
    asks_by_setting,
    asks_everywhere,
    asks_for_search,
    frames_of,
    products,
)
from tracelens.inductor.epilogues import quote
from tracelens.inductor.remedies import FREEZING, can_freeze, freeze
from tracelens.logs.output_code import OutputModule
from tracelens.onednn.stories import UNFROZEN
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.dynamo.settings import Setting
    from tracelens.logs.autotune import AutotuneTable
    from tracelens.logs.inductor_debug import CacheEvent, HashDetails
    from tracelens.logs.recording import Asked
    from tracelens.logs.torch_trace import CompilationMetrics

__all__ = ["CpuMaxAutotuneInert"]

#: Lines quoted.
MAX_QUOTED = 3


class CpuMaxAutotuneInert(Rule):
    """``max-autotune`` is on, and matrix products on the CPU were not tuned: no template applies.

    ## Why it matters
    On a CPU, Inductor's template for a matrix product needs weights that are constants: it packs
    them when it compiles. A model whose weights are inputs of the graph is compiled as in the
    default mode, and no message says so: there are just no AUTOTUNE tables.

    ## What it looks like
    A call into the library, with a weight that is an input (``arg1_1``), in a graph that is
    compiled with ``max-autotune``. That it is, one sees from the tables of other products in the
    same graph, from the settings that TORCH_TRACE and ``TORCH_LOGS="+inductor"`` record, or from the
    mode that a recording of ``tracelens run`` notes:

        V1120 12:09:31.318000 4242 torch/_inductor/graph.py:2722] [0/0] [__output_code] def call(args):
        V1120 12:09:31.318000 4242 torch/_inductor/graph.py:2722] [0/0] [__output_code]     extern_kernels.addmm(arg2_1, reinterpret_tensor(arg0_1, (128, 256), (256, 1), 0), reinterpret_tensor(arg1_1, (256, 768), (1, 256), 0), alpha=1, beta=1, out=buf0)

    Elsewhere the mode that a program passes to ``torch.compile`` is in neither the generated code
    nor the environment. Where nothing shows it, this rule says nothing.

    ## When it is harmless
    In training, where weights change and cannot be packed: a note. For products of two activations
    whose layout or type has no template: there the library is what is left. A graph that comes from
    the cache prints no tables, and is not counted.

    ## What to do
    Freeze the model and run it under ``torch.no_grad()``; keep the sizes of the weights fixed.

    ## How a live run confirms it
    The program is compiled with TORCHINDUCTOR_FREEZING=1. Confirmed when tables appear and the step
    is faster; refuted when the library wins them all.

    ## See also
    IND004 for what else frozen weights bring, TUN002 for tables that the library wins;
    <https://docs.pytorch.org/tutorials/unstable/max_autotune_on_CPU_tutorial.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "TUN008"
    name = "cpu-max-autotune-inert"
    severity = Severity.WARNING
    experiment = Experiment(FREEZING)

    class Data(InRun):
        """Matrix products that were left to the library without a search."""

        #: ``training``, ``weights`` that are inputs, or ``other``.
        cause: str
        products: int
        operators: tuple[str, ...]
        #: Data type of the weight of the first, as Inductor prints it.
        dtypes: str = ""

    remedies = (
        freeze(
            text="Freeze the model for inference, under torch.no_grad().",
            when="weights are inputs of the graph",
            applies=lambda data: data.cause == "weights" and can_freeze(data),
            since="2.5",
        ),
        Remedy(
            id="default-mode",
            text="Drop the mode: it changes nothing here.",
            when="weights are inputs of the graph, and freezing does not help",
            applies=lambda data: data.cause == "weights" and not can_freeze(data),
            code="model = torch.compile(model)",
            proof="https://docs.pytorch.org/tutorials/unstable/max_autotune_on_CPU_tutorial.html",
        ),
        Remedy(
            id="contiguous",
            text="Make the operands contiguous and the sizes of the weights constant, or leave it: "
            "the library is what is left.",
            when="no template takes type, layout or size",
            applies=lambda data: data.cause == "other",
            proof="https://docs.pytorch.org/tutorials/unstable/max_autotune_on_CPU_tutorial.html",
        ),
    )

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is a symptom of."""
        return [UNFROZEN] if finding.data.get("cause") == "weights" else ()

    def check(
        self,
        modules: Table[OutputModule],
        *,
        run: Table[RunFacts],
        variables: Table[Setting],
        tables: Table[AutotuneTable],
        settings: Table[HashDetails],
        lookups: Table[CacheEvent],
        metrics: Table[CompilationMetrics],
        given: Table[Asked],
    ) -> Iterator[Finding]:
        """Yield one finding per cause."""
        keyed = frames_of(row for row in settings if asks_for_search(row.record))
        asked = keyed | frames_of(row for row in metrics if asks_everywhere(row.record))
        # A text log would hold the tables, which the structured log does not.
        spoken = keyed - frames_of(metrics)
        everywhere = {row.first.process for row in variables if asks_by_setting(row.record)}
        if asks_by_mode(row.record for row in given):
            everywhere |= {row.first.process for row in given}
        asked |= {f for f in frames_of(modules) if f[:2] in everywhere}
        cached = frames_of(row for row in lookups if row.record.outcome == "hit")
        tuned = Searched(tables)
        found: dict[Cause, list[Product]] = {}
        for row in modules:
            calls = list(products(row))
            untuned = [call for call in calls if not tuned(call)]
            frames = frames_of([row])
            if len(untuned) == len(calls) and not asked & frames:
                continue
            for product in untuned:
                # Tables are not in the structured log, nor are they printed for cached graphs.
                printed = len(tables) or spoken & frames
                if product.cause is not Cause.OTHER or (printed and not cached & frames):
                    found.setdefault(product.cause, []).append(product)
        for cause, group in found.items():
            yield self._finding(cause, group, run)

    def _finding(self, cause: Cause, group: list[Product], run: Table[RunFacts]) -> Finding:
        count = len(group)
        ops = ", ".join(f"`{op}`" for op in dict.fromkeys(p.call.op for p in group))
        several = f"{count} matrix products" if count > 1 else "a matrix product"
        weights = [product.operands[-1].dtype or "" for product in group if product.operands]
        data = self.Data.of(
            run,
            cause=cause.value,
            products=count,
            operators=tuple(dict.fromkeys(product.call.op for product in group)),
            dtypes=next(iter(weights), ""),
        )
        return self.finding(
            cause.value,
            title=f"max-autotune tuned nothing for {several} on the CPU",
            message=f"{_calls(count, ops)} compiled without a search. {_WHY[cause]}",
            severity=_SEVERITY[cause],
            harmless="a template on the CPU needs constant weights, and these get gradients"
            if cause is Cause.TRAINING
            else None,
            count=count,
            evidence=[quote(p.seen, p.step, _operand(p)) for p in group[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )


def _calls(count: int, ops: str) -> str:
    return f"{count} calls of {ops} were" if count > 1 else f"One call of {ops} was"


def _operand(product: Product) -> str:
    weight = product.operands[-1].name if product.operands else ""
    return f"{weight} is an input of the graph" if product.cause is Cause.WEIGHTS else ""


_SEVERITY = {
    Cause.TRAINING: Severity.NONE,
    Cause.WEIGHTS: Severity.WARNING,
    Cause.OTHER: Severity.INFO,
}
_WHY = {
    Cause.TRAINING: "Gradients of the graph are computed.",
    Cause.WEIGHTS: "The weights are inputs of the graph, and a template on the CPU needs "
    "constant ones. The mode changes nothing there.",
    Cause.OTHER: "The operands have a type, a layout or a changing size for which there is no "
    "template on the CPU.",
}
