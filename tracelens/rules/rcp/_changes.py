"""Which rule tells which recompile: every one has a single cause, and every cause one finding.

A recompile belongs to the rule that is about the guard which tells most (``_variants``). One change
of the input often recompiles many functions, one after the other, where graph breaks cut a model
in pieces: that is one change, and one finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from tracelens.dynamo import user_code
from tracelens.dynamo.recompile_causes import Cause, cause_of
from tracelens.dynamo.recompile_history import History, Step, histories, is_channels
from tracelens.dynamo.recompile_variants import SPECIAL, is_special
from tracelens.evidence import Table
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import (
    Check,
    GuardFailure,
    LengthCheck,
    RangeCheck,
    Recompile,
    TensorMismatch,
    TypeCheck,
)
from tracelens.words import plural

__all__ = [
    "DEFAULT_LIMIT",
    "Group",
    "about",
    "and_earlier",
    "groups",
    "is_more_than_once",
    "limit_of",
    "owner",
]

#: Entries that a function gets, unless the program sets another limit.
DEFAULT_LIMIT = 8
#: Values that a sentence names.
MAX_VALUES = 8
#: Recompiles by one change, from which on their time is worth a warm-up.
MANY = 8


class Group(msgspec.Struct):
    """All recompiles with one cause: the same value, in all functions that it reaches."""

    cause: Cause
    steps: list[tuple[History, Step]] = msgspec.field(default_factory=list)
    #: Entries that the function may have.
    limit: int = DEFAULT_LIMIT
    #: Whether Dynamo gave up on the function: RCP001 tells what that costs.
    is_hit: bool = False
    #: What its entries are for by their guards, where recompiles name less: another guard of the
    #: same entries failed first.
    held: tuple[str, ...] = ()
    #: What has another size in each entry, where recompiles name that alone.
    behind: str = ""

    @property
    def history(self) -> History:
        """The function that was recompiled first."""
        return self.steps[0][0]

    @property
    def first(self) -> Step:
        """The first recompile."""
        return self.steps[0][1]

    @property
    def most(self) -> int:
        """How often one function was recompiled: the others follow it."""
        times = Counter(id(history) for history, _ in self.steps)
        times.update(id(history) for history, _ in self.earlier)
        return max(*times.values(), len(self.held) - 1)

    @property
    def earlier(self) -> list[tuple[History, Cause]]:
        """The entries of this cause from before the log begins, one function after another."""
        firsts: dict[int, tuple[History, Step]] = {}
        for history, step in self.steps:
            firsts.setdefault(id(history), (history, step))
        found: dict[tuple[int, int], tuple[History, Cause]] = {}
        for history, step in firsts.values():
            for failure in step.earlier:
                cause = _told(failure)
                if cause[:2] == self.cause[:2]:
                    found.setdefault((id(history), failure.number), (history, cause))
        return list(found.values())

    @property
    def goes_on(self) -> bool:
        """Whether an entry that the value made failed on it again: it became no symbol.

        Each family of entries, such as those for a tensor and those for None, learns by itself that
        a value changes.
        """
        made = {(id(history), step.number): about(step) for history, step in self.steps}
        return bool(self.earlier or self.held) or any(
            made.get((id(history), one.number)) == str(getattr(one.check, "source", ""))
            for history, step in self.steps
            for one in step.seen.record.failures
        )

    @property
    def times(self) -> str:
        """How many recompiles, for a sentence."""
        times = "one recompile" if len(self.steps) == 1 else f"{len(self.steps)} recompiles"
        if self.behind:
            named = "which names" if len(self.steps) == 1 else "which name"
            times += f", {named} the size of `{self.behind}`, since that is checked first"
        elif self.held:
            times += ", and more entries, of which another guard fails first"
        return and_earlier(times, len(self.earlier))

    @property
    def came(self) -> str:
        """What the entries were for, for a sentence: a guard does not tell what came last."""
        told = ", ".join(self.values[:MAX_VALUES]) + (", ..." * (len(self.values) > MAX_VALUES))
        return told if self.held else f"{told} and then another value"

    @property
    def functions(self) -> list[str]:
        """The names of the functions, without repetition."""
        return list(dict.fromkeys(history.function for history, _ in self.steps))

    @property
    def values(self) -> list[str]:
        """What the entries were compiled for, and what came instead where the log tells.

        Those of the first value alone: what else the same change reaches has others.
        """
        if self.held:
            return list(self.held)
        found = [cause.value for _, cause in self.earlier]
        subject = about(self.first)
        for _, step in self.steps:
            check = step.check
            if about(step) != subject:  # what follows from the same change has values of its own
                continue
            if isinstance(check, TensorMismatch):
                found += [check.expected, check.actual]
            elif isinstance(check, LengthCheck):
                found.append(str(check.length))
            else:
                found.append(_cause(step).value)
        return [value for value in dict.fromkeys(found) if value]

    @property
    def entries(self) -> int:
        """Compiled entries of the fullest of the functions; at the limit the last one is not."""
        last = max(history.steps[-1].number for history, _ in self.steps)
        return min(last + 1, self.limit) if self.limit else last + 1

    @property
    def is_crowded(self) -> bool:
        """Whether one of the functions has no more than one entry left."""
        return bool(self.limit) and self.entries >= self.limit - 1


def and_earlier(times: str, entries: int) -> str:
    """Return how many recompiles, and that there are entries from before the log begins."""
    if not entries:
        return times
    return f"{times}, and {plural(entries, 'entry', 'entries')} from before the log begins"


def owner(step: Step) -> Cause:
    """Return the cause of one recompile: one code, however many guards failed."""
    cause = _cause(step)
    if is_channels(step):
        return cause._replace(code="RCP018")
    if cause.code == "RCP002" and is_special(step.check):
        return cause._replace(code="RCP016")
    if cause.code == "RCP023" and _is_below(step):
        return cause._replace(code="RCP016")
    if cause.code == "RCP030" and not _forwards(step):
        return cause._replace(code="RCP008")
    if cause.code == "RCP009" and _is_first(step.check) and _forwards(step):
        return cause._replace(code="RCP030")
    return cause


def _is_below(step: Step) -> bool:
    """Whether a size left a range whose lower end is 2, below it: an older entry tells the size."""
    check = step.check
    if not isinstance(check, RangeCheck) or check.low != 2 or check.dimension is None:
        return False
    return any(
        isinstance(one.check, TensorMismatch)
        and (str(one.check.source), one.check.index) == check.dimension
        and one.check.actual in SPECIAL
        for one in step.seen.record.failures
    )


def _forwards(step: Step) -> bool:
    """Whether the function hands its arguments on to the one that the guard is about."""
    comment = step.failure.comment if step.failure else None
    if comment is not None and comment.code:
        return "*args" in comment.code
    return step.seen.record.function in user_code.WRAPPERS


def _is_first(check: Check | None) -> bool:
    """Whether the check is about the object whose method a wrapper calls."""
    return isinstance(check, TypeCheck) and str(check.source) in {"self", "args[0]"}


def _cause(step: Step) -> Cause:
    failure = step.failure
    if failure is None:  # the record is cut: nothing is known
        return Cause("", "")
    return _told(failure)


def _told(failure: GuardFailure) -> Cause:
    hint = failure.hint or (failure.comment.hint if failure.comment else "")
    return cause_of(failure.check, hint)


def groups(
    code: str,
    recompiles: Table[Recompile],
    limits: Table[RecompileLimit] | None = None,
    *,
    by_function: bool = False,
) -> list[Group]:
    """Return the causes that rule ``code`` is about, each with all its recompiles.

    Args:
        code: A rule's code.
        recompiles: All recompiles.
        limits: The functions that Dynamo gave up on.
        by_function: Whether the values that changed in one function belong together.
    """
    by_identity: dict[tuple[object, ...], Group] = {}
    for change in _changes(code, recompiles, by_function=by_function):
        history, step = change[0]
        key = (*history.definition, "" if by_function else about(step))
        group = by_identity.setdefault(key, Group(owner(step)))
        group.steps += change
    last = max((history.steps[-1].number for history in histories(recompiles)), default=0)
    for group in by_identity.values():
        group.limit, group.is_hit = limit_of(group.history.definition, limits, last)
    return list(by_identity.values())


def is_more_than_once(group: Group) -> bool:
    """Tell whether the recompiles are more than the one that is expected of any function.

    Judged over all entries: a function that is recompiled again, or is near its limit, and a change
    that many functions are compiled again for, is never harmless.
    """
    return group.most > 1 or group.is_crowded or len(group.steps) >= MANY


def limit_of(
    definition: tuple[str, str, int], limits: Table[RecompileLimit] | None, last: int = 0
) -> tuple[int, bool]:
    """Return how many entries a function may have, if known, and whether Dynamo gave up on it.

    Args:
        definition: The function.
        limits: The functions that Dynamo gave up on.
        last: The highest number of an entry in the log. One beyond the limit says that the program
            has raised it, to what is not known: 0.
    """
    limit, given_up = (DEFAULT_LIMIT, frozenset()) if limits is None else limits.derived(_limits)
    return (limit if last <= limit else 0), definition in given_up


def _limits(limits: Table[RecompileLimit]) -> tuple[int, frozenset[tuple[str, str, int]]]:
    """Return the limit that the log named last, and the functions that Dynamo gave up on."""
    limit, given_up = DEFAULT_LIMIT, set()
    for _, seen in limits.events():
        record = seen.record
        if not record.is_accumulated:
            limit = record.limit
        given_up.add((record.function, record.file, record.line))
    return limit, frozenset(given_up)


def _changes(
    code: str, recompiles: Table[Recompile], *, by_function: bool
) -> Iterator[list[tuple[History, Step]]]:
    """Yield the recompiles that follow each other for one reason in one function after another."""
    current: dict[tuple[str, str], _Change] = {}
    for history, step, whose, what in recompiles.derived(_in_order):
        subject = "" if by_function else what
        writer = step.place.process
        change = current.get(writer)
        is_ours = whose == code
        if change is not None and not (is_ours and change.goes_on(history, subject)):
            yield current.pop(writer).steps
        if is_ours:
            current.setdefault(writer, _Change()).add(history, step)
    yield from (change.steps for change in current.values())


def _in_order(recompiles: Table[Recompile]) -> list[tuple[History, Step, str, str]]:
    """Return all steps as the log has them, each with the rule that tells it, and what about.

    Each rule of the family asks for them.
    """
    steps = [(history, step) for history in histories(recompiles) for step in history.steps]
    steps.sort(key=lambda item: (item[1].place.input, item[1].place.line))
    return [(history, step, owner(step).code, about(step)) for history, step in steps]


class _Change:
    """Recompiles that follow each other, and what they are of: a change may have thousands."""

    def __init__(self) -> None:
        self.steps: list[tuple[History, Step]] = []
        #: What the guards of each history were about; histories live as long as this does.
        self._about: dict[int, set[str]] = {}
        self._frames: set[str] = set()

    def add(self, history: History, step: Step) -> None:
        """Take the next recompile."""
        self.steps.append((history, step))
        self._about.setdefault(id(history), set()).add(about(step))
        self._frames.add(history.frame)

    def goes_on(self, history: History, subject: str) -> bool:
        """Whether a recompile of ``history`` is part of this change, which comes before it."""
        own = self._about.get(id(history))
        is_known = own is not None and (not subject or subject in own)
        return is_known or history.frame not in self._frames


def about(step: Step) -> str:
    """Return what the guard is about, whatever the dimension."""
    source = getattr(step.check, "source", None)
    return str(source) if source is not None else owner(step).what
