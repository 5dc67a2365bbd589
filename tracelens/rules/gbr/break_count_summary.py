"""GBR012 break-count-summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.beside import look_beside
from tracelens.dynamo.breaks import BACKEND_EXCEPTION, BreakSite, by_place, records, sites
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.evidence import Table
from tracelens.frames import Frame
from tracelens.frames.break_cost import cost_of_breaks
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.guards import GuardTree
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story, graph_break, layers_apart
from tracelens.rules import Rule
from tracelens.rules.gbr._cold import cold_sites
from tracelens.rules.gbr._site_rule import LIBRARY, Code, Line, break_data
from tracelens.rules.gbr._values import SCRIPTED, VALUES, is_value, old_call, reason_of, value_of
from tracelens.rules.gbr._worst import WorstData, of_worst

__all__ = ["BreakCountSummary", "hints_of"]

#: Places that are spelled out, those that no other finding names, and characters of a type.
MAX_LISTED = 5
MAX_UNTOLD = 3
MAX_TYPE = 60
#: Breaks that somebody asked for.
DELIBERATE = frozenset({"ddp", "explicit", "disabled"})
#: Torch's words for a backward hook of a module.
HOOKS = "Module-level backwards hooks"
#: Hints that torch prints with most breaks and that tell the user nothing to do.
EMPTY_HINTS = (
    "It may be possible to write Dynamo",
    "This graph break is fundamental",
    "This graph break may have been caused",
    "Please file an issue to PyTorch",
    "Please report an issue to PyTorch",
    "This is likely to be a Dynamo bug",
    "This may be a Dynamo bug",
)


class SummaryData(WorstData):
    """All graph breaks of a run: how many records, and at which lines, the worst first."""

    records: int
    skipped: int
    places: tuple[Line, ...]
    #: Those of them that no other finding is about, where others have findings of their own.
    untold: tuple[Line, ...] = ()
    #: Of the only place, where no other rule is about it: the package, and what torch advises.
    package: str = ""
    hints: tuple[str, ...] = ()
    reason: str = ""
    value: str = ""
    old_call: str = ""
    #: The code of the only place; whether torch tells no more than what it met, as up to 2.6.
    code: str = ""
    terse: bool = False
    #: Another place has as many records as the first.
    tied: bool = False
    #: The program's own line that leads to the only place, where that is in Python's library.
    called: Code | None = None
    #: A module has a backward hook.
    has_hooks: bool = False

    @property
    def broken_in(self) -> str:
        """The installed package in which the only place is."""
        return self.worst.broken_in if self.worst else ""

    @property
    def told_at(self) -> str:
        """The line that is told of the only place."""
        return self.worst.told_at if self.worst else ""


def _is_terse(data: SummaryData) -> bool:
    return data.terse and bool(data.reason) and not (data.has_hooks or is_value(data))


class BreakCountSummary(Rule):
    """How many graph breaks there are, at how many places of the program.

    ## Why it matters
    The log repeats a break for every variant and every resumed function: 46 records can be ten
    lines of code. The places are what there is to fix, and the number of records says how often
    each of them hurts.

    ## What it looks like
    Most records are repetitions, which torch prints without their stack since 2.7:

        [2/0] [__graph_breaks] Graph break (user stack suppressed due to duplicate graph break) \
