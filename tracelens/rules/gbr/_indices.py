"""A list that is indexed by numbers which a tensor holds."""

from __future__ import annotations

import re

from tracelens.remedies import Remedy
from tracelens.rules.gbr._break_data import BreakData
from tracelens.rules.gbr._site_rule import own

__all__ = ["INDICES_IN_PYTHON", "held_indices"]

#: An element of a tensor at a time: ``chain[parents[i]]``.
_HELD = re.compile(r"\w\[([A-Za-z_][\w.]{0,60})\[\w{1,60}\](?:\.item\(\))?\]")


def held_indices(data: BreakData) -> str:
    """Return the tensor whose elements index something in the line; empty where it shows none."""
    found = _HELD.search(data.code) if own(data) and not data.name else None
    return found[1] if found else ""


INDICES_IN_PYTHON = Remedy(
    "indices-in-python",
    lambda data: (
        f"If no call changes `{held_indices(data)}`, make it a list of Python's once, where it is "
        "set, before anything is compiled: Dynamo then knows its numbers. Where it indexes tensors "
        "elsewhere, or has a `shape`, keep the tensor beside the list."
    ),
    when="a list indexed by an element of a tensor, in a line of your own",
    applies=lambda data: bool(held_indices(data)),
    code=lambda data: f"{held_indices(data)} = {held_indices(data)}.tolist()",
    basis="tested",
    proof="tests/advice/GBR001/indices-in-python.py",
)
