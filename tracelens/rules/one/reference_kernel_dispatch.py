"""ONE001 reference-kernel-dispatch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from tracelens.evidence import Seen, Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.onednn.implementations import COMPUTE, Grade, grade
from tracelens.onednn.reasons import Reason
from tracelens.onednn.refusals import Refusal, Refusals
from tracelens.onednn.remedies import for_recurrent, for_reference
from tracelens.onednn.runs import Runs, groups, instruction_set, percent
from tracelens.onednn.summary import quote
from tracelens.onednn.user_lines import UserLines
from tracelens.report import Confidence, Cost, Finding, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.inductor.library_calls import LibraryRun
    from tracelens.logs.autotune import AutotuneTable
    from tracelens.logs.onednn_verbose import (
        CpuIsa,
        DispatchRejection,
        LibraryRejection,
        LibraryVersion,
        NestedCreate,
        PrimitiveCreate,
        PrimitiveExec,
    )

__all__ = ["ReferenceKernelDispatch"]

#: Less than both of these is not worth a word.
MIN_MS = 1.0
MIN_SHARE = 0.02
#: Refusals that are spelled out.
MAX_QUOTED = 4


class ReferenceKernelDispatch(Rule):
    """A oneDNN primitive ran on the reference implementation.

    ## Why it matters
    When no optimised implementation takes a combination of data types, layout and fused
    operations, oneDNN still computes the right result: with plain loops over single elements. They
    exist to test the others, and are 10 to 1000 times slower. On AArch64, a frozen bfloat16
    ``nn.Linear`` ran more than 100 times slower than in eager mode; the generated code is the same
    as in the fast case.

    ## What it looks like
    The implementation is ``ref:any``, or ends in it (``conv:any+ref:any``), or is ``ref_int8:any``:

        onednn_verbose,v1,primitive,exec,cpu,inner_product,ref:any,forward_inference,src:bf16::blocked:ab::f0 wei:bf16::blocked:ba::f0 bia:bf16::blocked:a::f0 dst:bf16::blocked:ab::f0,attr-scratchpad:user,,mb64ic64oc64,84.4229

    Names that only sound like it are not meant: ``simple:any``, ``ncsp_bnorm:any`` (threads, no
    generated code), ``x64:gemm:jit``. A recurrent network's ``ref`` calls a matrix product for
    every step: that is a note, unless this matrix product is a reference one.

    Where the log also holds the generated code, the finding quotes the call; with the traced graph
    (``TORCH_LOGS="graph_code"``) it names your line, if only one has a layer of this shape.

    ## When it is harmless
    When the total is below 1 ms and below 2 % of all oneDNN time. A softmax, pooling or sum is
    reported where it takes both. Executions of benchmarks (autotuning) count like any other: look
    at the median in the table of primitives.

    ## What to do
    Change what the faster implementations refused, which the finding lists where the log says it
    (``ONEDNN_VERBOSE=all``). Where nothing refused, this build has no other candidate: use another
    data type for the layer, or a version of torch whose build has one.

    ## How a live run confirms it
    The primitive alone is run from torch, as recorded and with one thing changed: unsigned
    activations where they are signed 8-bit integers, else float32, else torch's own kernel.
    Confirmed when the reference lines vanish and a step takes less time. How far the results are
    from double precision is told for both.

    ## See also
    <https://github.com/pytorch/pytorch/issues/180447>,
    <https://uxlfoundation.github.io/oneDNN/dev_guide_verbose.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "ONE001"
    name = "reference-kernel-dispatch"
    severity = Severity.ERROR
    experiment = Experiment(
        UNCHANGED,
        micro="onednn_primitive",
        confirms=(
            "the small program runs on the reference implementation, and the "
            "changed one, with unsigned activations or in float32, is faster"
        ),
        refutes="the changed program is as slow",
        leaves_open=(
            "the primitive cannot be run from torch here, or another implementation is chosen"
        ),
    )

    def check(
        self,
        execs: Table[PrimitiveExec],
        *,
        versions: Table[LibraryVersion],
        isas: Table[CpuIsa],
        creates: Table[PrimitiveCreate],
        nested: Table[NestedCreate],
        dispatches: Table[DispatchRejection],
        library: Table[LibraryRejection],
        tunings: Table[AutotuneTable],
        ran: Table[LibraryRun],
    ) -> Iterator[Finding]:
        """Yield one finding per primitive, data types, shape and implementation."""
        runs = groups(execs)
        log = _Log(
            runs=runs,
            whole=sum(group.ms for group in runs),
            isa=instruction_set(isas),
            onednn=next((row.record.version for row in versions), ""),
            recorded=bool(len(dispatches) or len(library)),
            tuned=bool(len(tunings)),
            lines=UserLines(ran),
        )
        refusals = Refusals(dispatches, library, creates, execs)
        slow = [group for group in runs if _is_slow(group, log)]
        why = {id(group): refusals.of(group.run) for group in slow}
        for group in slow:
            alike = (why[id(other)] for other in slow if _same_but_for_shape(group, other))
            yield self._reference(group, log, why[id(group)] or next(filter(None, alike), []))
        yield from self._recurrent(log, nested)

    def _reference(self, group: Runs, log: _Log, why: list[Refusal]) -> Finding:
        run = group.run
        known = group.alternative(log.runs, log.isa)
        saving = max(0.0, group.ms - (known[0] * group.count if known else 0.0))
        compared = f" For comparison, {known[1]}." if known else ""
        return self.finding(
            *group.subject,
            title=f"{group.label} ran on the reference implementation `{run.impl}`",
            message=f"{log.spent(group.count, group.ms)} {_explain(why, log)}{compared}",
            severity=Severity.ERROR if run.primitive in COMPUTE else Severity.WARNING,
            confidence=Confidence.MEDIUM if log.tuned or group.count == 1 else Confidence.HIGH,
            count=group.count,
            where=log.lines.of(group.rows),
            evidence=[
                *(quote(row, "reference") for row in group.rows[:2]),
                *log.lines.quotes(group.rows),
                *(refusal.quote for refusal in why[:MAX_QUOTED]),
            ],
            cost=log.cost(saving, "estimated" if known else "upper_bound"),
            advice=for_reference(run, log.isa, log.onednn, [refusal.reason for refusal in why]),
        )

    def _recurrent(self, log: _Log, nested: Table[NestedCreate]) -> Iterator[Finding]:
        """Yield one finding per data type: a general LSTM is one cause, whatever its shapes."""
        found: dict[tuple[str, str, str], list[Runs]] = {}
        for group in log.runs:
            primitive, precision, _, impl = group.subject
            if primitive == "rnn" and impl.startswith("ref"):
                found.setdefault((primitive, precision, impl), []).append(group)
        for (primitive, precision, impl), runs in found.items():
            ms, count = sum(group.ms for group in runs), sum(group.count for group in runs)
            if not log.matters(ms):
                continue
            inner = [row for row in nested if _is_slow_product(row.record, runs[0].run, log.isa)]
            rows = [row for group in runs for row in group.rows]
            yield self.finding(
                primitive,
                precision,
                impl,
                title=f"{primitive} {precision} ran on the general implementation `{impl}`",
                message=f"{log.spent(count, ms)} {_inside(inner)}",
                severity=Severity.WARNING if inner else Severity.INFO,
                confidence=Confidence.MEDIUM,
                count=count,
                evidence=[
                    *(quote(row, row.record.prop_kind) for row in rows[:2]),
                    *(quote(row, "matrix product inside") for row in inner[:2]),
                ],
                cost=log.cost(ms, "upper_bound"),
                advice=for_recurrent(),
            )


