"""The first change of a size or a number, with all that was recompiled because of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tracelens.dynamo import user_code
from tracelens.dynamo.entry_guards import (
    Dimension,
    entry_before,
    entry_of,
    leaves_out,
    symbolic,
)
from tracelens.dynamo.recompile_history import (
    History,
    Series,
    Step,
    is_symbolic,
    series,
    settles,
)
from tracelens.dynamo.recompile_variants import is_condition, is_size, is_special, subject_of
from tracelens.logs.recompiles import MAX_DIGITS, Source, TensorMismatch, ValueCheck
from tracelens.report.stories import as_written
from tracelens.rules.rcp._changes import about
from tracelens.rules.rcp._data import Function, guards_of
from tracelens.rules.rcp._marking import FirstChangeData
from tracelens.rules.rcp._marks import Mark, is_passed
from tracelens.rules.rcp._relation import is_range

if TYPE_CHECKING:
    from tracelens.evidence import Table
    from tracelens.logs.guards import GuardTree

__all__ = [
    "Change",
    "changes_of",
    "data_of",
    "fullest",
    "has_lengths",
    "has_more",
    "is_cut_later",
    "left_out",
    "of_tensors",
    "resumed_with",
    "told_of",
]


MAX_QUOTED = 5
#: The sizes that come of a data set: that of its batches, and that of the last one.
PAIR = 2
#: How far from the program's code the frames of torch are.
_OF_TORCH = 2


class Change(msgspec.Struct):
    """One change of a size, with all that was recompiled because of it."""

    history: History
    steps: list[Step] = msgspec.field(default_factory=list)
    #: (expected, actual) of the sizes that changed together.
    pairs: set[tuple[str, str]] = msgspec.field(default_factory=set)
    frames: set[str] = msgspec.field(default_factory=set)
    functions: list[tuple[str, str, int]] = msgspec.field(default_factory=list)
    #: Whose each of the steps is.
    owners: list[History] = msgspec.field(default_factory=list)

    def add(self, history: History, step: Step) -> None:
        """Note that ``step`` is part of this change."""
        self.steps.append(step)
        self.pairs.add(_pair(step))
        self.frames.add(history.frame)
        self.functions.append(history.definition)
        self.owners.append(history)

    @property
    def values(self) -> list[str]:
        """What the first value was, and became: what else is compiled has values of its own."""
        subject = about(self.steps[0])
        own = [step for step in self.steps if about(step) == subject]
        return Series(self.history, own).values

    def led(self) -> Change:
        """Return the change with a function of the program first, where a wrapper of torch's is."""
        far = [user_code.distance(one.file, one.function) for one in self.owners]
        at = far.index(min(far))
        if far[0] < _OF_TORCH or not at:
            return self
        self.history = self.owners[at]
        self.steps.insert(0, self.steps.pop(at))
        self.functions.insert(0, self.functions.pop(at))
        self.owners.insert(0, self.owners.pop(at))
        return self

    def holds(self, history: History, step: Step) -> bool:
        """Whether ``step``, which comes next, is part of this change.

        Functions are numbered as they first ran. One call goes through them in that order: what
        begins further up is another call, and with other numbers another change.
        """
        return (
            _pair(step) in self.pairs
            or (history.frame not in self.frames and not _is_above(history, self.owners[-1]))
            or (step.variant, Series(history, [step]).subject)
            == (self.steps[-1].variant, Series(self.history, self.steps[-1:]).subject)
        )

    def conditions(self, source: str, index: int | None) -> int:
        """Return how many entries were compiled later for conditions on the symbol.

        A range with two ends counts as two: what is below and what is above needs its own.
        """
        size = f"{source}.size()[{index}]"
        return sum(
            1 + is_range(step.check)
            for step in self.history.steps
            if step.number > self.steps[0].number
            and is_condition(step.check)
            and not is_special(step.check)
            and size in str(step.check)
        )

    @property
    def subject(self) -> tuple[str, str, int, str, int | None]:
        """Which value of which function it is."""
        return Series(self.history, self.steps).subject


def _is_above(one: History, other: History) -> bool:
    """Whether a function first ran before another one of the same process."""
    numbers = one.frame, other.frame
    if not all(number.isdecimal() and len(number) < MAX_DIGITS for number in numbers):
        return False
    return int(one.frame) < int(other.frame)


