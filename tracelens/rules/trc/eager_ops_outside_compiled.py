"""TRC008 eager-ops-outside-compiled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.chrome_trace import CompiledGraph, InductorKernel, Operator
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.traces.measured import SelfTime, Step, Window
from tracelens.traces.op_work import STREAMING
from tracelens.traces.rows import SyncTime
from tracelens.traces.runs import COMPILING, Run, runs
from tracelens.words import length, percent, share_of

__all__ = ["EagerOpsOutsideCompiled"]

#: Share of the operators' time that is outside of compiled code.
MIN_SHARE = 0.25
#: Share of the step that these operators take.
MIN_OF_STEP = 0.05
#: Less than this per step, milliseconds, is a handful of operators.
MIN_MS = 0.05
MAX_TOLD = 5
#: Share of that time from which on it is told for how long these wait besides.
MIN_WAITED = 0.1
#: Share of the operators' time that is in compiled regions, where it is told that these generate
#: no code; and what else than elementwise operators these call, too.
MIN_INSIDE = 0.5
_MOVES = frozenset({"copy_", "fill_", "cat", "sum", "mean"})


class Eager(FindingData):
    """Time of operators in compiled code and outside of it."""

    eager_ms: float
    compiled_ms: float
    of_ms: float
    #: Whether what is compiled runs operator by operator.
    one_by_one: bool = False


class EagerOpsOutsideCompiled(Rule):
    """Much of the operators' time is outside of what was compiled.

    ## Why it matters
    Operators that run one by one are not fused, and each passes through the dispatcher. In a loop of
    small calls, as ``generate()`` makes them, the Python between the calls can take longer than the
    compiled model.

    ## What it looks like
    Operators at the top level of a step, beside a compiled region:

        {"ph": "X", "cat": "cpu_op", "name": "Torch-Compiled Region: 0/2", "ts": 100.0, "dur": 215.0, "pid": 1, "tid": 1}
        {"ph": "X", "cat": "cpu_op", "name": "aten::isin", "ts": 400.0, "dur": 31.0, "pid": 1, "tid": 1}
        {"ph": "X", "cat": "cpu_op", "name": "aten::argmax", "ts": 480.0, "dur": 22.0, "pid": 1, "tid": 1}

    ## When it is harmless
    The optimizer, loading of data and backward passes of compiled graphs do not count. A program
    that compiles nothing is not what this is about. Nor do waits for the GPU in operators. With a GPU that is at work all the time, time on
    the CPU is hidden, and the rule keeps quiet.

    ## What to do
    Compile the function around: the loop body, the loss, the sampling of the next token.

    ## How a live run confirms it
    The program runs with the larger region compiled. Confirmed when the share of eager operators and
    the time of the step fall.

    ## See also
    TRC005 where graph breaks leave the operators out, TRC012 for the optimizer.
    """  # noqa: E501 -- the excerpt is events of a trace

    code = "TRC008"
    name = "eager-ops-outside-compiled"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM

    Data = Eager
    remedies = (
        Remedy(
            id="backend",
            text="Where `torch.compile` is given a backend, leave it out, or name Inductor: "
            "`eager` and `aot_eager` are there to look for errors. Where it is given none, a part "
            "is kept out of the graph: `TORCH_LOGS=graph_breaks` tells which, and why.",
            code='model = torch.compile(model, backend="inductor")',
            when="what is compiled runs operator by operator",
            applies=lambda data: data.one_by_one,
            since="2.0",
            proof="https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html",
        ),
        Remedy(
            id="compile",
            text="Compile the function that holds the operators too: the loop's body, the loss, "
            "the sampling.",
            code="step = torch.compile(step)",
            when="operators are beside compiled code",
            applies=lambda data: not data.one_by_one,
            since="2.0",
            basis="tested",
            proof="tests/advice/TRC008/compile.py",
        ),
    )

    def check(
        self,
        windows: Table[Window],
        *,
        steps: Table[Step],
        own: Table[SelfTime],
        operators: Table[Operator],
        graphs: Table[CompiledGraph],
        generated: Table[InductorKernel],
        places: Table[SyncTime],
    ) -> Iterator[Finding]:
        """Yield one finding per trace with compiled regions and much eager work beside them.

        And one where such regions run operator by operator.
        """
        for run in runs(windows, steps):
            source = run.window.first.input
            if not (len(graphs.within(source)) or len(generated.within(source))):
                yield from self._one_by_one(run, list(operators.within(source)))
            eager, compiled = run.total("eager_ms"), run.total("compiled_ms")
            work = eager + compiled
            if not compiled or not run.total("regions") or not run.waits_for_host:
                continue
            part = min(1.0, share_of(run.ms, run.window.record.ms))
            waits = _waits(places, source)
            waited = min(eager, part * sum(waits.values()))
            eager, work = eager - waited, work - waited
            if eager >= max(MIN_SHARE * work, MIN_OF_STEP * run.ms, MIN_MS * run.n):
                yield self._finding(run, (eager, compiled, waited), own, waits)

    def _one_by_one(self, run: Run, operators: list[Seen[Operator]]) -> Iterator[Finding]:
        """Yield that what is compiled generates no code: each operator is called by itself.

        Regions have had their number for longer than graphs are in traces; a graph break leaves
        operators in a region, beside graphs.
        """
        whole = run.window.record
        inside = (whole.operators_ms or 0.0) - (whole.eager_ms or 0.0)
        rows = [
            row
            for row in operators
            if STREAMING.fullmatch(row.record.op) and row.record.op not in _MOVES
        ]
        called = sum(row.count for row in rows)
        compiles = (whole.compile_ms or 0.0) > COMPILING * whole.ms
        known = [frame for frame in whole.frames if frame]
        if not known or compiles or called < (whole.regions or 0):
            return
        if inside < max(MIN_INSIDE * (whole.operators_ms or 0.0), MIN_OF_STEP * whole.ms, MIN_MS):
            return
        rows.sort(key=lambda row: -row.ms)
        share = min(1.0, inside / whole.ms)
        data = Eager(
            eager_ms=whole.eager_ms or 0.0,
            compiled_ms=whole.compiled_ms or 0.0,
            of_ms=whole.ms,
            one_by_one=True,
        )
        names = ", ".join(f"`{row.record}`" for row in rows[:MAX_TOLD])
        yield self.finding(
            "backend",
            title="what is compiled runs operator by operator: no generated code is called",
            message=(
                f"Compiled regions hold operators for {length(inside)}, {percent(share)} of the "
                f"trace, also such as Inductor makes kernels of: {names}. No generated graph is "
                "called. So it is with the backends `eager` and `aot_eager`, and where a compiled "
                "function calls what is not: behind `torch.compiler.disable`, or graph breaks."
            ),
            severity=Severity.WARNING,
            confidence=Confidence.MEDIUM,
            count=whole.regions or 1,
            evidence=[row.quote(f"{row.count} times") for row in rows[:2]],
            advice=self.advise(data),
            data=data,
        )

    def _finding(
        self,
        run: Run,
        times: tuple[float, float, float],
        own: Table[SelfTime],
        waits: dict[str, float],
    ) -> Finding:
        eager, compiled, waited = times
        told = [row for row in own.within(run.window.first.input) if "::" in row.record.name]
        less = [(row.record.ms - waits.get(row.record.name, 0.0), row) for row in told]
        rows = sorted(less, key=lambda pair: (-pair[0], pair[1].record.name))[:MAX_TOLD]
        rest = run.ms - eager - compiled - waited - _elsewhere(run)
        python = (
            f" Another {length(rest)} ({percent(rest / run.ms)}) pass in no operator: Python."
            if rest >= MIN_SHARE * run.ms and run.window.record.threads == 1
            else ""
        )
        data = Eager(eager_ms=eager, compiled_ms=compiled, of_ms=run.ms)
        return self.finding(
            "eager",
            title=f"{percent(eager / (eager + compiled))} of operator time is not compiled",
            message=(
                f"Of {run.of}, {length(run.ms)}, compiled code takes {length(compiled)} and "
                f"operators outside of it {length(eager)}{_but(waited, eager)}.{python}"
            ),
            confidence=Confidence.MEDIUM,
            count=run.n,
            evidence=[
                run.quote(
                    f"{length(run.spans[0].record.eager_ms or 0)} of eager operators"
                    + (", with their waits" if waited else "")
                ),
                *[
                    row.quote(f"{length(ms)} in the whole trace, wherever it runs")
                    for ms, row in rows
                    if ms > 0
                ],
            ],
            cost=Cost(ms=eager, share=eager / run.ms, basis="upper_bound", of=run.of),
            advice=self.advise(data),
            data=data,
        )


def _elsewhere(run: Run) -> float:
    return sum(run.total(field) for field in ("dispatch_ms", "loading_ms", "optimizer_ms"))


def _waits(places: Table[SyncTime], source: str) -> dict[str, float]:
    """Return for how long operators wait for the device: compiled, they would wait as long."""
    found: defaultdict[str, float] = defaultdict(float)
    for row in places.within(source):
        if "::" in row.record.operator:
            found[row.record.operator] += row.record.ms
    return dict(found)


def _but(waited: float, eager: float) -> str:
    told = waited >= MIN_WAITED * eager
    return f", without {length(waited)} in which they wait for the GPU" if told else ""
