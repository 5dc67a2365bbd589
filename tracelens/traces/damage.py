"""Cut text that the decoder refused into events, one at a time: nothing good beside bad is lost.

A cut is believed where the decoder accepts what stands before it. Where it does not, the extent of
the event is found by following strings and brackets; and where even those do not fit together, the
text up to the next thing that looks like an event is given up, and counted.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tracelens.late import late
from tracelens.logs._trace_events import Event, Refused, decode_one, decode_tolerantly

__all__ = ["BOUNDARY", "Split", "split"]

#: The end of one object and the beginning of the next: between events, or inside one.
BOUNDARY = re.compile(rb"\}\s*,\s*(?=\{)")
_ELEMENT = late(rb"[^\s,]")
_TOKEN = late(
    rb'\s*+("[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s"{}\[\],:]++)',
    re.DOTALL,
)
#: What is wrong with an event.
BROKEN, DEEP = "broken JSON", "nested too deeply"
#: Levels of brackets of one event; the decoder takes no more.
MAX_DEPTH = 1_000
_CLOSES = {b"{": b"}", b"[": b"]"}


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
    found = _extent(text, at)
    if found is None:
        return None, at
    end, wrong = found
    if not wrong:
        # A number or word may go on in the text to come; a bracket or a quote may not.
        if end < len(text) or last or text[end - 1] in b'}]"':
            return decode_tolerantly(text[at:end]), end
        return None, at
    if text[end : end + 1] != b"{":
        if boundary is None and not (last and wrong == DEEP):
            return None, at
        end = len(text) if boundary is None else boundary.end()
    return Refused(text[at : min(end, at + 2000)].decode("utf-8", "replace"), wrong), end


def _extent(text: bytes, at: int) -> tuple[int, str] | None:
    """Return where the JSON value at ``at`` ends, or where what is wrong; None when it goes on.

    Where an object stands in the place of a key, it is the next event, and that is where it breaks.
    """
    stack: list[bytes] = []
    end = at
    before = b","
    # Up to a string that does not end. Never searched for: that would try every blank of a gap.
    while (match := _TOKEN.match(text, end)) is not None:
        token = match[1]
        first = token[:1]
        if first in b",:":
            if not stack:
                return match.start(1), BROKEN
        elif first in b"}]":
            if not stack or _CLOSES[stack.pop()] != first:
                return match.start(1), BROKEN
        else:
            key = before in b",{" and stack[-1:] == [b"{"]
            if (key and first in b"{[") or before not in b",:{[":
                return match.start(1), BROKEN
            if first in b"{[":
                if len(stack) >= MAX_DEPTH:
                    return end - 1, DEEP  # at what stands before it, which begins no event
                stack.append(first)
        end = match.end()
        before = first
        if not stack:
            return end, ""
    return None
