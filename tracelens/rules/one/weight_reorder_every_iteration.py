"""ONE003 weight-reorder-every-iteration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment
from tracelens.inductor import remedies as inductor
from tracelens.onednn.data import PrimitiveData, descriptors
from tracelens.onednn.excerpts import LEAST_MS, SHARE_OF_EXCERPT, adjacent, is_excerpt, too_little
from tracelens.onednn.recurrent import steps
from tracelens.onednn.reordered import MIN_COUNT, Weight, unpackable, weights
from tracelens.onednn.runs import Spent, left_out, steady
from tracelens.onednn.stories import UNFROZEN
from tracelens.onednn.summary import quote
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.words import length

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.inductor.library_calls import LibraryCall, LibraryRun
    from tracelens.logs.onednn_verbose import (
        ExecCheck,
        ExternalKernel,
        PrimitiveCreate,
        PrimitiveExec,
    )
    from tracelens.logs.output_code import OutputModule

__all__ = ["WeightReorderEveryIteration"]

#: Share of all execution time from which it deserves action, and below which it is a note.
ACT_SHARE, NOTE_SHARE = 0.04, 0.01
_COMPUTED = (
    " The weights are what the compiled code is given, or are computed from it in every call, so "
    "they are no constants, and freezing does not pack them."
)
_ONE_DIMENSION = " Inductor packs the weights of 2-d and 3-d convolutions, and these are 1-d."
_MIXED = (
    " Freezing packs none of these weights: some are of 1-d convolutions, the others are what the "
    "compiled code is given, or are computed from it in every call."
)
_EAGER = (
    " They run in eager mode: no generated code of the log calls such an operator, so freezing "
    "would not reach them."
)
_UNPACKABLE = {
    "computed": _COMPUTED,
    "1-d": _ONE_DIMENSION,
    "mixed": _MIXED,
    "eager": _EAGER,
}
_GROUPED = re.compile(r"g(\d{1,9})mb1_")


class WeightReorderEveryIteration(Rule):
    """The same weights are reordered before every use instead of once.

    ## Why it matters
    oneDNN's fast kernels want weights in blocks that fit their registers. A weight that arrives in
    torch's plain layout is copied into blocks before the kernel runs, at every call, although it has
    not changed. For small batches the copy costs as much as the computation.

    ## What it looks like
    A ``reorder`` whose result has the layout and size of the weights of the primitive that follows,
    each time again:

        onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:acdb::f0 dst:f32::blocked:Acdb16a::f0,attr-scratchpad:user,,16x3x7x7,0.00415
        onednn_verbose,v1,primitive,exec,cpu,convolution,brg_conv_fwd:avx512_core,forward_training,src:f32::blocked:acdb::f0 wei:f32:a:blocked:Acdb16a::f0 bia:undef::undef::: dst:f32::blocked:acdb::f0,attr-scratchpad:user,alg:convolution_direct,mb2_ic3oc16_ih64oh32kh7sh2dh0ph3_iw64ow32kw7sw2dw0pw3,0.0979

    ## When it is harmless
    When the weights change between the calls, as in training: primitives that also run backward are
    left out. Less than 4 % of all execution time, or than 0.5 ms, is information; less than 1 %, or
    than 0.5 ms in a log of more than 60 executions, a note of severity ``none``; so are, below a
    fifth of the time, 0.5 ms of a compiled program whose generated code the log does not have.
    Reorders before the first call pack the weights; they are not counted where the weights
    are used more often than they are reordered, or where all of them stand before the first use: so
    one call of a frozen stack of equal layers looks. In an excerpt of a few lines, a reorder straight
    before each of three calls is reported where it takes a fifth of the time shown. A recurrent
    layer that is given a whole sequence packs its weights once for all of its steps: a note.

    ## What to do
    For inference, freeze the compiled model: the weights become constants of the graph and are
    packed when it is compiled. Where nothing is compiled, compile with freezing and measure. Weights
    that are computed from what the model is given stay what they are: where each sample has its own,
    as in a modulated convolution, scale the input and the result instead.

    ## How a live run confirms it
    The workload runs with ``TORCHINDUCTOR_FREEZING=1``. Confirmed when the reorders vanish and the
    time falls by about their sum.

    ## See also
    <https://github.com/ARM-software/ComputeLibrary/issues/1060>,
    <https://uxlfoundation.github.io/oneDNN/page_memory_format_propagation_cpp.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "ONE003"
    name = "weight-reorder-every-iteration"
    severity = Severity.WARNING
    claim = "time"
    experiment = Experiment(
        inductor.FREEZING,
        micro="onednn_primitive:packed",
        confirms="the reorders are gone, and a step takes less time",
        refutes="a step takes as long without them",
        leaves_open=(
            "the primitive cannot be run from torch here, or another implementation is chosen"
        ),
    )

    class Data(PrimitiveData):
        """The reorders, and the primitives that read what they write."""

        #: Reorders, and executions that read their results; an execution counts once.
        reorders: int
        executions: int
        #: Different weights: layouts and sizes.
        weights: int
        executions_ms: float
        is_excerpt: bool
        #: Why freezing packs none of them: ``computed`` from what compiled code is given, or that
        #: itself, or of ``1-d`` convolutions, or ``mixed``; or no compiled code calls them
        #: (``eager``).
        unpackable: str = ""

    remedies = (
        Remedy(
            id="several-steps",
            text="Run several steps in one call, so that the weights are reordered once for all of "
            "them: one call of the LSTM per sequence instead of one per token.",
            when="recurrent networks that are called with one step",
            applies=lambda data: data.primitive == "rnn" and steps(data.shape) == 1,
            proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html",
            edits=True,
        ),
        Remedy(
            id="keep-reordered",
            text="In eager mode, let torch keep the reordered weights.",
            when="AArch64, nothing known to be compiled",
            applies=lambda data: data.arch == "aarch64" and data.is_compiled is not True,
            env="IDEEP_CACHE_MATMUL_REORDERS=1 LRU_CACHE_CAPACITY=1024",
            basis="untestable",
            proof="needs an AArch64 machine; github.com/ARM-software/ComputeLibrary/issues/1060",
        ),
        inductor.freeze(
            "ONE003",
            applies=lambda data: (
                data.primitive != "rnn" and not data.unpackable and inductor.can_freeze(data)
            ),
        ),
        Remedy(
            id="scaled-input",
            text="Where the groups are the batch, and the weights of a sample are one weight times "
            "scales per channel, scale the input and the result instead: it is one convolution of "
            "the whole batch then, with a weight that freezing packs.",
            when="grouped convolutions whose weights are computed in every call",
            applies=lambda data: data.unpackable == "computed" and _groups_are_batch(data.shape),
            code="y = F.conv2d(x * s[:, :, None, None], weight) * d[:, :, None, None]",
            basis="tested",
            proof="tests/advice/ONE003/scaled-input.py",
            edits=True,
        ),
        Remedy(
            id="height-of-1",
            text="Give the signal a height of 1 once, use Conv2d throughout, model and signal in "
            "channels-last, and freeze.",
            when="1-d convolutions, compiled for inference; not float16 on a CPU without it",
            applies=lambda data: (
                data.unpackable == "1-d"
                and data.is_training is not True
                and not inductor.lacks_float16(data)
            ),
            code="import torch._inductor.config\n"
            "torch._inductor.config.freezing = True  # for inference alone\n"
            "model = model.to(memory_format=torch.channels_last)\n"
            "x = x.unsqueeze(2).to(memory_format=torch.channels_last)",
            basis="tested",
            proof="tests/advice/ONE003/height-of-1.py",
            edits=True,
        ),
        inductor.compile_frozen(
            applies=lambda data: data.primitive != "rnn" and inductor.can_compile(data)
        ),
        Remedy(
            id="newer-torch",
            text="Update torch to 2.15, then freeze: bfloat16 layers that are frozen run in "
            "reference kernels before.",
            when="bfloat16 on AArch64 before torch 2.15",
            applies=lambda data: data.arch == "aarch64" and "bf16" in data.stored,
            since="2.15",
            basis="untestable",
            proof="needs an AArch64 machine",
        ),
        inductor.bfloat16(),
    )

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is a symptom of."""
        data = finding.data
        return [UNFROZEN] if data.get("is_compiled") and not data.get("unpackable") else ()

    def check(
        self,
        execs: Table[PrimitiveExec],
        *,
        run: Table[RunFacts],
        calls: Table[LibraryCall],
        ran: Table[LibraryRun],
        modules: Table[OutputModule],
        created: Table[PrimitiveCreate],
        checked: Table[ExecCheck],
        external: Table[ExternalKernel],
    ) -> Iterator[Finding]:
        """Yield one finding per primitive whose weights are reordered."""
        shown = weights(execs)
        # Lines between a reorder and its use are executions, unless oneDNN tells more.
        is_plain = not (len(created) or len(checked) or len(external))
        spent = Spent.of(execs, calls, ran, run)
        by_primitive: dict[str, list[Weight]] = {}
        for weight in shown:
            if weight.recurs and not (is_plain and weight.is_packed_first):
                by_primitive.setdefault(weight.primitive, []).append(weight)
        once = not by_primitive and is_excerpt(execs)
        if once:
            yield from self._packed(list(execs), run)
            by_primitive = _shown_once(shown, spent)
        for primitive, found in by_primitive.items():
            ms = steady(_once(row for weight in found for row in weight.reorders))
            short = spent.is_run and not len(modules)  # else IND004 tells it, with this as its cost
            light = too_little(ms, spent.share(ms), NOTE_SHARE, execs, is_run=short)
            light = light or _of_sequences(found)
            why = unpackable(found, ran, modules)
            yield self._finding(primitive, found, spent, run, excerpt=once, light=light, why=why)

    def _packed(self, rows: list[Seen[PrimitiveExec]], run: Table[RunFacts]) -> Iterator[Finding]:
        """Yield that a few lines hold nothing but weights which are packed, each of them once."""
        into = [
            row for row in rows if row.record.primitive == "reorder" and len(row.record.mds) > 1
        ]
        packing = [row for row in into if _is_of_weights(row.record.mds[-1].tag)]
        if len(into) < len(rows) or len(packing) < MIN_COUNT or 2 * len(packing) < len(into):
            return
        data = self.Data.about(
            run,
            packing,
            ms=sum(row.ms or 0.0 for row in packing),
            reorders=sum(row.count for row in packing),
            executions=0,
            weights=len(packing),
            executions_ms=0.0,
            is_excerpt=True,
        )
        whole = sum(row.ms or 0.0 for row in into)
        yield self.finding(
            "packed",
            title=f"{len(packing)} weights are packed into blocked layouts",
            message=(
                f"The lines are reorders alone, {length(whole)} in all, most "
                "of them of weights. Done once, when a model is loaded or at its first call, that "
                "costs nothing in a step; before every use it does, and freezing or packing them "
                "ahead avoids it. Which of both, the lines behind them tell."
            ),
            severity=Severity.INFO,
            confidence=Confidence.LOW,
            count=sum(row.count for row in packing),
            evidence=[quote(row, f"{row.count} times") for row in packing[:MIN_COUNT]],
            advice=self.advise(data),
            data=data,
        )

    def _finding(
        self,
        primitive: str,
        found: list[Weight],
        spent: Spent,
        run: Table[RunFacts],
        *,
        excerpt: bool,
        light: str,
        why: str,
    ) -> Finding:
        reorders = _once(row for weight in found for row in weight.reorders)
        uses = _once(row for weight in found for row in weight.uses)
        ms, count = steady(reorders), sum(row.count for row in reorders)
        share = spent.share(ms)
        # Weights of one layout and size look alike: there may be more of them.
        kinds = "a weight is" if len(found) == 1 else f"weights of {len(found)} sizes are"
        pairs = sorted({_layouts(row.record) for row in reorders})
        worst = max(found, key=lambda weight: steady(weight.reorders))
        record = worst.uses[0].record
        data = self.Data.of(
            run,
            primitive=primitive,
            impl=record.impl,
            dtypes=record.precision,
            shape=record.shape,
            descriptors=descriptors((worst.reorders[0], worst.uses[0])),
            ms=ms,
            share=share,
            reorders=count,
            executions=sum(row.count for row in uses),
            weights=len(found),
            executions_ms=steady(uses),
            is_excerpt=excerpt,
            unpackable=why,
        )
        return self.finding(
            primitive,
            title=f"{primitive}: {kinds} reordered before every use",
            message=(
                f"{count} reorders ({', '.join(pairs[:4])}) for {data.executions} "
                f"executions of {primitive}: {spent.tell(ms)}, "
                f"beside {length(data.executions_ms)} for the executions themselves"
                f"{left_out(reorders, uses)}."
                f"{_UNPACKABLE.get(why, '')}"
            ),
            severity=_severity(share, ms),
            harmless=light or None,
            confidence=Confidence.MEDIUM if excerpt or count < 2 * MIN_COUNT else Confidence.HIGH,
            count=count,
            evidence=[
                line
                for weight in (worst, *(other for other in found if other is not worst))[:3]
                for line in (
                    quote(weight.reorders[0], f"{weight.reorders[0].count} times"),
                    quote(weight.uses[0], f"{weight.uses[0].count} times"),
                )
            ],
            cost=spent.cost(ms, "measured"),
            advice=self.advise(data),
            data=data,
        )


def _groups_are_batch(shape: str) -> bool:
    """Whether a convolution of one image has several groups."""
    found = _GROUPED.match(shape)
    return found is not None and found[1] != "1"


def _of_sequences(found: list[Weight]) -> str:
    """Return why nothing need be done where recurrent layers are given whole sequences."""
    whole = all((steps(row.record.shape) or 1) > 1 for weight in found for row in weight.uses)
    return "a recurrent layer packs its weights once for a whole sequence" if whole else ""


def _severity(share: float, ms: float) -> Severity:
    """Grade by the share of all execution time, of which so little may be no more than noise."""
    return Severity.WARNING if share >= ACT_SHARE and ms >= LEAST_MS else Severity.INFO


def _once(rows: Iterable[Seen[PrimitiveExec]]) -> list[Seen[PrimitiveExec]]:
    """Return each row once: a recurrent network has two weights, and runs once."""
    return list({id(row): row for row in rows}.values())


def _shown_once(shown: Iterable[Weight], spent: Spent) -> dict[str, list[Weight]]:
    """Return what a few lines show: three calls, each straight after the reorder of its weight."""
    by_primitive: dict[str, list[Weight]] = {}
    for weight in shown:
        if any(adjacent(reorder, use) for reorder in weight.reorders for use in weight.uses[:1]):
            by_primitive.setdefault(weight.primitive, []).append(weight)
    return {
        primitive: found
        for primitive, found in by_primitive.items()
        if sum(min(w.written, w.read) for w in found) >= MIN_COUNT
        and spent.share(steady(_once(r for w in found for r in w.reorders))) >= SHARE_OF_EXCERPT
    }


def _is_of_weights(tag: str) -> bool:
    """Tell whether a layout is one of weights: the output channels, their first size, in blocks."""
    return "A" in tag or tag.startswith(("OI", "Oh", "Ow", "gO", "hwio", "Goi"))


def _layouts(run: PrimitiveExec) -> str:
    source, target = run.mds[0], run.mds[-1]
    return f"{source.tag or source.kind} -> {target.tag or target.kind}"
