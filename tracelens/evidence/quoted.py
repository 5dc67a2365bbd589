"""Rows of long texts, of which a report quotes a line or none."""

from __future__ import annotations

from typing import Any, NamedTuple

from isal import igzip_lib

from tracelens.evidence.record import Record
from tracelens.evidence.tables import Place, Seen, Times

__all__ = ["LONG", "MAX_QUOTE", "Packed", "SeenLong", "anew", "packed", "unseen"]

#: Characters of a record's text that are kept for quoting; those from which on it is packed.
MAX_QUOTE = 16_384
LONG = 1_000


class Packed(NamedTuple):
    """A text in a tenth of its room."""

    data: bytes
    #: What stands before it, as it is.
    head: str = ""

    def unpacked(self) -> str:
        """Return the text."""
        rest: str = igzip_lib.decompress(self.data).decode("utf-8", "surrogatepass")
        return (self.head + rest)[:MAX_QUOTE]


def packed(text: str) -> Packed:
    """Return ``text``, of which no more is quoted than :data:`MAX_QUOTE` characters."""
    return Packed(igzip_lib.compress(text[:MAX_QUOTE].encode("utf-8", "surrogatepass"), 1))


class SeenLong(Seen[Any]):
    """A row whose text is long: it is unpacked when somebody asks."""

    __slots__ = ("_packed",)

    @property
    def text(self) -> str:
        """The text."""
        return self._packed.unpacked()

    @text.setter
    def text(self, text: str | Packed) -> None:
        self._packed = text if isinstance(text, Packed) else packed(text)

    def about(
        self, record: Any, places: list[Place], count: int = 1, times: Times | None = None
    ) -> Seen[Any]:
        """Return a row of another record of the same text, packed as it is."""
        quote: Any = self._packed
        return SeenLong(record, count, places, quote, times)


def anew(seen: Seen[Any]) -> Seen[Any]:
    """Return the row as it is when it was not seen yet."""
    if isinstance(seen, SeenLong):
        quote: Any = seen._packed
        return SeenLong(seen.record, 0, [], quote)
    return Seen(seen.record, 0, [], seen.text)


def unseen(records: tuple[Record, ...], text: str) -> tuple[Seen[Any], ...]:
    """Return a row, not seen yet, for each of the records of a text."""
    if len(text) < LONG:
        return tuple(Seen(record, 0, [], text) for record in records)
    quote: Any = packed(text) if records else None
    return tuple(SeenLong(record, 0, [], quote) for record in records)
