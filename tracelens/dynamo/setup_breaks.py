"""Breaks of the first call: the set-up code of a model, which later calls do not run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tracelens.evidence import Place, Seen, Table
from tracelens.logs import Joined
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.recompiles import Recompile, TypeCheck, ValueCheck

__all__ = ["RESUMED", "SetupBreak", "is_unset"]

#: Where a module keeps its parts.
PARTS = ("._modules[", "._buffers[")
#: A function that Dynamo makes from the rest of another, behind a break.
RESUMED = "torch_dynamo_resume_in_"

Event = tuple[Place, Seen[GraphBreak]]


class Second(NamedTuple):
    """The second compilation of a function, made because its first call changed the model."""

    place: Place
    seen: Seen[Recompile]
    #: The line of the first break in its first compilation.
    begin: int

    @property
    def code(self) -> str:
        """The number of the code object."""
        return self.place.frame.partition("/")[0]

    def follows(self, place: Place) -> bool:
        """Whether a record of the same writer stands before the second compilation."""
        same = (place.input, place.writer) == (self.place.input, self.place.writer)
        return same and place.line < self.place.line


class SetupBreak(Joined):
    """A place at which the graph breaks in the first call of a function, and not again.

    The first compilation of the function has breaks. Then something that the model keeps, ``None``
    or ``False`` until then, is set for good; it is compiled for the second time, without a break.
    Only logs of torch 2.7 and later tell: before that, repeated breaks are not printed.
    """

    file: str
    line: int
    family: str
    #: The function that was called.
    function: str
    #: What its first call changes.
    cause: str

    @classmethod
    def join(
        cls, breaks: Table[GraphBreak], *, recompiles: Table[Recompile]
    ) -> Iterator[Seen[SetupBreak]]:
        """Yield the places of which all breaks are in the set-up."""
        by_place: defaultdict[tuple[str, int, str], list[Event]] = defaultdict(list)
        for event in breaks.events():
            broken = event[1].record
            by_place[broken.file, broken.line, broken.family].append(event)
        seconds = list(_seconds(list(breaks.events()), recompiles))
        again = {(one.place.input, one.place.writer, one.code) for one in seconds}
        for (file, line, family), events in by_place.items():
            second = next((second for second in seconds if _belong(events, second)), None)
            if second is None or _is_cut_around(events, second, again):
                continue
            failure = second.seen.record.newest
            check = failure.check if failure is not None else None
            record = cls(
                file=file,
                line=line,
                family=family,
                function=second.seen.record.function,
                cause=str(check.source) if isinstance(check, ValueCheck | TypeCheck) else "",
            )
            yield second.seen.about(record, [second.place])


def _seconds(breaks: list[Event], recompiles: Table[Recompile]) -> Iterator[Second]:
    """Yield the second compilations that leave the breaks of the first behind."""
    entries: defaultdict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
    for place, _ in breaks:
        code, _, entry = place.frame.partition("/")
        held = entries[place.input, place.writer, code]
        held[entry] = min(place.line, held.get(entry, place.line))
    for place, seen in recompiles.events():
        code, _, entry = place.frame.partition("/")
        broken = entries.get((place.input, place.writer, code), {})
        if entry == "1" and list(broken) == ["0"] and _is_set_for_good(seen.record):
            yield Second(place, seen, broken["0"])


def _is_set_for_good(record: Recompile) -> bool:
    """Whether the guard is about something of the model that was unset in the first call."""
    check = record.newest.check if record.newest is not None else None
    unset = isinstance(check, ValueCheck) and is_unset(check)
    dropped = isinstance(check, TypeCheck) and "NoneType" in check.found
    if not isinstance(check, ValueCheck | TypeCheck) or not (unset or dropped):
        return False
    source = check.source
    own = source.name == "self" or any(part in source.path for part in (*PARTS, ".config."))
    return own and source.path.startswith(".")


def is_unset(check: ValueCheck) -> bool:
    """Whether nothing was set yet."""
    return check.constant in {"None", "False"}


def _is_cut_around(events: list[Event], second: Second, again: set[tuple[str, str, str]]) -> bool:
    """Whether the first call also cut a function that calls it, which stays in pieces.

    It is numbered before, and compiled for the call alone: nothing in it has changed.
    """
    codes = [
        (place, place.frame.partition("/")[0])
        for place, seen in events
        if not seen.record.skips_frame
    ]
    return any(
        code.isdecimal()
        and second.code.isdecimal()
        and int(code) < int(second.code)
        and (place.input, place.writer, code) not in again
        for place, code in codes
    )


def _belong(events: list[Event], second: Second) -> bool:
    """Whether all breaks of one place are in the first call of the function.

    Callers that Dynamo gave up because of the break have tried it before the function itself.
    A repetition is printed without its stack; the first one at its place says where it is.
    """
    return (
        all(second.follows(place) for place, _ in events)
        and any(second.begin <= place.line for place, _ in events)
        and any(_is_called_by(seen.record, second.seen.record) for _, seen in events)
        and all(cause.explanation for _, seen in events for cause in seen.record.causes[:1])
    )


def _is_called_by(record: GraphBreak, function: Recompile) -> bool:
    name = function.function
    return any(
        frame.file == function.file
        and frame.function.removeprefix(RESUMED).partition("_at_")[0] == name
        for frame in record.stack
    )
