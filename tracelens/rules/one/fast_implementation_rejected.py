"""ONE007 fast-implementation-rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from tracelens.evidence import Table
from tracelens.logs.onednn_verbose import (
    CpuIsa,
    DispatchRejection,
    LibraryRejection,
    PrimitiveCreate,
    PrimitiveExec,
)
from tracelens.onednn.data import PrimitiveData, rank_of
from tracelens.onednn.implementations import COMPUTE, Grade, grade
from tracelens.onednn.reasons import Reason, actionable, remedy, why
from tracelens.onednn.refusals import Refusal, Refusals
from tracelens.onednn.remedies import against
from tracelens.onednn.runs import instruction_set, is_unrolled
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import few

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts

__all__ = ["FastImplementationRejected"]

#: Reasons that say nothing where the implementation that was chosen is fast, too.
MAX_SHAPES = 50
#: Refusals, without anything that was made or ran, that are a quotation and no log.
FEW_LINES = 5
#: `channels_last` raises for a tensor of three dimensions.
SIGNALS = (
    "signals of three dimensions have no channels-last layout, and Inductor packs no weights of "
    "1-d convolutions"
)
_USUAL = frozenset({Reason.DATA_TYPE, Reason.INSTRUCTIONS, Reason.ATTRIBUTES})


def _text(reason: Reason) -> Callable[[Any], str]:
    return lambda data: f"If its time matters, {against(reason, data)}."


def _because_of(reason: Reason) -> Callable[[Any], bool]:
    return lambda data: bool(data.reason == reason.name)


class FastImplementationRejected(Rule):
    """Faster implementations refused a primitive, for a reason that can be changed.

    ## Why it matters
    oneDNN asks its implementations in order, the fastest first, and takes the first one that accepts.
    The refusals say what kept the faster ones from it: a layout, a data type, a bias, a size that is
    known at run time only.

    ## What it looks like
    The implementation, the problem, the reason and its place in oneDNN's source:

        onednn_verbose,v1,primitive,create:dispatch,convolution,unsupported format tag,src/cpu/x64/jit_brgemm_conv_utils.cpp:261
        onednn_verbose,v1,primitive,create:dispatch,matmul,cpu,matmul,brg:sve_512,undef,src:bf16::blocked:ab::f0 wei:bf16:a:any:any::f0 dst:bf16::blocked:ab::f0,attr-scratchpad:user,,64x64:64x64,unsupported isa,src/cpu/aarch64/matmul/brgemm_matmul.cpp:99

    ## When it is harmless
    Nearly always: dozens of refusals per primitive are normal. Implementations for other instruction
    sets, data types or kinds of convolution refuse first, and a fast one accepts. Shape heuristics
    are oneDNN's own business. Then this is a note of severity ``none``. Single lines, without what
    was chosen, are told with low confidence. Where the reference
    implementation was chosen, ONE001 tells the reasons, and where a convolution ran on copied
    patches, ONE002 does.

    ## What to do
    What the finding says for its reason, if the primitive is worth it: see its share in the table of
    primitives.

    ## How a live run confirms it
    The primitive is run with the reason removed. Confirmed when an implementation that refused is
    chosen.

    ## See also
    <https://uxlfoundation.github.io/oneDNN/dev_guide_verbose.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ONE007"
    name = "fast-implementation-rejected"
    severity = Severity.INFO
    unconfirmable = "the settings that remove a reason are tested by the findings about them"

    class Data(PrimitiveData):
        """One primitive, and why faster implementations refused it."""

        #: The class of the refusals: a name of ``tracelens.onednn.reasons.Reason``.
        reason: str
        messages: tuple[str, ...] = ()
        chosen: tuple[str, ...] = ()
        shapes: tuple[str, ...] = ()
        #: It is a single line, and what was chosen instead is not in the log.
        alone: bool = False

    remedies = (
        *(
            Remedy(
                id=reason.name.lower().replace("_", "-"),
                text=_text(reason),
                when=f"refused because of {reason.value}",
                applies=_because_of(reason),
                proof="https://uxlfoundation.github.io/oneDNN/dev_guide_verbose.html",
            )
            for reason in Reason
            if remedy(reason)
        ),
        Remedy(
            id="what-ran",
            text="See what ran instead, and for how long.",
            when="what was chosen is not in the log",
            applies=lambda data: data.alone,
            env="ONEDNN_VERBOSE=profile,dispatch",
            proof="https://uxlfoundation.github.io/oneDNN/dev_guide_verbose.html",
        ),
    )

    def check(
        self,
        dispatches: Table[DispatchRejection],
        *,
        run: Table[RunFacts],
        execs: Table[PrimitiveExec],
        creates: Table[PrimitiveCreate],
        library: Table[LibraryRejection],
        isas: Table[CpuIsa],
    ) -> Iterator[Finding]:
        """Yield one finding per primitive and reason, or one note about all refusals."""
        isa = instruction_set(isas)
        refusals = Refusals(dispatches, library, creates, execs)
        found: dict[tuple[str, Reason], _Refused] = {}
        for made in {_choice(row.record): row.record for row in (*creates, *execs)}.values():
            level = grade(made.primitive, made.impl, isa)
            if made.primitive not in COMPUTE or level is Grade.REFERENCE:
                continue
            # What stands before a convolution on copied patches is part of that finding.
            if isinstance(made, PrimitiveExec) and is_unrolled(made):
                continue
            for refusal in refusals.of(made):
                reason = refusal.reason
                # Sizes that are known at run time only are ONE017's.
                if refusal.who == f"`{made.impl}`" or reason is Reason.DYNAMIC_SHAPE:
                    continue
                if actionable(reason) and not (level is Grade.OPTIMISED and reason in _USUAL):
                    refused = found.setdefault((made.primitive, reason), _Refused())
                    refused.add(refusal, made.impl, made.shape, rank_of(made))
        for (primitive, reason), refused in found.items():
            yield self._finding(primitive, reason, refused, run)
        if not found and not (len(creates) or len(execs)) and dispatches.count <= FEW_LINES:
            yield from self._alone(dispatches, run)
        elif not found:
            yield self._note(dispatches)

    def _finding(
        self, primitive: str, reason: Reason, refused: _Refused, run: Table[RunFacts]
    ) -> Finding:
        messages = list(refused.messages.values())
        data = self.Data.of(
            run,
            primitive=primitive,
            reason=reason.name,
            messages=tuple(sorted({refusal.message for refusal in messages})),
            chosen=tuple(refused.chosen),
            shapes=tuple(sorted(refused.shapes))[:MAX_SHAPES],
        )
        said = "; ".join(str(refusal) for refusal in few(messages))
        chosen = ", ".join(f"`{impl}`" for impl in list(refused.chosen)[:3])
        shapes = "one shape" if len(refused.shapes) == 1 else f"{len(refused.shapes)} shapes"
        return self.finding(
            primitive,
            reason.name,
            title=f"{primitive}: faster implementations refused because of {reason.value}",
            message=f"For {shapes}: {said}. What ran instead: {chosen}.",
            confidence=Confidence.MEDIUM,
            harmless=SIGNALS if reason is Reason.LAYOUT and refused.ranks == {3} else None,
            count=len(messages),
            evidence=[refusal.quote for refusal in few(messages)],
            advice=self.advise(data),
            data=data,
        )

    def _alone(
        self, dispatches: Table[DispatchRejection], run: Table[RunFacts]
    ) -> Iterator[Finding]:
        """Yield what single lines refused; what was chosen instead, they do not show."""
        for row in dispatches:
            primitive = row.record.primitive or row.record.component
            message, reason = row.record.message, why(row.record.message)
            data = self.Data.of(
                run, primitive=primitive, reason=reason.name, messages=(message,), alone=True
            )
            yield self.finding(
                primitive,
                reason.name,
                message,
                title=f"{primitive}: an implementation refused because of {reason.value}",
                message=f"It says: {message}. Which one was taken instead is not in the lines: "
                "most refusals come before another fast one, and those before a reference "
                "implementation are what to mend.",
                confidence=Confidence.LOW,
                count=row.count,
                evidence=[row.quote("refused")],
                advice=self.advise(data),
                data=data,
            )

    def _note(self, dispatches: Table[DispatchRejection]) -> Finding:
        rows = list(dispatches)
        return self.finding(
            "usual",
            title=f"{dispatches.count} refusals of implementations, none of which matters",
            message=(
                f"{dispatches.count} refusals with {len({row.record.message for row in rows})} "
                "different messages came before implementations that were fast, or whose choice "
                "this log does not show, or that another finding names."
            ),
            harmless="what was chosen is fast, or another finding is about it",
            count=dispatches.count,
            evidence=[rows[0].quote("the first refusal")],
        )


class _Refused(msgspec.Struct):
    """What refused one primitive for one reason."""

    messages: dict[tuple[str, str], Refusal] = msgspec.field(default_factory=dict)
    chosen: dict[str, None] = msgspec.field(default_factory=dict)
    shapes: set[str] = msgspec.field(default_factory=set)
    ranks: set[int | None] = msgspec.field(default_factory=set)

    def add(self, refusal: Refusal, chosen: str, shape: str, rank: int | None) -> None:
        """Note that ``refusal`` came before ``chosen`` for ``shape``."""
        self.messages.setdefault((refusal.who, refusal.message), refusal)
        self.chosen[chosen] = None
        self.shapes.add(shape)
        self.ranks.add(rank)


def _choice(run: PrimitiveCreate | PrimitiveExec) -> tuple[str, str, str, str]:
    return run.primitive, run.precision, run.shape, run.impl
