"""Note how the first dimension of what a compiled callable is given changes from call to call."""

from __future__ import annotations

from typing import Any

from .journal import Journal

__all__ = ["Sizes"]

#: Changes that are noted of a callable.
MANY = 16


class Sizes:
    """The sizes that the first tensor among the arguments has in its first dimension."""

    def __init__(self, journal: Journal, number: int) -> None:
        self._seen: list[int] = []
        journal.at_end.append(lambda: self._tell(journal, number))

    def look(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note the size where it is another one than in the call before."""
        seen = self._seen
        if len(seen) >= MANY:
            return
        for value in (*args, *kwargs.values()):
            shape = getattr(value, "shape", None)
            if shape:
                try:
                    size = int(shape[0])
                except Exception:
                    return
                if not seen or seen[-1] != size:
                    seen.append(size)
                return

    def _tell(self, journal: Journal, number: int) -> None:
        if len(self._seen) > 1:
            journal.tell(sizes=[number, self._seen])
