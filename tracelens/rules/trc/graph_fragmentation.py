"""TRC005 graph-fragmentation."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.frames import Frame
from tracelens.frames.user_frames import Compiled
from tracelens.logs.chrome_trace import CompiledRegion, PythonFunction
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.report.stories import RESUMED
from tracelens.rules import Rule
from tracelens.traces.measured import Step, Window
from tracelens.traces.runs import Run, runs
from tracelens.words import length, share_of

__all__ = ["GraphFragmentation"]

#: Without nesting, eager operators between the regions take at least this share of the time.
MIN_BETWEEN = 0.05
MAX_QUOTED = 6


class Pieces(FindingData):
    """The frames that a step goes through."""

    frames: tuple[str, ...]
    calls: float
    nested: float
    known: bool


class GraphFragmentation(Rule):
    """Each step goes through several compiled frames, because the graph breaks.

    ## Why it matters
    After a graph break Dynamo compiles the rest of the function as a frame of its own. Each frame is
    looked up in its own cache, nothing is fused across the break, and what caused it runs in Python.

    ## What it looks like
    Regions with different numbers before the slash in one step, the later one inside the first:

        {"ph": "X", "cat": "cpu_op", "name": "Torch-Compiled Region: 0/0", "ts": 100.0, "dur": 90.0, "pid": 1, "tid": 1}
        {"ph": "X", "cat": "cpu_op", "name": "Torch-Compiled Region: 1/0", "ts": 140.0, "dur": 45.0, "pid": 1, "tid": 1}

    ## When it is harmless
    A program may compile several modules of its own and call one after the other: regions that are
    not inside each other are told as information, and only where eager operators run between them
    and the step takes that time. What an operator, a compiled graph, a backward pass or an optimizer
    calls was compiled by itself, and is no piece. One frame with several variants (``0/0``,
    ``0/1``) is one graph, whatever the number of calls. Where a device has other work meanwhile,
    pieces are information: what they cost is not in the trace.

    ## What to do
    Find the breaks: the GBR rules read them from a log with ``TORCH_LOGS=graph_breaks``.
    ``fullgraph=True`` makes the first one an error with its place in the code.

    ## How a live run confirms it
    The program runs with the breaks removed. Confirmed when the number of regions per step falls and
    the step gets faster.

    ## See also
    GBR012 and GBR015 for the same in logs, TRC004 for the price of the lookups.
    """  # noqa: E501 -- the excerpt is events of a trace

    code = "TRC005"
    name = "graph-fragmentation"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM

    Data = Pieces
    remedies = (
        Remedy(
            id="lines",
            text="See which lines break the graph.",
            when="no log of the same run names them",
            applies=lambda data: not data.known,
            setting="torch._logging.set_logs(graph_breaks=True)",
            env="TORCH_LOGS=graph_breaks",
            since="2.1",
            proof="https://docs.pytorch.org/docs/stable/logging.html",
        ),
        Remedy(
            id="fullgraph",
            text="Make the first break an error.",
            code="torch.compile(model, fullgraph=True)",
            since="2.0",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.compile.html",
        ),
    )

    def check(
        self,
        windows: Table[Window],
        *,
        steps: Table[Step],
        regions: Table[CompiledRegion],
        compiled: Table[Frame],
        functions: Table[PythonFunction],
    ) -> Iterator[Finding]:
        """Yield one finding per trace whose steps go through several frames."""
        for run in runs(windows, steps):
            nested = run.total("nested")
            frames = _frames(run)
            between = share_of(run.total("eager_ms"), run.ms) if run.waits_for_host else 0.0
            if nested or (len(frames) > 1 and between >= MIN_BETWEEN):
                source = run.window.first.input
                resumed = any(
                    row.record.function.startswith(RESUMED) for row in functions.within(source)
                )
                yield self._finding(
                    run, frames, regions, Compiled(compiled, source), resumed=resumed
                )

    def _finding(
        self,
        run: Run,
        frames: list[str],
        regions: Table[CompiledRegion],
        known: Compiled,
        *,
        resumed: bool,
    ) -> Finding:
        calls, nested = run.total("regions") / run.n, run.total("nested")
        within = list(regions.within(run.window.first.input))
        apart = {frame for row in run.spans for frame in row.record.apart}
        within = [row for row in within if row.record.frame not in apart]
        empty = [row.record.frame for row in within if row.record.frame and _is_small(row.ms, run)]
        named = [frame for frame in frames if frame]
        which = f": {', '.join(f'`{frame}`' for frame in named[:12])}" if named else ""
        goes_on = "a function goes on in a new frame after a graph break"
        inside = (
            f"{nested / run.n:.3g} of them run inside another one: {goes_on}"
            + ("" if resumed else ", or calls one that is no part of its graph")
            if nested
            else "They run one after the other, with eager operators between them: that may be "
            "meant, where several modules are compiled"
        )
        many = f"{calls:.3g} compiled regions"
        trifles = (
            f" {', '.join(f'`{frame}`' for frame in empty[:8])} take less than 1 % of the time: "
            "hardly anything is left in their graphs."
            if empty
            else ""
        )
        per = "per step" if run.steps else "in the trace"
        where, quotes = known.break_of(named)
        data = Pieces(frames=tuple(named), calls=calls, nested=nested / run.n, known=bool(quotes))
        return self.finding(
            "nested" if nested else "sequence",
            len(named),
            title=f"{many} {per}: the graph is in pieces"
            if nested
            else f"{many} {per}, with eager operators between them",
            message=f"{calls:.3g} calls of compiled frames {per}{which}. {inside}.{trifles}",
            severity=Severity.WARNING if nested and run.waits_for_host else Severity.INFO,
            confidence=Confidence.HIGH if nested and len(named) > 1 else Confidence.MEDIUM,
            count=int(run.total("regions")),
            where=where,
            evidence=[
                *quotes,
                *(
                    row.quote(f"{row.count} calls, {length(row.ms)} in all")
                    for row in within[:MAX_QUOTED]
                ),
            ],
            cost=_cost(run),
            advice=self.advise(data),
            data=data,
        )


def _frames(run: Run) -> list[str]:
    """Return the numbers of the frames of one step, in order, but for those by themselves."""
    apart = {frame for row in run.spans for frame in row.record.apart}
    one = max((row.record.frames for row in run.spans), key=len)
    return list(dict.fromkeys(frame.partition("/")[0] for frame in one if frame not in apart))


def _is_small(ms: float, run: Run) -> bool:
    return bool(run.steps) and ms < 0.01 * run.ms


def _cost(run: Run) -> Cost | None:
    """Return the time of lookups and of operators between the regions: what breaks add, at most."""
    ms = run.total("dispatch_ms") + run.total("eager_ms")
    if not ms or not run.waits_for_host:
        return None
    return Cost(ms=ms, share=min(1.0, ms / run.ms), basis="upper_bound", of=run.of)
