"""Lines behind a graph break in which the number that it reads becomes the size of a tensor."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracelens.evidence import Table

if TYPE_CHECKING:
    from tracelens.dynamo.breaks import BreakSite
    from tracelens.logs.graph_code import FxGraph

__all__ = ["base", "lines_behind", "look_for_sizes", "sizes_by", "slices_at"]

#: A traced line behind a break: its file, the function that broke, the line, and its code.
_BEHIND = re.compile(
    r"^ *# File: ([^\n]{1,400}?):(\d{1,7}) in torch_dynamo_resume_in_(\w{1,80}?)_at_(\d{1,6}), "
    r"code: ([^\n]{1,400})",
    re.MULTILINE,
)
_ASSIGNED = re.compile(r"([A-Za-z_]\w{0,60}) = ")
#: What takes whole numbers as sizes, and no tensors: tried, the graph breaks there with one.
_SIZED = frozenset(
    {"arange", "broadcast_to", "chunk", "empty", "expand", "eye", "full", "narrow", "new_empty"}
    | {"new_full", "new_ones", "new_zeros", "one_hot", "ones", "pad", "rand", "randint", "randn"}
    | {"randperm", "repeat", "reshape", "split", "tile", "topk", "unflatten", "view", "zeros"}
)
#: ... of which the second argument is a value, which may be one.
_FILLED = frozenset({"full", "new_full"})

#: File, function and line of a break.
_At = tuple[str, str, int]


def look_for_sizes(found: Sequence[BreakSite], graphs: Table[FxGraph]) -> None:
    """Write down at each break the line behind it that makes a size of what it assigns."""
    for site in found:
        at = site.line
        name = _ASSIGNED.match(at.code)
        lines = graphs.derived(lines_behind).get((base(at.file), at.function, at.line), {})
        if name is not None:
            site.sized = next((one for one in lines.values() if sizes_by(one, name[1])), "")
            site.cut = next((one for one in lines.values() if slices_at(one, name[1])), site.cut)


def slices_at(code: str, name: str) -> bool:
    """Whether a slice of a line begins or ends at the number: ``x[:n]``, ``x[n + 1 :]``."""
    ends = [end for one in _nodes(code) if isinstance(one, ast.Slice) for end in _ends(one)]
    return any(_is_of(end, name) for end in ends)


def sizes_by(code: str, name: str) -> bool:
    """Whether a line makes a size of the number called ``name``: ``x.new_zeros(n, 4)``, ``x[:n]``.

    Of a statement of several lines, only what is whole is read.
    """
    taken: list[ast.AST] = []
    for node in _nodes(code):
        if isinstance(node, ast.Slice):
            taken += _ends(node)
        elif isinstance(node, ast.Call) and _called(node) in _FILLED:
            taken += node.args[:1]
        elif isinstance(node, ast.Call) and _called(node) in _SIZED:
            taken += [*node.args, *(word.value for word in node.keywords)]
    return any(_is_of(one, name) for one in taken)


def _nodes(code: str) -> list[ast.AST]:
    try:
        return list(ast.walk(ast.parse(code.strip())))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _ends(node: ast.Slice) -> list[ast.AST]:
    return [end for end in (node.lower, node.upper) if end is not None]


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def _is_of(node: ast.AST, name: str) -> bool:
    """Whether it is computed of the number: ``n``, ``2 * n``, ``(n, 4)``."""
    if isinstance(node, ast.BinOp):
        return _is_of(node.left, name) or _is_of(node.right, name)
    if isinstance(node, ast.Tuple | ast.List):
        return any(_is_of(one, name) for one in node.elts)
    return isinstance(node, ast.Name) and node.id == name


def base(file: str) -> str:
    """Return the name of a file without its folders, of which torch leaves out some."""
    return file.replace("\\", "/").rpartition("/")[2]


def lines_behind(graphs: Table[FxGraph]) -> dict[_At, dict[int, str]]:
    """Return the traced lines of what resumes behind each break, by their numbers."""
    found: dict[_At, dict[int, str]] = {}
    for row in graphs:
        graph = row.record
        if graph.traced and "torch_dynamo_resume_in_" in graph.body:
            for file, number, function, line, code in _BEHIND.findall(graph.body):
                found.setdefault((base(file), function, int(line)), {})[int(number)] = code
    return found
