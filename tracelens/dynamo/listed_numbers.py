"""Numbers of a list that was read out of a tensor before the graph broke: constants, or symbols."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tracelens.dynamo.entry_guards import entry_before, entry_of

if TYPE_CHECKING:
    from tracelens.evidence import Place, Table
    from tracelens.logs.guards import GuardTree

__all__ = ["ITEM", "ROUNDS", "STEERS", "Listed", "held_list"]

#: What has Python decide by numbers, or count rounds with them.
STEERS = re.compile(r"\b(?:if|elif|while|assert|min|max|range)\b|[<>]")
#: An entry for one number of such a list.
ITEM = re.compile(r"L\['(?P<name>___stack\d{1,3})'\]\[\d{1,4}\] == -?\d{1,18}\Z")
#: What to do where a loop goes round as often as they say.
ROUNDS = (
    "pad to a fixed number of rounds, and mask with tensors what is too much; or compile what a "
    "round of the loop does, instead of the function around it. Passed in as a list, the numbers "
    "are constants as well: each other list is an entry of all of it."
)
_SOURCE = re.compile(r"(?P<name>___stack\d{1,3})\[\d{1,4}\]\Z")


class Listed(NamedTuple):
    """A list whose numbers are constants of each entry."""

    name: str
    #: The line that makes constants of them; empty where the log does not tell.
    code: str


def held_list(source: str, place: Place, trees: Table[GuardTree]) -> Listed | None:
    """Return the list of which ``source``, as ``___stack0[5]``, is a number, if it stays constant.

    The new entry tells: symbols that a line of the program's made constants of. Where the log does
    not hold it, a line that the entry before is for tells, where Python decides by the numbers.
    """
    found = _SOURCE.match(source)
    if not found:
        return None
    made = entry_of(place, trees)
    for tree in made or entry_before(place, trees):
        for guard in tree.guards:
            item = ITEM.match(guard.expression)
            code = guard.comment.code if guard.comment else ""
            if item is None or item["name"] != found["name"]:
                continue
            if guard.kind == "LAMBDA_GUARD" if made else STEERS.search(code):
                return Listed(found["name"], code)
    return None
