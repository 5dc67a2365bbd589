"""Lines that only report something: to a log, a progress bar, a terminal."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

__all__ = ["is_statement", "kept_eager", "reports"]

#: Objects that write somewhere, functions and methods that do, and methods of such objects.
_WRITERS = re.compile(
    r"(?:\b|_)(?:console|logger|logging|loguru|pbar|progress|tensorboard|tqdm|wandb|writer)$"
)
_WRITES = re.compile(r"_*(?:debug|info|log|p?print|warn|warning)(?:_\w*[^\W_])?$")
_TAKES = re.compile(
    r"(?:add|set|track|write)_\w*[^\W_]$|(?:critical|error|exception|refresh|update|write)$"
)


@lru_cache(maxsize=256)
def is_statement(code: str) -> ast.Call | None:
    """Return the call that a line makes and whose result nothing takes; None for other lines."""
    try:
        body = ast.parse(code.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        return None
    return body[0].value if isinstance(body[0].value, ast.Call) else None


def reports(code: str) -> str:
    """Return what a line calls only to report: ``debug``; empty for lines that do more.

    Without such a line the results are the same.
    """
    call = is_statement(code)
    func = call.func if call is not None else None
    name = getattr(func, "attr", getattr(func, "id", ""))
    if not isinstance(func, ast.Attribute):
        return name if _WRITES.match(name) else ""
    of_writer = any(_WRITERS.search(one) for one in _names(func.value))
    writes = _WRITES.match(name) or (of_writer and _TAKES.match(name))
    return name if writes else ""


def kept_eager(code: str) -> str:
    """Return such a line, left to runs that are not compiled."""
    return f"if not torch.compiler.is_compiling():\n    {code.strip()}"


def _names(node: ast.expr) -> list[str]:
    return [
        getattr(one, "attr", getattr(one, "id", "")).lower()
        for one in ast.walk(node)
        if isinstance(one, ast.Attribute | ast.Name)
    ]
