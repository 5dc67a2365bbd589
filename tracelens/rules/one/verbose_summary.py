"""ONE019 verbose-summary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Table
from tracelens.experiment import EXPECTED
from tracelens.onednn.data import PrimitiveData
from tracelens.onednn.runs import Runs, Spent, groups, times
from tracelens.onednn.summary import quote
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules import Rule
from tracelens.words import length, percent

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.frames.compile_seconds import CompileSeconds
    from tracelens.inductor.library_calls import LibraryCall, LibraryRun
    from tracelens.logs.onednn_verbose import PrimitiveExec

__all__ = ["VerboseSummary"]

#: First executions that take this part of all time, and at least as many milliseconds, stand out.
FIRST_SHARE = 0.5
FIRST_MS = 10.0
#: Beside compilations that took longer than this part allows, they are little.
OF_COMPILING = 0.01
#: Milliseconds by which some later executions were late, that are worth a word.
LATE_MS = 1.0
MAX_NAMED = 3


class VerboseSummary(Rule):
    """What oneDNN spent its time on.

    ## Why it matters
    The report's table of primitives holds everything; this is its first line in words. It says as
    well how much of the time belongs to first executions: the first time a primitive runs, memory
    is paged in and weights may be transformed. One convolution took 84 ms the first time and 0.03
    ms ever after. Whoever adds up a log without looking at that measures the start of the program.

    ## What it looks like
    Any executions:

        onednn_verbose,v1,primitive,exec,cpu,convolution,x64:gemm:jit,forward_training,src:f32:a:blocked:abcd::f0 wei:f32:a:blocked:abcde::f0 bia:f32:a:blocked:a::f0 dst:f32:a:blocked:abcd::f0,attr-scratchpad:user,alg:convolution_direct,g3mb1_ic6oc9_ih40oh38kh3sh1dh0ph0_iw40ow38kw3sw1dw0pw0,84.4519

    ## When it is harmless
    Always: it accuses nobody. It is a note of severity ``none``, unless most of the time belongs to
    first executions; then it is information, since the log says little about the steady state. Where
    compiling took a hundred times as long as they did, it is a note all the same.

    ## What to do
    Nothing. Where first executions dominate, record more iterations before drawing conclusions.

    ## How a live run confirms it
    Not applicable.

    ## See also
    The table of primitives in the report;
    <https://uxlfoundation.github.io/oneDNN/dev_guide_verbose.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "ONE019"
    name = "verbose-summary"
    severity = Severity.INFO
    unconfirmable = EXPECTED

    class Data(PrimitiveData):
        """All executions; the primitive is the most expensive one, and the share its share."""

        executions: int
        #: Milliseconds of all executions without, and of, what first ones took longer.
        steady_ms: float
        first_ms: float

    remedies = (
        Remedy(
            id="more-iterations",
            text="Record more iterations before drawing conclusions.",
            when="first executions took most of the time",
            applies=lambda data: data.first_ms > data.steady_ms,
            proof="https://uxlfoundation.github.io/oneDNN/dev_guide_verbose.html",
        ),
    )

    def check(
        self,
        execs: Table[PrimitiveExec],
        *,
        run: Table[RunFacts],
        calls: Table[LibraryCall],
        ran: Table[LibraryRun],
        compiled: Table[CompileSeconds],
    ) -> Iterator[Finding]:
        """Yield one finding about all executions."""
        runs = sorted(groups(execs), key=lambda group: -group.ms)
        spent = Spent.of(execs, calls, ran)
        first = sum(group.times.start for group in runs)
        late = execs.ms - spent.whole - first
        starts = execs.ms > 0 and first >= FIRST_MS and first >= FIRST_SHARE * execs.ms
        little = first < OF_COMPILING * 1000 * sum(row.record.seconds for row in compiled)
        top = "first executions" if starts else _called(runs[0])
        extra = f", and first executions {length(first)} more" if first > 0 else ""
        extra += f", and a few that took far longer {length(late)} more" if late >= LATE_MS else ""
        told = f" Note that {spent.hidden}." if spent.hidden else ""
        data = self.Data.about(
            run,
            [group.rows[0] for group in runs],
            ms=runs[0].ms,
            share=spent.share(runs[0].ms),
            executions=execs.count,
            steady_ms=spent.whole,
            first_ms=max(0.0, first),
        )
        yield self.finding(
            "summary",
            title=f"most of oneDNN's time went to {top}",
            message=f"{_took(runs, spent, extra)}{told}",
            severity=Severity.INFO,
            harmless=_harmless(starts=starts, little=little),
            count=execs.count,
            evidence=[quote(runs[0].rows[0], f"{runs[0].count} times")],
            advice=self.advise(data) if starts and not little else (),
            data=data,
        )


def _harmless(*, starts: bool, little: bool) -> str | None:
    if not starts:
        return "it is a summary, and accuses nobody"
    return "compiling took a hundred times as long" if little else None


def _called(group: Runs) -> str:
    impl = group.run.impl
    return f"{group.run.primitive} on `{impl}`" if impl else group.run.primitive


def _took(runs: list[Runs], spent: Spent, extra: str) -> str:
    """Return how long all took, and which took longest, unless there is one kind."""
    count = times(sum(group.count for group in runs))
    if len(runs) == 1:
        impl = f" on `{runs[0].run.impl}`" if runs[0].run.impl else ""
        return f"{count} of {runs[0].label}{impl} took {length(spent.whole)}{extra}."
    named = "; ".join(_told(group, spent) for group in runs[:MAX_NAMED])
    took = f"{count} of {len(runs)} kinds took {length(spent.whole)}{extra}"
    return f"{took}. The most expensive: {named}."


def _told(group: Runs, spent: Spent) -> str:
    impl = f" on `{group.run.impl}`" if group.run.impl else ""
    return f"{group.label}{impl}, {times(group.count)}, {percent(spent.share(group.ms))}"
