"""A kind of name that is replaced: where it stands, and what it is called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from tracelens.compiled import compiled

__all__ = ["Kind", "kind"]


class Kind(NamedTuple):
    """What to look for: of a match, ``keep`` stays and ``name`` gets a pseudonym.

    A text without any of the ``signs`` (all lower case) holds no match and is not searched.
    """

    label: str
    signs: tuple[str, ...]
    #: The pattern as it is written.
    written: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """What is looked for; most reports hold the signs of few kinds."""
        return _compiled(self.written)


@lru_cache(maxsize=200)
def _compiled(written: str) -> re.Pattern[str]:
    return compiled(written)


def kind(label: str, signs: str, *patterns: str) -> Iterator[Kind]:
    """Yield a kind for each pattern."""
    for pattern in patterns:
        yield Kind(label, tuple(signs.split()), pattern)
