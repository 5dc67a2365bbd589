"""What payloads of structured records said: one is read once, whichever frame has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tracelens.evidence.limits import Unread
from tracelens.evidence.quoted import LONG, Packed, SeenLong, packed, unseen
from tracelens.evidence.tables import Seen

if TYPE_CHECKING:
    from tracelens.evidence.keys import Written
    from tracelens.evidence.log import Log
    from tracelens.evidence.record import Record

__all__ = ["Said"]


class Said:
    """The records of payloads, and the payloads packed; who owns this keeps both anyway."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, bytes], tuple[tuple[Record, ...], Packed]] = {}

    def __reduce__(self) -> tuple[type[Said], tuple[()]]:
        """Stay behind where evidence goes to another process."""
        return Said, ()

    def read(
        self,
        log: type[Log],
        written: Written,
        plainly: Callable[[str], tuple[Record, ...] | Unread],
    ) -> tuple[Seen[Any], ...] | Unread:
        """Return a row, not seen yet, for each of the records of a structured record.

        Args:
            log: Its kind.
            written: The structured record.
            plainly: Returns what its text says.
        """
        head = written.head
        name, _ = log.told_by(head)
        held = self._held.get((name, written.said)) if name else None
        if held is None:
            text = written.text
            records = plainly(text)
            if isinstance(records, Unread):
                return records
            if not name or len(text) < LONG:
                return unseen(records, text)
            held = records, packed(text[len(head) :])
            self._held[name, written.said] = held
        records, payload = held
        quote: Any = payload._replace(head=head)
        return tuple(SeenLong(record, 0, [], quote) for record in records)
