"""What a line does with the number that it reads out of a tensor."""

from __future__ import annotations

import ast
import re

__all__ = ["hands_on", "looks_up"]

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
