"""Lines that no log kind can claim, told many at a time: what programs print.

A line without what may stand anywhere in a line of torch's or oneDNN's is theirs only if it begins
as their lines do. Lines begin in few ways, so how each of these begins is looked at once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from operator import itemgetter

from tracelens.source.kinds import Kinds
from tracelens.source.openings import Openings

__all__ = ["ANYWHERE", "CONTROLS", "WORDS", "Unclaimed", "start"]

#: Bytes of a line's beginning that are looked at.
LENGTH = 10
#: Beginnings that are remembered.
MAX_STARTS = 20_000
#: Fewest lines worth it: the patterns are taken to pieces once.
WORTH = 500
#: Beginnings that are looked at for the first time, in so many lines at once.
MAX_NEW = 0.25
#: What is taken off lines before anything else.
CONTROLS = (b"\r", b"\x1b")
#: One of them is in every line that is torch's or oneDNN's without beginning so.
WORDS = (b"torch.", b"_verbose,", b".py:", b".py(", b"Warning:", b"Backward")
ANYWHERE = (*WORDS, *CONTROLS)
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
#: What a line begins with.
start = itemgetter(slice(0, LENGTH))


class Unclaimed:
    """What lines begin with that nobody claims."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._free: set[bytes] = set()
        self._taken: set[bytes] = set()
        self._told: dict[bytes, bool] = {}

    @cached_property
    def _openings(self) -> Openings:
        return Openings(self._kinds.openings(), [one.decode() for one in ANYWHERE])

    def among(
        self,
        lines: list[bytes],
        starts: list[bytes],
        distinct: set[bytes],
        hot: Sequence[int],
        present: Sequence[bytes],
    ) -> list[bool]:
        """Tell of each of ``lines`` whether it is certainly the program's.

        Args:
            lines: Whole lines that follow one another.
            starts: What each of them begins with.
            distinct: The same, each of them once.
            hot: Which of them tell of a failure; they are never certain.
            present: Which of :data:`ANYWHERE` they hold.
        """
        if len(lines) < WORTH or self._kinds.packs:
            return []
        new = distinct - self._free - self._taken
        if len(new) > MAX_NEW * len(lines):
            return []
        if len(self._free) + len(self._taken) + len(new) > MAX_STARTS:
            self._free.clear()
            self._taken.clear()
            self._told.clear()
            new = distinct
        for one in new:
            (self._free if self._is_free(one) else self._taken).add(one)
        all_free = distinct <= self._free
        flags = [True] * len(lines) if all_free else list(map(self._free.__contains__, starts))
        for at in (*hot, *_holders(lines, present)):
            flags[at] = False
        return flags

    def learn(self, line: bytes) -> None:
        """Remember a whole line, so short that it begins with itself, that was the program's."""
        if len(line) <= LENGTH and line in self._taken:
            self._taken.discard(line)
            self._free.add(line)

    def _is_free(self, begun: bytes) -> bool:
        masked = begun.translate(_DIGITS)
        if masked not in self._told:
            text = masked.removesuffix(b"\n").decode("latin-1")
            end = next((at for at, char in enumerate(text) if ord(char) > 126), len(text))
            self._told[masked] = not self._openings.admit(text[:end])
        return self._told[masked]


def _holders(lines: Sequence[bytes], wanted: Sequence[bytes]) -> list[int]:
    """Return which of ``lines`` hold one of some literals."""
    if not wanted:
        return []
    text = b"".join(lines)
    ends = list(accumulate(map(len, lines)))
    found: set[int] = set()
    for one in wanted:
        at = text.find(one)
        while at >= 0:
            line = bisect_right(ends, at)
            found.add(line)
            at = text.find(one, ends[line])
    return list(found)
