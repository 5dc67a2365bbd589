"""Rows of long texts, of which a report quotes a line or none."""

from __future__ import annotations

from typing import Any

from isal import igzip_lib

from tracelens.evidence.record import Record
from tracelens.evidence.tables import Place, Seen, Times

__all__ = ["SeenLong", "anew", "unseen"]

#: Characters of a record's text that are kept for quoting; those from which on it is packed.
MAX_QUOTE = 16_384
LONG = 1_000


class Packed:
    """A text in a tenth of its room."""

    __slots__ = ("_data",)

    def __init__(self, text: str) -> None:
        self._data = igzip_lib.compress(text.encode("utf-8", "surrogatepass"), 1)

    def unpacked(self) -> str:
        """Return the text."""
        return igzip_lib.decompress(self._data).decode("utf-8", "surrogatepass")


class SeenLong(Seen[Any]):
    """A row whose text is long: it is unpacked when somebody asks."""

    __slots__ = ("_packed",)

    @property
    def text(self) -> str:
        """The text."""
        return self._packed.unpacked()

    @text.setter
    def text(self, text: str | Packed) -> None:
        self._packed = text if isinstance(text, Packed) else Packed(text)

    def about(
        self, record: Any, places: list[Place], count: int = 1, times: Times | None = None
    ) -> Seen[Any]:
        """Return a row of another record of the same text, packed as it is."""
        packed: Any = self._packed
        return SeenLong(record, count, places, packed, times)


def anew(seen: Seen[Any]) -> Seen[Any]:
    """Return the row as it is when it was not seen yet."""
    if isinstance(seen, SeenLong):
        packed: Any = seen._packed
        return SeenLong(seen.record, 0, [], packed)
    return Seen(seen.record, 0, [], seen.text)


def unseen(records: tuple[Record, ...], text: str) -> tuple[Seen[Any], ...]:
    """Return a row, not seen yet, for each of the records of a text."""
    if len(text) < LONG:
        return tuple(Seen(record, 0, [], text) for record in records)
    packed: Any = Packed(text[:MAX_QUOTE]) if records else None
    return tuple(SeenLong(record, 0, [], packed) for record in records)
