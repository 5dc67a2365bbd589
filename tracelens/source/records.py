"""Records whose lines are still coming, and where those lines stand."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat
from operator import length_hint
from typing import NamedTuple

from tracelens.logs import HeadedLog, Log
from tracelens.source.heads import LEVELLED, Head
from tracelens.source.prefixes import clock

__all__ = [
    "IDLE",
    "STAMPED",
    "Block",
    "Current",
    "Headed",
    "Lines",
    "Open",
    "reach",
    "reach_restamped",
    "tail_of",
]

_NO_TAB = re.compile(rb"[^\t]")
#: What a prefix of torch's begins with, up to the clock, and how long that is.
_STAMP = re.compile(rb"[VIWECF]\d{4} \d\d:\d\d:\d\d\.\d{6} ")
STAMPED = 21
#: ... and up to its fraction of a second: most lines are written in the same second as the last.
SECOND = 15


@dataclass(slots=True)
class Lines:
    """The lines of a record that is still open."""

    line: int
    body: list[bytes]
    #: (offset in body, line number) where the record goes on after lines of others.
    jumps: list[tuple[int, int]] = field(default_factory=list, kw_only=True)

    def go_on(self, line: bytes, number: int) -> None:
        """Add a line that stands at ``number``."""
        offset, start = self.jumps[-1] if self.jumps else (0, self.line)
        if start + len(self.body) - offset != number:
            self.jumps.append((len(self.body), number))
        self.body.append(line)

    def join(self, other: Lines, shift: int) -> None:
        """Add the lines of ``other``, which stand ``shift`` lines later than it says."""
        start = len(self.body)
        here = other.line + shift
        offset, line = self.jumps[-1] if self.jumps else (0, self.line)
        if line + start - offset != here:
            self.jumps.append((start, here))
        self.jumps += [(start + offset, line + shift) for offset, line in other.jumps]
        self.body += other.body

    def shift(self, lines: int) -> None:
        """Move down by ``lines`` lines."""
        self.line += lines
        self.jumps = [(offset, line + lines) for offset, line in self.jumps]


@dataclass(slots=True)
class Open(Lines):
    """A torch record: all of its lines begin with ``prefix``, which the body is without.

    So is it without the blank that torch writes behind the prefix.
    """

    prefix: bytes
    rank: str
    #: Torch 2.0 writes the prefix before the first line alone.
    headed: bool = False

    def is_restamped(self, prefix: bytes, text: bytes, begun: tuple[bytes, ...]) -> bool:
        """Tell whether ``text`` goes on with this although its ``prefix`` has another clock.

        Torch writes the lines of a record under one clock, what stamps lines anew does not.

        Args:
            prefix: What stands before the line.
            text: The line behind it, with its newline.
            begun: What records of its place in torch begin with.
        """
        return self.is_of_place(prefix) and not text.startswith(self.bounds(begun) or (b"",))

    def is_of_place(self, prefix: bytes) -> bool:
        """Tell whether ``prefix`` is of the same process and place, whatever its clock."""
        same = prefix[:1] == self.prefix[:1] and prefix[-8:] == self.prefix[-8:]
        return same and tail_of(prefix) == tail_of(self.prefix) != b""

    def bounds(self, begun: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """Return what lines begin with, newline and all, that end this whatever their clock.

        Args:
            begun: What records of its place in torch begin with.

        Returns:
            Nothing where it does not begin so itself, behind a blank line at most.
        """
        if self.body[0].startswith(begun):
            return begun
        led = not self.body[0] and len(self.body) > 1 and self.body[1].startswith(begun)
        return (b"\n", *begun) if led else ()

    def is_followed_by(self, number: int) -> bool:
        """Tell whether ``number`` is the line right below it."""
        offset, start = self.jumps[-1] if self.jumps else (0, self.line)
        return start + len(self.body) - offset == number

    def may_take(self, number: int) -> bool:
        """Tell whether a line without the prefix, which stands at ``number``, may go on with it."""
        return (
            self.is_followed_by(number)
            and self.prefix.startswith((b"[", b"torch", b"Torch"))
            and (self.headed or len(self.body) == 1)
        )


@dataclass(slots=True)
class Block(Lines):
    """A bare record, or a structured one: its lines have no torch prefix, or only the first has.

    Those of a structured one are kept as they stand in the input, newline and all: most are never
    looked at.
    """

    log: type[Log]
    pid: str = ""
    when: float | None = None
    #: The line of the input that the next line would be, were nothing between.
    next: int = 0

    def shift(self, lines: int) -> None:
        """Move down by ``lines`` lines."""
        Lines.shift(self, lines)
        self.next += lines

    def admits(self, text: str, number: int, rank: str, begins: Callable[[str], bool]) -> bool:
        """Tell whether a line goes on with this.

        Args:
            text: The line.
            number: Where it stands.
            rank: Who wrote it; empty when no launcher said so.
            begins: Tells whether a line is the first of a bare record.
        """
        del number, rank, begins
        if self.log.structured:
            return text.startswith("\t")
        goes_on = self.log.continues
        return goes_on is not None and bool(goes_on.match(text))

    def ends_with(self, text: str) -> bool:
        """Tell whether a line that went on with this is its last one."""
        return self.log.ends is not None and bool(self.log.ends.match(text))


@dataclass(slots=True)
class Headed(Block):
    """A torch record of which only the first line is prefixed, in a format that the user chose."""

    prefix: bytes = b""

    @classmethod
    def begun(cls, head: Head, log: type[Log], number: int, end: int) -> Headed:
        """Return a record whose first line stands at ``number``, up to the line ``end``."""
        when = clock(head.clock) if head.clock else None
        return cls(number, [head.text], log, when=when, prefix=head.prefix, next=end + 1)

    def admits(self, text: str, number: int, rank: str, begins: Callable[[str], bool]) -> bool:
        """Tell whether a line may belong to this.

        One record is written at once: what stands behind a line of others does not belong to it,
        unless a launcher mixed the ranks.
        """
        if number != self.next and not rank:
            return False
        goes_on = self.log.continues
        if goes_on is not None:
            return bool(goes_on.match(text))
        if issubclass(self.log, HeadedLog) and self.log.encloses(self.body, text):
            return True
        return not (LEVELLED.match(text.encode()) or begins(text))


class Current(NamedTuple):
    """What lines begin with that go on with the record in hand, transport and all, and its lines.

    Where a line may go on with it under another clock: what stands behind the clock, what the lines
    begin with that do not, newline and all, and the transport.
    """

    prefix: bytes
    body: list[bytes]
    tail: bytes = b""
    begun: tuple[bytes, ...] = ()
    before: bytes = b""


#: No record is in hand: no line begins so.
IDLE = Current(b"\0never", [])


@lru_cache(maxsize=64)
def tail_of(prefix: bytes) -> bytes:
    """Return what stands behind the clock of torch's ``prefix``; empty for forms without one."""
    return prefix[STAMPED:] if _STAMP.match(prefix) else b""


