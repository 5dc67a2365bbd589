"""The history of a compiled function: entry after entry, and the values that made new ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from tracelens.dynamo import user_code
from tracelens.dynamo.entry_guards import of_compilation
from tracelens.dynamo.recompile_variants import (
    Variants,
    is_integer,
    is_parameter,
    is_size,
    is_special,
    subject_of,
)
from tracelens.evidence import Place, Seen, Table
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import (
    MAX_DIGITS,
    Check,
    GuardFailure,
    Recompile,
    StackFrame,
    TensorMismatch,
    ValueCheck,
)
from tracelens.report import EvidenceLine

__all__ = [
    "History",
    "Series",
    "Step",
    "histories",
    "is_channels",
    "is_symbolic",
    "series",
    "settles",
]


class Step(msgspec.Struct, frozen=True):
    """One recompile of one function."""

    place: Place
    seen: Seen[Recompile]
    #: The entry that was compiled, 1 for the first recompile.
    number: int
    #: Which of the function's variants the new entry belongs to.
    variant: int
    #: The failure that tells what the entry was compiled for.
    failure: GuardFailure | None
    #: Whether its function serves layers with parameters of several shapes: then other sizes of
    #: the input are the channels of another layer, not inputs that vary.
    is_layer: bool = False
    #: What did not fit in entries that were compiled before the log begins.
    unrecorded: tuple[GuardFailure, ...] = ()

    @property
    def check(self) -> Check | None:
        """The guard that failed."""
        return self.failure.check if self.failure else None

    @property
    def earlier(self) -> tuple[GuardFailure, ...]:
        """What did not fit in other entries from before the log begins, the first one first.

        The first compilation is no recompile, so that nothing tells whether the log holds it: it is
        one of them where a later one is.
        """
        numbers = {0, *(one.number for one in self.unrecorded)} if self.unrecorded else ()
        own = self.failure.number if self.failure else None
        told = reversed(self.seen.record.failures)
        return tuple(one for one in told if one.number in numbers and one.number != own)

    def quote(self, note: str = "") -> EvidenceLine:
        """Return the line of the guard that failed."""
        at = self.failure.at if self.failure else 0
        return self.seen.quote(note, at=at, place=self.place)


class History(msgspec.Struct):
    """One function in one process, from its first compilation or a reset of Dynamo on."""

    function: str
    file: str
    line: int
    #: The number that Dynamo gives to the function: ``0`` of ``0/1``.
    frame: str
    writer: str
    steps: list[Step] = msgspec.field(default_factory=list)

    @property
    def definition(self) -> tuple[str, str, int]:
        """Which function it is, whoever ran it: name, file, line."""
        return self.function, self.file, self.line

    @property
    def variants(self) -> set[int]:
        """The variants of the function that entries were compiled for."""
        return {0, *(step.variant for step in self.steps)}

    def code(self, step: Step, trees: Table[GuardTree] | None = None) -> StackFrame:
        """Return the line nearest to the user's code that ``step`` is about.

        Args:
            step: One of this history.
            trees: The guards of the log, whose comments name the line where a tensor is used.
        """
        own = StackFrame(file=self.file, line=self.line, function=self.function)
        failure = step.failure
        if failure is None:
            return own
        candidates = [own]
        files = [self.file, *(frame.file for frame in failure.stack)]
        if failure.comment and (line := user_code.located(failure.comment, self.function, files)):
            candidates.append(line)
        elif trees is not None and not failure.stack:
            candidates += _lines_of_tensor(failure, step.place, trees, self.function, files)
        return user_code.best([*candidates, *failure.stack]) or own


class Series(msgspec.Struct):
    """The steps in which one value, of one variant of a function, did not fit any more."""

    history: History
    steps: list[Step] = msgspec.field(default_factory=list)

    @property
    def checks(self) -> list[Check]:
        """What failed, in order."""
        return [step.check for step in self.steps if step.check is not None]

    @property
    def unrecorded(self) -> list[str]:
        """The values of entries that were compiled before the log begins, the first one first.

        Sizes of 0 and 1 are left out, which are by design, and that of the first step's own entry.
        """
        first = self.steps[0]
        values: dict[str, None] = {}
        for failure in first.earlier:
            check = failure.check
            if is_special(check) or subject_of(check) != subject_of(first.check):
                continue
            if isinstance(check, TensorMismatch) and is_size(check):
                values[check.expected] = None
            elif isinstance(check, ValueCheck) and is_integer(check):
                values[check.value] = None
        return list(values)

    @property
    def subject(self) -> tuple[str, str, int, str, int | None]:
        """What changed: the function's name, file and line, the value, and the dimension."""
        return *self.history.definition, *subject_of(self.checks[0])

    def subject_in(self, subjects: Collection[tuple[object, ...]]) -> bool:
        """Tell whether what changed is among ``subjects``: function, value, dimension."""
        return (self.history.definition, *subject_of(self.checks[0])) in subjects

    @property
    def values(self) -> list[str]:
        """The values that came, in order: the one compiled for, and those that did not fit.

        Of a number only the first ones are known: a guard tells what it expected, not what came.
        """
        seen = [*self.unrecorded]
        for check in self.checks:
            if isinstance(check, TensorMismatch):
                seen += [check.expected, check.actual]
            elif isinstance(check, ValueCheck):
                seen.append(check.value)
        return list(dict.fromkeys(seen))


