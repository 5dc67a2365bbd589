"""The history of a compiled function: entry after entry, and what each new one was compiled for.

A recompile lists every entry with the first guard of it that failed. Most of these lines say
nothing: entries that are older, or made for another model, would not have fitted anyway. So the
entries are sorted in variants, told apart by what cannot be made dynamic (an object, a type, a
string, the grad mode, a size of 0 or 1). Of each variant only the newest entry counts; and among
those, one that fails on a size or a number says what the new entry was compiled for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tracelens.evidence import Place, Seen, Table
from tracelens.frames import Frame
from tracelens.logs import Record
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import (
    Check,
    GuardFailure,
    RangeCheck,
    Recompile,
    Relation,
    StackFrame,
    TensorMismatch,
    ValueCheck,
)
from tracelens.report import Cost, EvidenceLine
from tracelens.rules import _user_code

__all__ = [
    "CompiledFrame",
    "History",
    "Series",
    "Step",
    "cost_of",
    "histories",
    "is_symbolic",
    "series",
    "settles",
]

#: Sizes and numbers for which Dynamo compiles an entry of its own, by design.
SPECIAL = frozenset({"0", "1"})


class CompiledFrame(Record):
    """Something that Dynamo compiled, whichever log tells it: a limit could have been hit."""

    id: str

    @classmethod
    def join(
        cls, recompiles: Table[Recompile], *, limits: Table[RecompileLimit], frames: Table[Frame]
    ) -> Iterator[Seen[CompiledFrame]]:
        """Yield one per compilation that any log mentions."""
        ids: dict[str, Place] = {}
        for table in (frames, recompiles, limits):
            for place, seen in table.events():
                frame = seen.record.id if isinstance(seen.record, Frame) else place.frame
                ids.setdefault(frame, place)
        for frame, place in ids.items():
            yield Seen(cls(id=frame), 1, [place], "")


@dataclass(frozen=True)
class Step:
    """One recompile of one function."""

    place: Place
    seen: Seen[Recompile]
    #: The entry that was compiled, 1 for the first recompile.
    number: int
    #: Which of the function's variants the new entry belongs to.
    variant: int
    #: The failure that tells what the entry was compiled for.
    failure: GuardFailure | None

    @property
    def check(self) -> Check | None:
        """The guard that failed."""
        return self.failure.check if self.failure else None

    def quote(self, note: str = "") -> EvidenceLine:
        """Return the line of the guard that failed."""
        at = self.failure.at if self.failure else 0
        return self.seen.quote(note, at=at, place=self.place)


@dataclass
class History:
    """One function in one process, from its first compilation or a reset of Dynamo on."""

    function: str
    file: str
    line: int
    #: The number that Dynamo gives to the function: ``0`` of ``0/1``.
    frame: str
    writer: str
    steps: list[Step] = field(default_factory=list)

    @property
    def definition(self) -> tuple[str, str, int]:
        """Which function it is, whoever ran it: name, file, line."""
        return self.function, self.file, self.line

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
        if failure.comment and (line := _user_code.located(failure.comment, self.function, files)):
            candidates.append(line)
        elif trees is not None and not failure.stack:
            candidates += _lines_of_tensor(failure, step.place, trees, self.function, files)
        return _user_code.best([*candidates, *failure.stack]) or own


@dataclass
class Series:
    """The steps in which one value, of one variant of a function, did not fit any more."""

    history: History
    steps: list[Step] = field(default_factory=list)

    @property
    def checks(self) -> list[Check]:
        """What failed, in order."""
        return [step.check for step in self.steps if step.check is not None]

    @property
    def subject(self) -> tuple[str, str, int, str, int | None]:
        """What changed: the function's name, file and line, the value, and the dimension."""
        return *self.history.definition, *_subject(self.checks[0])

    @property
    def values(self) -> list[str]:
        """The values that came, in order: the one compiled for, and those that did not fit.

        Of a number only the first ones are known: a guard tells what it expected, not what came.
        """
        seen = []
        for check in self.checks:
            if isinstance(check, TensorMismatch):
                seen += [check.expected, check.actual]
            elif isinstance(check, ValueCheck):
                seen.append(check.value)
        return list(dict.fromkeys(seen))


def histories(recompiles: Table[Recompile]) -> list[History]:
    """Return the histories in ``recompiles``, in the order of their first recompile."""
    found: list[History] = []
    current: dict[tuple[str, str, str, str, int], _Tracker] = {}
    for place, seen in recompiles.events():
        record = seen.record
        frame, _, entry = place.frame.rpartition("/")
        key = (place.input, place.writer, frame, record.file, record.line)
        number = int(entry) if entry.isdecimal() else 0
        tracker = current.get(key)
        if tracker is None or tracker.restarted(number):
            history = History(record.function, record.file, record.line, frame, place.writer)
            tracker = current[key] = _Tracker(history)
            found.append(history)
        tracker.add(place, seen, number)
    return found


def series(found: Iterable[History]) -> list[Series]:
    """Return, for every value that changed, the steps that its changes took.

    Sizes and numbers only. A mismatch with 0 or 1 is left out where another one is: those sizes
    get an entry of their own by design.
    """
    by_value: dict[tuple[int, int, tuple[str, int | None]], Series] = {}
    for history in found:
        for step in history.steps:
            check = step.check
            if is_integer(check) or (is_size(check) and not is_special(check)):
                key = (id(history), step.variant, _subject(check))
                by_value.setdefault(key, Series(history)).steps.append(step)
    return list(by_value.values())


