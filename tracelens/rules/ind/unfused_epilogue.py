"""IND002 unfused-epilogue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tracelens.dynamo.run_facts import InRun, facts_of
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.inductor.cpp import lacks_bfloat16
from tracelens.inductor.epilogue_causes import (
    Cause,
    cause_of,
    freezes_in_vain,
    moved,
    reason,
    severity,
    why,
)
from tracelens.inductor.epilogues import Unfused, Winners, unfused
from tracelens.inductor.graphs import call_ms, is_below_guards, library_ms
from tracelens.inductor.natives import natives
from tracelens.inductor.origins import Lines
from tracelens.inductor.remedies import (
    FREEZING,
    bfloat16,
    can_freeze,
    float32,
    freeze,
    lacks_float16,
)
from tracelens.inductor.weights import SLOWER_PACKED, slower_packed, unprepared
from tracelens.logs.output_code import OutputModule
from tracelens.onednn.stories import UNFROZEN
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.words import size

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.autotune import AutotuneTable
    from tracelens.logs.chrome_trace import CompiledRegion
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.guards import GuardLatency
    from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveExec

__all__ = ["UnfusedEpilogue"]

#: Pairs of lines quoted per finding.
_ALONE = (
    "without AVX-512, ATen computes bfloat16 products by itself, and nothing becomes part of them"
)
_IN_VAIN = "the weights are few: frozen, or frozen and tuned, such float32 layers took as long"
_BELOW_GUARDS = "checking the guards of a call takes longer than moving these bytes"
MAX_QUOTED = 3


class UnfusedEpilogue(Rule):
    """A library matrix product or convolution is followed by a kernel that only reads it back.

    ## Why it matters
    A bias, an activation or a sum costs nothing while the result is still in registers. As a kernel
    of its own it writes the whole result to memory, reads it back, and starts one more kernel.

    ## What it looks like
    In the generated code, a library call writes a buffer, and the next kernel is the only reader of
    it and computes each element on its own:

        [0/0] [__output_code] def call(args):
        [0/0] [__output_code]     extern_kernels.addmm(arg1_1, arg2_1, arg0_1, out=buf0)
        [0/0] [__output_code]     buf1 = buf0; del buf0  # reuse
        [0/0] [__output_code]     cpp_fused_gelu_0(buf1)

    A kernel that folds elements (a norm, a softmax, a mean) or moves them (a transpose, a
    concatenation) cannot be an epilogue, and is not reported.

    ## When it is harmless
    When the result is small, or a trace or oneDNN's times show that a call takes more than 200
    times as long as moving it, when the AUTOTUNE table shows that the library was faster than the
    templates that could have fused it, in training on a CPU, where no template exists, for batched
    products on a CPU, which freezing does not change, and on AArch64 builds with the Arm Compute
    Library, which register no fusions on purpose.

    Not frozen, float32 layers of few weights (32 KiB, or 2 % of what the graph moves) took as long
    as frozen ones, tuned or not, whatever passed through memory: a note, unless reorders take a
    fifth of oneDNN's time, of which freezing saves some, or ATen computes convolutions by itself
    that are oneDNN's once they are frozen (IND004).

    ## What to do
    For inference on a CPU, freeze the model: oneDNN then takes activations and sums along. Frozen
    float32 linear layers call MKL, which takes nothing along: tune them, so that Inductor's own
    template, which does, can win. On a GPU it is a note: with ``TORCHINDUCTOR_MAX_AUTOTUNE_GEMM=1``
    templates compete, and the library is mostly as fast with the kernel as a template is without it
    (0.25 and 0.26 ms on an H200), after a search of minutes.

    ## How a live run confirms it
    The program runs frozen, and then frozen and tuned. Confirmed when the separate kernel is gone
    from the generated code and the step is faster; refuted when it stays, because MKL is called
    instead, or because the library wins the AUTOTUNE table.

    ## See also
    IND003 for AArch64, IND004 for weights that are not frozen, ONE013 for oneDNN's post-ops;
    <https://docs.pytorch.org/tutorials/unstable/max_autotune_on_CPU_tutorial.html>
    """

    code = "IND002"
    name = "unfused-epilogue"
    severity = Severity.WARNING
    experiment = Experiment(
        Knob(
            "frozen and tuned",
            config={
                "torch._inductor.config.freezing": True,
                "torch._inductor.config.max_autotune": True,
            },
        ),
        structure="fewer",
        confirms="fewer results pass through memory, and a step takes less time",
        refutes="the kernel stays, behind the library's call that freezing or tuning chose instead",
        leaves_open="the difference is within that of two unchanged runs",
    )

    def experiments(self, finding: Finding) -> tuple[Experiment, ...]:
        """Freeze where nothing is frozen yet; that may do. Else freeze and tune."""
        if finding.data.get("cause") != Cause.UNFROZEN.value:
            return (self.experiment,)
        return replace(self.experiment, knob=FREEZING), self.experiment

    class Data(InRun):
        """The pairs of the graph that moves most; the first pair moves most of it."""

        #: The library's operator: ``addmm``, ``_linear_pointwise``, ``convolution``.
        operator: str
        cause: str
        pairs: int
        #: Written and read for nothing per call of the graph, as far as sizes are known.
        bytes: int
        all_known: bool
        #: The kernel that reads the result back, and the operators in it.
        kernel: str
        fused: str
        dtypes: str

    remedies = (
        Remedy(
            id="freeze-and-tune",
            text="Freeze the model for inference, under torch.no_grad(), and tune it, which makes "
            "compiling longer: float32 linear layers that are frozen alone call MKL, which takes "
            "nothing along. Where Inductor's C++ template wins the search, it takes what follows "
            "into the product; where MKL wins, the AUTOTUNE table says so.",
            when="float32 products of static sizes whose weights are inputs of the graph",
            applies=lambda data: _calls_mkl(data) and can_freeze(data),
            env="TORCHINDUCTOR_FREEZING=1 TORCHINDUCTOR_MAX_AUTOTUNE=1",
            since="2.4",
            basis="tested",
            proof="tests/advice/IND002/freeze-and-tune.py",
            knob=experiment.knob,
        ),
        freeze(
            "IND002",
            text="Freeze the model for inference, under torch.no_grad(). Convolutions and bfloat16 "
            "layers then take activations and sums along, and a batch norm vanishes into the "
            "weights; float32 linear layers of static sizes call MKL, and have to be tuned, too.",
            when="the weights are inputs of the graph",
            applies=lambda data: data.cause == "unfrozen" and can_freeze(data),
        ),
        bfloat16(),
        float32(),
        Remedy(
            id="tune",
            text="Unless it is tuned already (a search whose results were kept prints no table), "
            "tune the frozen model, and measure: where Inductor's C++ template wins the search, it "
            "takes what follows into the product.",
            when="a library call on the CPU, inference; not float16 on a CPU without it",
            applies=lambda data: (
                data.cause in {"unfrozen", "plain", "mkl", "onednn"}
                and data.operator not in {"convolution", "_convolution_pointwise"}
                and not lacks_float16(data)
                and not (_calls_mkl(data) and can_freeze(data))
            ),
            env="TORCHINDUCTOR_FREEZING=1 TORCHINDUCTOR_MAX_AUTOTUNE=1",
            since="2.4",
            basis="untestable",
            proof="which candidate wins depends on the machine; on ours the library did",
            knob=experiment.knob,
        ),
        Remedy(
            id="int8-activations",
            text="Compare with 8-bit activations, too: oneDNN's int8 product takes bias and "
            "activation along. Inductor's template for int8 weights does as well, but is slower.",
            when="int8 weights",
            applies=lambda data: data.cause == "int8",
            proof="https://docs.pytorch.org/ao/stable/pt2e_quantization/"
            "pt2e_quant_x86_inductor.html",
        ),
        Remedy(
            id="write-it-out",
            text="Where it matters, keep the layer and what follows it adjacent. A model that is "
            "not trained yet may use an activation that oneDNN has: relu, gelu, silu, sigmoid, "
            "tanh, hardtanh.",
            when="oneDNN's convolutions",
            applies=lambda data: (
                data.cause in {"plain", "onednn"}
                and data.operator in {"convolution", "_convolution_pointwise"}
            ),
            proof="https://uxlfoundation.github.io/oneDNN/dev_guide_attributes_post_ops.html",
        ),
    )

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is a symptom of."""
        return [UNFROZEN] if finding.data.get("cause") == "unfrozen" else ()

    def check(
        self,
        modules: Table[OutputModule],
        *,
        run: Table[RunFacts],
        tables: Table[AutotuneTable],
        isas: Table[CpuIsa],
        execs: Table[PrimitiveExec],
        regions: Table[CompiledRegion],
        graphs: Table[FxGraph],
        latencies: Table[GuardLatency],
    ) -> Iterator[Finding]:
        """Yield one finding per library operator and cause."""
        lines = graphs.derived(Lines)
        acl = any("AArch64" in row.record.isa for row in isas) or any(
            "acl" in row.record.impl for row in execs
        )
        training = any(row.record.graph in {"forward", "backward"} for row in modules)
        winners = Winners(tables)
        groups: dict[tuple[str, Cause], list[Unfused]] = {}
        for row in modules:
            for found in unfused(row):
                cause = cause_of(found, winners, acl=acl, training=training)
                if cause is Cause.UNFROZEN and not lines.has_state(row):
                    continue  # arguments are no constants: freezing leaves them
                groups.setdefault((found.call.op, cause), []).append(found)
        weights = [one for row in modules for one in unprepared(row)]
        for (op, cause), group in groups.items():
            pairs = _heaviest(group)
            ms = max(call_ms(regions), library_ms(execs, pairs[0].seen))
            harmless = reason(cause, pairs, ms)
            if pairs[0].content.dtype == "bfloat16" and cause in {Cause.UNFROZEN, Cause.PLAIN}:
                alone = lacks_bfloat16(facts_of(run), modules) is not False
                harmless = _ALONE if alone else harmless
            if cause is Cause.UNFROZEN and not harmless and freezes_in_vain(pairs, ms, execs):
                harmless = None if natives(unprepared(pairs[0].seen), execs) else _IN_VAIN
            if cause is Cause.UNFROZEN and not harmless and slower_packed(weights):
                harmless = SLOWER_PACKED
            count, known = moved(pairs)
            if cause is Cause.UNFROZEN and known and is_below_guards(count, latencies):
                harmless = harmless or _BELOW_GUARDS
            yield self._finding(op, cause, pairs, winners, run=run, harmless=harmless)

    def _finding(
        self,
        op: str,
        cause: Cause,
        pairs: list[Unfused],
        winners: Winners,
        *,
        run: Table[RunFacts],
        harmless: str | None,
    ) -> Finding:
        lines = [line for pair in pairs[:MAX_QUOTED] for line in pair.quotes()]
        table = winners.of(pairs[0]) if cause is Cause.TUNED else None
        if table is not None and table.record.best is not None:
            lines.append(table.quote("the library won", at=table.record.best.at))
        results = f"{len(pairs)} results of `{op}` pass"
        if len(pairs) == 1:
            results = f"one result of `{op}` passes"
        count, known = moved(pairs)
        data = self.Data.of(
            run,
            operator=op,
            cause=cause.value,
            pairs=len(pairs),
            bytes=count,
            all_known=known,
            kernel=pairs[0].kernel.kernel,
            fused=pairs[0].kernel.fused,
            dtypes=pairs[0].content.dtype,
        )
        return self.finding(
            op,
            cause.value,
            title=f"{results} through memory to a separate kernel",
            message=f"{_told(pairs)} {why(cause)}",
            severity=severity(cause, pairs),
            harmless=harmless,
            confidence=Confidence.HIGH if known else Confidence.MEDIUM,
            count=len(pairs),
            evidence=lines,
            advice=() if harmless else self.advise(data),
            data=data,
        )


