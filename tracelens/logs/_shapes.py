"""What the structured log says of dynamic shapes: the records of the text log ``dynamic``.

The envelope itself has it, with the stack of the user's frames. Files are numbers there, which
records of their own explain: what was read has its file only when all records are known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from tracelens.evidence import Evidence, Seen
from tracelens.logs import Record
from tracelens.logs._comment import Comment
from tracelens.logs.dynamic import (
    Assumed,
    CreateSymbol,
    Derived,
    FakeKernel,
    GuardAdded,
    Replaced,
    UnbackedSymbol,
)

__all__ = ["SHAPES", "FileName", "RawFrame", "file_names"]


class FileName(Record):
    """A number, and the file that it stands for in stacks; ``trace_structured("str", ...)``."""

    number: int
    file: str


class RawFrame(msgspec.Struct):
    """A frame of a stack, its file a number."""

    line: int | None = 0
    name: str | None = ""
    filename: int = -1
    loc: str | None = ""


class _Symbol(msgspec.Struct):
    symbol: str
    vr: str
    val: str = ""
    source: str = ""
    user_stack: list[RawFrame] | None = None


class _Specialization(msgspec.Struct):
    symbol: str
    value: str
    reason: str = ""


class _Condition(msgspec.Struct):
    expr: str
    #: ``eval`` or ``runtime_assert``.
    prefix: str = "eval"
    result: str = ""
    user_stack: list[RawFrame] | None = None


class _Expression(msgspec.Struct):
    method: str
    result: str
    arguments: list[str] = []
    user_stack: list[RawFrame] | None = None


class _Operator(msgspec.Struct):
    op: str
    reason: str = ""


class _Numbered(Record):
    """A record of a text log, with the number of the file in ``where``."""

    number: int = -1

    def resolved(self, seen: Seen[Any], evidence: Evidence) -> Record:
        """Return the text log's record, with its file."""
        values = dict(self)
        number, where = values.pop("number"), values["where"]
        if where is not None:
            names = file_names(evidence)
            file = names.get((seen.first.input, seen.first.writer, number), "")
            values["where"] = where.model_copy(update={"file": file})
        kind: type[Record] = next(base for base in type(self).__bases__ if base is not _Numbered)
        return kind.model_validate(values)


class NumberedSymbol(_Numbered, CreateSymbol):
    """A symbol, before its file is known."""


class NumberedUnbacked(_Numbered, UnbackedSymbol):
    """A symbol without a value, before its file is known."""


class NumberedGuard(_Numbered, GuardAdded):
    """A guard, before its file is known."""


class NumberedAssumed(_Numbered, Assumed):
    """An assumption, before its file is known."""


class NumberedDerived(_Numbered, Derived):
    """An expression, before its file is known."""


#: Files by input, writer and number.
_NAMES: WeakKeyDictionary[object, dict[tuple[str, str, int], str]] = WeakKeyDictionary()


def file_names(evidence: Evidence) -> dict[tuple[str, str, int], str]:
    """Return the files by input, writer and number."""
    table = evidence.table(FileName)
    if table not in _NAMES:
        _NAMES[table] = {
            (place.input, place.writer, row.record.number): row.record.file
            for place, row in table.events()
        }
    return _NAMES[table]


def _where(stack: list[RawFrame] | None) -> dict[str, Any]:
    """Return the innermost of the user's frames."""
    if not stack:
        return {"where": None}
    frame = stack[-1]
    comment = Comment(code=frame.loc or "", line=frame.line or 0, function=frame.name or "")
    return {"where": comment, "number": frame.filename}


def _bounds(text: str) -> dict[str, str]:
    low, _, high = text.strip("[]").partition(", ")
    return {"low": low, "high": high}


def _symbol(content: bytes) -> Record:
    made = msgspec.json.decode(content, type=_Symbol)
    return NumberedSymbol(
        symbol=made.symbol,
        value=made.val,
        source=made.source,
        **_bounds(made.vr),
        **_where(made.user_stack),
    )


def _unbacked(content: bytes) -> Record:
    made = msgspec.json.decode(content, type=_Symbol)
    return NumberedUnbacked(symbol=made.symbol, **_bounds(made.vr), **_where(made.user_stack))


def _specialization(content: bytes) -> Record:
    made = msgspec.json.decode(content, type=_Specialization)
    return Replaced(symbol=made.symbol, target=made.value, reason=made.reason)


def _guard(*, again: bool) -> Callable[[bytes], Record]:
    def read(content: bytes) -> Record:
        made = msgspec.json.decode(content, type=_Condition)
        where = _where(made.user_stack)
        return NumberedGuard(how=made.prefix, expression=made.expr, again=again, **where)

    return read


def _assumed(*, again: bool) -> Callable[[bytes], Record]:
    def read(content: bytes) -> Record:
        made = msgspec.json.decode(content, type=_Condition)
        where = _where(made.user_stack)
        return NumberedAssumed(condition=made.expr, result=made.result, again=again, **where)

    return read


def _derived(content: bytes) -> Record:
    made = msgspec.json.decode(content, type=_Expression)
    return NumberedDerived(
        method=made.method,
        result=made.result,
        arguments=tuple(made.arguments),
        **_where(made.user_stack),
    )


def _kernel(problem: str) -> Callable[[bytes], Record]:
    def read(content: bytes) -> Record:
        made = msgspec.json.decode(content, type=_Operator)
        return FakeKernel(operator=made.op, problem=problem, reason=made.reason)

    return read


def _file(content: bytes) -> Record:
    file, number = msgspec.json.decode(content, type=tuple[str, int])
    return FileName(file=file, number=number)


#: Key of the envelope -> what reads the JSON below it.
#: A debugging log (``TORCH_DTRACE=1``) has two kinds of record for one guard, and torch up to 2.6
#: the longer one alone.
SHAPES: dict[str, Callable[[bytes], Record]] = {
    "str": _file,
    "create_symbol": _symbol,
    "create_unbacked_symbol": _unbacked,
    "symbolic_shape_specialization": _specialization,
    "guard_added": _guard(again=True),
    "guard_added_fast": _guard(again=False),
    "propagate_real_tensors": _assumed(again=False),
    "propagate_real_tensors_provenance": _assumed(again=True),
    "expression_created": _derived,
    "missing_fake_kernel": _kernel("missing"),
    "mismatched_fake_kernel": _kernel("mismatched"),
}