def changes_of(found: Iterable[History]) -> Iterator[Change]:
    """Group the recompiles that one change of the input caused."""
    histories_ = list(found)
    owners = {id(step): history for history in histories_ for step in history.steps}
    expected = {
        id(step)
        for values in series(histories_)
        if settles(values) and is_symbolic(values)
        for step in values.steps
    }
    steps = sorted(
        (step for history in histories_ for step in history.steps),
        key=lambda step: (step.place.input, step.place.line),
    )
    current: dict[tuple[str, str], Change] = {}
    for step in steps:
        key = step.place.process
        change = current.get(key)
        history = owners[id(step)]
        if change is not None and not (id(step) in expected and change.holds(history, step)):
            yield current.pop(key).led()
            change = None
        if id(step) in expected:
            change = change or current.setdefault(key, Change(history))
            change.add(history, step)
    yield from (change.led() for change in current.values())


def _pair(step: Step) -> tuple[str, str]:
    check = step.check
    if isinstance(check, TensorMismatch):
        return check.expected, check.actual
    return (check.value, "") if isinstance(check, ValueCheck) else ("", "")


def fullest(changes: list[Change]) -> int:
    """Return how many entries the fullest of the functions has."""
    return max(change.history.steps[-1].number + 1 for change in changes)


def is_cut_later(changes: list[Change]) -> bool:
    """Whether one of the functions was recompiled later for reasons that are cut off."""
    return any(
        later.failure is None and not later.seen.record.failures
        for change in changes
        for later in change.history.steps
        if later.number > change.steps[-1].number
    )


class Tensor(NamedTuple):
    """What changed of one tensor that a function is given, whichever its dimension."""

    steps: tuple[Step, ...] = ()
    marks: tuple[Mark, ...] = ()


def of_tensors(
    groups: Mapping[tuple[str, str, int, str, int | None], list[Change]],
) -> Mapping[tuple[str, str, int, str], Tensor]:
    """Return what changed of each tensor, by function and name; of what is none, nothing."""
    found: defaultdict[tuple[str, str, int, str], Tensor] = defaultdict(Tensor)
    for key, changes in groups.items():
        if key[4] is not None:
            own = tuple(step for change in changes for step in change.steps)
            held = found[key[:4]]
            found[key[:4]] = Tensor(held.steps + own, held.marks + tuple(_changed(changes)))
    return found


def has_lengths(change: Change, symbols: Iterable[Dimension], trees: Table[GuardTree]) -> bool:
    """Whether more than the first dimension of what a function is passed changed.

    The entry after a change has a symbol for each size that changed; a reason names one of them.
    """
    before = symbolic(entry_before(change.steps[0].place, trees))
    checks = [step.check for step in change.history.steps]
    named = [
        (str(one.source), one.index or 0)
        for one in checks
        if isinstance(one, TensorMismatch) and is_size(one) and is_passed(one.source)
    ]
    return any(index and (name, index) not in before for name, index in (*symbols, *named))


def has_more(changes: Iterable[Change], source: str, index: int | None) -> bool:
    """Whether one variant of a function had more sizes than a data set's batches and its last.

    A size of 0 or 1, for which no symbol stands, is one more of any variant.
    """
    for history in {id(one): one for change in changes for one in change.owners}.values():
        found: defaultdict[int, set[str]] = defaultdict(set)
        is_one_more = False
        for step in history.steps:
            check = step.check
            if subject_of(check) != (source, index):
                continue
            if is_special(check):
                is_one_more = True
            elif isinstance(check, TensorMismatch) and is_size(check):
                found[step.variant] |= {check.expected, check.actual}
        if found and max(map(len, found.values())) + is_one_more > PAIR:
            return True
    return False


def resumed_with(
    changes: list[Change], symbols: Iterable[Dimension], trees: Table[GuardTree]
) -> tuple[str, ...]:
    """Return what else is a symbol where the function resumes behind a break, for that change.

    The names are of the function: its arguments, or what it computed of them before the break.
    """
    first, known = changes[0].history, {name for name, _ in symbols}
    found: dict[str, None] = {}
    for change in changes:
        own = {id(step) for step in change.steps}
        for history in change.owners:
            is_rest = as_written(history.function) == first.function != history.function
            if is_rest and history.file == first.file:
                entries = (entry_of(one.place, trees) for one in history.steps if id(one) in own)
                found |= dict.fromkeys(name for one in entries for name, _ in symbolic(one))
    return tuple(name for name in found if name.isidentifier() and name not in known)


