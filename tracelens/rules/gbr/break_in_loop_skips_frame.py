"""GBR006 break-in-loop-skips-frame."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.evidence import Place, Seen, Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.logs.graph_breaks import Cause, GraphBreak
from tracelens.report import Advice, Finding, Severity
from tracelens.rules import Rule

__all__ = ["BreakInLoopSkipsFrame"]

MAX_QUOTED = 3


class BreakInLoopSkipsFrame(Rule):
    """A graph break inside a loop made Dynamo give up the whole function, which runs eagerly.

    ## Why it matters
    After a break Dynamo resumes behind it. In the middle of a ``for`` or ``while`` it does not: the
    whole function runs as plain Python, with everything in it that would have compiled. That is
    worse than a break.

    ## What it looks like
    Two blocks in one record: first what broke the graph, then the loop and the function that is
    lost:

        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/breaks.py:41
        [0/0] [__graph_breaks] Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. Graph break encountered:
        [0/0] [__graph_breaks]
        [0/0] [__graph_breaks] Data-dependent branching
        [0/0] [__graph_breaks]   Explanation: Detected data-dependent branching.
        [0/0] [__graph_breaks]
        [0/0] [__graph_breaks] *** While handling this graph break, another graph break occurred: ***
        [0/0] [__graph_breaks]
        [0/0] [__graph_breaks] graph break in loop
        [0/0] [__graph_breaks]   Explanation: torch.compile detected a graph break in a for/while loop.
        [0/0] [__graph_breaks]   Developer debug context: frame skipped: g_loop (/home/ana/proj/breaks.py line 38)

    ## When it is harmless
    When the function does little itself: the functions that it calls are still compiled one by one.
    A generated ``<listcomp>`` is such a function, and is a warning only.

    ## What to do
    Remove the break inside the loop; or make the loop's body a function of its own, so that only
    the body is cut.

    ## How a live run confirms it
    The same calls without the break: the function has a graph.

    ## See also
    GBR001, GBR002, GBR003 (what broke the graph), GBR007 (breaks in ``with``).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb7000.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "GBR006"
    name = "break-in-loop-skips-frame"
    severity = Severity.ERROR
    experiment = Experiment(
        UNCHANGED,
        micro="graph_break",
        confirms="without the break in the loop, it is gone and the step is faster",
        refutes="the break stays",
        leaves_open="the break is gone, and the step as slow: the break was cheap",
    )

    def check(self, breaks: Table[GraphBreak], *, setup: Table[SetupBreak]) -> Iterator[Finding]:
        """Yield one finding per function that was given up."""
        passing = {(seen.record.file, seen.record.line, seen.record.family) for seen in setup}
        lost: dict[tuple[str, str], list[tuple[Place, Seen[GraphBreak], Cause]]] = {}
        for place, seen in breaks.events():
            if (seen.record.file, seen.record.line, seen.record.family) in passing:
                continue
            for cause in seen.record.causes[1:]:
                if cause.family == "loop" and cause.context is not None:
                    key = (cause.context.function, cause.context.file)
                    lost.setdefault(key, []).append((place, seen, cause))
        for (function, file), found in lost.items():
            yield self._finding(function, file, found)

    def _finding(
        self, function: str, file: str, found: list[tuple[Place, Seen[GraphBreak], Cause]]
    ) -> Finding:
        context = found[0][2].context
        at = user_code.short(file, context.line if context is not None else 0)
        roots = dict.fromkeys(
            f"{seen.record.text} at {user_code.short(seen.record.file, seen.record.line)}"
            for _, seen, _ in found
        )
        shown = f"`{function}`" if function else "a function"
        _, first, _ = found[0]
        inner = user_code.best(first.record.stack)
        return self.finding(
            function,
            user_code.short(file),
            title=f"{shown} ({at}) runs eagerly: a graph break in its loop",
            message=(
                f"Dynamo gave up {shown} as a whole because the graph breaks inside a loop: "
                f"{'; '.join(list(roots)[:3])}."
            ),
            severity=Severity.WARNING if function.startswith("<") else self.severity,
            count=len(found),
            where=user_code.where(inner),
            evidence=[
                line
                for place, seen, cause in found[:MAX_QUOTED]
                for line in (
                    seen.quote(place=place),
                    seen.quote("the function that is lost", place=place, at=cause.at),
                )
            ],
            advice=[
                Advice(text="Remove what breaks the graph inside the loop."),
                Advice(
                    text="Or compile the body of the loop instead of the function around it.",
                    code="body = torch.compile(body)\nfor item in items:\n    x = body(x, item)",
                ),
            ],
        )
