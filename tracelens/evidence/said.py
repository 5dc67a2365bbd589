"""What payloads of structured records said: one is read once, whichever frame has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracelens.evidence.keys import Key, key_of

if TYPE_CHECKING:
    from tracelens.evidence.log import Log
    from tracelens.evidence.record import Record

__all__ = ["Said"]


class Said:
    """The records of payloads; the evidence that owns this keeps them anyway."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, Key], tuple[Record, ...]] = {}

    def __reduce__(self) -> tuple[type[Said], tuple[()]]:
        """Stay behind where evidence goes to another process."""
        return Said, ()

    def parse(self, log: type[Log], text: str) -> tuple[Record, ...]:
        """Return what ``log`` makes of a text."""
        name, payload = log.told_by(text)
        if not name:
            return log.parse(text)
        key = name, key_of(payload)
        if (held := self._records.get(key)) is None:
            held = self._records[key] = log.parse(text)
        return held
