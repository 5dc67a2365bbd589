"""Cut text that the decoder refused into events, one at a time: nothing good beside bad is lost.

A cut is believed where the decoder accepts what stands before it. Where it does not, the extent of
the event is found by following strings and brackets; and where even those do not fit together, the
text up to the next thing that looks like an event is given up, and counted.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tracelens.traces.events import Event, Refused, decode_one, decode_tolerantly

__all__ = ["BOUNDARY", "Split", "split"]

#: The end of one object and the beginning of the next: between events, or inside one.
BOUNDARY = re.compile(rb"\}\s*,\s*(?=\{)")
_ELEMENT = re.compile(rb"[^\s,]")
_TOKEN = re.compile(
    rb'\s*+(?:(?P<value>"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s"{}\[\]:,]++)|(?P<open>[{\[])|(?P<close>[}\]])|[:,])',
    re.DOTALL,
)
_BROKEN = -1


class Split(NamedTuple):
    """The events at the beginning of a text, and where they end."""

    events: list[Event]
    used: int
    #: Whether the list of events ends there.
    closed: bool


def split(text: bytes, *, last: bool) -> Split:
    """Return the events at the beginning of ``text``, which goes on unless it is the ``last``."""
    events: list[Event] = []
    at = 0
    while True:
        element = _ELEMENT.search(text, at)
        if element is None:
            return Split(events, len(text), closed=False)
        at = element.start()
        if element.group() == b"]":
            return Split(events, at + 1, closed=True)
        event, end = _next(text, at, last=last)
        if event is None:
            return Split(events, at, closed=False)
        events.append(event)
        at = end


def _next(text: bytes, at: int, *, last: bool) -> tuple[Event | None, int]:
    """Return the element at ``at`` and its end; None when ``text`` does not hold all of it."""
    boundary = BOUNDARY.search(text, at)
    if boundary is not None:
        try:
            return decode_one(text[at : boundary.start() + 1]), boundary.end()
        except (ValueError, RecursionError):
            pass
    end = _extent(text, at)
    if end > 0 and (end < len(text) or last or text[end - 1] in b'}]"'):
        return decode_tolerantly(text[at:end]), end
    if end == _BROKEN and boundary is not None:
        lost = text[at : boundary.start() + 1]
        return Refused(lost[:2000].decode("utf-8", "replace"), "broken JSON"), boundary.end()
    return None, at


def _extent(text: bytes, at: int) -> int:
    """Return where the JSON value at ``at`` ends: 0 beyond the text, -1 when it is no value."""
    depth = 0
    after_value = False
    end = at
    for match in _TOKEN.finditer(text, at):
        if match.start() != end:
            return 0  # a string that does not end
        end = match.end()
        kind = match.lastgroup
        if kind == "close":
            depth -= 1
            after_value = True
        elif kind is not None:
            if after_value:
                return _BROKEN
            after_value = kind == "value"
            depth += kind == "open"
        else:
            after_value = False
        if depth < 0:
            return _BROKEN
        if depth == 0:
            return end if kind is not None else _BROKEN
    return 0
