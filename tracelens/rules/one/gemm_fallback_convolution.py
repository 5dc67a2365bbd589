"""ONE002 gemm-fallback-convolution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo.run_facts import inputs_of
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.inductor.remedies import (
    LAYOUTS,
    can_freeze,
    channels_last,
    channels_last_3d,
    freeze,
    is_given,
)
from tracelens.onednn.data import PrimitiveData, descriptors, is_default_layout, rank_of
from tracelens.onednn.excerpts import LEAST_MS, SHARE_OF_EXCERPT, is_excerpt
from tracelens.onednn.implementations import COMPUTE, has_jit_gemm
from tracelens.onednn.reasons import Reason
from tracelens.onednn.refusals import Refusals
from tracelens.onednn.runs import Fast, Runs, Spent, groups, instruction_set, is_unrolled, times
from tracelens.onednn.stories import CHANNELS_LAST
from tracelens.onednn.summary import quote
from tracelens.onednn.user_lines import (
    SIGNALS,
    SIGNALS_OF_A_PACKAGE,
    UserLines,
    signals_of_a_package,
)
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity, Where
from tracelens.report.stories import Story
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.inductor.library_calls import LibraryCall, LibraryRun
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.onednn_verbose import (
        CpuIsa,
        DispatchRejection,
        LibraryRejection,
        PrimitiveCreate,
        PrimitiveExec,
    )

__all__ = ["GemmFallbackConvolution"]

#: An execution that is not repeated shows what starting costs, not what the convolution does.
MIN_COUNT = 2
MAX_QUOTED = 3
MAX_REASONS = 3
#: Refusals that say something about this convolution; the first says most.
_TELLING = (Reason.LAYOUT, Reason.SHAPE)


class GemmFallbackConvolution(Rule):
    """A convolution ran as im2col and a matrix product, because its layout has no direct kernel.

    ## Why it matters
    Where no generated kernel takes a convolution, oneDNN copies every patch of the image into a
    matrix (im2col) and multiplies. The copy is as large as the kernel window times the image. In
    torch's default layout this happens to groups of few or odd numbers of channels, large kernels
    and wide padding. For channels-last images the newer kernels take most of these: a depthwise
    31x31 convolution took 44 ms in the default layout and 0.83 ms in channels-last, the same with 22
    channels per group 0.22 and 0.11 ms (float32, torch 2.13.0, one AVX-512 core).

    ## What it looks like
    The implementation is ``gemm:jit``, or ends in it, and the layout of the source is ``abcd``:

        onednn_verbose,v1,primitive,exec,cpu,convolution,x64:gemm:jit,forward_training,src:f32:a:blocked:abcd::f0 wei:f32:a:blocked:abcde::f0 bia:undef::undef::: dst:f32:a:blocked:abcd::f0,attr-scratchpad:user,alg:convolution_direct,g32mb2_ic32oc32_ih40oh40kh31sh1dh0ph15_iw40ow40kw31sw1dw0pw15,43.9812

    On AArch64, ``gemm:acl`` and ``indirect_gemm:acl`` are optimised, and not meant.

    ## When it is harmless
    When the convolutions take less than 1 ms and 2 % of the time, which is not reported. An
    execution that is not repeated is not counted. Where the image is in channels-last already, the
    layout is not the reason: that is no warning, nor are less than 0.5 ms in all. A convolution of
    a signal is a note: it would have to be written anew for images of height 1, and none of three
    programs whose layers were became faster.

    ## What to do
    Convert model and input to channels-last once; ``torch.compile`` keeps the layout. Compare the
    time: for a depthwise convolution with a channel multiplier in bfloat16, the matrix product was
    the faster one.

    ## How a live run confirms it
    The convolution alone is run from torch, as recorded and in channels-last layout. Confirmed when
    another implementation is chosen and a step takes less time.

    ## See also
    ONE001 for reference kernels, ONE004 for layouts that go to and fro;
    <https://uxlfoundation.github.io/oneDNN/dev_guide_convolution.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "ONE002"
    name = "gemm-fallback-convolution"
    severity = Severity.WARNING
    experiment = Experiment(
        UNCHANGED,
        micro="onednn_primitive:channels_last",
        confirms="in channels-last layout another implementation is chosen, and is faster",
        refutes="it is as slow in channels-last layout",
        leaves_open=(
            "the primitive cannot be run from torch here, or another implementation is chosen"
        ),
    )

    class Data(PrimitiveData):
        """The convolutions that were unrolled."""

        #: Whether the images lie in torch's default layout.
        is_plain: bool
        #: Dimensions of the images, of all shapes: 4, 5, or 3.
        ranks: tuple[int, ...] = ()
        #: Dimensions of the tensors that compiled code is given; None where it is not known.
        inputs: tuple[int, ...] | None = None

    remedies = (
        channels_last(
            "ONE002",
            text="Keep images in channels-last, where oneDNN 3.12 has direct kernels for most such "
            "convolutions (seen with AVX-512).",
            applies=lambda data: data.is_plain and is_given(data, 4),
        ),
        channels_last_3d("ONE002", applies=lambda data: data.is_plain and is_given(data, 5)),
        freeze(
            text="Or let the compiler choose the layout: freezing packs the weights for it, too.",
            applies=lambda data: set(data.ranks) != {3} and can_freeze(data),
        ),
        Remedy(
            id="channels-per-group",
            text="Use a multiple of 16 channels per group, where the model allows it, and compare.",
            when="images that are not in the default layout",
            applies=lambda data: not data.is_plain,
            proof="https://uxlfoundation.github.io/oneDNN/dev_guide_convolution.html",
            edits=True,
        ),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return the story of all that follows from the layout."""
        return [CHANNELS_LAST] if any(a.id in LAYOUTS for a in finding.advice) else ()

    def check(
        self,
        execs: Table[PrimitiveExec],
        *,
        run: Table[RunFacts],
        calls: Table[LibraryCall],
        isas: Table[CpuIsa],
        creates: Table[PrimitiveCreate],
        dispatches: Table[DispatchRejection],
        library: Table[LibraryRejection],
        ran: Table[LibraryRun],
        graphs: Table[FxGraph],
    ) -> Iterator[Finding]:
        """Yield one finding per primitive and layout."""
        isa = instruction_set(isas)
        if isa and not has_jit_gemm(isa):
            return
        spent = Spent.of(execs, calls, ran, run)
        runs = groups(execs)
        repeated = any(g.count >= MIN_COUNT for g in runs if g.run.primitive in COMPUTE)
        once = not (repeated or spent.is_run) and is_excerpt(execs)
        least = 1 if once else MIN_COUNT
        causes: dict[tuple[str, bool], list[Runs]] = {}
        for group in runs:
            if is_unrolled(group.run) and group.count >= least:
                key = (group.run.primitive, is_default_layout(group.run))
                causes.setdefault(key, []).append(group)
        if not causes:
            return
        refusals = Refusals(dispatches, library, creates, execs)
        fast = Fast((group for group in runs if not is_unrolled(group.run)), isa)
        for (primitive, default), found in causes.items():
            # The shortest executions, since one that waited for the CPU proves nothing.
            shortest = sum(group.count * group.times.min for group in found)
            much = spent.share(shortest) >= SHARE_OF_EXCERPT or not once
            if much and spent.matters(shortest):
                found.sort(key=lambda group: -group.ms)
                known = [group.alternative(fast, equal=True) for group in found]
                saving = sum(
                    max(0.0, group.ms - (other[0] * group.count if other else 0.0))
                    for group, other in zip(found, known, strict=True)
                )
                cost = spent.cost(saving, "estimated" if all(known) else "upper_bound")
                where = UserLines(ran).of(found[0].rows)
                finding = self._finding(
                    primitive, default, found, spent, refusals, where=where, run=run, graphs=graphs
                )
                less = {"severity": Severity.INFO, "confidence": Confidence.LOW}
                less = less if once and finding.harmless is None else {}
                yield finding.model_copy(update={"cost": cost, **less})

    def _finding(
        self,
        primitive: str,
        default: bool,
        found: list[Runs],
        spent: Spent,
        refusals: Refusals,
        *,
        where: Where | None,
        run: Table[RunFacts],
        graphs: Table[FxGraph],
    ) -> Finding:
        count, ms = sum(group.count for group in found), sum(group.ms for group in found)
        refused = [r for r in refusals.of(found[0].run) if r.reason in _TELLING]
        refused.sort(key=lambda refusal: _TELLING.index(refusal.reason))
        said = list(dict.fromkeys(refusal.message.rstrip(": ") for refusal in refused))
        why = f" Other implementations refused: {'; '.join(said[:MAX_REASONS])}." if said else ""
        shapes = "one shape" if len(found) == 1 else f"{len(found)} shapes"
        worst = found[0]
        data = self.Data.of(
            run,
            primitive=primitive,
            impl=worst.run.impl,
            dtypes=worst.run.precision,
            shape=worst.run.shape,
            descriptors=descriptors(worst.rows[:1]),
            ms=ms,
            share=spent.share(ms),
            is_plain=default,
            ranks=tuple(sorted({rank for group in found if (rank := rank_of(group.run))})),
            inputs=inputs_of(run),
        )
        signals = set(data.ranks) == {3}
        act = default and ms >= LEAST_MS and not signals
        fixed = signals and signals_of_a_package(graphs)
        layout = "torch's default layout" if default else "another layout than torch's default"
        return self.finding(
            primitive,
            default,
            title=f"{primitive} of {shapes} ran as im2col and a matrix product",
            message=(
                f"{times(count)} on `{found[0].run.impl}` took {spent.tell(ms)}. The images are "
                f"in {layout}. The most expensive is {found[0].label}.{why}"
            ),
            severity=Severity.WARNING if act else Severity.INFO,
            harmless=SIGNALS_OF_A_PACKAGE if fixed else SIGNALS if signals else None,
            confidence=Confidence.MEDIUM,
            count=count,
            where=where,
            evidence=[
                *(quote(group.rows[0], times(group.count)) for group in found[:MAX_QUOTED]),
                *(refusal.quote for refusal in refused[:1]),
            ],
            advice=self.advise(data),
            data=data,
        )
