"""A list that is indexed by numbers which a tensor holds."""

from __future__ import annotations

import re

from tracelens.remedies import Remedy
from tracelens.rules.gbr._break_data import BreakData
from tracelens.rules.gbr._site_rule import own

__all__ = ["ALL_AT_ONCE", "INDICES_IN_PYTHON", "held_indices"]

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

#: A row that is added to, or written, at a place that a tensor says: ``out[j] += x[i]``.
_ROW = re.compile(r"\w\[\w{1,60}\] (?P<sign>\+?)= [^=]")


def _row(data: BreakData) -> str:
    found = _ROW.search(data.code) if data.leaves and own(data) else None
    return "" if found is None else "add" if found["sign"] else "write"


ALL_AT_ONCE = Remedy(
    "all-at-once",
    lambda data: (
        "Do it for all indices at once, in place of the loop: "
        + (
            "`index_add_` adds rows where the indices say, one that comes twice as well."
            if _row(data) == "add"
            else "what is indexed by the whole tensor is written by one operator."
        )
    ),
    when="a row that is written, or added to, in a loop of your own that was lost",
    applies=lambda data: bool(_row(data)),
    code=lambda data: (
        "out.index_add_(0, indices, rows)" if _row(data) == "add" else "out[indices] = rows"
    ),
    basis="tested",
    proof="tests/advice/GBR001/all-at-once.py",
)
