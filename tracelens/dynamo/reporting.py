"""Lines that only report something: to a log, a progress bar, a terminal."""

from __future__ import annotations

import ast
import re

__all__ = ["is_statement", "kept_eager", "reports"]

#: Names of objects and functions that write somewhere, and give nothing back.
_REPORTS = re.compile(
    r"(?:\b|_)(?:console|debug|info|log|logger|logging|loguru|pbar|print|tensorboard|tqdm|wandb"
    r"|warn|warning)(?:\b|_)|writer\.add_"
)


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
    name = ast.unparse(call.func) if call is not None else ""
    return name.rpartition(".")[2] if _REPORTS.search(name.lower()) else ""


def kept_eager(code: str) -> str:
    """Return such a line, left to runs that are not compiled."""
    return f"if not torch.compiler.is_compiling():\n    {code.strip()}"
