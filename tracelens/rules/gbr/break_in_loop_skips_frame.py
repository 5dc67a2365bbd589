"""GBR006 break-in-loop-skips-frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.dynamo.beside import look_beside
from tracelens.dynamo.breaks import BACKEND_EXCEPTION, BreakSite, lost_around, sites
from tracelens.dynamo.lost_calls import LostCalls
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.frames.break_cost import cost_of_calls, cost_of_later
from tracelens.frames.lost_frames import LostFrames
from tracelens.logs._stack import StackFrame
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.guards import GuardTree
from tracelens.remedies import Remedy
from tracelens.report import Cost, EvidenceLine, Finding, Severity, Where
from tracelens.report.stories import (
    Story,
    as_written,
    backend_failed,
    called_in_lost,
    graph_break,
    transformed,
)
from tracelens.rules import Rule
from tracelens.rules.gbr._drawn import DRAW_OUTSIDE, draws
from tracelens.rules.gbr._lost_functions import first_of_all, loops, lost_layers, lost_of
from tracelens.rules.gbr._raised import raised, reads_property, same_exception
from tracelens.rules.gbr._rounds import named_calls
from tracelens.rules.gbr._site_rule import LIBRARY, BreakData, Line, break_data
from tracelens.rules.gbr._sparse import multiplies, takes_parts
from tracelens.rules.gbr._stories import within_entered
from tracelens.rules.gbr._values import VALUES, is_value, reason_of
from tracelens.words import few

if TYPE_CHECKING:  # what a log has nothing of is not imported
    from tracelens.logs._starts import CompileStart

__all__ = ["BreakInLoopSkipsFrame"]

MAX_QUOTED = 3
#: Why a program that runs eagerly raises while it is traced.
PROPERTY = (
    " Dynamo takes a property that is read through `super()` for the property itself, and does not "
    "call it: without compilation nothing is raised there."
)


class LostData(BreakData):
    """A function that Dynamo gave up: ``lost`` holds its name, the outermost first."""

    is_loop: bool = False
    #: Files of the functions in ``lost``.
    lost_in: tuple[str, ...] = ()
    #: What was raised while the function was traced, and whether it is that Dynamo takes a property
    #: that is read through ``super()`` for the property object.
    raised: str = ""
    reads_property: bool = False
    #: Functions that are compiled by themselves since the lost one runs eagerly: where each begins.
    calls: tuple[Line, ...] = ()
    #: Whether it is the first function that was compiled at all, mostly the model's own.
    is_first: bool = False


def _is_at_start(data: LostData) -> bool:
    """Tell whether the record names a function and no line of it."""
    return not (data.file or data.code or data.stack or data.is_loop)


class BreakInLoopSkipsFrame(Rule):
    """A graph break that cannot be resumed from: Dynamo gave up the whole function.

    ## Why it matters
    After a break Dynamo resumes behind it. In the middle of a ``for`` or ``while``, of ``try`` with
    ``finally``, of an unknown ``with`` or of a generator it cannot: the whole function runs as plain
    Python, with everything in it that would have compiled. That is worse than a break. Functions
    that it calls are then compiled one by one, each with guards and entries of its own.

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
        confirms="without the break in the loop, it is gone and the step is faster",
        refutes="the break stays",
        leaves_open="the break is gone, and the step as slow: the break was cheap",
    )

    Data = LostData
    remedies = (
        *VALUES,
        Remedy(
            "property-by-method",
            lambda data: (
                f"Have the property at {_place(data)} return what a method does, and call the "
                "parent's method through `super()` there, which Dynamo traces; a property that is "
                "read so it does not call."
            ),
            when="a property that is read through `super()`, in code of your own",
            applies=lambda data: data.reads_property and not data.package,
            basis="tested",
            proof="tests/advice/GBR006/property-by-method.py",
        ),
        Remedy(
            "compile-transform",
            "The record tells no line: Dynamo gave up before the first one. It does where a "
            "transformation of `torch.func` (`vmap`, `grad`, `jvp`) in eager code calls what is "
            "compiled. Compile the function that calls the transformation, in place of the model: "
            "`torch.compile(torch.func.vmap(model))`, not `torch.func.vmap(torch.compile(model))`. "
            "Where a library calls it, give the library the module that is not compiled.",
            when="a record without a line",
            applies=_is_at_start,
            basis="tested",
            proof="tests/advice/GBR006/compile-transform.py",
        ),
        Remedy(
            "tell-reason",
            "See the reason: it stands above `WON'T CONVERT`.",
            when="a record without a line",
            applies=_is_at_start,
            env='TORCH_LOGS="+dynamo"',
            basis="untestable",
            proof="it shows more",
        ),
        DRAW_OUTSIDE,
        Remedy(
            "remove-break",
            lambda data: f"Remove what breaks the graph{_in_loop(data)}: {_place(data)}.",
            when="code of your own",
            applies=lambda data: (
                not (data.package or is_value(data) or data.reads_property or _is_at_start(data))
                and not draws(data)
            ),
            basis="tested",
            proof="tests/advice/GBR006/remove-break.py",
        ),
        Remedy(
            "compile-body",
            lambda data: (
                "Or, where that line has to stay, compile what else the body of the loop calls"
                f"{_called(data)}, instead of the function around it."
            ),
            when="a loop in code of your own that holds the line itself, and not in what it calls: "
            "that would break as before; not for a product with a sparse matrix alone",
            applies=lambda data: (
                (data.is_loop and data.leaves and not data.package)
                and not (multiplies(data) and not named_calls(data))
            ),
            basis="tested",
            proof="tests/advice/GBR006/compile-body.py",
        ),
        *LIBRARY,
    )

    def check(
        self,
        breaks: Table[GraphBreak],
        *,
        setup: Table[SetupBreak],
        starts: Table[CompileStart],
        frames: Table[Frame],
        trees: Table[GuardTree],
    ) -> Iterator[Finding]:
        """Yield one finding per function that was given up, the outermost of those of one break."""
        groups: dict[tuple[str, str], list[BreakSite]] = {}
        exceptions: dict[tuple[str, str, int], tuple[str, str]] = {}
        codes = LostFrames(frames)
        for site in sites(breaks, setup=setup):
            if site.skipped:
                first = lost_of(site, codes)[0]
                key = (first.function, first.file)
                if same := same_exception(site):
                    key = exceptions.setdefault(same, key)
                groups.setdefault(key, []).append(site)
        inside = LostCalls(starts)
        for found in groups.values():
            places = [place for site in found for place, _ in site.events]
            calls = inside.of(places)
            cost = cost_of_calls(((call.file, call.function) for call in calls), frames)
            lost = list(dict.fromkeys(one for site in found for one in lost_of(site, codes)))
            if any(map(loops, found)):
                cost = cost or cost_of_later(lost[0].file, places, frames)
            look_beside(found[:1], breaks, trees)
            yield self._finding(found, lost, calls, cost)

    def _finding(
        self,
        found: list[BreakSite],
        lost: list[Line],
        inside: Sequence[StackFrame],
        cost: Cost | None,
    ) -> Finding:
        first, in_loop = lost[0], any(loops(site) for site in found)
        shown = _shown(first, found[0])
        data = LostData(
            **break_data(found[0]).model_dump(exclude={"lost"}),
            lost=tuple(one.function for one in lost),
            lost_in=tuple(one.file for one in lost),
            is_loop=in_loop,
            raised=raised(found[0]),
            reads_property=reads_property(found[0]),
            is_first=first_of_all(found),
            calls=tuple(
                Line(file=one.file, line=one.line, function=one.function) for one in inside
            ),
        )
        others = ", ".join(
            f"`{one.function}` ({user_code.short(one.file, one.line)})"
            if one.function
            else user_code.short(one.file, one.line)
            for one in lost[1:MAX_QUOTED]
        )
        why = "inside a loop" if in_loop else "where Dynamo cannot resume"
        quotes = [q for site in found[:MAX_QUOTED] for q in _quotes(site)]
        is_small = first.function.startswith("<")
        at = f" ({user_code.short(first.file, first.line)})" if first.file else ""
        as_whole = "" if shown.startswith("the rest") else " as a whole"
        return self.finding(
            first.function,
            user_code.short(first.file),
            title=f"{shown}{at} runs eagerly: a graph "
            + ("break in its loop" if in_loop else "break that it cannot resume from"),
            message=f"Dynamo gave up {shown}{as_whole} because the graph breaks {why}"
            f"{_roots(found)}."
            + (f" Then it gave up {others}." if others else "")
            + (PROPERTY if any(map(reads_property, found)) else ""),
            severity=Severity.ERROR if in_loop and not is_small else Severity.WARNING,
            count=sum(site.skipped for site in found),
            cost=cost,
            where=user_code.where(user_code.best(found[0].stack)) or _begins(first),
            evidence=quotes,
            advice=self.advise(data),
            data=data,
        )

    def causes(self, finding: Finding) -> Iterator[Story]:
        """Tell that the functions it calls are compiled one by one."""
        data = self.data_of(finding)
        if isinstance(data, LostData):
            if not _is_generated(data):
                yield from dict.fromkeys(lost_around(file) for file in (data.file, *data.lost_in))
            yield from (called_in_lost(one.file, one.line) for one in data.calls)
            yield from lost_layers(data.package if data.is_first else "", data.lost_in)
            if data.family == "other":  # no other rule is about this break
                yield graph_break(data.file, data.line)
            if multiplies(data):  # what makes the matrix, or takes it apart, goes with it
                yield "sparse", data.file

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to what broke the graph; a package's ``<listcomp>`` to the function that holds it.

        The lines that lead there belong to other breaks, too: only the last is this one.
        """
        data = self.data_of(finding)
        if isinstance(data, LostData):
            if data.reason.startswith(BACKEND_EXCEPTION):
                yield backend_failed()
            if _is_at_start(data):
                yield from map(transformed, data.lost, data.lost_in)
            yield graph_break(data.file, data.line)
            yield from (graph_break(line.file, line.line) for line in data.stack[-1:])
            yield from within_entered(data)
            if _is_generated(data):
                yield lost_around(data.file)
            if takes_parts(data) and not multiplies(data):
                yield "sparse", data.file


def _is_generated(data: LostData) -> bool:
    return bool(data.package) and data.lost[0].startswith("<")


def _quotes(site: BreakSite) -> Iterator[EvidenceLine]:
    skips = [(place, seen) for place, seen in site.events if seen.record.skips_frame]
    for place, seen in skips[:MAX_QUOTED]:
        yield seen.quote(place=place)
        for cause in seen.record.causes[1:]:
            yield seen.quote("the function that is lost", place=place, at=cause.at)


def _shown(lost: Line, site: BreakSite) -> str:
    """Return what was given up, by the line that broke it where no record names the function."""
    if lost.function:
        name = as_written(lost.function)
        is_whole = name == lost.function and not (site.resumed and name == site.line.function)
        return f"`{name}`" if is_whole else f"the rest of `{name}`"
    line = user_code.best(site.stack)
    if lost.file or line is None:
        return "a function"
    inside = f"`{line.function}`, " if line.function else ""
    return f"a function that reaches {inside}{user_code.short(line.file, line.line)},"


def _begins(lost: Line) -> Where | None:
    """Return where the function begins, for records that do not tell the line of the break."""
    if not lost.file:
        return None
    return Where(file=lost.file, line=lost.line or None, function=lost.function or None)


def _roots(found: Iterable[BreakSite]) -> str:
    """Return what broke the graph, and where, for the end of a sentence."""
    roots: dict[str, dict[str, None]] = {}
    for site in found:
        if site.record.file:
            roots.setdefault(_reason(site), {})[_at(site)] = None
    shown = [f"{reason} at {', '.join(few(at))}" for reason, at in roots.items()]
    return f": {'; '.join(few(shown))}" if shown else ""


def _at(site: BreakSite) -> str:
    """Return where the graph breaks: the line that leads there, where that is in torch's code."""
    record, line = site.record, site.line
    if user_code.distance(line.file) < 2 <= user_code.distance(record.file):  # 2: torch
        return user_code.short(line.file, line.line) + (f", `{line.code}`" if line.code else "")
    return user_code.short(record.file, record.line)


def _reason(site: BreakSite) -> str:
    """Return what broke the graph, with the exception where that is one."""
    text = raised(site)
    return f"{site.record.text} (`{text}`)" if text else reason_of(site)


def _in_loop(data: LostData) -> str:
    return " inside the loop" if data.is_loop else ""


def _called(data: LostData) -> str:
    return f", such as {names}" if (names := named_calls(data)) else ""


def _place(data: LostData) -> str:
    if data.code:
        return f"{user_code.short(data.file, data.line)}, `{data.code}`"
    return (
        user_code.short(data.file, data.line) if data.file else "the record does not tell the line"
    )