in user code at /home/ana/proj/model.py:39
        [2/0] [__graph_breaks] Graph Break Reason: Data-dependent branching

    ## When it is harmless
    A few breaks between large graphs cost little, and breaks in set-up code of the first call do
    not come again. Where every break was asked for, by ``torch._dynamo.graph_break()`` or
    ``torch.compiler.disable``, the finding is a note; torch itself does so around optimizers. It is
    one as well where there is a single place, which has a finding of its own. Where all of several
    places have one, it belongs to the first of them; places of a kind that no rule is about are
    named here.

    ## What to do
    Fix the places from the top: those with many records, and those that gave up whole functions.

    ## How a live run confirms it
    ``torch._dynamo.explain(model)(*inputs)`` counts the graphs per call before and after.

    ## See also
    GBR001, GBR002, GBR003 (single places), GBR015 (many small graphs).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.graph_breaks_index.html>
    """

    code = "GBR012"
    name = "break-count-summary"
    severity = Severity.INFO
    unconfirmable = "it counts breaks that have findings of their own, whose experiments test them"

    Data = SummaryData
    remedies = (
        *VALUES,
        Remedy(
            "worst-first",
            lambda data: (
                f"Begin at {_first(data)}, which the log has first: what breaks behind it may "
                "change with it."
                if data.tied
                else f"Begin at {_first(data)}: most records are from there."
            ),
            when="there are several places",
            applies=lambda data: len(data.places) > 1,
            basis="untestable",
            proof="it says where to begin; the rule about that place says what to do",
            says=True,
        ),
        Remedy(
            "call-outside",
            lambda data: (
                f"{_shown_call(data)} leads there, into a module of Python's own: do that before "
                "the compiled function is called, and pass in what it returns."
            ),
            when="there is one place in Python's own library, which a line of your own calls",
            applies=lambda data: data.called is not None and not (data.has_hooks or is_value(data)),
            basis="tested",
            proof="tests/advice/GBR012/call-outside.py",
        ),
        Remedy(
            "read-record",
            lambda data: f"No rule is about this kind of break. Torch says: {' '.join(data.hints)}",
            when="there is one place, and torch's hints say what to do",
            applies=lambda data: bool(data.hints) and not (is_value(data) or data.called),
            basis="untestable",
            proof="the hints are torch's own",
            edits=True,
        ),
        Remedy(
            "no-hooks",
            "Compile modules that have no backward hooks, or register the hooks only in runs that "
            "are not compiled. `compiled_autograd = True`, as torch says, raises unless "
            "`backward()` is called within a compiled function, too.",
            when="a module has a backward hook",
            applies=lambda data: data.has_hooks,
            basis="tested",
            proof="tests/advice/GBR012/no-hooks.py",
        ),
        Remedy(
            "leave-line-out",
            lambda data: (
                f"Do what {_shown(data)} does before the compiled function is called, or after it, "
                "or write it with operations of tensors alone."
            ),
            when="there is one place in code of your own, and torch says no more than what it met",
            applies=lambda data: _is_terse(data) and not data.package,
            basis="untestable",
            proof="what the line does decides how it is written otherwise",
        ),
        Remedy(
            "newer-torch",
            "See whether the newest torch has the break: these are the words of 2.6 or older; "
            "later versions trace more, and say what helps.",
            when="there is one place, and torch says no more than what it met",
            applies=_is_terse,
            basis="untestable",
            proof="what a later version traces is not in the log",
        ),
        *of_worst(LIBRARY),
    )

    def causes(self, finding: Finding) -> Iterator[Story]:
        """Tell what comes of hooks, each call of a layer apart, and of what no other rule tells."""
        data = self.data_of(finding)
        if isinstance(data, SummaryData) and data.has_hooks:
            yield layers_apart()
        if isinstance(data, SummaryData) and (data.has_hooks or data.worst):
            yield from (graph_break(place.file, place.line) for place in data.places)

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to the place with most records, unless it names places that nothing else does."""
        data = self.data_of(finding)
        if isinstance(data, SummaryData) and not data.untold:
            yield from (graph_break(place.file, place.line) for place in data.places)

    def check(
        self,
        breaks: Table[GraphBreak],
        *,
        setup: Table[SetupBreak],
        frames: Table[Frame],
        trees: Table[GuardTree],
    ) -> Iterator[Finding]:
        """Yield the summary."""
        ranked = by_place(sites(breaks, setup=setup))
        if not ranked:
            return
        untold = _untold(ranked)
        count = sum(records(group) for group in ranked)
        skipped = sum(site.skipped for group in ranked for site in group)
        lost = f"; {skipped} gave up a function" if skipped else ""
        only = ranked[0][0] if len(ranked) == 1 and ranked[0][0].family == "other" else None
        reason = (_packed(only) or _cut(reason_of(only)).removesuffix(".")) if only else ""
        reasons = _reasons(ranked)
        package = user_code.package(only.line.file) if only else ""
        if only is not None:
            look_beside([only], breaks, trees)
        data = SummaryData(
            records=count,
            skipped=skipped,
            package=package,
            worst=break_data(only) if only else None,
            reason=only.record.text if only else "",
            code=only.line.code.strip() if only else "",
            terse=bool(only and only.record.cause and not only.record.cause.told),
            value=value_of(only) if only else "",
            old_call=old_call(only) if only else "",
            called=_called(only) if only else None,
            has_hooks=HOOKS in reason,
            tied=len(ranked) > 1 and records(ranked[0]) == records(ranked[1]),
            hints=hints_of(only) if only and not package else (),
            untold=tuple(Line(file=s.record.file, line=s.record.line) for s in untold),
            places=tuple(
                Line(file=group[0].record.file, line=group[0].record.line) for group in ranked
            ),
        )
        yield self.finding(
            "summary",
            title=f"{_counted(count, 'graph break')} for {_counted(len(reasons), 'reason')}{lost}"
            if reasons
            else f"{_counted(count, 'graph break')} at {_counted(len(ranked), 'place')}{lost}"
            + (f": {reason}" if reason else ""),
            message=f"The log tells no place. By reason: {'; '.join(reasons[:MAX_LISTED])}"
            + (f"; and {len(reasons) - MAX_LISTED} more." if len(reasons) > MAX_LISTED else ".")
            if reasons
            else _named(untold)
            + f"By place: {'; '.join(_listed(group) for group in ranked[:MAX_LISTED])}"
            + (f"; and {len(ranked) - MAX_LISTED} more." if len(ranked) > MAX_LISTED else "."),
            harmless=_adds_nothing(ranked) or None,
            count=count,
            cost=cost_of_breaks((site for group in ranked for site in group), frames),
            where=user_code.where((untold or ranked[0])[0].line),
            evidence=[
                seen.quote(_counted(records(group), "record"), place=place)
                for group in ranked[:MAX_LISTED]
                for place, seen in group[0].events[:1]
            ],
            advice=self.advise(data),
            data=data,
        )


