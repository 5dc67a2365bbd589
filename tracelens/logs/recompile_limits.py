"""The warning that Dynamo gave up on a function. It needs no setting to be printed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from tracelens import grammars
from tracelens.late import late
from tracelens.logs import HeadedLog, Record
from tracelens.logs._stack import StackFrame
from tracelens.logs.recompiles import GuardFailure, Recompiles

if TYPE_CHECKING:
    from tracelens.evidence import Evidence, Seen, Table

__all__ = ["RecompileLimit", "RecompileLimits", "StackFrame", "refused_at"]

#: What the second and the third line begin with, where the first was not pasted.
LOOSE = ("   function: '", "   last reason: ")
_LISTED = late(r"\[(['\"])([^\n]+)\1\]")


def _reason(value: object) -> object:
    """Read the reason as recompiles has it; one that stands in no guard's form is no failure."""
    if not isinstance(value, str):
        return value
    listed = _LISTED.fullmatch(value.strip())  # old versions print a list that holds it
    value = listed[2] if listed else value
    grammar = grammars.load(Recompiles.name, Recompiles.__module__)
    try:
        return grammar.nested("failures", value)[0]
    except grammars.Unreadable:
        return None  # somebody shortened it; that the limit was hit stays true


class RecompileLimits(HeadedLog):
    """``torch._dynamo hit config.recompile_limit (8)`` and what follows it."""

    name = "recompile_limits"
    switch = "no switch is needed"
    always = True
    opens = (
        "torch._dynamo hit config.",
        "torchdynamo hit config.",
        "torchdynamo hit recompilation cache limit (",
    )
    marks = (*opens, *LOOSE)
    continues = re.compile(
        r"\s|$|function: \'|last reason: |User stack trace:|[Tt]o (?:log all|diagnose)"
    )
    prefixed = True
    cuts = re.compile(r"torch(?:\._)?dynamo hit (?:config\.|recompilation cache limit)")
    ends = re.compile(r"[Tt]o diagnose ")

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return the function and the reason; the number is in the first line alone."""
        text = text.rstrip(" ")  # torch ends the list of states with one
        if not text.startswith(LOOSE):
            return super().parse(text)
        from tracelens.logs._payloads import moved  # noqa: PLC0415 -- it reads all kinds

        found = super().parse(f"torch._dynamo hit config.recompile_limit (0)\n{text}")
        return tuple(moved(one, lambda at: max(0, at - 1)) for one in found)


class RecompileLimit(Record):
    """A function that Dynamo will not compile any more."""

    at: int = 0
    #: ``recompile_limit`` (``cache_size_limit`` up to torch 2.6), of one function; with
    #: ``accumulated_`` before it, of all together.
    name: str = "cache_size_limit"
    #: How many entries a function may have; 0 where that line was not pasted.
    limit: int
    function: str = ""
    file: str = ""
    line: int = 0
    reason: Annotated[GuardFailure | None, BeforeValidator(_reason)] = None
    stack: tuple[StackFrame, ...] = ()

    @property
    def is_accumulated(self) -> bool:
        """Whether the limit of all functions together was hit."""
        return self.name.startswith("accumulated")


def refused_at(seen: Seen[Any], evidence: Evidence) -> bool:
    """Whether a limit was hit in the compilation that the row is of, so that it was none."""
    refused = evidence.table(RecompileLimit).derived(_refused)
    return bool(refused) and all(
        place.frame and place.compilation in refused for place in seen.places
    )


def _refused(limits: Table[RecompileLimit]) -> frozenset[tuple[str, str, str]]:
    return frozenset(place.compilation for place, _ in limits.events())
