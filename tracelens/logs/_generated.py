"""Read parts of a generated module by the nested rules of the grammar ``output_code``.

Statements of one shape differ in their numbers. The first of a shape is read as it is, the second
with marks for its numbers. What the marks are in is what the numbers of all others are in, where
that gives what was read of the first; the grammar is asked no more.
``tests/logs/test_statements.py`` holds both ways against each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator

from tracelens import grammars
from tracelens.instances import alike, lean
from tracelens.late import late
from tracelens.logs._statements import Origin, Other, Statement
from tracelens.remembered import of_reading

__all__ = ["MEMO", "Code", "Comment", "fill", "origin", "read_plainly", "statement"]

M = TypeVar("M", bound=BaseModel)

#: Distinct statements whose models are kept, and distinct shapes of them.
MEMO = 20_000
#: A number that is written in one way only, and is no part of a longer one.
_NUMBER = late(r"(?<!\d)([1-9]\d{0,8}|0)(?!\d)", re.ASCII)
#: What stands for numbers: of their form, and in no statement.
_MARKS = tuple(f"9{4_170_000 + place}3" for place in range(2_000))
_MARK = late("(941[67]\\d{4}3)")
#: A device and an address, which is told by its length: in constants.
_UNLIKE = "# device("

#: Makes a value of the numbers in a statement.
_Maker = Callable[[list[str]], Any]


def fill(rule: str, text: str, kind: type[M]) -> M | None:
    """Return what ``rule`` makes of ``text``; None when it refuses the text."""
    grammar = grammars.load("output_code", "tracelens.logs.output_code")
    try:
        found = grammar.parse(text, rule)
    except grammars.Unreadable:
        return None
    return found if isinstance(found, kind) else None


def read_plainly(text: str) -> Statement:
    """Return the model of one statement as the grammar reads it; an unknown one costs itself."""
    found: Statement | None = fill("statement", text, Statement)
    return Other(text=text) if found is None else lean(found.model_copy(update={"text": text}))


class _Shape:
    """What statements have in common that are the same but for their numbers."""

    def __init__(self) -> None:
        #: What was read last, and its numbers, until it is known where they are.
        self._last: tuple[Statement, list[str]] | None = None
        self._first: Statement | None = None
        self._makers: dict[str, _Maker] = {}

    def read(self, text: str, numbers: list[str]) -> Statement:
        """Return the model of a statement of this shape."""
        if self._last is not None:
            self._learn(text, *self._last)
        if self._first is not None:
            made = {name: make(numbers) for name, make in self._makers.items()}
            return alike(self._first, {**made, "text": text})
        found = read_plainly(text)
        self._last = found, numbers
        return found

    def _learn(self, text: str, found: Statement, numbers: list[str]) -> None:
        """Find where the numbers are in what is read, if that is all that they do.

        Args:
            text: A statement of this shape.
            found: What was read of another one.
            numbers: Those of the other one.
        """
        if len(numbers) > len(_MARKS) or _MARK.search(text) or _UNLIKE in text:
            return
        marks = iter(_MARKS)
        marked = read_plainly(_NUMBER.sub(lambda _: next(marks), text))
        if type(marked) is not type(found):
            return
        values = {name: value for name, value in marked.__dict__.items() if name != "text"}
        places = {mark: place for place, mark in enumerate(_MARKS[: len(numbers)])}
        try:
            makers = {name: _maker(value, places) for name, value in values.items()}
            same = all(make(numbers) == getattr(found, name) for name, make in makers.items())
        except (KeyError, TypeError):
            return
        if same:
            varying = {name: value for name, value in values.items() if _MARK.search(repr(value))}
            self._makers = {name: makers[name] for name in varying}
            self._first, self._last = found, None


def _maker(value: Any, places: dict[str, int]) -> _Maker:
    """Return what makes a value as this one is, with the numbers in place of the marks.

    Raises:
        TypeError: It is of a type that no number is looked for in.
        KeyError: A mark in it is none of ``places``.
    """
    if isinstance(value, tuple):
        makers = [_maker(one, places) for one in value]
        return lambda numbers: tuple([make(numbers) for make in makers])
    if value is not None and type(value) not in {str, int}:
        raise TypeError(type(value))
    parts = _MARK.split(str(value))
    at = [places[mark] for mark in parts[1::2]]
    if not at:
        return lambda _: value
    if type(value) is int:
        sign, (place,) = -1 if value < 0 else 1, at
        return lambda numbers: sign * int(numbers[place])
    if len(at) == 1:
        (only,), (before, _, after) = at, parts
        return lambda numbers: f"{before}{numbers[only]}{after}"
    form = "{}".join(part.replace("{", "{{").replace("}", "}}") for part in parts[::2])
    return lambda numbers: form.format(*[numbers[place] for place in at])


@lru_cache(maxsize=MEMO)
def _shape(form: str) -> _Shape:
    del form
    return _Shape()


@of_reading
@lru_cache(maxsize=MEMO)
def statement(text: str) -> Statement:
    """Return the model of one statement, with its text."""
    parts = _NUMBER.split(text)
    return _shape("0".join(parts[::2])).read(text, parts[1::2])


@of_reading
@lru_cache(maxsize=MEMO)
def origin(text: str) -> Origin | None:
    """Return what the comment above a statement or a kernel says."""
    return fill("origin", text, Origin)


#: A statement, from its token.
Code = Annotated[
    Statement, BeforeValidator(lambda t: statement(t.rstrip()) if isinstance(t, str) else t)
]
#: The comment above a statement or a kernel, from the rule ``comment``.
Comment = Annotated[
    Origin | None, BeforeValidator(lambda c: origin(str(c[0])) if isinstance(c, list) else c)
]
