"""Logs made of what programs print, picked at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

__all__ = ["WORDS", "Text", "printed"]

#: A few lines that belong together.
Text = Callable[[random.Random], Iterator[str]]
#: Names for whatever a line needs a name for.
WORDS = [
    "user",
    "order",
    "cache",
    "cart",
    "invoice",
    "worker",
    "batch",
    "token",
    "index",
    "shard",
    "replica",
    "commit",
    "page",
    "mail",
    "queue",
]
#: How often lines that belong together are mixed up, as those of several processes are.
MIXED = 0.3


def printed(kinds: Sequence[Text], seed: int, size: int, *, mixed: bool = False) -> str:
    """Return about ``size`` characters."""
    pick = random.Random(seed)
    parts: list[str] = []
    length = 0
    while length < size:
        lines = list(pick.choice(kinds)(pick))
        if mixed and pick.random() < MIXED:
            pick.shuffle(lines)
        parts.append("\n".join(lines) + "\n")
        length += len(parts[-1])
    return "".join(parts)
