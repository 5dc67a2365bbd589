"""Guards on numbers, typed: which value an entry was compiled for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tracelens import grammars

if TYPE_CHECKING:
    from tracelens.logs.guards import Guard, GuardTree
    from tracelens.logs.recompiles import Recompile, Source

__all__ = ["Number", "failed", "lengths", "numbers"]

#: Kinds of guards that compare with a value; none up to torch 2.3.
KINDS = frozenset({"CONSTANT_MATCH", "EQUALS_MATCH", ""})
_LENGTH = "LENGTH_CHECK"
#: How a guard ends that compares with a number, but for digits: of others, nothing is read.
_ENDS = (".", "inf", "nan")


class Number(NamedTuple):
    """A number that must be what it was; ``at`` is the line within the record's text."""

    source: Source
    value: int | float
    guard: Guard
    #: How many items the container has.
    is_length: bool = False

    def __str__(self) -> str:
        source = f"len({self.source})" if self.is_length else str(self.source)
        return f"{source} == {self.value}"

    def line_in(self, text: str) -> int:
        """Return at which line of a record the guard stands; to be asked for what is quoted."""
        lines = text.split("\n")
        return next((i for i, line in enumerate(lines) if self.guard.expression in line), 0)

    @property
    def name(self) -> str:
        """The attribute, key or variable that holds it: ``step`` of ``self.step``."""
        path = self.source.path or self.source.name
        return path.rpartition(".")[2].rpartition("[")[2].strip("]'\"")


def numbers(tree: GuardTree) -> Iterator[Number]:
    """Yield the guards of a tree that compare with a number."""
    for guard in tree.guards:
        if guard.kind not in KINDS or " == " not in guard.expression:
            continue
        end = guard.expression.rstrip(" ").removesuffix(")")
        if not (end[-1:].isdigit() or end.endswith(_ENDS)):
            continue
        from tracelens.logs.recompiles import ValueCheck  # noqa: PLC0415 -- few trees have one

        check = _check(guard.expression)
        if not isinstance(check, ValueCheck) or check.operator.strip() != "==":
            continue
        value = check.integer if check.integer is not None else check.number
        if value is not None:
            yield Number(check.source, value, guard)


def lengths(tree: GuardTree) -> Iterator[Number]:
    """Yield the guards of a tree that ask how many items a container has."""
    for guard in tree.guards:
        if guard.kind != _LENGTH:
            continue
        from tracelens.logs.recompiles import LengthCheck  # noqa: PLC0415 -- few trees have one

        check = _check(guard.expression)
        if isinstance(check, LengthCheck) and check.operator.strip() == "==":
            yield Number(check.source, check.length, guard, is_length=True)


def _check(expression: str) -> object:
    """Read a guard as the log of recompiles writes it: the texts are the same."""
    from tracelens.logs import recompiles  # noqa: PLC0415 -- few trees have such a guard

    grammar = grammars.load(recompiles.Recompiles.name, recompiles.__name__)
    try:
        return grammar.nested("check", expression)
    except grammars.Unreadable:
        return None


def failed(recompile: Recompile) -> Iterator[Source]:
    """Yield the values on whose guards a recompile failed."""
    from tracelens.logs.recompiles import LengthCheck, ValueCheck  # noqa: PLC0415 -- as above

    for failure in recompile.failures:
        if isinstance(failure.check, ValueCheck | LengthCheck):
            yield failure.check.source
