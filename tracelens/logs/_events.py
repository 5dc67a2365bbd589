"""Events of the structured log: when each phase of a compilation began and ended.

``chromium_event`` is the most frequent record by far, and only its time is new from record to
record: the times are gathered in columns (:mod:`tracelens.dynamo.phases`), and no model is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from sys import intern

import msgspec

from tracelens.logs import Record, Tick
from tracelens.logs.dynamic import ChangedValue, MarkedDynamic

__all__ = ["changes", "tick"]


class _Args(msgspec.Struct):
    #: What ``compile_times()`` calls the phase, where the event is called otherwise.
    fn_name: str = ""
    compile_id: str = ""


class _Event(msgspec.Struct):
    name: str
    ph: str
    #: Microseconds.
    ts: float
    args: _Args | None = None


class _Change(msgspec.Struct):
    name: str = ""
    dim_changed: str | int = ""
    reason: str = ""
    cached: str | int = ""
    new: str | int = ""


class _Changed(msgspec.Struct):
    args: _Change


_EVENT = msgspec.json.Decoder(_Event)
_PHASES = frozenset("BE")
#: Instants of which a record of its own says the same or more: look-ups in caches.
_CHANGED = "automatic_dynamic"
#: How the text log calls what ``reason`` says.
_WHAT = {
    "scalar change": "val",
    "size change": "size({})",
    "stride change": "stride({})",
    "dimensionality change": "dim()",
}
_WHY = "from automatic dynamic/PGO"


def tick(payload: bytes) -> Tick | None:
    """Return the beginning or the end of a phase.

    Returns:
        None for an instant, and for what is no event.
    """
    try:
        event = _EVENT.decode(payload)
    except (msgspec.DecodeError, UnicodeError):
        return None
    if event.ph not in _PHASES:
        return None
    args = event.args
    if args is None:
        return Tick(intern(event.name), "", event.ts, event.ph == "E")
    frame = "" if args.compile_id == "None" else intern(args.compile_id)
    return Tick(intern(args.fn_name or event.name), frame, event.ts, event.ph == "E")


def changes(payload: str) -> Iterator[Record]:
    """Yield what an instant says and no other record does.

    Raises:
        msgspec.DecodeError: It is no event.
    """
    if _EVENT.decode(payload).name != _CHANGED:
        return
    change = msgspec.json.decode(payload, type=_Changed).args
    what = _WHAT.get(change.reason, change.reason).format(change.dim_changed)
    yield MarkedDynamic(source=change.name, reason=_WHY)
    yield ChangedValue(source=change.name, what=what, new=str(change.new), old=str(change.cached))