def _calls_mkl(data: UnfusedEpilogue.Data) -> bool:
    """Whether freezing alone has MKL called: float32 products of static sizes.

    Those of symbolic sizes oneDNN takes (``_is_packable_linear`` in
    torch/_inductor/fx_passes/mkldnn_fusion.py), and so it does on builds without MKL.
    """
    linear = data.operator in {"addmm", "mm"} and data.dtypes == "float32" and data.all_known
    return data.cause == Cause.UNFROZEN.value and linear


def _heaviest(group: list[Unfused]) -> list[Unfused]:
    """Return the pairs of the graph that moves most: recompilations repeat the same code."""
    graphs: dict[int, list[Unfused]] = {}
    for found in group:
        graphs.setdefault(id(found.seen), []).append(found)
    pairs = max(graphs.values(), key=lambda pairs: (sum(p.bytes or 0 for p in pairs), len(pairs)))
    return sorted(pairs, key=lambda pair: -(pair.bytes or 0))


def _told(pairs: list[Unfused]) -> str:
    first = pairs[0]
    shape = "x".join(map(str, first.content.size or ())) or "unknown size"
    buffer = f"`{first.content.name}` ({shape}, {first.content.dtype})"
    text = f"{buffer} is written by `{first.call.target}` and read only by `{first.kernel.kernel}`"
    count, known = moved(pairs)
    if not count:
        return f"{text}; its size is symbolic."
    others = len(pairs) - 1
    more = f"With {others} more such pair{'s' if others > 1 else ''}, " if others else ""
    least = "" if known else "at least "
    return f"{text}. {more}{least}{size(count)} per call are written and read for nothing."
