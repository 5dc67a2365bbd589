"""Read a Chrome trace in bounded memory: chunks cut between events, each decoded in one go.

A cut is where one object ends and another begins. That may be inside an event, or inside a string,
so a cut counts only when the decoder accepts all that stands before it: then it cannot be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.late import late
from tracelens.logs._trace_events import Event, Refused, decode_many, loads
from tracelens.traces.damage import BOUNDARY, split
from tracelens.traces.readers import Reader

__all__ = ["CHUNK", "Reader", "TraceReader", "is_trace", "may_be_trace", "peek"]

#: Bytes decoded at once: what stays in the processor's cache, and below the size from which on
#: the C library asks the system for fresh memory each time (128 KiB), which halves the speed.
CHUNK = 64 << 10
#: Bytes of one event, beyond which it is given up.
MAX_EVENT = 4 << 20
#: Bytes of all that stands around the events.
MAX_HEADER = 8 << 20
#: Bytes that are looked at to find the events of what may be a trace.
MAX_PEEK = 1 << 20
#: Cuts that are tried before the text is taken apart event by event.
_TRIES = 4
#: Ends of objects that are looked at for a cut: more end one event than any event has.
_BRACES = 5_000

_EVENTS = late(rb'"traceEvents"\s*:\s*\[')
_OBJECT = late(rb'\s*\{\s*"')
_LIST = late(rb"\s*\[\s*\{")
#: Fields that stand around the events, and nowhere else.
_FIELD = late(
    rb'"(?:schemaVersion|deviceProperties|computeProperties|baseTimeNanoseconds|displayTimeUnit)"\s*:'
)
_PHASE = late(rb'"ph"\s*:\s*"')
_STAMP = late(rb'"(?:ts|pid|tid)"\s*:')


def is_trace(head: bytes) -> bool:
    """Tell whether text that begins like ``head`` is a Chrome trace for certain."""
    if _OBJECT.match(head):
        return bool(_EVENTS.search(head) or _FIELD.search(head))
    if _LIST.match(head):
        return bool(_PHASE.search(head) and _STAMP.search(head))
    return False


def may_be_trace(head: bytes) -> bool:
    """Tell whether text that begins like ``head`` is one JSON value, and perhaps a trace."""
    if is_trace(head):
        return True
    return bool(_OBJECT.match(head)) and not _is_whole(head.partition(b"\n")[0])


def peek(reader: Reader, head: bytes) -> tuple[bool, bytes]:
    """Tell whether ``reader``, whose text begins like ``head``, reads a trace.

    Some tools write pages of their own before the events: where ``head`` is JSON but not telling,
    up to ``MAX_PEEK`` bytes are read. They are returned, to be put back.
    """
    if is_trace(head) or not may_be_trace(head):
        return is_trace(head), b""
    text = b""
    while len(text) < MAX_PEEK and (more := reader.read(MAX_PEEK - len(text))):
        text += more
    return bool(_EVENTS.search(text)), text


def _is_whole(line: bytes) -> bool:
    try:
        loads(line)
    except (ValueError, RecursionError):
        return False
    return True


class TraceReader:
    """Iterate over the events of a trace, in lists, in the order of the file.

    What is no event is in the lists as :class:`Refused`. ``header``, ``truncated`` and ``notes``
    are complete when the iteration has ended.
    """

    def __init__(self, reader: Reader, *, chunk: int = CHUNK) -> None:
        #: JSON of all fields but the events; empty for a bare list of events.
        self.header = b""
        #: Whether the text ends before the trace does.
        self.truncated = False
        self.notes: list[str] = []
        self._reader = reader
        self._chunk = chunk
        self._ended = False
        self._front = b""

    def __iter__(self) -> Iterator[list[Event]]:
        buffer = self._begin()
        wanted = self._chunk
        while buffer is not None:
            buffer = self._fill(buffer, wanted)
            events, used = _decode(buffer)
            closed = False
            if not used:
                events, used, closed = split(buffer, last=self._ended)
            if events:
                yield events
            buffer = buffer[used:]
            wanted = self._chunk
            if closed:
                self._end(buffer)
                return
            if self._ended and not used:
                self.truncated = bool(self._front or buffer)
                self.header = self._front and self._front + b"}"
                return
            if not events and not used:
                wanted = 2 * max(len(buffer), self._chunk)
                if len(buffer) > MAX_EVENT:
                    buffer, wanted = self._skip(buffer), self._chunk
                    yield [Refused("", f"longer than {MAX_EVENT >> 20} MiB")]

    def _fill(self, buffer: bytes, wanted: int) -> bytes:
        """Return ``buffer`` with as much text behind it as is ``wanted``, or as there is."""
        parts = [buffer]
        size = len(buffer)
        while not self._ended and size < wanted:
            part = self._reader.read(wanted - size)
            self._ended = not part
            parts.append(part)
            size += len(part)
        return b"".join(parts)

    def _begin(self) -> bytes | None:
        """Return the text behind the beginning of the list of events."""
        text = b""
        while not text and not self._ended:
            text = self._fill(b"", self._chunk).lstrip()
        if text.startswith(b"["):
            return text[1:]
        checked = 0
        while True:
            for match in _EVENTS.finditer(text, checked):
                front = text[: match.start()].rstrip().removesuffix(b",").rstrip()
                if _is_whole(front + b"}"):
                    self._front = front
                    return text[match.end() :]
            if self._ended or len(text) > MAX_HEADER:
                break
            checked = max(0, len(text) - 64)
            text = self._fill(text, 2 * len(text))
        return self._guess(text)

    def _guess(self, text: bytes) -> bytes | None:
        """Take the first list of events although what stands before it is not JSON."""
        match = _EVENTS.search(text)
        if match is not None:
            self.notes.append("the header of the trace is not JSON; nothing of it was used")
            self._front = b"{"
            return text[match.end() :]
        self.truncated = True
        self._drain()
        return None

    def _end(self, rest: bytes) -> None:
        """Read what stands behind the events."""
        rest = self._fill(rest, MAX_HEADER).strip()
        self._drain()
        if not self._front:
            return
        fields = rest.lstrip(b", \t\r\n")
        glue = b"" if self._front == b"{" or fields == b"}" else b","
        whole = self._front + glue + fields
        self.truncated = not _is_whole(whole)
        self.header = self._front + b"}" if self.truncated else whole

    def _skip(self, buffer: bytes) -> bytes:
        """Drop text up to the next object; return what stands from there on."""
        while (match := BOUNDARY.search(buffer)) is None:
            if self._ended:
                return b""
            buffer = self._fill(buffer[-64:], 64 + self._chunk)
        return buffer[match.end() :]

    def _drain(self) -> None:
        while not self._ended:
            self._ended = not self._reader.read(self._chunk)


def _decode(buffer: bytes) -> tuple[list[Event], int]:
    """Decode as much of ``buffer`` as the last cut allows; return the events and where it is."""
    text = memoryview(buffer)
    at = len(buffer)
    tries, left = _TRIES, _BRACES
    while tries and left and (at := buffer.rfind(b"}", 0, at)) >= 0:
        cut = BOUNDARY.match(buffer, at)
        if cut is None:
            left -= 1
            continue
        tries -= 1
        try:
            return decode_many(b"".join((b"[", text[: at + 1], b"]"))), cut.end()
        except (ValueError, RecursionError):
            pass
    return [], 0
