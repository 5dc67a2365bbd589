"""Keep the lines of an input that may tell why the program failed.

A failure stands in lines of every dress: behind a logger's prefix, in a box, wrapped, quoted, in
the middle of a record of torch, between the lines of other ranks. What tells of one is looked for
in the whole line, and the lines around it are kept as they are, to be read at the input's end.

Most text holds none of the words; a block of it costs a few searches for literals.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from itertools import accumulate, compress
from typing import NamedTuple

from tracelens.source.signs import HINTS, HOT

__all__ = ["Excerpt", "Watch"]

#: Lines that are kept before one that tells of a failure, and after it.
BEFORE, AFTER = 4, 14
#: Lines of one excerpt: the first and the last ones are kept of a longer one.
MAX_HEAD, MAX_TAIL = 300, 700
#: Excerpts of one input: the first and the last ones.
MAX_EXCERPTS = 40
#: Lines that tell of a failure, of one input.
MAX_HOT = 100_000
#: Lines that are kept for what stands before them.
MAX_LEAD = 2_000
_TAB = ord("\t")
#: What torch says below its error about the names and sizes of weights, and NCCL of its ranks.
_KEYS = (
    b"\tMissing key",
    b"\tUnexpected key",
    b"\tsize mismatch for",
    b"\t - To our best knowledge",
    b"\t   - [",
    b"\t     [",
)
#: Lines of an input that is looked at whole where nothing else is known of it.
MAX_BRIEF = 80
#: Bytes of a line; a line of JSON may hold a whole traceback.
MAX_LINE, MAX_JSON = 4_000, 64_000


class Excerpt(NamedTuple):
    """Lines that follow one another: (number, line)."""

    lines: list[tuple[int, bytes]]

    def shifted(self, by: int) -> Excerpt:
        """Return it as it is when ``by`` lines stand before this part of the input."""
        return Excerpt([(number + by, line) for number, line in self.lines])


class Watch:
    """The excerpts of one input, or of one range of its lines."""

    def __init__(self, *, from_start: bool = True) -> None:
        self._first: list[Excerpt] = []
        self._last: deque[Excerpt] = deque(maxlen=MAX_EXCERPTS)
        self._open: list[tuple[int, bytes]] = []
        #: Lines that the open excerpt still takes; below zero, how many stood behind its last one.
        self._owed = 0
        self._tail: list[tuple[int, bytes]] = []
        #: Without the start of the input: its first lines, up to where no excerpt of what stands
        #: before them can reach.
        self._lead: list[tuple[int, bytes]] = []
        #: ... and which of them tell of a failure.
        self._lead_hot: list[int] = []
        self._leads = not from_start
        #: The input's first lines.
        self.brief: list[tuple[int, bytes]] = []
        #: The last traceback of whatever program; only at the end of an input does it matter.
        self.latest: Excerpt | None = None
        #: Lines that tell of a failure; those of them that are the program's for all that is known.
        self.hot: set[int] = set()
        self.orphans: set[int] = set()
        #: Those of the first lines that are the program's, or nobody's for all that is known.
        self.left: set[int] = set()

    def leave(self, number: int) -> None:
        """Note a line that no kind of log claims."""
        if number in self.hot:
            self.orphans.add(number)
        if number <= MAX_BRIEF:
            self.left.add(number)

    def look_at(
        self,
        lines: list[bytes],
        stretches: list[tuple[int, int]],
        number: int,
        *,
        may_tell: bool,
    ) -> list[int]:
        """Look at some stretches of lines, but not at payloads, which begin with a tab.

        Args:
            lines: Lines that follow one another.
            stretches: Which of them: (first, one past the last).
            number: Where the first one stands.
            may_tell: Whether one of :data:`~tracelens.source.signs.TRIGGERS` is in them.

        Returns:
            Which of the lines tell of a failure.
        """
        numbers: list[int] = []
        some: list[bytes] = []
        for start, stop in stretches:
            part = lines[start:stop]
            keep = [line[0] != _TAB or line.startswith(_KEYS) for line in part]
            some += compress(part, keep)
            numbers += compress(range(number + start, number + stop), keep)
        return [at - number for at in self.look(some, numbers, may_tell=may_tell)]

    def look(
        self, lines: Sequence[bytes], numbers: Sequence[int], *, may_tell: bool = True
    ) -> list[int]:
        """Look at the next ``lines``, which stand at ``numbers``; return where one is hot."""
        if not lines:
            return []
        if room := MAX_BRIEF - len(self.brief):
            self.brief += zip(numbers[:room], map(_shortened, lines[:room]), strict=False)
        hot = _hot(lines) if may_tell else []
        found = [numbers[at] for at in hot]
        if len(self.hot) < MAX_HOT:
            self.hot.update(found)
        if self._leads:
            end = _quiet(hot, len(lines)) if len(self._lead) < MAX_LEAD else 0
            self._lead_hot += [len(self._lead) + at for at in hot if at < end]
            self._lead += zip(numbers[:end], lines[:end], strict=True)
            self._tail = self._lead[-BEFORE:]
            self._leads = end == len(lines) and len(self._lead) < MAX_LEAD
            hot = [at - end for at in hot if at >= end]
            lines, numbers = lines[end:], numbers[end:]
        if lines and not self._leads:
            self._follow(lines, numbers, hot)
        return found

    def _follow(self, lines: Sequence[bytes], numbers: Sequence[int], hot: Sequence[int]) -> None:
        """Take what is to be kept of the next lines, and remember the last of them."""
        self._gather(lines, numbers, hot)
        last = zip(numbers[-BEFORE:], lines[-BEFORE:], strict=True)
        self._tail = [*self._tail, *last][-BEFORE:]

    def _gather(self, lines: Sequence[bytes], numbers: Sequence[int], hot: Sequence[int]) -> None:
        """Take the lines around the hot ones; an excerpt ends where the next is not yet near.

        What comes out does not depend on how many lines are looked at together.
        """
        stop = self._owed
        start, begun = min(stop, 0), bool(self._open)
        for at in hot:
            if begun and at - BEFORE > stop:
                self._take(lines, numbers, start, stop)
                self._close()
                begun = False
            if not begun:
                start, begun = max(at - BEFORE, -len(self._tail)), True
            stop = at + AFTER + 1
        if begun:
            self._take(lines, numbers, start, min(stop, len(lines)))
            self._owed = stop - len(lines)
            if self._owed < -BEFORE:
                self._close()

    def _take(self, lines: Sequence[bytes], numbers: Sequence[int], start: int, stop: int) -> None:
        """Take the lines from ``start``, which may be before the first, to ``stop``."""
        if start < 0:
            tail = len(self._tail)
            before = self._tail[tail + start : max(0, tail + min(stop, 0))]
            self._open += [(number, _shortened(line)) for number, line in before]
        begin, end = max(0, start), max(0, stop)
        kept = map(_shortened, lines[begin:end])
        self._open += zip(numbers[begin:end], kept, strict=True)
        if len(self._open) > 4 * (MAX_HEAD + MAX_TAIL):
            self._open[MAX_HEAD:-MAX_TAIL] = []

    def _close(self) -> None:
        if self._open:
            self._keep(Excerpt(self._open[:MAX_HEAD] + self._open[MAX_HEAD:][-MAX_TAIL:]))
        self._open, self._owed = [], 0

    def _keep(self, excerpt: Excerpt) -> None:
        text = b"".join(line for _, line in excerpt.lines)
        if b"Traceback (most recent" in text:
            self.latest = excerpt
        if HINTS.search(text) is None:
            return
        if len(self._first) < MAX_EXCERPTS:
            self._first.append(excerpt)
        else:
            self._last.append(excerpt)

    def extend(self, after: Watch, shift: int) -> None:
        """Take over what ``after`` kept, whose lines come ``shift`` lines later."""
        numbers = [number + shift for number, _ in after._lead]
        self._follow([line for _, line in after._lead], numbers, after._lead_hot)
        room = MAX_BRIEF - len(self.brief)
        self.brief += [(number + shift, line) for number, line in after.brief[:room]]
        self.hot.update(number + shift for number in after.hot)
        self.orphans.update(number + shift for number in after.orphans)
        self.left.update(n + shift for n in after.left if n + shift <= MAX_BRIEF)
        if after._leads:  # nothing but lead
            return
        self._close()
        for one in (*after._first, *after._last):
            self._keep(one.shifted(shift))
        if after.latest is not None:
            self.latest = after.latest.shifted(shift)
        self._open = [(number + shift, line) for number, line in after._open]
        self._owed, self._tail = after._owed, [(n + shift, line) for n, line in after._tail]

    @property
    def has_excerpts(self) -> bool:
        """Whether there is one that is complete."""
        return bool(self._first)

    def finish(self) -> list[Excerpt]:
        """Return the excerpts, in the order of the input."""
        self._close()
        return [*self._first, *self._last]


def _shortened(line: bytes) -> bytes:
    """Return what is kept of a line, whichever lines it was looked at with."""
    return line[: MAX_JSON if line[:1] == b"{" else MAX_LINE]


def _hot(lines: Sequence[bytes]) -> list[int]:
    """Return which of ``lines`` may tell of a failure."""
    places = [at for at, line in enumerate(lines) if _is_bare(line)]
    bare = [lines[at] for at in places]
    text = b"".join(bare)
    ends = list(accumulate(map(len, bare)))
    found: set[int] = set()
    for literal, pattern in HOT:
        at = text.find(literal)
        while at >= 0:
            line = bisect_right(ends, at)
            if line in found or pattern is None or pattern.match(text, at) is not None:
                found.add(line)
                at = text.find(literal, ends[line])
            else:
                at = text.find(literal, at + 1)
    return [places[at] for at in sorted(found)]


def _is_bare(line: bytes) -> bool:
    """Tell whether a line is no line of a record that has a kind of its own."""
    return line.find(b"[__", 0, 200) < 0 and line.find(b'] {"', 0, 200) < 0


def _quiet(hot: Sequence[int], size: int) -> int:
    """Return after how many of ``size`` lines no excerpt that began in them goes on."""
    end = 0
    for at in (*hot, size):
        if at - end >= BEFORE + AFTER + 1:
            return end + BEFORE + AFTER + 1
        end = at + 1
    return size
