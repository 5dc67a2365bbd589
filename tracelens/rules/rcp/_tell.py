"""A finding about one cause of recompiles: its words, its place, its data and its advice."""

from __future__ import annotations

from collections import Counter

from tracelens.dynamo import user_code
from tracelens.dynamo.apart import modules_of
from tracelens.dynamo.recompile_history import History, Series
from tracelens.dynamo.recompile_variants import subject_of
from tracelens.evidence import Table
from tracelens.frames import Frame
from tracelens.frames.recompile_cost import cost_of
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import Source, StackFrame
from tracelens.report import Confidence, Finding, Severity
from tracelens.report.stories import as_written, resumed
from tracelens.rules import Rule
from tracelens.rules.rcp._also_held import also_held, said
from tracelens.rules.rcp._changes import Group, about
from tracelens.rules.rcp._data import (
    KEPT,
    Function,
    LostCaller,
    ManyData,
    RecompileData,
    guards_of,
)
from tracelens.rules.rcp._items import LengthData
from tracelens.rules.rcp._marks import Mark
from tracelens.rules.rcp._state import StateData
from tracelens.words import and_more

__all__ = ["MAX_GUARDS", "data_about", "listed", "series_data", "tell"]

MAX_QUOTED = 5
MAX_VALUES = 8
MAX_FUNCTIONS = 4
#: Guards and values that the data of a finding lists.
MAX_GUARDS = 64


def listed(values: list[str]) -> str:
    """Return values for a sentence, the first of many."""
    return ", ".join(values[:MAX_VALUES]) + (", ..." if len(values) > MAX_VALUES else "")


def tell(
    rule: Rule,
    group: Group,
    frames: Table[Frame],
    trees: Table[GuardTree],
    *,
    title: str,
    message: str,
    severity: Severity | None = None,
    confidence: Confidence = Confidence.HIGH,
    is_avoidable: bool = True,
    harmless: str | None = None,
    held: str = "",
    callers: tuple[LostCaller, ...] = (),
    texts: tuple[str, ...] = (),
    sized: tuple[Mark, ...] = (),
) -> Finding:
    """Return the finding about ``group``: where, which lines, and what the compilations took.

    No cost where they had to be compiled anyway.
    """
    history = group.history
    place = history.code(group.first, trees)
    steps = [step for _, step in group.steps]
    data = data_about(group, place.code, held=held, package=user_code.package(place.file))
    if data.package or data.is_of_library:
        compiled = StackFrame(file=history.file, line=history.line, function=history.function)
        places = (step.place for step in steps)
        apart = modules_of(compiled, place, places, trees, source=data.source)
        data = data.model_copy(update={"apart": apart})
    # What another rule tells of a change of that kind, such as RCP031, has no place for them.
    others = also_held(group, trees) if issubclass(rule.Data, ManyData) else ()
    if others or group.behind:
        data = ManyData(**dict(data), others=others, behind=group.behind)
    if _is_kept(data, history, frames):
        data = data.model_copy(update={"held": KEPT})
    if texts:
        data = LengthData(**dict(data), texts=texts)
    if sized:
        data = StateData(**dict(data), sized=sized)
    if callers:
        data = data.model_copy(update={"callers": callers, "lost": callers[0].function})
    return rule.finding(
        history.function,
        user_code.short(history.file),
        place.code,
        about(group.first),
        title=title,
        message=message + said(group.cause.what, others) + _spread(group),
        severity=severity,
        confidence=confidence,
        count=len(steps),
        where=user_code.where(place),
        evidence=[step.quote() for step in steps[:MAX_QUOTED]],
        cost=cost_of(steps, frames) if is_avoidable else None,
        advice=rule.advise(data),
        data=data,
        harmless=harmless,
    )


def _is_kept(data: RecompileData, history: History, frames: Table[Frame]) -> bool:
    """Whether the module that the program calls keeps what changed.

    Its attributes are guarded with the graph break and without. Layers are another thing: where a
    break leaves them to themselves, each has attributes of its own.
    """
    at = {(story[1], story[2]) for story in resumed(history.function, history.file)}
    if not at or not data.source.startswith("self."):
        return False
    for row in frames:
        found = row.record.of(GraphBreak) if row.record.id.startswith("0/") else []
        for one in (seen.record for seen in found):
            if at & {(f.file, f.line) for f in one.stack} or (one.file, one.line) in at:
                return True
    return False


def data_about(group: Group, code: str, *, held: str = "", package: str = "") -> RecompileData:
    """Return what a finding about ``group`` holds for programs."""
    history = group.history
    checks = [step.check for _, step in group.steps]
    source = getattr(group.first.check, "source", None)
    name, dimension = subject_of(group.first.check)
    functions = {one.definition: one for one, _ in group.steps}
    return RecompileData(
        cause=group.cause.code,
        function=history.function,
        file=history.file,
        line=history.line,
        functions=tuple(Function(name=n, file=f, line=at) for n, f, at in functions),
        code=code,
        source=str(source) if source is not None else name,
        is_variable=isinstance(source, Source) and source.is_variable,
        dimension=dimension,
        guards=guards_of(checks[:MAX_GUARDS]),
        values=tuple(group.values[:MAX_GUARDS]),
        recompiles=len(group.steps),
        most=group.most,
        entries=group.entries,
        limit=group.limit,
        is_hit=group.is_hit,
        held=held,
        package=package,
    )


def series_data(code: str, group: list[Series], line: str, *, held: str = "") -> RecompileData:
    """Return what a finding holds about one value that keeps changing, in all variants.

    Args:
        code: The rule.
        group: The series of the value, in one or several variants or processes.
        line: The code that the guard stands for.
        held: Why it did not become a symbol, where that is known.
    """
    longest = max(group, key=lambda values: len(values.steps))
    history, check = longest.history, longest.checks[0]
    source = getattr(check, "source", None)
    names = dict.fromkeys(values.history.definition for values in group)
    return RecompileData(
        cause=code,
        function=history.function,
        file=history.file,
        line=history.line,
        functions=tuple(Function(name=n, file=f, line=at) for n, f, at in names),
        code=line,
        source=str(source) if source is not None else "",
        is_variable=isinstance(source, Source) and source.is_variable,
        dimension=longest.subject[-1],
        guards=guards_of(longest.checks[:MAX_GUARDS]),
        values=tuple(longest.values[:MAX_GUARDS]),
        recompiles=sum(len(values.steps) for values in group),
        most=len(longest.steps),
        entries=history.steps[-1].number + 1,
        held=held,
    )


def _called(function: str) -> str:
    name = as_written(function)
    return f"`{name}`" if name == function else f"the rest of `{name}`"


def _spread(group: Group) -> str:
    others = group.functions[1:]
    if not others:
        return ""
    called = [_several(*each) for each in Counter(map(_called, others)).items()]
    more = and_more(len(called), MAX_FUNCTIONS)
    return f" Recompiled along with it: {', '.join(called[:MAX_FUNCTIONS])}{more}."


def _several(called: str, count: int) -> str:
    """Return ``the rest of `forward```, or how many such pieces graph breaks left."""
    name = called.removeprefix("the rest of ")
    if count == 1:
        return called
    return f"{count} functions {name}" if name == called else f"{count} pieces of {name}"