def histories(recompiles: Table[Recompile]) -> tuple[History, ...]:
    """Return the histories in ``recompiles``, in the order of their first recompile.

    Most rules of the family ask: of one table, they are made once.
    """
    return recompiles.derived(_histories)


def _histories(recompiles: Table[Recompile]) -> tuple[History, ...]:
    found: list[History] = []
    current: dict[tuple[str, str, str, str, int], tuple[History, Variants]] = {}
    named = _named(recompiles)
    for place, seen in recompiles.events():
        record = seen.record
        if record.refused:
            continue
        frame, _, entry = place.frame.rpartition("/")
        record = named.get((*place.process, frame), record) if record.function == "?" else record
        key = (*place.process, frame, record.file, record.line)
        number = int(entry) if entry.isdecimal() and len(entry) < MAX_DIGITS else 0
        history, variants = current.get(key, (None, None))
        if history is None or variants is None or not variants.admit(number):
            history = History(record.function, record.file, record.line, frame, place.writer)
            current[key] = history, (variants := Variants())
            found.append(history)
        unrecorded = tuple(variants.unrecorded(seen.record.failures))
        step = variants.add(number, seen.record.failures)
        history.steps.append(Step(place, seen, *step, unrecorded=unrecorded))
    for history in found:
        failures = (one for step in history.steps for one in step.seen.record.failures)
        if any(is_parameter(one.check) for one in failures):
            history.steps = [msgspec.structs.replace(step, is_layer=True) for step in history.steps]
    return tuple(found)


def _named(recompiles: Table[Recompile]) -> dict[tuple[str, ...], Recompile]:
    """Return a recompile that says which function it is, of each frame of a process."""
    if all(seen.record.function != "?" for seen in recompiles):  # most logs
        return {}
    return {
        (*place.process, place.frame.rpartition("/")[0]): seen.record
        for place, seen in recompiles.events()
        if seen.record.function != "?" and place.frame
    }


def series(found: Iterable[History]) -> list[Series]:
    """Return, for every value that changed, the steps that its changes took.

    Sizes and numbers only. A mismatch with 0 or 1 is left out where another one is: those sizes
    get an entry of their own by design.
    """
    by_value: dict[tuple[int, int, tuple[str, int | None]], Series] = {}
    for history in found:
        for step in history.steps:
            check = step.check
            sized = is_size(check) and not is_special(check) and not is_channels(step)
            if is_integer(check) or sized:
                key = (id(history), step.variant, subject_of(check))
                by_value.setdefault(key, Series(history)).steps.append(step)
    return list(by_value.values())


def is_channels(step: Step) -> bool:
    """Return whether the size that changed is that of another layer, beyond the batch."""
    index = step.check.index if isinstance(step.check, TensorMismatch) else None
    return step.is_layer and is_size(step.check) and index is not None and index > 0


def settles(values: Series) -> bool:
    """Return whether the changes are those that automatic dynamic shapes need.

    A size is made dynamic by its first change, so that an entry for one more size, in the log or
    before it, says that it was not. A number too, but 0 and 1 keep an entry of their
    own, so that it may take one more step.
    """
    limit = 1 + any(is_integer(check) and is_special(check) for check in values.checks)
    return len(values.steps) + len(values.unrecorded) <= limit


def is_symbolic(values: Series) -> bool:
    """Return whether nothing later says that the value is a constant of the last entry too.

    Integer attributes of modules are constants by design (RCP007).
    """
    check, last = values.checks[-1], values.steps[-1]
    if isinstance(check, ValueCheck) and (
        check.source.path.startswith(".") or check.integer is None
    ):
        return False
    return not any(
        isinstance(failure.check, ValueCheck)
        and failure.number == last.number
        and subject_of(failure.check) == subject_of(check)
        for step in values.history.steps
        for failure in step.seen.record.failures
    )


def _lines_of_tensor(
    failure: GuardFailure,
    place: Place,
    trees: Table[GuardTree],
    function: str,
    files: list[str],
) -> list[StackFrame]:
    """Return the line where the guards of the entry that failed say that the tensor is used."""
    check = failure.check
    if not isinstance(check, TensorMismatch):
        return []
    name, path = check.source.name, check.source.path
    wanted = {f"L['{name}']{path}", f"G['{name}']{path}"}
    for tree in of_compilation(trees, (*place.process, failure.entry)):
        for source, guard in tree.checks():
            if source in wanted and guard.kind == "TENSOR_MATCH" and guard.comment:
                line = user_code.located(guard.comment, function, files)
                return [line] if line else []
    return []
