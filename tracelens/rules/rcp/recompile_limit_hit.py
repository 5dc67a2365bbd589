"""RCP001 recompile-limit-hit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.recompile_causes import Cause, ranked
from tracelens.dynamo.recompile_history import History, histories
from tracelens.evidence import Place, Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.frames import Frame
from tracelens.frames.compile_seconds import CompileSeconds
from tracelens.frames.recompile_cost import CompiledFrame, cost_of
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile, StackFrame, TensorMismatch
from tracelens.report import Confidence, Cost, EvidenceLine, Finding, Severity
from tracelens.report.stories import Story
from tracelens.report.stories import recompiles as recompiles_of
from tracelens.rules import Rule
from tracelens.rules.rcp._by_cause import BY_CAUSE, NUMBERS, is_of_object
from tracelens.rules.rcp._data import Function, RecompileData, guards_of
from tracelens.rules.rcp._first_words import for_first, is_first
from tracelens.rules.rcp._limit_raised import RECORD, called_at, callee, fatal_among, untold
from tracelens.rules.rcp._raised_limit import LIMIT_KNOB, PER_SHAPE, RAISE_LIMIT
from tracelens.rules.rcp._states import too_few
from tracelens.words import plural

if TYPE_CHECKING:
    from tracelens.failures import Failure as Ending
    from tracelens.logs.compile_errors import Failure

__all__ = ["RecompileLimitHit"]

#: Causes named, values listed and lines quoted per finding.
MAX_CAUSES = 3
MAX_VALUES = 6
MAX_QUOTED = 4
#: Up to this part of what compiling took in a run, and from so many seconds of it on, all entries
#: of a function are little code: to run it eagerly costs little.
SMALL_SHARE, SMALL_S = 0.05, 10.0
#: How the line begins that names the reason.
_REASON = ("last reason:", "reasons:")
#: Causes whose entries dynamic shapes would have made unnecessary.
AVOIDABLE = frozenset({"RCP002", "RCP004", "RCP005", "RCP007"})
#: Causes whose values are ids of objects: they say nothing to a reader but how many there are.
IDENTITIES = frozenset({"RCP008", "RCP009", "RCP030"})


#: A cause, in how many recompiles it occurs, and the values that entries were made for.
_Ranked = tuple[Cause, int, list[str]]


class LimitData(RecompileData):
    """A function that hit its limit: ``cause`` is the rule about what changed most."""

    #: The setting that holds the limit, which is called differently up to torch 2.6.
    setting: str = "recompile_limit"
    ended_program: bool = False


class RecompileLimitHit(Rule):
    """A function was compiled so often that Dynamo gave up on it: new inputs run eagerly.

    ## Why it matters
    A function gets eight entries. The call that would need a ninth, and every later one that fits
    none of the eight, runs without compilation, silently after this one warning. The compilations
    before took seconds each.

    ## What it looks like
    A warning that needs no setting, once per function:

        W1120 10:47:23.888000 903 torch/_dynamo/convert_frame.py:1994] [0/8] \
