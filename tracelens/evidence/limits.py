"""How much of an input is kept, whatever its size; what goes beyond is counted and noted.

Logs repeat themselves: a million oneDNN lines hold three thousand distinct ones. An input that does
not (every text different, every line another site) is either not a log or not worth the memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracelens.evidence.tables import Place

__all__ = [
    "MAX_CHARACTERS",
    "MAX_DISTINCT",
    "MAX_EXAMPLE",
    "MAX_RECORD_LINES",
    "MAX_SITES",
    "MAX_SPANS",
    "MAX_UNREAD",
    "MAX_UNREAD_OF_PART",
    "MAX_WRITERS",
    "Limits",
    "Unread",
]

#: Distinct texts that are read per log kind.
MAX_DISTINCT = 50_000
#: Characters of all distinct texts that are read.
MAX_CHARACTERS = 256 << 20
#: Writers of one input that are told apart.
MAX_WRITERS = 4096
#: Lines of one record that are kept together.
MAX_RECORD_LINES = 200_000
#: Distinct refused texts kept per kind.
MAX_UNREAD = 50
#: The same in a part of what is read together: which of them are kept, only the whole can tell.
MAX_UNREAD_OF_PART = 5_000
#: Sites whose lines no grammar reads.
MAX_SITES = 10_000
#: Characters of a line that no grammar reads, which are kept to be shown.
MAX_EXAMPLE = 300
#: Compile ids that are timed.
MAX_SPANS = 100_000


@dataclass(slots=True)
class Unread:
    """A text that its grammar refused."""

    kind: str
    text: str
    count: int
    lines: int
    first_line: int
    reason: str
    #: Where it stands, while one input is being read.
    place: Place | None = None
    #: Whether it is of a log kind that comes with tracelens, and in no pack.
    builtin: bool = True
    #: Whether it stands for all further texts of its kind, which are counted only.
    others: bool = False
    #: All of the text, where its last line may turn out to be cut.
    whole: str = ""

    def shifted(self, lines: int) -> Unread:
        """Return it, not yet counted, as it is when ``lines`` lines stand before its part."""
        place = self.place and self.place.shifted(lines)
        return replace(self, count=0, lines=0, first_line=self.first_line + lines, place=place)

    def ends_at(self, line: int) -> bool:
        """Tell whether its last line stands at ``line``, and nothing else refused is like it."""
        place = self.place if self.count == 1 else None
        return place is not None and place.line_of(self.lines - 1) == line


class Limits:
    """The texts that one piece of evidence holds, counted."""

    def __init__(self, unread: int = MAX_UNREAD) -> None:
        """Count from nothing; of each kind so many ``unread`` texts are kept."""
        self._distinct: dict[str, int] = {}
        self._refused: dict[str, int] = {}
        self._characters = 0
        self._unread = unread

    def excess(self, kind: str) -> str:
        """Return which limit forbids to read another text of ``kind``; empty when none does."""
        if self._distinct.get(kind, 0) >= MAX_DISTINCT:
            return f"beyond {MAX_DISTINCT:,} distinct texts"
        if self._characters >= MAX_CHARACTERS:
            return f"beyond {MAX_CHARACTERS >> 20} MiB of distinct texts"
        return ""

    def keep(self, kind: str, characters: int) -> None:
        """Count a text that was read."""
        self._distinct[kind] = self._distinct.get(kind, 0) + 1
        self._characters += characters

    def tells(self, kind: str) -> bool:
        """Tell whether the next text of ``kind`` that is refused is kept by itself."""
        return self._refused.get(kind, 0) < MAX_UNREAD

    def refuse(self, kind: str) -> bool:
        """Count a text of ``kind`` that was refused; tell whether it may be kept."""
        count = self._refused[kind] = self._refused.get(kind, 0) + 1
        return count <= self._unread
