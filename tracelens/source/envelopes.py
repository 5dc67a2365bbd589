"""Records of a structured log, found in a text that is not cut into lines.

Nearly all of such a log is payload, on lines that begin with a tab. Where all others are envelopes
that nothing was put in front of, a record reaches from one to the next, and its lines are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from tracelens.late import late
from tracelens.logs import Skimmed, StructuredLog
from tracelens.remembered import of_reading

__all__ = ["Envelope", "Raw", "envelopes", "may_be_structured", "skimmed_of"]

#: The first line of a record; :data:`~tracelens.source.prefixes.TORCH` finds the same parts in it.
#: It is short enough that nobody takes it for a line that tells of a failure.
_PREFIX = rb"[VIWECF](\d{4} \d\d:\d\d:\d\d\.\d{6}) {1,8}(\d{1,20}) [^\]\n\r\x1b]{1,120}\] "
_BEGINS = late(_PREFIX + rb'\{"')
_ENVELOPE = late(_PREFIX + rb'(\{"[^\n\r\x1b]*\n)')
#: Where a line begins that is no payload, and the envelope that it is, whose newline is not taken;
#: or a line of a payload that is looked at: what torch says of weights.
_OUTSIDE = late(
    rb"\n(?!\t[^MUs])(?:"
    + _PREFIX
    + rb'(\{"[^\n\r\x1b]*)(?=\n)|[^\t]|\t(?:Missing key|Unexpected key|size mismatch for))'
)
#: What ends an envelope: the digest of its payload, whose 32 digits are followed by three signs;
#: and how long one is that may come again.
_PAYLOAD = b', "has_payload": "'
_DIGEST = 32 + 3
_TAIL = _DIGEST + len(_PAYLOAD)
MAX_REMEMBERED = 400
_TOLD = (b"\tMissing key", b"\tUnexpected key", b"\tsize mismatch for")


class Envelope(NamedTuple):
    """The first line of a record, and where the record stands."""

    #: Where the line begins in its text.
    start: int
    clock: bytes
    pid: bytes
    #: The JSON, with its newline.
    head: bytes
    #: Where the payload begins.
    payload: int


class Raw(NamedTuple):
    """A structured record as it was written."""

    #: The JSON of the envelope, with its newline.
    head: bytes
    #: Lines that each begin with a tab.
    payload: bytes
    line: int
    #: How many lines all of it has.
    lines: int
    pid: str
    when: float | None
    #: (offset, line number) where it goes on after lines of others.
    jumps: tuple[tuple[int, int], ...] = ()


def envelopes(text: bytes) -> list[Envelope] | None:
    """Return the envelopes in ``text``, of whole lines; None where there are lines of others."""
    if text.startswith(_TOLD):
        return None
    found = []
    if text[:1] != b"\t":
        match = _ENVELOPE.match(text)
        if match is None:
            return None
        found.append(Envelope(0, match[1], match[2], match[3], match.end()))
    for match in _OUTSIDE.finditer(text):
        if match.lastindex is None:
            return None
        clock, pid, head = match.groups()
        found.append(Envelope(match.start() + 1, clock, pid, head + b"\n", match.end() + 1))
    return found


def may_be_structured(head: bytes) -> bool:
    """Tell whether a text that begins with ``head`` may be a structured log."""
    return _BEGINS.match(head) is not None


def skimmed_of(log: type[StructuredLog], head: bytes) -> Skimmed | None:
    """Return what tells a record that no table needs.

    Envelopes are the same but for the digest of the payload, which says nothing of the record.
    """
    told = head[-_TAIL:-_DIGEST] == _PAYLOAD and head[-_DIGEST:-3].isalnum()
    if not told or head[-3:] != b'"}\n' or len(head) > MAX_REMEMBERED:
        return log.skim(head[:-1].decode("utf-8", "replace"))
    return _remembered(log.skim, head[:-_TAIL])


@of_reading
@lru_cache(maxsize=4096)
def _remembered(skim: Callable[[str], Skimmed | None], head: bytes) -> Skimmed | None:
    return skim(head.decode("utf-8", "replace") + "}")
