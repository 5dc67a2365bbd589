"""Guard trees by the shape of their lines: what the grammar says of a line is known from its shape.

A tree of 10,000 lines has lines of a few shapes. Those of one shape are cut where the grammar cuts
them; a line of another shape is read by the grammar, and so is a text in which anything is unusual.
``tests/logs/test_guard_lines.py`` holds both ways against each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tracelens.grammars import Unreadable

__all__ = ["guards_in"]

_HEADER = "TREE_GUARD_MANAGER:"
_NODE = re.compile(r"(?:\| )*\+- [^\n]")
#: A guard that checks something: its level, its kind, what it checks, and the comment behind it.
_CHECK = re.compile(
    r"(?P<depth>\n(?:\| )*\+- )(?!KeyManager:|ValueManager:)(?P<kind>\w+): (?!source=)"
    r"(?P<expression>[^\n]*?\S)(?:  +# (?P<comment>[^\n]+)| *)\Z"
)

#: Distinct lines that are remembered; trees have most of theirs in common.
MAX_KNOWN = 20_000
_KNOWN: dict[str, Any] = {}

#: Parses a text by the rule of a name, once per distinct text.
Nested = Callable[[str, str], Any]
#: Makes a guard of its fields.
Make = Callable[[dict[str, Any]], Any]


def guards_in(text: str, nested: Nested, guard: Make) -> list[Any] | None:
    """Return the guards of a tree; None where only the grammar can tell.

    Args:
        text: All of the record.
        nested: Parses a text by a rule of the grammar.
        guard: Makes a guard of its fields.
    """
    lines = text.split("\n")
    if lines[0].rstrip(" ") != _HEADER:
        return None
    found: list[Any] = []
    known = _KNOWN
    if len(known) > MAX_KNOWN:
        known.clear()
    try:
        for line in lines[1:]:
            if (held := known.get(line)) is None and _NODE.match(line):
                held = known[line] = _read(f"\n{line}", nested, guard)
            if held is not None:
                found.append(held)
    except Unreadable:
        return None
    return found


def _read(line: str, nested: Nested, guard: Make) -> Any:
    """Return the guard of a line that begins with a newline."""
    check = _CHECK.match(line)
    if check is None:
        return nested("guards", line)
    depth, kind, expression, comment = check.groups()
    values = {"depth": depth, "kind": kind, "expression": expression}
    if comment is not None:
        values["comment"] = nested("comment", comment)
    return guard(values)
