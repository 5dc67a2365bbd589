"""What is decoded of an event: the fields that are used, typed; the others are skipped unseen.

The phases are those of the Trace Event Format (Google, 2016), section "Event Types".
"""

from __future__ import annotations

import json
import math
from functools import reduce
from operator import or_
from types import GenericAlias
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import msgspec

from tracelens.grammars import Unreadable
from tracelens.late import late

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "UNTIMED",
    "Begin",
    "Complete",
    "End",
    "Event",
    "Instant",
    "Metadata",
    "Refused",
    "decode_many",
    "decode_one",
    "decode_tolerantly",
    "described",
    "loads",
]

#: Process and thread ids: numbers, or words such as ``Spans`` and ``stream 7``.
Id: TypeAlias = int | str | None


_NOTHING = msgspec.Raw(b"")


class Arguments(msgspec.Struct, gc=False):
    """What is used of an event's arguments; those of operators first, in Kineto's order."""

    #: What joins an operator and the kernels that it starts.
    external: Any = msgspec.field(name="External id", default=None)
    #: Of operators: what joins those of the forward pass and their gradients.
    sequence: Any = msgspec.field(name="Sequence number", default=None)
    #: Of operators, with ``record_shapes=True``: read for products only.
    values: msgspec.Raw = msgspec.field(name="Concrete Inputs", default=_NOTHING)
    types: msgspec.Raw = msgspec.field(name="Input type", default=_NOTHING)
    dims: msgspec.Raw = msgspec.field(name="Input Dims", default=_NOTHING)
    #: Of copies and fills on the device; calls of the HIP runtime give it as text.
    bytes: int | float | str | None = None
    #: Of kernels: three numbers, as a rule. It is only compared.
    grid: Any = None
    #: What joins a kernel and its operator, as traces of 2021 have it with kernels.
    old_external: Any = msgspec.field(name="external id", default=None)
    #: What joins a kernel and the call that launched it.
    correlation: Any = None
    #: Of collectives: which one, on how many elements of what, between how many ranks.
    collective: Any = msgspec.field(name="Collective name", default=None)
    sent: Any = msgspec.field(name="In msg nelems", default=None)
    received: Any = msgspec.field(name="Out msg nelems", default=None)
    group: Any = msgspec.field(name="Group size", default=None)
    dtype: Any = None
    group_name: Any = msgspec.field(name="Process Group Name", default=None)
    group_ranks: Any = msgspec.field(name="Process Group Ranks", default=None)
    #: Of kernels: gigabytes and operations, where torch was told to write them.
    gb: Any = msgspec.field(name="kernel_num_gb", default=None)
    flop: Any = msgspec.field(name="kernel_flop", default=None)


_DECODE_ARGUMENTS = msgspec.json.Decoder(Arguments | None).decode


class Complete(msgspec.Struct, tag_field="ph", tag="X", gc=False, kw_only=True):
    """A span. ``ts`` and ``dur`` in microseconds; the origin of ``ts`` is any.

    The fields are in the order in which Kineto writes them: so they are found at once. Arguments
    are decoded when they are asked for, since those of most events never are.
    """

    cat: str | None = None
    name: str
    pid: Id = None
    tid: Id = None
    ts: float
    dur: float = 0.0
    #: The arguments as they are written; an instance of ``Arguments``, or None, once decoded.
    held: msgspec.Raw = msgspec.field(name="args", default=_NOTHING)

    @property
    def args(self) -> Arguments | None:
        """What is used of the arguments; None where there are none, or not as they should be."""
        held: Any = self.held
        if type(held) is msgspec.Raw:
            try:
                held = _DECODE_ARGUMENTS(held) if held else None
            except (ValueError, RecursionError):
                held = None
            self.held = held
        return held  # type: ignore[no-any-return]


class Begin(msgspec.Struct, tag_field="ph", tag="B", gc=False):
    """The beginning of a span; the next end on the same thread ends it."""

    ts: float
    name: str = ""
    cat: str | None = None
    pid: Id = None
    tid: Id = None


class End(msgspec.Struct, tag_field="ph", tag="E", gc=False):
    """The end of the span that began last on the same thread."""

    ts: float
    pid: Id = None
    tid: Id = None


class Change(msgspec.Struct, gc=False):
    """What is used of the arguments of an event that takes no time: those of ``[memory]``."""

    bytes: Any = msgspec.field(name="Bytes", default=None)
    allocated: Any = msgspec.field(name="Total Allocated", default=None)
    reserved: Any = msgspec.field(name="Total Reserved", default=None)
    kind: Any = msgspec.field(name="Device Type", default=None)
    device: Any = msgspec.field(name="Device Id", default=None)


class Instant(msgspec.Struct, tag_field="ph", tag="i", gc=False):
    """Something that took no time."""

    name: str
    cat: str | None = None
    ts: Any = None
    pid: Id = None
    tid: Id = None
    args: Change | None = None


