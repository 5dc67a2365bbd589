"""Strings that are no names: of texts there is no end."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["is_text"]

#: A name: of one word or two, and not long.
_NAME = re.compile(r"""(['"])(?!.{41})[^\s]*(?:\s[^\s]*)?\1\Z""")
#: An item of a list that is passed in, such as the texts of a batch.
_ITEM = re.compile(r"`?(?!self\b)[^`]{1,400}\[\d{1,4}\]`?\Z")
#: Values of an item from which on it is none of a few.
MANY = 4


def is_text(source: str, values: Iterable[str]) -> bool:
    """Whether strings are no names but texts, or the items of a list of them."""
    strings = [value for value in values if value[:1] in {"'", '"'}]
    listed = len(set(strings)) >= MANY and _ITEM.match(source) is not None
    return listed or any(not _NAME.match(value) for value in strings)
