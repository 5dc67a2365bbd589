"""A kind of name that is replaced: where it stands, and what it is called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Kind", "kind"]


class Kind(NamedTuple):
    """What to look for: of a match, ``keep`` stays and ``name`` gets a pseudonym.

    A text without any of the ``signs`` (all lower case) holds no match and is not searched.
    """

    label: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]


def kind(label: str, signs: str, *patterns: str) -> Iterator[Kind]:
    """Yield a kind for each pattern."""
    for pattern in patterns:
        yield Kind(label, tuple(signs.split()), re.compile(pattern))
