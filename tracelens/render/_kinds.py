"""A kind of name that is replaced: where it stands, and what it is called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

__all__ = ["Kind", "kind"]


class Kind:
    """What to look for: of a match, ``keep`` stays and ``name`` gets a pseudonym.

    A text without any of the ``signs`` (all lower case) holds no match and is not searched.
    """

    def __init__(self, label: str, signs: tuple[str, ...], written: str) -> None:
        self.label = label
        self.signs = signs
        self._written = written

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What is looked for; most reports hold the signs of few kinds."""
        return re.compile(self._written)


def kind(label: str, signs: str, *patterns: str) -> Iterator[Kind]:
    """Yield a kind for each pattern."""
    for pattern in patterns:
        yield Kind(label, tuple(signs.split()), pattern)
