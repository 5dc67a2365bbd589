"""GBR022 cold-start-side-effect."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import records, sites
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.recompiles import Recompile, TypeCheck, ValueCheck
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.report.stories import Story, graph_break, set_up
from tracelens.rules import Rule
from tracelens.rules.gbr._cold import cold_sites
from tracelens.rules.gbr._site_rule import Line
from tracelens.rules.gbr._stories import cold_start
from tracelens.words import few, plural

__all__ = ["ColdStartSideEffect"]

MAX_LISTED = 4


class ColdData(FindingData):
    """Graph breaks of code that sets something up in the first call."""

    records: int
    #: Where the graph breaks, and the lines that lead there.
    places: tuple[Line, ...]
    stack: tuple[Line, ...] = ()
    #: Functions that set something up, by their names, on the way to it.
    setters: tuple[Line, ...] = ()
    #: Whether the set-up is code of the program's own.
    is_own: bool = False
    #: What is set up: ``hooks`` of modules; else the state that a recompile names.
    state: tuple[str, ...] = ()


class ColdStartSideEffect(Rule):
    """Graph breaks come from what the first call sets up: hooks, buffers, caches.

    ## Why it matters
    Libraries set themselves up in the first call: they install hooks, make tables, quantize weights.
    Compiled before that, a model has the set-up in its graphs, which break there; some of it (hooks)
    makes Dynamo give up whole functions, and the entries of the first call never serve again. One
    call before compiling removed every break of two libraries that we tried: 22 graphs became one.

    ## What it looks like
    A hook is installed in the forward pass, which torch's class counts:

        [0/0] [__graph_breaks] Graph break in user code at /home/ana/venv/lib/python3.11/site-packages/torch/utils/hooks.py:27
        [0/0] [__graph_breaks] Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):
        [0/0] [__graph_breaks]
        [0/0] [__graph_breaks] setattr() on unsupported type
        [0/0] [__graph_breaks]   Explanation: setattr() is not supported on type type
        [0/0] [__graph_breaks]
        [0/0] [__graph_breaks]   Developer debug context: setattr(UserDefinedClassVariable(<class 'torch.utils.hooks.RemovableHandle'>), ConstantVariable(str: 'next_id'), ConstantVariable(int: 1))

    ## When it is harmless
    When nothing but set-up code breaks the graph, and the second call has one graph: GBR021. Code
    that installs a hook in every call is not helped by a first call; then move it to ``__init__``.

    ## What to do
    Call the model once before it is compiled.

    ## How a live run confirms it
    The same program with one call before ``torch.compile``: the breaks are gone.

    ## See also
    GBR020 (attributes of classes), GBR021 (breaks of the first call only), RCP031 (recompiles).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.graph_breaks_index.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "GBR022"
    name = "cold-start-side-effect"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM
    Data = ColdData
    remedies = (
        Remedy(
            "first-call",
            "Call the model once before it is compiled: that call sets everything up.",
            basis="tested",
            proof="tests/advice/GBR022/first-call.py",
        ),
        Remedy(
            "in-init",
            "Or set it up in `__init__`.",
            when="code of your own",
            applies=lambda data: data.is_own,
            basis="tested",
            proof="tests/advice/GBR022/in-init.py",
        ),
    )

    def causes(self, finding: Finding) -> Iterator[Story]:
        """Tell the breaks of the set-up code, and what comes of them."""
        data = self.data_of(finding)
        if isinstance(data, ColdData):
            for line in (*data.places, *data.stack):
                yield graph_break(line.file, line.line)
                yield cold_start(line.file, line.line)
            yield from (set_up(one.function, one.file) for one in data.setters)

    def check(
        self,
        breaks: Table[GraphBreak],
        *,
        setup: Table[SetupBreak],
        recompiles: Table[Recompile],
    ) -> Iterator[Finding]:
        """Yield one finding for all that is set up."""
        cold, setters = cold_sites(list(sites(breaks, setup=setup)))
        if not cold:
            return
        state = tuple(dict.fromkeys(_state(recompiles)))
        first = cold[0]
        places = tuple(Line(file=s.record.file, line=s.record.line) for s in cold)
        data = ColdData(
            records=records(cold),
            places=places,
            stack=tuple(
                Line(file=f.file, line=f.line, function=f.function)
                for f in first.stack
                if f.function not in user_code.WRAPPERS and user_code.distance(f.file) == 0
            )[-1:],
            setters=setters,
            is_own=bool(first.line.file) and not user_code.package(first.line.file),
            state=state,
        )
        places_told = [user_code.short(s.line.file, s.line.line) for s in cold[:MAX_LISTED]]
        listed = ", ".join(filter(None, places_told))
        named = f" It also sets {', '.join(f'`{one}`' for one in state[:MAX_LISTED])}, for which "
        named += "functions are compiled again."
        yield self.finding(
            *(name for site in cold for name in site.identity[:2]),
            title="the first call sets up hooks inside the compiled code, which breaks the graph",
            message=f"{plural(data.records, 'graph break is', 'graph breaks are')} in code that "
            f"installs hooks{', at ' if listed else ''}{listed}." + (named if state else ""),
            severity=Severity.WARNING if any(site.skipped for site in cold) else None,
            confidence=Confidence.MEDIUM,
            count=data.records,
            where=user_code.where(first.caller or first.line),
            evidence=[line for site in few(cold) for line in few(site.quotes())],
            advice=self.advise(data),
            data=data,
        )


def _state(recompiles: Table[Recompile]) -> Iterator[str]:
    """Yield what a second call found set, or gone, that belongs to a module."""
    for place, row in recompiles.events():
        check = row.record.newest.check if row.record.newest else None
        if not place.frame.endswith("/1"):
            continue
        unset = isinstance(check, ValueCheck) and check.constant in {"None", "False"}
        gone = isinstance(check, TypeCheck) and "NoneType" in check.found
        source = check.source if isinstance(check, ValueCheck | TypeCheck) else None
        own = source is not None and source.name == "self" and source.path.startswith(".")
        if (unset or gone) and own:
            yield str(source)
