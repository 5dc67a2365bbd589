"""Shapes of lines that are the program's own: those that differ in their numbers only are alike."""

from __future__ import annotations

__all__ = ["Shapes"]

#: Shapes that are remembered.
MAX_SHAPES = 20_000
_SHAPE = bytes.maketrans(b"123456789", b"000000000")
#: Words of lines whose numbers may matter.
_OURS = (b"torch", b"dnn", b"triton", b"mkl")


class Shapes:
    """What program lines look like that have been looked at."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def reach(self, lines: list[bytes], at: int, stop: int) -> int:
        """Return the index of the first of ``lines`` from ``at`` that is new; ``stop`` at most."""
        while at < stop and lines[at].translate(_SHAPE) in self._known:
            at += 1
        return at

    def add(self, line: bytes) -> None:
        """Remember a line of the program; one that names what we look for is looked at again."""
        if any(word in line for word in _OURS):
            return
        if len(self._known) >= MAX_SHAPES:
            self._known.clear()
        self._known.add(line.translate(_SHAPE))
