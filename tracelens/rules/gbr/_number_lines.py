"""What a line does with the number that it reads out of a tensor."""

from __future__ import annotations

import ast
import re

__all__ = ["hands_on", "is_counted", "looks_up", "to_state"]

#: What keeps no number: operators that write into a tensor (``x.mul_``), and checks of torch's.
_COMPUTES = re.compile(r"\.[a-z]\w{0,60}(?<!_)_\Z|\btorch\._(?:assert|check)")
#: A table's entry by a name: where that is a tensor, no graph can take it as an index.
_LOOKED_UP = re.compile(r"\bself\.\w{1,60}\[[A-Za-z_]\w{0,60}\]\.item\(\)")


def looks_up(code: str) -> bool:
    """Whether it reads an entry of a table by a name: ``self.sigmas[t].item()``."""
    return bool(_LOOKED_UP.search(code))


def hands_on(code: str) -> bool:
    """Whether a call or an index gets the number: ``x[: n.item()]`` reads it all the same."""
    try:
        nodes = list(ast.walk(ast.parse(code.strip())))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    taken: list[ast.AST] = [node.slice for node in nodes if isinstance(node, ast.Subscript)]
    for node in nodes:
        if isinstance(node, ast.Call) and not _keeps(ast.unparse(node.func)):
            taken += [*node.args, *(word.value for word in node.keywords)]
    return any(".item()" in ast.unparse(node) for node in taken)


def _keeps(function: str) -> bool:
    """Whether it is a container's: a class, or what adds to a list."""
    last = function.rpartition(".")[2]
    return last[:1].isupper() or last in {"append", "dict", "list", "tuple"}


def to_state(code: str) -> bool:
    """Whether Python keeps the number: ``meter.update(x.item())``, ``self.last = float(x.item())``.

    What guards see of it later is another value in each step.
    """
    line = _parsed(code)
    if isinstance(line, ast.Expr):
        called = ast.unparse(line.value.func) if isinstance(line.value, ast.Call) else ""
        return bool(called) and ".item()" in code and not _COMPUTES.search(called)
    targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
    kept = any(isinstance(one, ast.Attribute | ast.Subscript) for one in targets)
    return is_counted(code) or (kept and ".item()" in code)


def is_counted(code: str) -> bool:
    """Whether it is the number of a buffer that the module keeps: ``at = int(self.ptr)``."""
    line = _parsed(code)
    value = line.value if isinstance(line, ast.Assign) else None
    return value is not None and _is_counter(value)


def _parsed(code: str) -> ast.stmt | None:
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
