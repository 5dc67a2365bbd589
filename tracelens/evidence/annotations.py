"""Annotations at run time, also those whose names only type checkers import.

A rule that asks for a log kind need not import it: where the index knows what is asked for, log
kinds that are not in the input stay unimported, which is what a small log costs most.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, get_type_hints

__all__ = ["hints_of"]


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types that the parameters of ``function`` are annotated with.

    Raises:
        NameError: A name is imported nowhere in the function's module.
    """
    try:
        return get_type_hints(function)
    except NameError:
        return get_type_hints(function, localns=_late(function.__module__))


@cache
def _late(module: str) -> dict[str, Any]:
    """Import what ``module`` imports under ``if TYPE_CHECKING``: name -> object."""
    found: dict[str, Any] = {}
    for block in ast.parse(inspect.getsource(sys.modules[module])).body:
        if not (isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"):
            continue
        for node in block.body:
            if isinstance(node, ast.ImportFrom) and node.module:
                home = importlib.import_module(node.module)
                found |= {name.asname or name.name: getattr(home, name.name) for name in node.names}
    return found
