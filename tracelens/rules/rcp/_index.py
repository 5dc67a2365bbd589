"""Numbers that a line looks something up with: a list needs the number itself, and no symbol."""

from __future__ import annotations

import ast

from tracelens.remedies import Remedy
from tracelens.rules.rcp._data import RecompileData

__all__ = ["LOOK_UP", "looks_up"]


def looks_up(data: RecompileData) -> bool:
    """Whether the line has the number, or one computed from it, as the only index of something.

    ``sigmas[self.step - 1]``, not ``x[:, n]`` nor ``x[:n]``, which are of tensors.
    """
    try:
        code = data.code.strip()
        nodes = list(ast.walk(ast.parse(f"{code} pass" if code.endswith(":") else code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    name = data.source.rpartition(".")[2]
    return any(
        name in {getattr(inner, "attr", getattr(inner, "id", "")) for inner in ast.walk(node.slice)}
        for node in nodes
        if isinstance(node, ast.Subscript) and _is_number(node.slice)
    )


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute | ast.BinOp | ast.UnaryOp)


LOOK_UP = Remedy(
    "look-up-before",
    "The line looks something up with the number, and a list takes no symbol: look it up before "
    "the compiled function is called, and pass in what is found, a number as a tensor.",
    when="the number is an index in the line, in code of your own",
    applies=lambda data: looks_up(data) and not (data.package or data.is_of_library),
    basis="tested",
    proof="tests/advice/RCP007/look-up-before.py",
)
