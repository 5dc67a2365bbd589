"""Branches that ask whether a tensor has elements: operators take one that has none."""

from __future__ import annotations

import ast

__all__ = ["asks_empty", "leave_out"]

_RIGHT = (
    "operators take a tensor without elements. Sums, products and indices of it are the same as "
    "skipping it; a mean of nothing is NaN, and its largest element (`max`, `argmax`) is an "
    "error: keep the branch where one is taken."
)
#: Comparisons of a size that hold where there are elements, and those that hold where there are
#: none.
_SOME, _NONE = {"> 0", ">= 1", "!= 0"}, {"== 0", "< 1", "<= 0"}


def asks_empty(code: str) -> bool:
    """Whether an ``if`` asks if a tensor has elements: ``not len(x)``, ``x.shape[0] == 0``."""
    return _has_some(code) is not None


def leave_out(code: str) -> str:
    """Say what to do with the branch in the line ``code``."""
    if _has_some(code):
        return f"Take the `if` away, and run what stands below it in every call: {_RIGHT}"
    return f"Leave the branch out: {_RIGHT}"


def _has_some(code: str) -> bool | None:
    """Return whether the branch is taken where there are elements; None if it asks another.

    What stands below an ``elif`` is not for every call, and a check that raises is there to raise.
    """
    test = _condition(code.strip())
    if test is None:
        return None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return False if _is_size(test.operand) else None
    if not isinstance(test, ast.Compare):
        return True if _is_size(test) else None
    if len(test.ops) > 1 or not _is_size(test.left):
        return None
    asked = ast.unparse(test).removeprefix(ast.unparse(test.left)).strip()
    return asked in _SOME if asked in _SOME | _NONE else None


def _condition(text: str) -> ast.expr | None:
    """Return what an ``if`` asks that is no check."""
    if not text.startswith("if "):
        return None
    try:
        body = ast.parse(f"{text} pass" if text.endswith(":") else text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    branch = body[0] if body else None
    if not isinstance(branch, ast.If) or isinstance(branch.body[0], ast.Assert | ast.Raise):
        return None
    return branch.test


def _is_size(node: ast.expr) -> bool:
    """Whether it is ``len(x)``, ``x.numel()``, ``x.size(0)`` or ``x.shape[0]``."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return name in {"len", "numel", "nelement", "size"}
    return isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") == "shape"
