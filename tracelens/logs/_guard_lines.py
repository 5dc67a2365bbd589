"""Guard trees by the shape of their lines: what the grammar says of a line is known from its shape.

A tree of 10,000 lines has lines of a few shapes. Those of one shape are cut where the grammar cuts
them; a line of another shape is read by the grammar, and so is a text in which anything is unusual.
``tests/logs/test_guard_lines.py`` holds both ways against each other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tracelens.grammars import Unreadable
from tracelens.instances import lean
from tracelens.late import late
from tracelens.logs._comment import Comment
from tracelens.remembered import forgets, of_reading

__all__ = ["guards_in"]

_HEADER = "TREE_GUARD_MANAGER:"
_NODE = late(r"(?:\| )*\+- [^\n]")
#: What a line begins with: its level, its kind, and whether it leads to a value. Lark goes back
#: into no token, and nor does this.
_HEAD = late(
    r"\n(?:\| )*\+- (?P<kind>(?>(?:KeyManager|ValueManager): \w++|\w++)): (?P<leads>source=)?"
)
#: What stands behind the place that a manager leads to.
_ACCESS = late(r", (?:accessed_by|type|tag_safe)=")
#: What stands between what is checked and the comment behind it.
_HASH = "  # "
#: The user's line behind the code of it.
_LINE = late(
    r"(?P<file>[^\n#:]+):(?P<line>\d+) in (?P<function>[^\s()]+)(?P<hint> *\(HINT: [^\n]*)?\Z"
)

#: Distinct lines that are remembered; trees have most of theirs in common.
MAX_KNOWN = 20_000
_KNOWN: dict[str, Any] = {}
forgets(_KNOWN.clear)

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
    lines = text.lstrip().split("\n")  # torch 2.5 begins it with an empty line
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
    head = _HEAD.match(line)
    if head is None:
        return nested("lines", line).guard
    kind, at = sys.intern(head["kind"]), head.end()
    values: dict[str, Any] = {"depth": line[: head.start("kind")], "kind": kind}
    if head["leads"]:
        access = _ACCESS.search(line, at + 1)
        values["source"] = sys.intern(line[at:] if access is None else line[at : access.start()])
        return guard(values) if values["source"] else nested("lines", line).guard
    end = line.find(_HASH, at)
    expression = (line[at:] if end < 0 else line[at:end]).rstrip(" ")
    comment = "" if end < 0 else line[end + len(_HASH) :]
    if not expression or expression[-1].isspace() or ":" in kind or (end >= 0 and not comment):
        return nested("lines", line).guard
    values["expression"] = sys.intern(expression)  # other ranks check the same in other lines
    if comment:
        values["comment"] = _user_line(comment) or nested("comment", comment)
    return guard(values)


@of_reading
@lru_cache(maxsize=MAX_KNOWN)
def _user_line(text: str) -> Comment | None:
    """Return the comment that is code, a place, and at most a hint; None for any other."""
    code, hash_, place = text.partition(_HASH)
    found = _LINE.match(place) if hash_ and code and code.lstrip()[:1] != "(" else None
    if found is None:
        return None
    values = {name: value for name, value in found.groupdict().items() if value is not None}
    return lean(Comment.model_validate({"code": code, **values}))