class OldInstant(Instant, tag="I", gc=False):
    """The same, as it was spelt once."""


class Name(msgspec.Struct, gc=False):
    """The arguments of metadata: the name of a process or thread."""

    name: str | None = None


class Metadata(msgspec.Struct, tag_field="ph", tag="M", gc=False):
    """What a process or a thread is called, and how to sort them."""

    name: str
    pid: Id = None
    tid: Id = None
    args: Name | None = None


#: Flows, asynchronous spans, counters, samples, objects and others: nothing of them is used.
_PHASES = {
    "s": "FlowStart",
    "t": "FlowStep",
    "f": "FlowEnd",
    "b": "AsyncBegin",
    "e": "AsyncEnd",
    "n": "AsyncInstant",
    "S": "OldAsyncBegin",
    "T": "OldAsyncStep",
    "p": "OldAsyncPast",
    "F": "OldAsyncEnd",
    "C": "Counter",
    "P": "Sample",
    "N": "ObjectCreated",
    "O": "ObjectSnapshot",
    "D": "ObjectDestroyed",
    "R": "Mark",
    "c": "ClockSync",
    "V": "MemoryDump",
    "v": "ProcessMemoryDump",
    "(": "ContextEnter",
    ")": "ContextLeave",
}
#: The types of events of which it only matters that they are there.
UNTIMED: frozenset[type] = frozenset(
    msgspec.defstruct(name, [], tag_field="ph", tag=phase, gc=False)
    for phase, name in _PHASES.items()
)


class Refused(msgspec.Struct, frozen=True):
    """An element of the event list that is no event as the format has them."""

    text: str
    reason: str


Event: TypeAlias = (
    Complete | Begin | End | Instant | OldInstant | Metadata | Refused | msgspec.Struct
)


_KINDS: Any = reduce(
    or_,
    sorted(UNTIMED, key=lambda kind: kind.__name__),
    Complete | Begin | End | Instant | OldInstant | Metadata,
)
#: Decode the text of an event, or of a list of them.
#:
#: Raises:
#:     ValueError: It is not JSON, not UTF-8, or not an event.
#:     RecursionError: It is nested too deeply.
decode_one: Callable[[bytes], Event] = msgspec.json.Decoder(_KINDS).decode
decode_many: Callable[[bytes], list[Event]] = msgspec.json.Decoder(
    GenericAlias(list, _KINDS)
).decode


def _no_number(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is not JSON")


def _finite(literal: str) -> float:
    number = float(literal)
    if math.isinf(number):
        raise ValueError("a number is out of range")
    return number


def loads(text: bytes) -> Any:
    """Decode JSON that may hold bad UTF-8 and raw control characters, but no NaN or Infinity.

    Raises:
        ValueError: It is not JSON.
        RecursionError: It is nested too deeply.
    """
    return json.loads(
        text.decode("utf-8", "replace"),
        strict=False,
        parse_float=_finite,
        parse_constant=_no_number,
    )


def decode_tolerantly(text: bytes) -> Event:
    """Decode one event; of what is broken only encoding and control characters are forgiven."""
    try:
        return decode_one(text)
    except (ValueError, RecursionError) as first:
        try:
            found = loads(text)
            args = _taken_out(found)
            event: Event = msgspec.convert(found, _KINDS)
        except (ValueError, RecursionError) as error:
            reason = first if isinstance(first, msgspec.ValidationError) else error
            return Refused(text[:2000].decode("utf-8", "replace"), _one_line(reason))
        for field in ("name", "cat"):
            value = getattr(event, field, None)
            if value:
                setattr(event, field, value.encode("utf-8", "replace").decode())
        if isinstance(event, Complete):
            event.held = msgspec.Raw(args)
        return event


def _taken_out(event: Any) -> bytes:
    """Take out of a span what is only decoded when it is asked for; return it without shapes."""
    if not isinstance(event, dict) or event.get("ph") != "X":
        return b""
    args = event.pop("args", None)
    if not isinstance(args, dict):
        return b""
    for name in ("Input Dims", "Input type", "Concrete Inputs"):
        args.pop(name, None)
    return json.dumps(args).encode()


#: Where in the text, which differs from event to event.
_WHERE = late(r" \(byte \d+\)|: line \d+ column \d+ \(char \d+\)")


def _one_line(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    text = _WHERE.sub("", str(error).partition("\n")[0])
    return text.replace(" - at `$", " at `event")


def described(text: str) -> tuple[str, float | None]:
    """Return category, tab and name of an event in JSON, and its milliseconds.

    Raises:
        Unreadable: It is not an event.
    """
    event = decode_tolerantly(text.encode("utf-8", "replace"))
    if isinstance(event, Refused):
        raise Unreadable(event.reason)
    name = f"{getattr(event, 'cat', '') or ''}\t{getattr(event, 'name', '')}"
    return name, event.dur / 1000 if isinstance(event, Complete) else None
