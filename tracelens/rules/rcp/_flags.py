"""Flags in one list, as of layers that are left out at random: one cause, whichever differs."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from tracelens.remedies import Remedy
from tracelens.rules.rcp._changes import Group
from tracelens.rules.rcp._data import RecompileData

__all__ = ["FLAGS", "FLAGS_TO_PYTHON", "joined", "list_of"]

#: What held a value that is one of several flags in a list.
FLAGS = "flags"
_ITEM = re.compile(r"`([A-Za-z_][\w.]{0,80})\[\d{1,4}\]`")
_BOOLS = frozenset({"True", "False"})


def list_of(group: Group) -> str:
    """Return the list that the flag is an item of; empty where it is no flag in a list."""
    found = _ITEM.fullmatch(group.cause.what)
    return found[1] if found and set(group.values) <= _BOOLS else ""


def joined(groups: Iterable[Group]) -> list[tuple[Group, str]]:
    """Return the groups, those of several flags of one list as one, with the name of the list."""
    found: dict[tuple[object, ...], list[Group]] = {}
    for number, group in enumerate(groups):
        name = list_of(group)
        key = (*group.history.definition, name) if name else (number,)
        found.setdefault(key, []).append(group)
    return [
        (members[0], "") if len(members) == 1 else (_together(members), list_of(members[0]))
        for members in found.values()
    ]


def _together(members: list[Group]) -> Group:
    steps = sorted(
        (step for group in members for step in group.steps), key=lambda one: one[1].number
    )
    return msgspec.structs.replace(members[0], steps=steps)


def _is_of_list(data: RecompileData) -> bool:
    return data.held == FLAGS and not (data.package or data.is_of_library)


FLAGS_TO_PYTHON = Remedy(
    "flags-to-python",
    "Each combination of the flags is compiled. Leave the choice to Python: compile what the flags "
    "turn on, each module or function by itself, and not the function that asks them. Or pass them "
    "as one tensor, compute both sides and select with `torch.where`.",
    when="several flags of one list, in code of your own",
    applies=_is_of_list,
    basis="tested",
    proof="tests/advice/RCP006/flags-to-python.py",
)
