"""The program's own lines between those of torch and oneDNN: found many at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracelens.source.kinds import Kinds
from tracelens.source.literals import Literals
from tracelens.source.shapes import Shapes
from tracelens.source.signs import TRIGGERS
from tracelens.source.unclaimed import ANYWHERE, CONTROLS, WORDS, Unclaimed, start

__all__ = ["OwnLines"]

_TAB = ord("\t")
_TRIGGERS = frozenset(TRIGGERS)
#: What lines of records begin with; the mark of an artifact, which says of what kind a record is,
#: and how far into a line it stands.
_STAMP = re.compile(rb"[VIWECF]\d{4} \d\d:")
_ARTIFACT, _REACH = b"[__", 200
#: The same where torch, or what starts it, says the rank before.
_RANKED = re.compile(rb"(?:\[(?:rank|default)\d{1,5}\]: ?){1,3}[VIWECF]\d{4} \d\d:")
_RANK = (b"[rank", b"[default")


class OwnLines:
    """What is known of program lines, and which of some lines in hand are such."""

    def __init__(self, kinds: Kinds) -> None:
        self._unclaimed = Unclaimed(kinds)
        self._shapes = Shapes()
        self._literals = Literals((*TRIGGERS, *WORDS))
        self._lines: list[bytes] = []
        #: Lines that were looked at last: what each begins with, and what any does.
        self._seen: list[bytes] = []
        self._starts: list[bytes] = []
        self._begun: set[bytes] = set()
        #: The literals in the lines in hand.
        self._present: list[bytes] = []
        #: Which of them are certainly the program's, once somebody has asked.
        self._certain: list[bool] | None = None
        #: How many of them were the program's, and whether most of the last ones were.
        self._count = 0
        self._mostly = False
        #: Whether some lines in hand begin with a tab; not known where all were counted.
        self.has_payloads = True
        #: Which of the lines in hand tell of a failure.
        self.hot: list[int] = []

    def firsts(self, lines: list[bytes]) -> bytes:
        """Look at what the next lines begin with; return the bytes that any of them begins with."""
        self._seen = lines
        self._starts = list(map(start, lines))
        self._begun = set(self._starts)
        return bytes({one[0] for one in self._begun})

    def begin(self, lines: list[bytes], text: bytes | None, *, counted: bool) -> bool:
        """Take the next lines in hand; tell whether one of them may tell of a failure.

        Whether payloads are among them is in :attr:`has_payloads` then.

        Args:
            lines: They follow one another.
            text: All of them, where somebody has it.
            counted: They were all counted, and nothing more will be asked about them.
        """
        self._mostly = self._count * 2 > len(self._lines)
        self._lines, self._count, self._certain, self._present = lines, 0, None, []
        self.has_payloads = True
        if not counted:
            if self._seen is not lines:
                self.firsts(lines)
            others = self._without_artifact(lines)
            if text is None or others is not lines:
                text = b"".join(others)
            # Most texts hold no tab, and a single character is found much faster than two.
            self.has_payloads = b"\t" in text and (b"\n\t" in text or text.startswith(b"\t"))
            if self.has_payloads:  # they are no program's
                text = b"".join([line for line in others if line[0] != _TAB])
            controls = (one for one in CONTROLS if one in text)
            self._present = [*controls, *self._literals.among(text)]
        return not _TRIGGERS.isdisjoint(self._present)

    def pass_over(self) -> None:
        """Note that no line of the next ones is the program's."""
        self._lines, self._count = [], 0

    def _without_artifact(self, lines: Sequence[bytes]) -> Sequence[bytes]:
        """Leave out lines of records that name an artifact: no program's, and no failure's."""
        stamps = {one for one in self._begun if _STAMP.match(one)}
        if any(one.startswith(_RANK) for one in self._begun):
            lines = [
                line
                for line in lines
                if line.find(_ARTIFACT, 0, _REACH) < 0 or _RANKED.match(line) is None
            ]
        if not stamps:
            return lines
        starts = self._starts if lines is self._lines else map(start, lines)
        return [
            line
            for line, begun in zip(lines, starts, strict=True)
            if begun not in stamps or line.find(_ARTIFACT, 0, _REACH) < 0
        ]

    def reach(self, at: int, stop: int) -> int:
        """Return which line from ``at`` is the first that may be somebody else's; else ``stop``."""
        if self._certain is None:
            self._certain = self._ask() if self._mostly else []
            self._certain.append(False)
        if len(self._certain) > stop and self._certain[at]:
            end = min(self._certain.index(False, at), stop)
        else:
            end = self._shapes.reach(self._lines, at, stop)
        self._count += end - at
        return end

    def _ask(self) -> list[bool]:
        present = [one for one in ANYWHERE if one in self._present]
        return self._unclaimed.among(self._lines, self._starts, self._begun, self.hot, present)

    def learn(self, line: bytes) -> None:
        """Remember a line that turned out to be the program's."""
        self._count += 1
        self._shapes.add(line)
        self._unclaimed.learn(line)