def _reasons(ranked: list[list[BreakSite]]) -> list[str]:
    """Return the reasons, with how often each is, of a log that counts several and has no place."""
    if len(ranked) > 1 or user_code.short(ranked[0][0].record.file, ranked[0][0].record.line):
        return []
    told = Counter(seen.record.text for site in ranked[0] for _, seen in site.events)
    return [f"{_cut(text)} ({n})" for text, n in told.most_common()] if len(told) > 1 else []


def _called(site: BreakSite) -> Code | None:
    """Return the program's own line that leads to one in Python's library; else nothing."""
    own, inner = site.line, site.record.file
    is_own = user_code.distance(own.file, own.function) == 0 and not user_code.package(own.file)
    if not (is_own and user_code.is_standard(inner)) or own.function == "<module>":
        return None
    return Code(file=own.file, line=own.line, function=own.function, code=own.code)


def _shown_call(data: SummaryData) -> str:
    called = data.called
    if called is None:
        return ""
    at = user_code.short(called.file, called.line)
    return f"`{called.code.strip()}` ({at})" if called.code.strip() else at


def _shown(data: SummaryData) -> str:
    return f"`{data.code}`" if data.code else "the line"


def _packed(site: BreakSite) -> str:
    """Say that quantized weights are what no graph can hold; empty where it is something else."""
    files = (site.record.file, *(frame.file for frame in site.stack))
    layers = any("/torch/ao/nn/" in file.replace("\\", "/") for file in files)
    is_quantized = layers and value_of(site) == SCRIPTED
    return "no graph can hold the packed weights of a quantized layer" if is_quantized else ""


def _listed(group: list[BreakSite]) -> str:
    record = group[0].record
    types = ", ".join(dict.fromkeys(_cut(site.record.text) for site in group))
    told = f"{records(group)}, {types}" if types else str(records(group))  # cut before the reason
    at = user_code.short(record.file, record.line) or "a place that the log does not tell"
    return f"{at} ({told})"


def _untold(ranked: list[list[BreakSite]]) -> list[BreakSite]:
    """Return the breaks of no rule's kind, where others have findings of their own.

    A function that is given up, a package and set-up code have findings whatever the kind is.
    """
    found = [site for group in ranked for site in group]
    cold = {id(site) for site in cold_sites(found)[0]}
    untold = [
        site
        for site in found
        if site.family == "other"
        and not (site.skipped or id(site) in cold or user_code.package(site.line.file))
        and not site.record.text.startswith(BACKEND_EXCEPTION)
        and user_code.short(site.line.file, site.line.line)
    ]
    return untold if len(untold) < len(found) else []


def _named(untold: list[BreakSite]) -> str:
    """Name the places that no other finding is about, with torch's reason."""
    if not untold:
        return ""
    told = [
        user_code.short(site.line.file, site.line.line)
        + (f", `{_cut(code)}`" if (code := site.line.code.strip()) else "")
        + f" ({_cut(reason_of(site)).removesuffix('.')})"
        for site in untold[:MAX_UNTOLD]
    ]
    more = f", and {len(untold) - MAX_UNTOLD} more" if len(untold) > MAX_UNTOLD else ""
    return f"No other finding is about {'; '.join(told)}{more}. "


def _adds_nothing(ranked: list[list[BreakSite]]) -> str:
    """Say why the sum is no news: all were asked for, or another rule tells of the only place."""
    if all(_deliberate(group) for group in ranked):
        return f"{_who_asks(ranked)} or torch itself asks for each of them"
    if all(s.record.text.startswith(BACKEND_EXCEPTION) for group in ranked for s in group):
        return "the error of the backend has a finding of its own"
    if len(ranked) == 1 and all(site.family != "other" for site in ranked[0]):
        return "the only place has a finding of its own"
    return ""


def _who_asks(ranked: list[list[BreakSite]]) -> str:
    """Say whose code asks for the breaks, as the files of their lines tell."""
    files = {site.line.file for group in ranked for site in group}
    packages = {user_code.package(file) for file in files}
    if packages == {""}:
        return "the program"
    return f"`{packages.pop()}`" if len(packages) == 1 else "the program, a package"


def hints_of(site: BreakSite) -> tuple[str, ...]:
    """Return what torch advises to write: a switch may need more than it says."""
    cause = site.record.cause
    hints = cause.hints if cause else ()
    return tuple(
        hint for hint in hints if not hint.startswith(EMPTY_HINTS) and "_dynamo.config" not in hint
    )


def _deliberate(group: list[BreakSite]) -> bool:
    return all(site.family in DELIBERATE for site in group)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TYPE or text.endswith("`)") else f"{text[:MAX_TYPE]}..."


def _counted(number: int, one: str) -> str:
    return f"{number} {one}" if number == 1 else f"{number} {one}s"


def _first(data: SummaryData) -> str:
    return user_code.short(data.places[0].file, data.places[0].line)
