"""What bytes are read from, whatever they are."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Reader"]


class Reader(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; none at the end."""
