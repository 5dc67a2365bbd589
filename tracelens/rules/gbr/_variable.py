"""``torch.autograd.Variable``, which torch keeps from before 0.4 and Dynamo does not trace."""

from __future__ import annotations

import ast

from tracelens.rules.gbr._break_data import BreakData

__all__ = ["calls_variable", "detached"]

#: What the record names where a line calls ``Variable(x)``.
_MADE = "_LegacyVariableBase.__new__"
_TRUTHS = {True: ".detach().requires_grad_()", False: ".detach()"}


def calls_variable(data: BreakData) -> bool:
    """Whether the line calls ``Variable``, which returns a tensor that shares the data."""
    return data.name.endswith(_MADE)


def detached(data: BreakData) -> str | None:
    """Return the line with what each ``Variable(...)`` of it stands for; None where that varies."""
    line = data.code.strip()
    try:
        tree = ast.parse(f"{line}\n    pass" if line.endswith(":") else line)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _calls_it(node)]
    if len(calls) != 1 or not line.isascii():  # columns count bytes
        return None
    call = calls[0]
    form = _form(call)
    inner = ast.get_source_segment(line, call.args[0]) if call.args and form else None
    if inner is None or call.end_col_offset is None:
        return None
    if not isinstance(call.args[0], ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        inner = f"({inner})"
    return f"{line[: call.col_offset]}{inner}{form}{line[call.end_col_offset :]}"


def _calls_it(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name == "Variable"


def _form(call: ast.Call) -> str:
    """Return what takes the place of the call; empty where a value decides, or more is asked."""
    if len(call.args) > 1 or any(
        one.arg not in {"requires_grad", "volatile"} for one in call.keywords
    ):
        return ""
    asked = [one.value for one in call.keywords if one.arg == "requires_grad"]
    values = [one.value if isinstance(one, ast.Constant) else None for one in asked] or [False]
    return _TRUTHS.get(values[0], "") if isinstance(values[0], bool) else ""
