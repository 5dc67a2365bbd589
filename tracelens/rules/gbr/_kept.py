"""Lines whose number Python keeps: guards see another value of it in each step."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

__all__ = ["is_counted", "outside", "to_state"]


def to_state(code: str) -> bool:
    """Whether Python keeps the number: ``meter.update(x.item())``, ``self.last = float(x.item())``.

    What guards see of it later is another value in each step.
    """
    line = parsed(code)
    if isinstance(line, ast.Expr):
        called = ast.unparse(line.value.func) if isinstance(line.value, ast.Call) else ""
        return bool(called) and ".item()" in code and not _COMPUTES.search(called)
    targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
    kept = any(isinstance(one, ast.Attribute | ast.Subscript) for one in targets)
    return is_counted(code) or (kept and ".item()" in code)


#: What keeps no number: operators that write into a tensor (``x.mul_``), and checks of torch's.
_COMPUTES = re.compile(r"\.[a-z]\w{0,60}(?<!_)_\Z|\btorch\._(?:assert|check)")


def is_counted(code: str) -> bool:
    """Whether it is the number of a buffer that the module keeps: ``at = int(self.ptr)``."""
    line = parsed(code)
    value = line.value if isinstance(line, ast.Assign) else None
    return value is not None and _is_counter(value)


@lru_cache(maxsize=256)
def parsed(code: str) -> ast.stmt | None:
    """Return the first statement; several remedies ask for that of one line, one after another."""
    try:
        return next(iter(ast.parse(code.strip()).body), None)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_counter(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Name) and value.func.id == "int" and len(value.args) == 1:
        return _of_self(value.args[0])
    called = value.func
    return isinstance(called, ast.Attribute) and called.attr == "item" and _of_self(called.value)


def _of_self(value: ast.expr) -> bool:
    inside: ast.expr = value.value if isinstance(value, ast.Subscript) else value
    held = inside.value if isinstance(inside, ast.Attribute) else None
    return isinstance(held, ast.Name) and held.id == "self"


def outside(code: str) -> str:
    """Say how such a line gets out of the compiled function, or what else can be read there."""
    if is_counted(code):
        return (
            "If the module never changes what it holds there, keep it as a number of Python from "
            "the start. If it counts, do what needs the number outside of the compiled function."
        )
    if to_state(code):
        return (
            "What Python keeps of it is another number in each step: return the tensor, and do "
            "this line outside of the compiled function."
        )
    return "Return the tensor, and read the number outside of the compiled function."
