"""Rules about one kind of graph break: one finding per line of the program that causes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.beside import look_beside
from tracelens.dynamo.break_effect import effect
from tracelens.dynamo.breaks import BreakSite, once, sites
from tracelens.dynamo.first_flags import look_at_flags
from tracelens.dynamo.guard_facts import one_module
from tracelens.dynamo.helpers import look_for_helpers
from tracelens.dynamo.needed_numbers import look_at_values
from tracelens.dynamo.reporting import is_statement
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.evidence import Table
from tracelens.experiment import Knob
from tracelens.frames import Frame
from tracelens.frames.break_cost import cost_of_break
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import Recompile
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.report.stories import Story, called_apart, called_in_lost, graph_break
from tracelens.rules import Rule
from tracelens.rules.gbr._before import of_functions
from tracelens.rules.gbr._behind import begun_in, behind_of, codes_of
from tracelens.rules.gbr._break_data import BreakData, Code, Line, break_data
from tracelens.rules.gbr._calls import LEAVE_CALL_OUT, LEAVE_UNCOMPILED
from tracelens.rules.gbr._compared import compare_eager
from tracelens.rules.gbr._first_call import FIRST_CALL, first_alone
from tracelens.rules.gbr._parts import COMPILE_CLASSES, COMPILE_PARTS
from tracelens.rules.gbr._pieces import in_pieces, without_inner
from tracelens.rules.gbr._reported import REPORT_IN_EAGER
from tracelens.rules.gbr._stories import (
    CLOCKS,
    PACKING,
    cold_start,
    library,
    recurrent,
    training_step,
    within_entered,
)
from tracelens.rules.gbr._values import named

__all__ = [
    "COMPILE_INNER",
    "FIRST_CALL",
    "LEAVE_BREAK",
    "LEAVE_CALL_OUT",
    "LEAVE_STEP",
    "LEAVE_UNCOMPILED",
    "LIBRARY",
    "NOT_NAMED",
    "REPORT_IN_EAGER",
    "SEE_PARTS",
    "BreakData",
    "Code",
    "Line",
    "SiteRule",
    "break_data",
    "named",
    "own",
]


def own(data: BreakData) -> bool:
    """Whether the line is in code that the user can change."""
    return bool(data.file) and not data.package and user_code.distance(data.file) == 0


def _inner(data: object) -> Knob | None:
    """Return the change from outside."""
    if not isinstance(data, BreakData) or not data.file:
        return None
    return Knob(
        "modules that do not reach the line are compiled, and what calls them is not",
        call={"compile_inner": f"{data.file}:{data.line}"},
    )


MAX_CALLS = 3  # lines on the way to a break that are named


def _spared(data: BreakData) -> str:
    """Say which modules to compile: the guards name those beside the way to the line."""
    such = ", ".join(f"`{name}`" for name in data.beside[:MAX_CALLS])
    if data.caller and not data.beside[0].startswith("self."):
        at = user_code.short(data.caller.file, data.caller.line)
        return (
            f"Compile {such}, by `torch.compile`, and no longer `{data.caller.function}`, which "
            f"calls it at another line: the call at {at} leads to the break, and runs eagerly then."
        )
    return (
        f"Compile modules beside the path to this line, such as {such}, each by "
        f"`torch.compile(part)`, instead of what calls them all{_torn(data)}.{_led(data)}"
    )


def _torn(data: BreakData) -> str:
    such = ", ".join(f"`{name}`" for name in data.torn[:MAX_CALLS])
    return f", and not {such}, where the graph breaks as well" if such else ""


def _led(data: BreakData) -> str:
    """Say what leads there: modules by name, or the lines of the package."""
    if data.via_line is None and data.via:
        ends = [
            one for one in data.via if not any(other.startswith(f"{one}.") for other in data.via)
        ]
        return f" It is reached through {' or '.join(f'`{one}`' for one in ends[:MAX_CALLS])}."
    if data.via_line is None:
        return _by_lines(data)
    at = user_code.short(data.via_line.file, data.via_line.line)
    path = ", then ".join(f"`{name}`" for name in dict.fromkeys(data.via))
    return f" It is reached through {path} (from {at} on)."


def _by_lines(data: BreakData) -> str:
    way = _calls(data)
    return f" It is reached through {way}." if way else ""


def _calls(data: BreakData) -> str:
    """Name the lines of the package that lead there, where the record names no module."""
    calls = [
        user_code.short(one.file, one.line)
        for one in data.stack[data.outside :]
        if user_code.package(one.file) == data.package
        and user_code.distance(one.file, one.function) == 0
        and one.line != data.line
    ]
    return ", then ".join(dict.fromkeys(calls[:MAX_CALLS]))


def _in_module(data: object) -> bool:
    if not isinstance(data, BreakData) or not (data.in_module and data.package):
        return False
    return not (_steps(data) or data.alone or data.parts or data.classes)


def _is_named(data: object) -> bool:
    """Whether the guards name what stands beside the way there."""
    return isinstance(data, BreakData) and _in_module(data) and bool(data.beside)


def _is_unseen(data: object) -> bool:
    """Whether what stands beside the way there would be named, if the log held the guards."""
    return isinstance(data, BreakData) and _in_module(data) and not (data.guarded or data.beside)


def _is_nameless(data: object) -> bool:
    if not isinstance(data, BreakData) or _steps(data):
        return False
    if data.package and not (data.in_module or data.direct):
        return True
    return _in_module(data) and data.guarded and not data.beside


def _is_left(data: object) -> bool:
    is_alone = isinstance(data, BreakData) and data.package and data.in_module and data.alone
    return bool(is_alone) and not _steps(data)


def _left(data: BreakData) -> str:
    return (
        f"No change is named: the line is in `{data.package}`, and the modules that are called "
        "beside it would be more graphs than the break leaves; compiled one by one, a call took up "
        "to 1.5 times as long where it was tried."
    )


def _way(data: BreakData) -> str:
    return (
        "No change can be named from this log, which holds no guards: they name the modules that "
        "do not reach this line, which can be compiled instead of what calls them all. Record them "
        f"as well.{_led(data)}"
    )


def _known(data: BreakData) -> str:
    if data.via:
        why = "the guards name no module beside the path to it that is worth a graph of its own"
        return f"No change is named: the line is in `{data.package}`, and {why}.{_led(data)}"
    way = _calls(data)
    way = f", reached through {way}" if way else ""
    more = ", and the record does not tell by which modules it is reached" if data.in_module else ""
    return f"No change is named: the line is in `{data.package}`{way}{more}."


def _steps(data: object) -> bool:
    return isinstance(data, BreakData) and data.in_optimizer


def _step(data: object) -> str:
    old = data.old_call if isinstance(data, BreakData) else ""
    package = data.package if isinstance(data, BreakData) else ""
    why = (
        f"`{package}` calls `{old}(Number, Tensor)`, a signature that torch deprecated in 1.5 and "
        "that Dynamo does not trace. "
    )
    same = "" if not old else " Or take torch's own optimizer of this method, such as AdamW."
    return (
        f"{why if old else ''}Compile the model, and call this optimizer's `step()` outside of the "
        f"compiled function.{same}"
    )


LEAVE_STEP = Remedy(
    "leave-step",
    _step,
    when="the break is in an installed package, and the step of an optimizer leads there",
    applies=lambda data: bool(data.package) and _steps(data),
    basis="tested",
    proof="tests/advice/GBR002/leave-step.py",
)
COMPILE_INNER = Remedy(
    "compile-inner",
    _spared,
    when="the break is in an installed package, modules lead there, the guards name more than "
    "single layers beside them, and no optimizer leads there",
    applies=_is_named,
    basis="tested",
    proof="tests/advice/GBR007/compile-inner.py",
    knob=_inner,
)
#: What cannot be named is not told to be compiled.
SEE_PARTS = Remedy(
    "see-parts",
    _way,
    when="the same, and the log has no guards, which name modules",
    applies=_is_unseen,
    env='TORCH_LOGS="graph_breaks,recompiles,guards"',
    basis="untestable",
    proof="it records more",
)
NOT_NAMED = Remedy(
    "not-named",
    _known,
    when="the same, and the guards name nothing beside them, or no module leads there",
    applies=_is_nameless,
    basis="untestable",
    proof="it says what is known, and asks for no change",
    says=True,
)
LEAVE_BREAK = Remedy(
    "leave-break",
    _left,
    when="the break is in an installed package, and the modules called beside it are more graphs "
    "than it leaves, or single layers",
    applies=_is_left,
    basis="untestable",
    proof="it says what is known, and asks for no change",
    says=True,
)
COMPARE_EAGER = compare_eager(
    lambda data: _left(data) if _is_left(data) else _known(data) if _is_nameless(data) else ""
)
#: What a user of a library can do about a break inside of it.
LIBRARY = (
    FIRST_CALL,
    REPORT_IN_EAGER,
    LEAVE_STEP,
    LEAVE_CALL_OUT,
    LEAVE_UNCOMPILED,
    COMPILE_PARTS,
    COMPILE_CLASSES,
    COMPARE_EAGER,
    LEAVE_BREAK,
    COMPILE_INNER,
    SEE_PARTS,
    NOT_NAMED,
)


class SiteRule(Rule):
    """Base of the rules that differ only in which breaks they judge and what they advise."""

    #: The families of breaks (see :class:`tracelens.logs.graph_breaks.Kind`) that the rule is
    #: about.
    families: ClassVar[frozenset[str]] = frozenset()
    Data = BreakData

    def __init_subclass__(cls) -> None:
        """Let breaks of the rule's families move it."""
        if cls.families:
            cls.moved_by = {"breaks.family": cls.families}

    def check(
        self,
        breaks: Table[GraphBreak],
        *,
        setup: Table[SetupBreak],
        frames: Table[Frame],
        trees: Table[GuardTree],
        recompiles: Table[Recompile],
    ) -> Iterator[Finding]:
        """Yield one finding per line of the program."""
        found = sites(breaks, self.families, setup=setup)
        look_at_flags(found, recompiles, trees)
        yield from self.each(found, breaks, frames, trees)

    def each(
        self,
        found: list[BreakSite],
        breaks: Table[GraphBreak],
        frames: Table[Frame],
        trees: Table[GuardTree],
    ) -> Iterator[Finding]:
        """Yield one finding for each line that the rule is about."""
        look_beside(found, breaks, trees)
        look_at_values(found, trees)
        look_for_helpers(found, trees)
        alone, codes = one_module(trees), frames.derived(codes_of)
        for site in found:
            if self.wanted(site):
                finding = self.about(site, behind_of(site, codes), begun_in(site, codes))
                finding = without_inner(finding) if alone else finding
                finding = in_pieces(finding, site, codes.pieces)
                if finding.severity is not Severity.NONE and (cost := cost_of_break(site, frames)):
                    finding = finding.model_copy(update={"cost": cost})
                yield finding

    def about(self, site: BreakSite, behind: tuple[Line, ...] = (), begun: str = "") -> Finding:
        """Return the finding about one line."""
        line = site.line
        what = self.what(site)
        data = self.told(site)
        direct = data.direct and (not begun or begun != data.package)  # else it is all compiled
        data = data.model_copy(update={"behind": behind, "direct": direct})
        reason = self.harmless(site)
        return self.finding(
            *self.identity(site),
            title=f"{what} at {user_code.short(line.file, line.line)}" if line.file else what,
            message=f"{once(site) or 'The log does not say where'}. {effect(site)}",
            severity=self.graded(site),
            confidence=Confidence.HIGH if line.file else Confidence.MEDIUM,
            count=site.count,
            where=user_code.where(line),
            evidence=site.quotes(),
            advice=first_alone(self.advise(data)),
            data=data,
            harmless=reason or None,
        )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Tell the break, and what comes of it in each function that it cuts."""
        data = self.data_of(finding)
        if isinstance(data, BreakData):
            yield from (graph_break(line.file, line.line) for line in data.stack)
            yield from library(data.package)
            yield from (called_apart(one.file, one.line) for one in data.behind)
            if not data.package:
                yield from (called_in_lost(one.file, one.line) for one in data.behind)

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to what the first call sets up, or to the other breaks of the same library."""
        data = self.data_of(finding)
        if isinstance(data, BreakData):
            yield from (cold_start(line.file, line.line) for line in data.stack)
            yield from within_entered(data)
            yield from library(data.package)
            yield from of_functions(data)
            if own(data) and (is_statement(data.code) or data.name in CLOCKS):
                yield from training_step(data.file, data.function)
            if data.name.rpartition(".")[2] in PACKING:
                yield from recurrent(data.file, data.function)

    def wanted(self, site: BreakSite) -> bool:
        """Tell whether the rule is about this break."""
        del site
        return True

    def identity(self, site: BreakSite) -> tuple[str, ...]:
        """Return what makes the id."""
        return self.what(site), *site.identity

    def named(self, site: BreakSite) -> str:
        """Return what the record names, for the data."""
        return named(site)

    def told(self, site: BreakSite) -> BreakData:
        """Return what the finding about a line holds."""
        return break_data(site, self.named(site))

    def what(self, site: BreakSite) -> str:
        """Say what breaks the graph, for the title."""
        raise NotImplementedError

    def graded(self, site: BreakSite) -> Severity:
        """Grade the break: a lost function weighs more than a cut one."""
        return Severity.WARNING if site.skipped else self.severity

    def harmless(self, site: BreakSite) -> str:
        """Say why there is nothing to do; empty where there is."""
        del site
        return ""