def reach_restamped(lines: list[bytes], at: int, stop: int, current: Current) -> int:
    """Return the index of the first of ``lines`` from ``at`` that does not go on with ``current``.

    The clock of those that do is another one; it is ``stop`` at the latest.
    """
    prefix, _, tail, begun, before = current
    start = len(before)
    first, stamped = prefix[: start + 1], start + STAMPED
    second, micros = prefix[: start + SECOND], slice(start + SECOND, stamped)
    text = stamped + len(tail)
    if not lines[at].startswith(tail, stamped):  # most of what ends a record
        return at
    step = 8
    while at < stop:
        some = lines[at : min(at + step, stop)]
        some = some[: _until(False, some, tail, stamped)]
        some = some[: _until(True, some, begun, text)]
        going_on = _until(False, some, second, 0)
        digits = b"".join([line[micros] for line in some])
        if going_on < len(some) or not digits.isdigit():
            some = some[: _until(False, some, first, 0)]
            stamps = list(map(_STAMP.match, some, repeat(start)))
            going_on = stamps.index(None) if None in stamps else len(stamps)
        at += going_on
        if going_on < step:
            break
        step *= 4
    return at


def _until(wanted: bool, lines: list[bytes], mark: bytes | tuple[bytes, ...], at: int) -> int:
    """Return which of ``lines`` is the first that has ``mark`` at ``at``, or has it not.

    How many there are, where none is.
    """
    rest = iter(lines)
    hits = map(bytes.startswith, rest, repeat(mark), repeat(at))
    found = any(hits) if wanted else not all(hits)
    return len(lines) - length_hint(rest) - found


def reach(lines: list[bytes], firsts: bytes, at: int, stop: int, prefix: bytes) -> int:
    """Return the index of the first of ``lines`` from ``at`` that does not begin with ``prefix``.

    It is ``stop`` at the latest. Looks at ever more lines at once: most records are short or long.
    """
    if prefix == b"\t" and firsts:
        other = _NO_TAB.search(firsts, at, stop)
        return stop if other is None else other.start()
    step = 8
    while at < stop:
        some = lines[at : min(at + step, stop)]
        going_on = _until(False, some, prefix, 0)
        at += going_on
        if going_on < len(some):
            break
        step *= 4
    return at
