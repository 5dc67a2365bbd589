"""ONE001 reference-kernel-dispatch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from tracelens.dynamo.run_facts import facts_of
from tracelens.evidence import Seen, Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.late import late
from tracelens.onednn.data import descriptors, has_plain_weights, has_wide_bias, is_default_layout
from tracelens.onednn.implementations import COMPUTE, Grade, grade
from tracelens.onednn.reasons import Reason
from tracelens.onednn.refusals import Refusal, Refusals
from tracelens.onednn.remedies import (
    RefusedData,
    fixed_in,
    for_recurrent,
    for_reference,
    masked,
)
from tracelens.onednn.runs import Fast, Runs, Spent, groups, instruction_set, times
from tracelens.onednn.stories import primitive
from tracelens.onednn.summary import quote
from tracelens.onednn.user_lines import UserLines
from tracelens.remedies import Remedy, applicable
from tracelens.report import Confidence, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.words import few

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.inductor.library_calls import LibraryCall, LibraryRun
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
#: Executions, without oneDNN's header, that are a quotation and no log.
FEW_LINES = 5
#: Why a recurrent layer that nothing serves better is left alone.
_NO_CELL = "oneDNN generates no cell for it, and ATen's own LSTM was measured to be slower"
#: oneDNN from which on it says why an implementation refused, and lines of those before.
SAYS_WHY = (3, 1)
_OLD_LINE = late(r"\w+_verbose,(?:\d[\d.]*,)?(?:exec|create)[,:]")
#: Refusals that are spelled out.
MAX_QUOTED = 4
MAX_ADVICE = 4
_REFERENCE = (
    Remedy(
        id="row-bias",
        text="Give the product a bias of one row (1xN), which is added to every row of the result; "
        "add a matrix by a `binary_add` post-op, or after the product.",
        when="the bias has more than the last dimension",
        applies=lambda data: data.has_wide_bias,
        code="post_ops.append_binary(algorithm::binary_add, matrix_md);",
        basis="source",
        proof="https://uxlfoundation.github.io/oneDNN/dev_guide_matmul.html",
    ),
    *for_reference(("float32", "unsigned-activations", "without-onednn"), "ONE001"),
    Remedy(
        id="see-refusals",
        text="See why the faster implementations refused.",
        when="the log has executions only, of oneDNN 3.1 or newer, which do not say why",
        applies=lambda data: data.is_silent and not (data.tells_none or data.has_wide_bias),
        env="ONEDNN_VERBOSE=all",
        basis="untestable",
        proof="it records more",
    ),
    Remedy(
        id="newer-onednn",
        text="Run it with oneDNN 3.1 or newer (a newer torch, where torch brings it): it may have "
        "a fast implementation, and with ONEDNN_VERBOSE=all it says why one refused, which this "
        "version cannot.",
        when="oneDNN before 3.1, and nothing in the line says why",
        applies=lambda data: data.tells_none and not data.has_wide_bias,
        basis="untestable",
        proof="src/common/verbose.cpp of oneDNN 3.0 and 3.1",
    ),
)


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
    When the total is below 1 ms and below 2 % of all oneDNN time, unless it is one of a few quoted
    lines, whose times need not be of one program. A softmax, pooling or sum is
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
        micro="onednn_primitive:unsigned,float32,without",
        confirms=(
            "the small program runs on the reference implementation, and the "
            "changed one, with unsigned activations or in float32, is faster"
        ),
        refutes="the changed program is as slow",
        leaves_open=(
            "the primitive cannot be run from torch here, or another implementation is chosen"
        ),
    )

    class Data(RefusedData):
        """The executions on the reference implementation."""

        #: The log holds no refusals, and was not recorded with them.
        is_silent: bool = False
        #: oneDNN is one that knows `0`, `1` and `2` only, and never tells refusals.
        tells_none: bool = False
        #: The bias of a product has more than its last dimension.
        has_wide_bias: bool = False

    remedies = (*_REFERENCE, *for_recurrent())

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is the cause of."""
        return [primitive(str(finding.data.get("primitive")), str(finding.data.get("dtypes")))]

    def check(
        self,
        execs: Table[PrimitiveExec],
        *,
        run: Table[RunFacts],
        isas: Table[CpuIsa],
        creates: Table[PrimitiveCreate],
        nested: Table[NestedCreate],
        dispatches: Table[DispatchRejection],
        library: Table[LibraryRejection],
        tunings: Table[AutotuneTable],
        calls: Table[LibraryCall],
        ran: Table[LibraryRun],
        versions: Table[LibraryVersion],
    ) -> Iterator[Finding]:
        """Yield one finding per primitive, data types, shape and implementation."""
        runs = groups(execs)
        spent = Spent.of(execs, calls, ran, run)
        log = _Log(
            runs=runs,
            fast=Fast(runs, instruction_set(isas)),
            all=spent,
            isa=instruction_set(isas),
            facts=run,
            recorded=bool(len(dispatches) or len(library)),
            tuned=bool(len(tunings)),
            lines=UserLines(ran),
            tells_none=_tells_none(execs, run),
            quoted=execs.count <= FEW_LINES and not (len(versions) or spent.is_run),
        )
        refusals = Refusals(dispatches, library, creates, execs)
        slow = [group for group in runs if _is_slow(group, log)]
        why = {id(group): refusals.of(group.run) for group in slow}
        alike: dict[tuple[str, str, str], list[Refusal]] = {}
        for group in slow:
            if why[id(group)]:
                alike.setdefault(_but_for_shape(group), why[id(group)])
        for group in slow:
            said = why[id(group)] or alike.get(_but_for_shape(group), [])
            yield self._reference(group, log, said)
        yield from self._recurrent(log, nested)

    def _reference(self, group: Runs, log: _Log, why: list[Refusal]) -> Finding:
        run = group.run
        known = group.alternative(log.fast)
        saving = max(0.0, group.ms - (known[0] * group.count if known else 0.0))
        compared = f" For comparison, {known[1]}." if known else ""
        data = self._data([group], log, [refusal.reason for refusal in why])
        much = run.primitive in COMPUTE and log.all.matters(group.ms)
        return self.finding(
            *group.subject,
            title=f"{group.label} ran on the reference implementation `{run.impl}`",
            message=f"{log.spent(group.count, group.ms)} {_explain(why, log, run)}{compared}",
            severity=Severity.ERROR if much else Severity.WARNING,
            confidence=Confidence.MEDIUM if log.tuned or group.count == 1 else Confidence.HIGH,
            count=group.count,
            where=log.lines.of(group.rows),
            evidence=[
                *(quote(row, "reference") for row in few(group.rows)),
                *log.lines.quotes(group.rows),
                *(refusal.quote for refusal in why[:MAX_QUOTED]),
            ],
            cost=log.all.cost(saving, "estimated" if known else "upper_bound"),
            advice=applicable(_REFERENCE, data)[:MAX_ADVICE],
            data=data,
        )

    def _data(self, runs: list[Runs], log: _Log, reasons: list[Reason]) -> RefusedData:
        worst = max(runs, key=lambda group: group.ms)
        run, ms = worst.run, sum(group.ms for group in runs)
        return self.Data.of(
            log.facts,
            primitive=run.primitive,
            impl=run.impl,
            dtypes=run.precision,
            shape=run.shape,
            descriptors=descriptors(worst.rows[:1]),
            ms=ms,
            share=log.all.share(ms),
            onednn=facts_of(log.facts).onednn,
            is_silent=not (reasons or log.recorded),
            reasons=tuple(dict.fromkeys(reason.name for reason in reasons)),
            is_plain=is_default_layout(run),
            has_plain_weights=has_plain_weights(run),
            fixed_in=fixed_in(run),
            masked=masked(run),
            tells_none=log.tells_none,
            has_wide_bias=has_wide_bias(run),
            source=run.mds[0].dtype if run.mds else "",
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
            if not log.all.matters(ms):
                continue
            data = self._data(runs, log, [])
            inner = [row for row in nested if _is_slow_product(row.record, runs[0].run, log.isa)]
            rows = [row for group in runs for row in group.rows]
            advice = applicable(for_recurrent(), data)
            yield self.finding(
                primitive,
                precision,
                impl,
                title=f"{primitive} {precision} ran on the general implementation `{impl}`",
                message=f"{log.spent(count, ms)} {_inside(inner)}",
                severity=Severity.WARNING if inner else Severity.INFO,
                harmless=None if advice or inner else _NO_CELL,
                confidence=Confidence.MEDIUM,
                count=count,
                evidence=[
                    *(quote(row, row.record.prop_kind) for row in few(rows)),
                    *(quote(row, "matrix product inside") for row in few(inner)),
                ],
                cost=log.all.cost(ms, "upper_bound"),
                advice=advice,
                data=data,
            )


class _Log(NamedTuple):
    """What is known about all executions."""

    runs: list[Runs]
    fast: Fast
    all: Spent
    isa: str
    facts: Table[RunFacts]
    recorded: bool
    tuned: bool
    lines: UserLines
    #: This oneDNN has no refusals to tell.
    tells_none: bool
    #: It is some quoted lines, of which a share says nothing.
    quoted: bool

    def spent(self, count: int, ms: float) -> str:
        """Return the sentence that says how long ``count`` executions took."""
        tuned = " (benchmarks of autotuning included)" if self.tuned else ""
        return f"{times(count)}{tuned} took {self.all.tell(ms)}."


def _tells_none(execs: Table[PrimitiveExec], run: Table[RunFacts]) -> bool:
    """Tell whether oneDNN is older than 3.1: by its header, else by how its lines begin."""
    version = facts_of(run).onednn
    if version is not None:
        return version < SAYS_WHY
    return all(_OLD_LINE.match(row.text) for row in execs)


def _is_slow(group: Runs, log: _Log) -> bool:
    if group.grade(log.isa) is not Grade.REFERENCE:
        return False
    if group.run.primitive in COMPUTE:
        return log.quoted or log.all.matters(group.ms)
    return group.ms >= MIN_MS and group.ms >= MIN_SHARE * log.all.whole


def _is_slow_product(inner: NestedCreate, outer: PrimitiveExec, isa: str) -> bool:
    return (
        inner.primitive == "matmul"
        and grade("matmul", inner.impl, isa) in {Grade.DISGUISED, Grade.REFERENCE}
        and [md.dtype for md in inner.mds[:1]] == [md.dtype for md in outer.mds[:1]]
    )


def _but_for_shape(group: Runs) -> tuple[str, str, str]:
    primitive, precision, _, impl = group.subject
    return primitive, precision, impl


def _explain(why: list[Refusal], log: _Log, run: PrimitiveExec) -> str:
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
    if has_wide_bias(run):
        return (
            "Its bias has more than the last dimension (`mask` counts them in bits), and optimised "
            "implementations take one row of it (1xN)."
        )
    if log.recorded:
        return "Nothing refused: this build has no other candidate for these data types."
    if log.tells_none:
        return "The log does not say why: oneDNN tells that since 3.1."
    return "The log does not say why; ONEDNN_VERBOSE=all would."


def _inside(inner: list[Seen[NestedCreate]]) -> str:
    if not inner:
        return (
            "It computes each step with a general matrix product, not with a generated cell: "
            "oneDNN has none for this call."
        )
    names = ", ".join(sorted({f"`{row.record.impl}`" for row in inner}))
    return f"Its matrix products ran on {names}, which is a reference one on this machine."
