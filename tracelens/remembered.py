"""What reading remembers so that it need not ask again; it is forgotten when a large input is read.

The rules have no use for it, and it takes room that they need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

__all__ = ["forget", "forgets", "of_reading"]

_FORGETS: list[Callable[[], None]] = []


class _Cached(Protocol):
    def cache_clear(self) -> None: ...


C = TypeVar("C", bound=_Cached)


def of_reading(cached: C) -> C:
    """Return a cached function as it is: only reading asks it often."""
    forgets(cached.cache_clear)
    return cached


def forgets(clear: Callable[[], None]) -> None:
    """Note what forgets something that only reading asks for."""
    _FORGETS.append(clear)


def forget() -> None:
    """Forget all of it."""
    for clear in _FORGETS:
        clear()