def settles(values: Series) -> bool:
    """Return whether the changes are those that automatic dynamic shapes need.

    A size is made dynamic by its first change. A number too, but 0 and 1 keep an entry of their
    own, so that it may take one more step.
    """
    limit = 1 + any(is_integer(check) and is_special(check) for check in values.checks)
    return len(values.steps) <= limit


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
        and _subject(failure.check) == _subject(check)
        for step in values.history.steps
        for failure in step.seen.record.failures
    )


def cost_of(steps: Iterable[Step], frames: Table[Frame]) -> Cost | None:
    """Return what the compilations took that ``steps`` began; None where no clock tells.

    A compilation ends when its guards are printed. Without guards in the log it ends with the last
    line of its compile id, which may be a backward graph that was compiled later.
    """
    known = {(row.first.input, row.record.writer, row.record.id): row.record for row in frames}
    times = []
    for step in steps:
        frame = known.get((step.place.input, step.place.writer, step.place.frame))
        if frame is not None and (seconds := _seconds(step, frame)):
            times.append(seconds)
    if not times:
        return None
    entries = "entry" if len(times) == 1 else "entries"
    what = f"time from the log line of the recompile to its guards, for {len(times)} {entries}"
    return Cost(ms=sum(times) * 1000, basis="estimated", of=what)


def _seconds(step: Step, frame: Frame) -> float | None:
    """Return how long the compilation took that ``step`` began.

    After a reset of Dynamo the same compile id comes again: only what stands before the next
    recompile counts.
    """
    later = [s.place.line for s in frame.sightings if isinstance(s.seen.record, Recompile)]
    end = min((line for line in later if line > step.place.line), default=math.inf)
    for place, seen in frame.sightings:
        is_tree = isinstance(seen.record, GuardTree) and place.when is not None
        if is_tree and step.place.line < place.line < end:
            return (place.when or 0.0) - (step.place.when or 0.0)
    return frame.compile_seconds if len(later) == 1 else None


def is_size(check: Check | None) -> bool:
    """Whether ``check`` is about the size of a tensor, which can be made dynamic."""
    return isinstance(check, TensorMismatch) and check.what == "size"


def is_integer(check: Check | None) -> bool:
    """Whether ``check`` is about a Python integer, which can be made dynamic."""
    return isinstance(check, ValueCheck) and check.integer is not None and check.operator == "=="


def is_special(check: Check | None) -> bool:
    """Whether ``check`` fails on a 0 or a 1, which get an entry of their own by design."""
    if isinstance(check, TensorMismatch):
        return check.what == "size" and not SPECIAL.isdisjoint((check.expected, check.actual))
    if isinstance(check, ValueCheck):
        return check.integer in {0, 1}
    return isinstance(check, RangeCheck) and check.low == 2 and ".size()[" in check.subject


def _subject(check: Check | None) -> tuple[str, int | None]:
    """Return the value that ``check`` is about, and the dimension."""
    if isinstance(check, TensorMismatch):
        return str(check.source), check.index
    return (str(check.source), None) if isinstance(check, ValueCheck) else ("", None)


def _can_be_dynamic(check: Check | None) -> bool:
    return is_size(check) or is_integer(check) or isinstance(check, RangeCheck | Relation)


class _Tracker:
    """Finds out which entries of a function belong to the same variant."""

    def __init__(self, history: History) -> None:
        self.history = history
        #: Entry -> its variant; variants are numbered by their first entry.
        self.variants = {0: 0}

    def restarted(self, number: int) -> bool:
        """Whether entry ``number`` cannot follow: Dynamo was reset in between."""
        return 0 < number <= max(self.variants)

    def add(self, place: Place, seen: Seen[Recompile], number: int) -> None:
        """Add the recompile that made entry ``number``; 0 where the log does not number them."""
        last = max(self.variants)
        number = number or last + 1
        failure = self._telling(seen.record.failures)
        variant = number
        if failure is not None and _goes_on(failure.check):
            variant = self.variants.get(failure.number, self.variants[last])
        self.variants[number] = variant
        self.history.steps.append(Step(place, seen, number, variant, failure))

    def _telling(self, failures: tuple[GuardFailure, ...]) -> GuardFailure | None:
        """Return the failure that says what changed."""
        newest: dict[int, GuardFailure] = {}
        for failure in failures:
            variant = self.variants.get(failure.number, 0)
            if variant not in newest or newest[variant].number < failure.number:
                newest[variant] = failure
        return max(newest.values(), key=_rank, default=None)


def _rank(failure: GuardFailure) -> tuple[bool, bool, int]:
    dynamic = _can_be_dynamic(failure.check)
    return dynamic and not is_special(failure.check), dynamic, failure.number


def _goes_on(check: Check | None) -> bool:
    """Whether the entry that ``check`` asked for takes the place of the one that failed."""
    return _can_be_dynamic(check) and (is_integer(check) or not is_special(check))


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
    for where, tree in trees.events():
        if (where.input, where.writer, where.frame) != (place.input, place.writer, failure.entry):
            continue
        for source, guard in tree.record.checks():
            if source in wanted and guard.kind == "TENSOR_MATCH" and guard.comment:
                line = _user_code.located(guard.comment, function, files)
                return [line] if line else []
    return []
