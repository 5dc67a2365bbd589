"""Structures of Python's objects that a function walks through: each shape needs an entry."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from tracelens.dynamo.recompile_history import Step
from tracelens.evidence import Table
from tracelens.frames import Frame
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import KeysCheck, LengthCheck, Source, TypeCheck, ValueCheck
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules import Rule
from tracelens.rules.rcp._changes import Group
from tracelens.rules.rcp._tell import tell

__all__ = ["COMPILE_PARTS", "STRUCTURE", "Structure", "structure_of", "told"]

#: Why a value is a constant of an entry: it is a part of what the function walks through.
STRUCTURE = "structure"
#: Recompiles for parts of one argument from which on it is the structure that varies.
MANY = 3
#: Parts of parts: a tree has some, a configuration mostly has none.
DEEP = 2
#: What a function is given without a name of its own.
UNNAMED = frozenset({"self", "cls", "args", "kwargs"})

COMPILE_PARTS = Remedy(
    "compile-parts",
    lambda data: (
        f"Compile what `{data.function}` calls for each part, as a module or a function of "
        "its own that gets tensors, and let Python walk through the object."
    ),
    when="parts of one object differ from call to call",
    applies=lambda data: data.held == STRUCTURE,
    basis="tested",
    proof="tests/advice/RCP006/compile-parts.py",
)


class Structure(NamedTuple):
    """An argument whose parts differ from call to call."""

    name: str
    #: All recompiles for it.
    steps: tuple[Step, ...]
    #: Whether the group holds the first of them: one finding is enough.
    is_first: bool


def structure_of(group: Group) -> Structure | None:
    """Return the argument that the group's value is a part of, where its parts keep differing."""
    name = _root(group.first)
    parts = [step for step in group.history.steps if name and _root(step) == name]
    paths = {step.check.source.path for step in parts if isinstance(step.check, _KINDS)}
    deep = any(path.count(".") + path.count("[") >= DEEP for path in paths)
    if len(paths) < MANY or not deep:
        return None
    return Structure(name, tuple(parts), parts[0].number == group.first.number)


_KINDS = ValueCheck | TypeCheck | LengthCheck | KeysCheck


def _root(step: Step) -> str:
    """Return the name from which a part is reached that is there or not, or of another class."""
    check = step.check
    if not isinstance(check, _KINDS) or (
        isinstance(check, ValueCheck) and check.constant != "None"
    ):
        return ""
    source: Source = check.source
    named = source.scope != "G" and source.path and source.name not in UNNAMED
    return source.name if named else ""


def told(
    rule: Rule, group: Group, walked: Structure, frames: Table[Frame], trees: Table[GuardTree]
) -> Finding:
    """Return the finding about the structure, or the note that another finding tells of it."""
    function = group.history.function
    steps = [(group.history, step) for step in walked.steps]
    return tell(
        rule,
        msgspec.structs.replace(group, steps=steps) if walked.is_first else group,
        frames,
        trees,
        title=f"`{function}` is compiled for each structure of `{walked.name}`",
        message=f"{group.cause.what} is one of the parts that differ: {len(steps)} recompiles "
        f"in all are for parts of `{walked.name}` that are there in one call and not in another, "
        "or of another class. Dynamo traces what the function does with this one object, so that "
        "every new structure is compiled.",
        severity=Severity.WARNING,
        held=STRUCTURE,
        is_avoidable=walked.is_first,
        harmless=None if walked.is_first else f"told with the first part of `{walked.name}`",
    )