class _Log(NamedTuple):
    """What is known about all executions."""

    runs: list[Runs]
    whole: float
    isa: str
    onednn: str
    recorded: bool
    tuned: bool
    lines: UserLines

    def matters(self, ms: float) -> bool:
        """Whether ``ms`` is worth a word, for a primitive that computes."""
        return ms >= MIN_MS or ms >= MIN_SHARE * self.whole

    def spent(self, count: int, ms: float) -> str:
        """Return the sentence that says how long ``count`` executions took."""
        times = "execution" if count == 1 else "executions"
        share = f", {percent(ms / self.whole)} of all oneDNN execution time" if self.whole else ""
        tuned = " (benchmarks of autotuning included)" if self.tuned else ""
        return f"{count} {times}{tuned} took {ms:.3g} ms{share}."

    def cost(self, ms: float, basis: Literal["estimated", "upper_bound"]) -> Cost:
        """Return ``ms`` as a cost."""
        share = min(1.0, ms / self.whole) if self.whole else None
        return Cost(ms=ms, share=share, basis=basis, of="all oneDNN execution time")


def _is_slow(group: Runs, log: _Log) -> bool:
    if group.grade(log.isa) is not Grade.REFERENCE:
        return False
    if group.run.primitive in COMPUTE:
        return log.matters(group.ms)
    return group.ms >= MIN_MS and group.ms >= MIN_SHARE * log.whole


def _is_slow_product(inner: NestedCreate, outer: PrimitiveExec, isa: str) -> bool:
    return (
        inner.primitive == "matmul"
        and grade("matmul", inner.impl, isa) in {Grade.DISGUISED, Grade.REFERENCE}
        and [md.dtype for md in inner.mds[:1]] == [md.dtype for md in outer.mds[:1]]
    )


def _same_but_for_shape(one: Runs, other: Runs) -> bool:
    (primitive, precision, _, impl), theirs = one.subject, other.subject
    return (primitive, precision, impl) == (theirs[0], theirs[1], theirs[3])


def _explain(why: list[Refusal], log: _Log) -> str:
    """Return the sentence that says why no other implementation was chosen."""
    said = "; ".join(str(refusal) for refusal in why[:MAX_QUOTED])
    if len(why) > MAX_QUOTED:
        said += f"; and {len(why) - MAX_QUOTED} more"
    classes = dict.fromkeys(refusal.reason.value for refusal in why)
    if any(refusal.reason is not Reason.OTHER_KIND for refusal in why):
        return f"Faster implementations refused because of {', '.join(classes)}: {said}."
    if why:
        return (
            "Only implementations for another kind of problem refused, so this build has no other "
            f"candidate for these data types: {said}."
        )
    if log.recorded:
        return "Nothing refused: this build has no other candidate for these data types."
    return "The log does not say why; ONEDNN_VERBOSE=all would."


def _inside(inner: list[Seen[NestedCreate]]) -> str:
    if not inner:
        return (
            "It computes each step with a general matrix product, not with a generated cell: "
            "oneDNN has none for this call."
        )
    names = ", ".join(sorted({f"`{row.record.impl}`" for row in inner}))
    return f"Its matrix products ran on {names}, which is a reference one on this machine."
