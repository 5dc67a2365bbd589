"""Read parts of a generated module by the nested rules of the grammar ``output_code``."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator

from tracelens import grammars
from tracelens.logs._statements import Origin, Other, Statement

__all__ = ["Code", "Comment", "fill"]

M = TypeVar("M", bound=BaseModel)

#: Distinct statements whose models are kept.
MEMO = 20_000


def fill(rule: str, text: str, kind: type[M]) -> M | None:
    """Return what ``rule`` makes of ``text``; None when it refuses the text."""
    grammar = grammars.load("output_code", "tracelens.logs.output_code")
    try:
        found = grammar.parse(text, rule)
    except grammars.Unreadable:
        return None
    return found if isinstance(found, kind) else None


@lru_cache(maxsize=MEMO)
def _statement(text: str) -> Statement:
    """Return the model of one statement, with its text; one unknown statement costs itself only."""
    found: Statement | None = fill("statement", text, Statement)
    return Other(text=text) if found is None else found.model_copy(update={"text": text})


@lru_cache(maxsize=MEMO)
def _origin(text: str) -> Origin | None:
    return fill("origin", text, Origin)


#: A statement, from its token.
Code = Annotated[
    Statement, BeforeValidator(lambda t: _statement(t.rstrip()) if isinstance(t, str) else t)
]
#: The comment above a statement or a kernel, from the rule ``comment``.
Comment = Annotated[
    Origin | None, BeforeValidator(lambda c: _origin(str(c[0])) if isinstance(c, list) else c)
]