torch._dynamo hit config.recompile_limit (8)
        W1120 10:47:23.888000 903 torch/_dynamo/convert_frame.py:1994] [0/8] \
   function: 'scale' (/home/ana/proj/model.py:84)
        W1120 10:47:23.888000 903 torch/_dynamo/convert_frame.py:1994] [0/8] \
   last reason: 0/7: s == 'kkkkkkk'

    With ``TORCH_LOGS="recompiles"`` the history before it tells what kept changing; without, only
    the last reason is known, which up to torch 2.6 is that of the oldest entry. Where several
    models share one decorated function, the last reason may be another model's.

    ## When it is harmless
    When the inputs that ran eagerly were a warm-up over sizes that never come again. A function all
    of whose entries took next to nothing of a long compilation is little code: a warning. With
    ``fullgraph=True`` nothing runs eagerly: torch raises ``FailOnRecompileLimitHit``, and the
    finding says so where the log shows it.

    ## What to do
    Remove the cause: make sizes dynamic, pass numbers as tensors, keep names and objects out of
    compiled code. Raise the limit only when the number of variants is finite and known.

    ## How a live run confirms it
    The same calls with what ends the cause: dynamic sizes, or integer attributes that may vary; or
    with a higher limit, where that is the advice. The warning is gone, and the run, or a call after
    it, is faster. Other causes are changed in the program.

    ## See also
    RCP002, RCP004, RCP023 (causes), RCP028 (the limit over all functions).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP001"
    name = "recompile-limit-hit"
    severity = Severity.ERROR
    moved_by: ClassVar = {"limits": (), "failures": ()}
    experiment = Experiment(
        LIMIT_KNOB,
        confirms="the warning is gone, and a step takes less time",
        refutes="the warning stays, or compiled steps are no faster than eager ones",
        leaves_open="the calls of the run do not vary as those of the log did",
    )

    Data = LimitData
    remedies = (
        PER_SHAPE,
        *BY_CAUSE,
        RAISE_LIMIT,
        RECORD,
    )

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to what recompiles the function."""
        data = self.data_of(finding)
        if isinstance(data, LimitData):
            yield recompiles_of(data.file, data.line)

    def experiments(self, finding: Finding) -> tuple[Experiment, ...]:
        """Remove the cause where a setting does, then raise the limit, by its new or old name."""
        cause = str(finding.data.get("cause", ""))
        old = Knob("a limit of 64", config={"torch._dynamo.config.cache_size_limit": 64})
        ints = {"torch._dynamo.config.allow_unspec_int_on_nn_module": True}
        dynamic = Experiment(Knob("dynamic sizes", compile={"dynamic": True}), of="run")
        varying = Experiment(Knob("integer attributes of modules may vary", config=ints), of="run")
        raised = (self.experiment, replace(self.experiment, knob=old))
        is_told = any(advice.id == "raise-limit" for advice in finding.advice)
        return (
            *((dynamic,) if cause in {"", *NUMBERS} else ()),
            *((varying,) if cause in {"", "RCP007"} else ()),
            *(raised if is_told or not cause else ()),
        )

    def check(
        self,
        compiled: Table[CompiledFrame],
        *,
        limits: Table[RecompileLimit],
        recompiles: Table[Recompile],
        frames: Table[Frame],
        seconds: Table[CompileSeconds],
        trees: Table[GuardTree],
        failures: Table[Failure],
        endings: Table[Ending],
    ) -> Iterator[Finding]:
        """Yield one finding per function, whichever ranks hit the limit."""
        del compiled
        found = histories(recompiles)
        groups: dict[tuple[str, str, int], list[tuple[Place, Seen[RecompileLimit]]]] = {}
        for place, seen in limits.events():
            limit = seen.record
            if not limit.is_accumulated:
                key = (limit.function, limit.file, limit.line)
                groups.setdefault(key, []).append((place, seen))
        _join_nameless(groups)
        fatal = fatal_among([place for place, _ in limits.events()], failures, endings)
        fullest: dict[tuple[str, str, int], History] = {}
        for own in found:
            held = fullest.setdefault(own.definition, own)
            if len(own.steps) > len(held.steps):
                fullest[own.definition] = own
        whole = max((one.record.seconds for one in seconds), default=0.0)
        for definition, hits in groups.items():
            history = fullest.get(definition)
            is_fatal = any(place in fatal for place, _ in hits)
            small = not is_fatal and history is not None and _is_small(history, frames, whole)
            severity = Severity.WARNING if small else self.severity
            only = len(groups) == 1
            yield self._finding(
                hits, history, frames, trees, fatal=is_fatal, severity=severity, is_only=only
            )
        if not groups:
            yield from self._raised(failures, called_at(endings))

    def _raised(self, failures: Table[Failure], at: StackFrame | None) -> Iterator[Finding]:
        """Yield what the exception alone tells: what changed is not in it."""
        for seen in failures.where(lambda one: one.is_limit):
            data = LimitData(
                cause="",
                function=at.function if at else "",
                file=at.file if at else "",
                line=at.line if at else 0,
                limit=0,
                is_hit=True,
                ended_program=True,
            )
            called = callee(at) if at else ""
            name = f"`{called}`" if called else "a function"
            yield self.finding(
                title=f"{name} hit the limit of its entries, which ended the program",
                message="Dynamo compiled a function as often as it may, and no entry fitted the "
                f"call; under fullgraph=True that is an exception. {untold(at)}",
                confidence=Confidence.MEDIUM,
                count=seen.count,
                where=user_code.where(at),
                evidence=[seen.quote()],
                advice=self.advise(data),
                data=data,
            )
            return

    def _finding(
        self,
        hits: Sequence[tuple[Place, Seen[RecompileLimit]]],
        history: History | None,
        frames: Table[Frame],
        trees: Table[GuardTree],
        *,
        fatal: bool,
        severity: Severity,
        is_only: bool,
    ) -> Finding:
        place, seen = next((hit for hit in hits if hit[1].record.reason), hits[0])
        limit = hits[0][1].record.model_copy(update={"reason": seen.record.reason})
        causes = _causes(limit, history)
        data = _data(limit, history, causes).model_copy(update={"ended_program": fatal})
        line = _line(limit, history, trees)
        first = causes[0][0].code if causes else ""
        name = f"`{limit.function}`" if limit.function else "a function"
        others = "objects" if is_of_object(data) else "inputs"
        what = "which ended the program" if fatal else f"other {others} now run eagerly"
        number = plural(limit.limit, "entry", "entries") if limit.limit else "its entries"
        return self.finding(
            limit.function,
            user_code.short(limit.file),
            line.code if line else "",
            title=f"{name} hit the limit of {number}{',' if fatal else ':'} {what}",
            message=_told(limit, history, causes, fatal=fatal, is_only=is_only) + _unfilled(data),
            severity=severity,
            confidence=Confidence.HIGH if history else Confidence.MEDIUM,
            count=len(history.steps) if history else len(hits),
            where=user_code.where(line),
            evidence=_quotes(place, seen, history),
            cost=_cost(first, history, frames),
            advice=for_first(self.advise(data)) if is_first(hits) else self.advise(data),
            data=data,
        )


def _join_nameless(
    groups: dict[tuple[str, str, int], list[tuple[Place, Seen[RecompileLimit]]]],
) -> None:
    """Take a reason whose function was not pasted for that of the only function that is named."""
    if len(groups) == 2 and (nameless := groups.get(("", "", 0))):
        del groups[("", "", 0)]
        next(iter(groups.values())).extend(nameless)


def _causes(limit: RecompileLimit, history: History | None) -> list[_Ranked]:
    """Return what kept changing: out of the history, else out of the one reason that is printed."""
    if history is not None:
        found = ranked(step.seen.record.failures for step in history.steps)
    else:
        found = ranked([(limit.reason,)] if limit.reason else [])
    if not user_code.is_torch_wrapper(limit.file):
        return found
    # The object is the function that torch wraps: the entries are for different ones.
    return [
        (cause._replace(code="RCP030") if cause.code == "RCP008" else cause, count, values)
        for cause, count, values in found
    ]


def _told(
    limit: RecompileLimit,
    history: History | None,
    causes: list[_Ranked],
    *,
    fatal: bool,
    is_only: bool,
) -> str:
    name = f"`{limit.function}`" if limit.function else "a function whose name is not in the log"
    end = (
        "here that is an exception, as with fullgraph=True."
        if fatal
        else "calls that fit none of these entries run without compilation."
    )
    often = plural(limit.limit, "time") if limit.limit else "as often as it may"
    text = f"Dynamo compiled {name} {often} and then gave up: {end}"
    if not causes:
        return text
    if history is None:
        cause, _, values = causes[0]
        value = f", which was {values[0]} in one entry" if values else ""
        named = "The only reason in the log" if is_only else "The only reason in its warning"
        return f"{text} {named} is {cause.what}{value}."
    total = len(history.steps)
    parts = []
    for cause, count, values in causes[:MAX_CAUSES]:
        listed = ", ".join(values[:MAX_VALUES]) + (", ..." if len(values) > MAX_VALUES else "")
        if cause.code in IDENTITIES:
            listed = f"{len(values)} different" if len(values) > 1 else ""
        known = f" ({listed})" if listed else ""
        parts.append(f"{cause.what}{known} in {count} of {total} recompiles")
    return f"{text} What changed: {'; '.join(parts)}."


def _unfilled(data: LimitData) -> str:
    return f" That has too few values to fill {data.limit} entries." if too_few(data) else ""


def _line(
    limit: RecompileLimit, history: History | None, trees: Table[GuardTree]
) -> StackFrame | None:
    lines = [StackFrame(file=limit.file, line=limit.line, function=limit.function)]
    comment = limit.reason.comment if limit.reason else None
    files = [limit.file, *(frame.file for frame in limit.stack)]
    if comment and (line := user_code.located(comment, limit.function, files)):
        lines.append(line)
    if history is not None:
        lines += [history.code(step, trees) for step in history.steps[-1:]]
    return user_code.best([*lines, *limit.stack])


def _reason_at(text: str) -> int:
    """Return which line the reason is: a web page may have put blank ones before it."""
    lines = enumerate(text.split("\n"))
    return next((at for at, line in lines if line.lstrip().startswith(_REASON)), 2)


def _quotes(
    place: Place, seen: Seen[RecompileLimit], history: History | None
) -> Iterator[EvidenceLine]:
    yield seen.quote(place=place)
    if seen.record.reason is not None and "\n" in seen.text:
        yield seen.quote("the reason that torch prints", at=_reason_at(seen.text), place=place)
    for step in history.steps[: MAX_QUOTED - 2] if history else []:
        yield step.quote(f"entry {step.number}")


def _cost(code: str, history: History | None, frames: Table[Frame]) -> Cost | None:
    """Return what the entries took to compile, if dynamic shapes would have saved them.

    Entries for different objects or modes had to be compiled anyway, and what the eager calls
    cost is not in the log.
    """
    return cost_of(history.steps, frames) if history and code in AVOIDABLE else None


def _is_small(history: History, frames: Table[Frame], whole: float) -> bool:
    """Tell whether all entries took next to nothing of the ``whole`` seconds of compiling."""
    cost = cost_of(history.steps, frames)
    if cost is None or cost.ms is None or whole < SMALL_S:
        return False
    return cost.ms <= 1000 * SMALL_SHARE * whole


def _data(limit: RecompileLimit, history: History | None, causes: list[_Ranked]) -> LimitData:
    first = causes[0] if causes else None
    checks = [step.check for step in history.steps] if history else []
    return LimitData(
        cause=first[0].code if first else "",
        function=limit.function,
        file=limit.file,
        line=limit.line,
        functions=(Function(name=limit.function, file=limit.file, line=limit.line),),
        source=first[0].what if first else "",
        dimension=_dimension(limit) if history is None else None,
        guards=guards_of(checks),
        values=tuple(first[2]) if first else (),
        recompiles=len(checks),
        most=len(checks),
        entries=limit.limit,
        limit=limit.limit,
        is_hit=True,
        setting=limit.name,
    )


def _dimension(limit: RecompileLimit) -> int | None:
    """Return the dimension whose size the reason behind the limit is about."""
    check = limit.reason.check if limit.reason else None
    return check.index if isinstance(check, TensorMismatch) and check.what == "size" else None
