"""What stands before a record's first line where the user chose the format of torch's log lines.

With ``TORCH_LOGS_FORMAT`` torch uses Python's own formatter, and so does a program that has torch's
loggers write to its own handler: the first line of a record is prefixed, the others are bare. Which
fields the prefix has is the user's choice, so it is recognised by what it is made of: times,
levels, numbers, source files, punctuation and the name of the logger. Where the logger is not in
it, the record is known by how it begins.

Only patterns, no state. All of them are linear: what a loop took is never given back.
"""

from __future__ import annotations

from typing import NamedTuple

from tracelens.late import late

__all__ = ["LEVELLED", "MAY_HEAD", "Head", "Heads"]

_LEVEL = rb"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\b"
_STAMP = rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"
#: Times, numbers, punctuation, levels, source files, processes and threads, in any order.
_MARKS = rb"[]\[\s:|,;.<>#*@+/()\d-]{0,80}+"
_FILE = rb"[\w./\\-]{1,100}+(?<=\.py)"
_PROCESS = rb"(?:Main|Spawn)Process\b|(?:Main)?Thread\b"
_WORD = rb"(?:" + _LEVEL + rb"|(?<=\d)[TZ](?![A-Za-z])|" + _PROCESS + rb"|" + _FILE + rb")"
_FIELDS = _MARKS + rb"(?:" + _WORD + _MARKS + rb"){0,8}+"
#: The loggers of what is compiled; the last part of a name is the artifact, if it begins so.
_NAME = (
    rb"(?P<logger>torch\.(?:_dynamo|_inductor|_functorch|_export|_subclasses|_logging|_guards"
    rb"|_utils_internal|fx|distributed|export|nested|utils)\b[\w.]{0,160})"
)
#: What parts the prefix from the message. Messages are indented by an even number of blanks, so
#: the odd one of several is the prefix's.
_END = (
    rb"[])>]{0,2}+(?: ?(?:[:|>]|--?(?= )))?+"
    rb"(?:[ \t](?=(?:[ \t][ \t]){0,40}+(?![ \t])))?+"
)
_AFTER = (
    rb"(?:[]\[\s:|,;<>#*@+/()-]{1,4}+"
    rb"(?:" + _LEVEL + rb"|\d{1,9}(?= ?[]:|)])|" + _FILE + rb")){0,3}+"
)

#: The first line of a record of any logger: a level or a time, and more of a prefix behind it.
LEVELLED = late(rb"[\[(<]?(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)[]:)>| ]|" + _STAMP + rb"\b)")
_FIRSTS = (b"0", b"1", b"2", b"3", b"[", b"(", b"<", b"D", b"I", b"W", b"E", b"C", b"F")
#: Told apart at a glance from most lines of programs.
MAY_HEAD = late(rb"[\[(<]?(?:\d{2}|" + _LEVEL + rb")")
#: A prefix in Python's basic format, in the middle of a line: a progress bar left no newline.
_GLUED = late(rb"(?<![\s\"'`(=])(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):torch\._[\w.]+:")
_CLOCK = late(_STAMP + rb",\d{3}")
_SAYS_WHEN_OR_HOW = late(_STAMP + rb"|" + _LEVEL + rb"|\.py\b")
_ARTIFACT = late(rb"\.__[a-z]\w*(?<!_)\Z")
_HEAD = late(
    rb"(?P<before>" + _FIELDS + rb")(?P<named>" + _NAME + rb"(?P<after>" + _AFTER + _END + rb"))?"
)


class Head(NamedTuple):
    """The prefix of one record's first line."""

    #: The prefix itself; empty where the format is the message alone.
    prefix: bytes
    #: The name of torch's logger; empty where the format leaves it out.
    logger: bytes
    #: The message's first line.
    text: bytes

    @property
    def clock(self) -> bytes:
        """The time in it as :func:`~tracelens.source.prefixes.clock` reads it; empty for none."""
        match = _CLOCK.search(self.prefix)
        return match.group() if match else b""


class Heads:
    """Finds the prefixes.

    Args:
        opens: Beginnings of messages that are known by themselves.
        weak: Beginnings that say who wrote them only behind a time or a level.
    """

    def __init__(self, opens: tuple[bytes, ...], weak: tuple[bytes, ...]) -> None:
        #: Beginnings of messages that are known by themselves.
        self.opens = opens
        self._weak = (*opens, *weak)
        self._starts = frozenset(mark[:4] for mark in self._weak)
        #: What a line begins with that has a prefix without the name of a logger.
        self.firsts = frozenset(mark[:1] for mark in (*opens, *_FIRSTS))

    def find(self, line: bytes) -> Head | None:
        """Return the prefix of ``line``; None for a line that begins no record of torch."""
        if b"torch." not in line:
            if line.startswith(self.opens):
                return Head(b"", b"", line)
            if MAY_HEAD.match(line) is None:
                return None
        elif b":torch._" in line and (glued := _GLUED.search(line)) is not None:
            line = line[glued.start() :]
        match = _HEAD.match(line)
        assert match is not None  # noqa: S101 -- every part of the pattern may be empty
        before = match.end("before")
        text = line[before:]
        logger = match["logger"]
        if logger is None and text[:4] not in self._starts:
            return None
        tells = _SAYS_WHEN_OR_HOW.search(match.group()) is not None
        if text.startswith(self._weak if tells else self.opens) and (tells or not before):
            return Head(line[:before], b"", text)
        if logger is not None and (tells or _ARTIFACT.search(logger)):
            return Head(match.group(), logger, line[match.end() :])
        return None
