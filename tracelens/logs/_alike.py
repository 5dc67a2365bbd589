"""Texts that differ in digits alone: the grammar reads the first one, and the rest as it did that.

No terminal of such a grammar tells one digit from another. So it cuts both texts at the same
places, and a field that the first text holds once, and nowhere else, stands in the other one there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracelens.logs import Record

__all__ = ["Alike"]

#: Shapes of texts that are remembered, and the longest text that is looked at.
MAX_SHAPES = 4_000
MAX_LENGTH = 1_000
_ZEROS = str.maketrans("123456789", "000000000")


class Alike:
    """What the grammar made of texts, by their shape: a zero for each digit."""

    def __init__(self) -> None:
        #: What makes a record; None where it cannot be told from the text.
        self._known: dict[str, _Template | None] = {}

    def read(self, text: str, parse: Callable[[str], tuple[Record, ...]]) -> tuple[Record, ...]:
        """Return the records of a text; ``parse`` gives those of one that is like no other."""
        if len(text) > MAX_LENGTH:
            return parse(text)
        shape = text.translate(_ZEROS)
        template = self._known.get(shape)
        if template is not None:
            return (template.fill(text),)
        records = parse(text)
        if shape not in self._known and "0" in shape:
            if len(self._known) >= MAX_SHAPES:
                self._known.clear()
            self._known[shape] = _template(text, records)
        return records


class _Template:
    """Where the fields of a record stand in a text."""

    __slots__ = ("_always", "_kind", "_slots")

    def __init__(
        self, kind: type[Record], always: dict[str, object], slots: list[tuple[str, slice]]
    ) -> None:
        self._kind = kind
        self._always = always
        self._slots = slots

    def fill(self, text: str) -> Record:
        """Return the record of a text."""
        return self._kind(**self._always, **{name: text[at] for name, at in self._slots})


def _template(text: str, records: tuple[Record, ...]) -> _Template | None:
    """Return what makes the record of a text, and of others like it, if that is certain."""
    if len(records) != 1:
        return None
    (record,) = records
    always: dict[str, object] = {}
    slots: list[tuple[str, slice]] = []
    for name in record.model_fields_set:
        value = getattr(record, name)
        if isinstance(value, bool):
            always[name] = value
            continue
        at = _place(text, value)
        if at is None:
            return None
        slots.append((name, at))
    made = _Template(type(record), always, slots)
    return made if made.fill(text) == record else None


def _place(text: str, value: object) -> slice | None:
    """Return where the only place is at which a field can stand."""
    if not isinstance(value, str | int) or text.count(written := str(value)) != 1:
        return None
    at = slice(text.index(written), text.index(written) + len(written))
    around = text[max(0, at.start - 1) : at.start] + text[at.stop : at.stop + 1]
    is_part = isinstance(value, int) and any(map(str.isdecimal, around))
    return None if is_part else at
