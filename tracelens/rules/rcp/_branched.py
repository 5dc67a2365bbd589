"""Lines in which Python branches on a number: with a tensor in its place the graph breaks there."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracelens.dynamo.recompile_history import Step
from tracelens.evidence import Table
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import Comment

__all__ = ["BRANCH", "branched", "branches"]

#: What holds a number where a line branches on it: it can be a symbol, and no tensor.
BRANCH = "branch"
#: A variable and the path to a value: ``self.blocks[0].rate``, ``L['self'].rate``.
_VALUE = re.compile(r"(?P<head>[A-Za-z_]\w{0,80})(?P<path>[\w.\[\]']{0,400})")
#: A choice within a line: ``x if rate else y``.
_CHOICE = re.compile(r"\S if \S")


def branches(code: str) -> bool:
    """Whether the line begins a branch or a loop that a condition ends."""
    return code.startswith(("if ", "while ", "elif "))


def branched(name: str, steps: Iterable[Step], trees: Table[GuardTree]) -> str:
    """Return a line that branches on the value called ``name``, as far as guards tell.

    Args:
        name: As recompiles call it: ``rate``, ``self.rate``.
        steps: Recompiles for it: guards of all entries failed.
        trees: The guards of all entries.
    """
    wanted = _VALUE.fullmatch(name)
    if wanted is None:
        return ""
    full = f"L['{wanted['head']}']{wanted['path']}"
    for step in steps:
        for failure in step.seen.record.failures:
            if _names(str(failure.check), name) and (code := _code(failure.comment)):
                return code
    for row in trees:
        for guard in row.record.guards:
            if _names(guard.expression, full) and (code := _code(guard.comment)):
                return code
    return ""


def _names(text: str, name: str) -> bool:
    """Whether ``name`` stands in ``text`` as a whole: ``rate`` is no part of ``self.rate2``."""
    # Most texts do not hold it at all.
    return name in text and bool(re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text))


def _code(comment: Comment | None) -> str:
    code = comment.code if comment is not None else ""
    return code if branches(code) or _CHOICE.search(code) else ""
