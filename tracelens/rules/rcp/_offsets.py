"""Conditions on where a tensor begins in its memory: a slice begins elsewhere than the whole."""

from __future__ import annotations

from tracelens.remedies import Remedy
from tracelens.rules.rcp._relation import RelationData

__all__ = ["OWN_MEMORY", "is_offset"]


def is_offset(data: RelationData) -> bool:
    """Whether it is about where a tensor begins: ``2 <= x.storage_offset()``."""
    return any(".storage_offset()" in guard.name + guard.expected for guard in data.guards)


OWN_MEMORY = Remedy(
    "own-memory",
    "Pass a tensor that has its memory to itself: `.clone()` of a slice, as of `data[i : i + n]` "
    "or of `data.split(n)`. Where a slice begins is part of the guards, once it differed.",
    when="a condition on where a tensor begins, and no code of a package makes the tensor",
    applies=lambda data: is_offset(data) and not data.is_inner,
    code="x = x.clone()",
    basis="tested",
    proof="tests/advice/RCP023/own-memory.py",
)
