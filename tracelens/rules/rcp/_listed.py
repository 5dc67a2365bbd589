"""Numbers of a list that was read out of a tensor, of which each is a constant of its entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracelens.dynamo.listed_numbers import ROUNDS, held_list
from tracelens.remedies import Remedy
from tracelens.report.programs import is_library
from tracelens.rules.rcp._marking import FirstChangeData

if TYPE_CHECKING:
    from tracelens.evidence import Table
    from tracelens.logs.guards import GuardTree
    from tracelens.rules.rcp._first_change import Change

__all__ = ["FIXED_ROUNDS", "told_of_list"]


def told_of_list(change: Change, source: str, trees: Table[GuardTree]) -> str:
    """Say that the numbers of a list stay constants; empty where they do not, or none tells."""
    found = held_list(source, change.steps[0].place, trees)
    if found is None:
        return ""
    line = f" in `{found.code}`" if found.code else ""
    whose = (
        " The code is a package's: no change is named." if is_library(change.history.file) else ""
    )
    return (
        f"It was {', then '.join(change.values)}; then another number came, and the rest of the "
        f"function was compiled once more. `{found.name}` is a list of numbers that was made "
        f"before the graph broke. Python needs them{line}, so they are constants: each list of "
        f"other numbers is an entry, up to the limit.{whose}"
    )


FIXED_ROUNDS = Remedy(
    "fixed-rounds",
    lambda _: f"Where the numbers are lengths, {ROUNDS}",
    when="a number of a list that was read out of a tensor, and Python needs the numbers, in code "
    "of your own",
    applies=lambda data: (
        isinstance(data, FirstChangeData) and data.is_listed and not data.is_of_library
    ),
    basis="tested",
    proof="tests/advice/RCP003/fixed-rounds.py",
)
