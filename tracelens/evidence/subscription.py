"""What a rule, or a record made from others, asks of the evidence: its annotations say it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_origin

from tracelens.errors import PluginError
from tracelens.evidence.annotations import hints_of
from tracelens.evidence.record import Record
from tracelens.evidence.tables import Table

if TYPE_CHECKING:
    from tracelens.evidence.store import Evidence

__all__ = ["arguments", "needs"]


def needs(function: Callable[..., Any]) -> dict[str, tuple[type[Record] | None, bool]]:
    """Return parameter -> (record type, required?) of a function whose annotations are tables.

    Positional parameters are required evidence; keyword-only ones are used when they are there. A
    parameter annotated ``Evidence`` receives everything, and its record type here is ``None``.
    Record types that only annotations name may be imported under ``if TYPE_CHECKING``: where the
    index knows what a function asks for, log kinds that are not in the input stay unimported.

    Raises:
        PluginError: Another annotation; names the function's file and line.
    """
    return _needs(getattr(function, "__func__", function))


@cache
def _needs(function: Callable[..., Any]) -> dict[str, tuple[type[Record] | None, bool]]:
    """Read the annotations of a function, once: they take longer than most rules."""
    from tracelens.evidence.store import Evidence  # noqa: PLC0415 -- it asks this module

    code = inspect.unwrap(function).__code__
    where = f"{code.co_filename}:{code.co_firstlineno}"
    try:
        hints = hints_of(function)
    except NameError as error:
        raise PluginError(f"{where}: {function.__qualname__}: {error}") from error
    found: dict[str, tuple[type[Record] | None, bool]] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in {"self", "cls"}:
            continue
        hint = hints.get(name)
        if hint is Evidence:
            found[name] = (None, False)
            continue
        inner = get_args(hint)[0] if get_origin(hint) is Table else None
        if not (isinstance(inner, type) and issubclass(inner, Record)):
            raise PluginError(
                f"{where}: {function.__qualname__}: parameter {name!r} is annotated {hint!r}",
                hint="annotate it Table[SomeRecord]",
            )
        found[name] = (inner, parameter.kind is not inspect.Parameter.KEYWORD_ONLY)
    return found


def arguments(function: Callable[..., Any], evidence: Evidence) -> dict[str, Any]:
    """Return the tables that ``function`` asks for by its annotations."""
    return {
        name: evidence if kind is None else evidence.table(kind)
        for name, (kind, _) in needs(function).items()
    }
