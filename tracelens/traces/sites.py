"""Which line of the program launches a kernel, where stacks were recorded.

A kernel carries the number of the call that launched it, the call a thread and a time, and what was
open there then are operators and, around them, Python frames. A thread of the backward pass has no
frames: its operators carry the number of the forward operator whose gradient they compute.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from tracelens.logs import Record
from tracelens.logs._trace_events import Complete
from tracelens.logs.chrome_trace import BackwardNode, Operator, PythonFunction
from tracelens.traces.activity import in_order
from tracelens.traces.measured import Measured
from tracelens.traces.names import LAUNCH, Name
from tracelens.traces.own_frames import mine
from tracelens.traces.spans import FORMS, Kind, Spans, Tree

if TYPE_CHECKING:
    from tracelens.traces.reading import Reading

__all__ = ["LaunchedAt", "Sites", "is_own", "launched_at", "launches"]

#: Calls of functions, and operators, that are kept: the first ones.
MAX_LINES = 1 << 16
MAX_OPERATORS = 1 << 16
#: Rows that are listed, what takes longest first.
MAX_ROWS = 1_000
_OPERATORS = Operator, BackwardNode
#: Frame, operator and form by number, -1 for none, and whether it is of gradients.
_Place: TypeAlias = tuple[int, int, int, bool]
_NOWHERE: _Place = -1, -1, -1, False


class LaunchedAt(Measured):
    """Runs of one kernel that are launched for one line of the program. Milliseconds."""

    #: As the trace has it.
    kernel: str
    #: The innermost frame that somebody would change: ``file(line): function``; empty if unknown.
    frame: str = ""
    #: The outermost operator that the frame calls, and the innermost of those known by their form.
    operator: str = ""
    form: str = ""
    #: Whether it computes gradients of what the frame computes.
    backward: bool = False
    n: int
    device_ms: float


class Sites:
    """Frames of the program and operators, as columns, as far as they fit."""

    def __init__(self) -> None:
        self.spans = Spans()
        #: Number that an operator shares with the node that computes its gradient; 0 for none.
        self.sequences = array("q")
        #: Calls of the program's functions in the list in hand.
        self.lines: list[tuple[Complete, Name]] = []
        self._lines = self._operators = 0

    def take(self, operators: list[tuple[Complete, Name]]) -> None:
        """Add the lines of the list in hand, and its operators, until there are too many."""
        if self._lines < MAX_LINES:
            self._lines += len(self.lines)
            self.sequences.extend([0] * self.spans.add_all(Kind.LINE, self.lines))
        self.lines.clear()
        if self._operators < MAX_OPERATORS:
            found = [pair for pair in operators if pair[1].role & LAUNCH]
            self._operators += len(found)
            added = self.spans.add_all(Kind.OPERATOR, found)
            self.sequences.extend([_sequence(event) for event, _ in found[:added]])


def _sequence(event: Complete) -> int:
    args = event.args
    number = args.sequence if args is not None else None
    return number + 1 if isinstance(number, int) and 0 <= number < 1 << 62 else 0


def launches(record: Record) -> bool:
    """Tell whether spans of a name are operators that may launch kernels."""
    return isinstance(record, _OPERATORS)


def is_own(name: Name) -> bool:
    """Tell whether a name is of a function that somebody would change."""
    record = name.record
    if not isinstance(record, PythonFunction) or record.function == "<module>":
        return False
    return bool(mine([str(record)]))


def launched_at(reading: Reading) -> Iterator[tuple[Name, LaunchedAt]]:
    """Yield which line launched what, where kernels and calls are joined and frames are known."""
    spans, activities = reading.sites.spans, reading.devices.activities
    tree = spans.of({Kind.LINE, Kind.OPERATOR}) if Kind.LINE in spans.kinds else None
    if tree is None or not any(activities.correlations):
        return
    places = _Places(tree, reading.sites.sequences)
    calls = reading.runtime.calls
    owners = tree.owners(calls)
    order = in_order(calls.correlations)
    keys = array("q", map(calls.correlations.__getitem__, order))
    sums: dict[tuple[int, _Place], list[float]] = {}
    rows = zip(activities.names, activities.correlations, activities.us, strict=True)
    for kernel, key, us in rows:
        at = bisect_left(keys, key) if key > 0 else len(keys)
        owner = owners[order[at]] if at < len(keys) and keys[at] == key else -1
        each = sums.setdefault((kernel, places.of(owner)), [0, 0.0])
        each[0] += 1
        each[1] += us
    names = [str(name.record) for name in spans.name_table.items]
    listed = sorted(sums.items(), key=lambda pair: (-pair[1][1], pair[0]))[:MAX_ROWS]
    for (kernel, (*place, backward)), (n, us) in listed:
        frame, operator, form = (names[number] if number >= 0 else "" for number in place)
        name = activities.name_table.items[kernel]
        row = LaunchedAt(
            kernel=str(name.record),
            frame=frame,
            operator=operator,
            form=form,
            backward=backward,
            n=int(n),
            device_ms=round(us / 1000, 6),
        )
        yield name, row


class _Places:
    """Where each span of a tree is, as columns."""

    def __init__(self, tree: Tree, numbers: Sequence[int]) -> None:
        spans, none = tree.spans, array("i", [-1])
        self.frames, self.operators = none * len(tree.order), none * len(tree.order)
        self.forms, self.lent = none * len(tree.order), none * len(tree.order)
        shaped = {at for at, name in enumerate(spans.name_table.items) if str(name.record) in FORMS}
        forward: dict[int, int] = {}
        for position, at in enumerate(tree.order):
            above, name = tree.above[position], spans.names[at]
            if spans.kinds[at] == Kind.LINE:
                self.frames[position] = name
                continue
            outer = above >= 0
            self.frames[position] = self.frames[above] if outer else -1
            within = outer and self.operators[above] >= 0
            self.operators[position] = self.operators[above] if within else name
            self.forms[position] = self.forms[above] if outer else -1
            if name in shaped:
                self.forms[position] = name
            if numbers[at] and self.frames[position] >= 0:
                forward[numbers[at]] = self.frames[position]
        self._lend(tree, numbers, forward)

    def _lend(self, tree: Tree, numbers: Sequence[int], forward: dict[int, int]) -> None:
        """Give what is outside of all frames that of the forward pass, by the number they share."""
        for position, at in enumerate(tree.order):
            if self.frames[position] < 0:
                above = tree.above[position]
                outer = self.lent[above] if above >= 0 else -1
                self.lent[position] = forward.get(numbers[at], outer) if numbers[at] else outer

    def of(self, position: int) -> _Place:
        """Return where a span is."""
        if position < 0:
            return _NOWHERE
        frame, lent = self.frames[position], self.lent[position]
        known = lent if frame < 0 else frame
        return known, self.operators[position], self.forms[position], frame < 0 <= lent