def changed_alike(changes: list[Change], groups: Iterable[list[Change]]) -> tuple[Mark, ...]:
    """Return what functions before a break were given that changed from the same size to the same.

    Marked alone, what waits behind the break is as large as that, and becomes a constant again.
    """
    first = changes[0]
    own = first.steps[0].check
    is_rest = as_written(first.history.function) != first.history.function
    if not (is_rest and isinstance(own, TensorMismatch)):
        return ()
    found: dict[Mark, None] = {}
    for other in groups:
        check, history = other[0].steps[0].check, other[0].history
        if (
            not isinstance(check, TensorMismatch)
            or as_written(history.function) != history.function
        ):
            continue
        name = str(check.source)
        is_alike = (check.index, check.expected, check.actual) == (
            own.index,
            own.expected,
            own.actual,
        )
        if is_alike and name != str(own.source) and not name.startswith(("self.", "___")):
            found[Mark(name=name, dimension=own.index or 0)] = None
    return tuple(found)


def left_out(changes: Iterable[Change], trees: Table[GuardTree]) -> str:
    """Return the range of a new entry that does not fit the size before: both are needed.

    A condition of the code told the sizes apart, such as that of a convolution on 16 images.
    """
    for change in changes:
        step = change.steps[0]
        check = step.check
        if not isinstance(check, TensorMismatch) or check.index is None:
            continue
        if not check.expected.isdecimal() or len(check.expected) >= MAX_DIGITS:
            continue
        entry = entry_of(step.place, trees)
        if fits := leaves_out(entry, str(check.source), check.index, int(check.expected)):
            return fits
    return ""


def told_of(changes: list[Change], *, is_constant: bool, conditions: int, fits: str) -> str:
    """Say what changed, and what the function was compiled for then."""
    function = changes[0].history.function
    first = changes[0].steps[0].check
    if isinstance(first, TensorMismatch):
        text = f"It changed from {first.expected} to {first.actual}, and"
    else:
        text = f"It was {', then '.join(changes[0].values)}; then another value came, and"
    if is_constant:
        return (
            text + f" `{function}` was compiled once more, for it alone: dynamic=False or "
            "mark_static holds it constant, or a line of code that needs the number."
        )
    text += f" `{function}` was compiled once more with it as a symbol"
    if fits:
        text += f", which fits {fits}: the size before needs an entry of its own."
    else:
        text += "; conditions on it needed more." if conditions else ", which fits further values."
    entries = sum(len(change.steps) for change in changes)
    if entries > 1:
        text += f" With it, in all, {entries} entries were compiled: other variants of the function"
        text += " and other functions that the same change reaches."
    return text


def _changed(changes: list[Change]) -> Iterator[Mark]:
    """Yield the dimensions of the function's arguments that changed, the first among them."""
    own = {id(step) for step in changes[0].history.steps}
    for step in (one for change in changes for one in change.steps if id(one) in own):
        check = step.check
        if isinstance(check, TensorMismatch) and is_passed(check.source):
            yield Mark(name=str(check.source), dimension=check.index or 0)


def data_of(
    changes: list[Change], code: str, *, is_heavy: bool, symbols: tuple[Dimension, ...]
) -> FirstChangeData:
    """Return what is known of a change before its guards are looked at."""
    first = changes[0]
    steps = [step for change in changes for step in change.steps]
    check = first.steps[0].check
    source = getattr(check, "source", None)
    names = dict.fromkeys(one for change in changes for one in change.functions)
    return FirstChangeData(
        is_heavy=is_heavy,
        symbols=tuple(Mark(name=name, dimension=index) for name, index in symbols),
        changed=tuple(dict.fromkeys(_changed(changes))),
        cause="RCP003",
        function=first.history.function,
        file=first.history.file,
        line=first.history.line,
        functions=tuple(Function(name=n, file=f, line=at) for n, f, at in names),
        code=code,
        source=str(source) if source is not None else "",
        is_variable=isinstance(source, Source) and source.is_variable,
        is_passed=isinstance(source, Source) and is_passed(source),
        dimension=check.index if isinstance(check, TensorMismatch) else None,
        guards=guards_of(step.check for step in steps[:MAX_QUOTED]),
        values=tuple(first.values),
        recompiles=len(steps),
        entries=fullest(changes),
    )
