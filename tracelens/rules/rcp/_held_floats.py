"""What took the symbol of a float for a constant, by the lines and guards of its entries."""

from __future__ import annotations

import re

from tracelens.dynamo.entry_guards import entry_of
from tracelens.evidence import Table
from tracelens.logs.guards import GuardTree
from tracelens.rules.rcp._also_held import tensorified
from tracelens.rules.rcp._branched import BRANCH, branched
from tracelens.rules.rcp._changes import Group

__all__ = ["NUMBER", "PYTHON", "held_by", "is_held"]

#: What held it, as torch's own line says: an operation that takes no symbol (``alpha=lr``), or code
#: that computes with it in Python (``math``, NumPy).
NUMBER, PYTHON = "number", "python"

_NUMBER = r"-?\d[\d.e+-]{0,30}"


def held_by(group: Group, trees: Table[GuardTree]) -> str:
    """Return what took the symbol for a constant; empty where no line of torch tells."""
    comments = [step.failure.comment for _, step in group.steps if step.failure]
    origins = [comment.origin for comment in comments if comment is not None and comment.origin]
    name = str(getattr(group.first.check, "source", ""))
    branch = branched(name, [step for _, step in group.steps], trees)
    if origins and all("tensorify" in origin for origin in origins):
        return PYTHON if branch else NUMBER  # a factor that is compared is a constant as well
    if origins:
        return PYTHON
    if tensorified(group, trees) and not branch:
        return NUMBER
    if is_held(group, name, trees):
        return PYTHON
    return BRANCH if branch else ""


def is_held(group: Group, name: str, trees: Table[GuardTree]) -> bool:
    """Whether a line of the program's made a constant of the symbol, by the guards of an entry."""
    equal = re.compile(rf"L\['\w{{1,80}}'\][\w.]{{0,200}} == {_NUMBER}\Z")
    last = re.compile(rf"\b{re.escape(name.rpartition('.')[2])}(?:'\])? == ")
    return any(
        guard.kind == "LAMBDA_GUARD"
        and equal.match(guard.expression)
        and last.search(guard.expression)
        for _, step in group.steps
        for tree in entry_of(step.place, trees)
        for guard in tree.guards
    )
