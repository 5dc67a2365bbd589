"""Tensors that a line writes into: a copy of them, or a gradient, would change what it does."""

from __future__ import annotations

import re

from tracelens.rules.rcp._data import RecompileData

__all__ = ["is_written"]

#: ``x.mul_(``, ``x[0] = ``, ``x += ``; to give the name to something else writes into nothing.
_WRITES = (
    r"(?<![\w.]){}"
    r"(?:\.\w{{1,60}}(?<!_)_\(|\[[^\]]{{0,80}}\] ?[-+*/]?=(?!=)| ?[-+*/]=)"
)


def is_written(data: RecompileData) -> bool:
    """Whether the line changes in place what the finding is about."""
    return bool(data.source) and bool(re.search(_WRITES.format(re.escape(data.source)), data.code))
