"""Options that need no conversion, taken as they are."""

from __future__ import annotations

from enum import Enum
from typing import Any

import typer.core

__all__ = ["Hastened", "Root", "hasten"]

#: What stands for a value that is left to typer.
_DOUBT = object()


class Hastened(typer.core.TyperCommand):
    """A command of which plain options are taken as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, ``--help`` among them."""
        return [hasten(param) for param in super().get_params(ctx)]


class Root(typer.core.TyperGroup):
    """The command line: all commands, and the options that stand before them."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, ``--help`` among them."""
        return [hasten(param) for param in super().get_params(ctx)]


def hasten(param: Any) -> Any:
    """Let a parameter of a command take at once what is of its type already, and return it.

    Typer makes a validator for each parameter of a command, given or not: for ``analyze`` that is
    an eighth of the time that a small log takes. Whatever is not plain is left to typer.
    """
    process = param.process_value
    if param.nargs not in {1, -1} or hasattr(process, "plainly"):
        return param

    def processed(ctx: Any, value: Any) -> Any:
        plain = _plain(param, value)
        if plain is _DOUBT or (param.required and not plain):
            return process(ctx, value)
        return plain if param.callback is None else param.callback(ctx, param, plain)

    processed.plainly = process  # type: ignore[attr-defined]
    param.process_value = processed
    return param


def _plain(param: Any, value: Any) -> Any:
    """Return what typer makes of a plain value."""
    several = bool(param.multiple) or param.nargs == -1
    if value is None:
        return () if several else None
    described = getattr(param, "type_descriptor", None)
    wanted = getattr(described, "annotation", None)
    if not several and isinstance(value, bool | Enum) and type(value) is wanted:
        return value
    parses = getattr(getattr(described, "parameter_info", None), "parser", None)
    if parses is None and not several and wanted is str and type(value) is str:
        return value
    if parses is None and several and wanted == list[str] and _are_texts(value):
        return list(value)
    return _DOUBT


def _are_texts(values: Any) -> bool:
    return type(values) in {list, tuple} and all(type(value) is str for value in values)
