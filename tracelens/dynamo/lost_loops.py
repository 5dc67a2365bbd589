"""The loop in which a break made Dynamo give up a function, as far as its record prints it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tracelens.dynamo.break_effect import rests_given_up
from tracelens.dynamo.breaks import sites

if TYPE_CHECKING:
    from tracelens.dynamo.breaks import BreakSite
    from tracelens.evidence import Table
    from tracelens.logs.graph_breaks import GraphBreak

__all__ = ["Loop", "is_open", "loop_of", "rests_in_ranges"]

_HEAD = "Stack variable source attribution:"
_FILE = re.compile(r'File "([^"\n]{1,400})", line (\d{1,7})\Z')
#: How torch's containers of modules are gone over.
_OVER_MODULES = "iter(self._modules.values())"
_MARKS = frozenset("^~ ")
#: What goes over the items of another iterable.
_AROUND = frozenset({"enumerate", "list", "reversed", "sorted", "tqdm", "tuple", "zip"})
#: What a loop calls and nobody compiles.
_SMALL = frozenset({"append", "extend", "float", "int", "len", "max", "min", "print", "range"})


class Loop(NamedTuple):
    """A ``for`` or ``while`` of the program; one over modules of a list has no code."""

    code: str
    file: str
    line: int
    #: Modules or functions that its body calls, ``self.cell``, as far as the record prints that.
    calls: tuple[str, ...] = ()


def loop_of(site: BreakSite) -> Loop | None:
    """Return the loop that a function was given up for; the one of several that has no end."""
    found = [loop for _, seen in site.events for loop in _loops(seen.text)]
    return next((one for one in found if is_open(one.code)), found[0] if found else None)


def _loops(text: str) -> Iterator[Loop]:
    lines = [line.strip() for line in text.split("\n")]
    if _HEAD not in lines:
        return
    file, at = "", 0
    rest = lines[lines.index(_HEAD) + 1 :]
    for n, line in enumerate(rest):
        if line.startswith("User code traceback"):
            return
        if found := _FILE.match(line):
            file, at = found[1], int(found[2])
        elif _OVER_MODULES in line:
            yield Loop("", file, at)
        elif line.startswith(("for ", "while ")) and line.endswith(":"):
            body = []
            for one in rest[n + 1 :]:
                if not one or _FILE.match(one):
                    break
                if not _MARKS.issuperset(one):
                    body.append(one)
            yield Loop(line, file, at, tuple(dict.fromkeys(_calls(body))))


def _calls(body: list[str]) -> Iterator[str]:
    for line in body:
        for node in _nodes(line):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                if name.rpartition(".")[2] not in _SMALL and re.fullmatch(r"self\.\w+", name):
                    yield name


def _nodes(line: str) -> list[ast.AST]:
    for text in (line, f"{line} pass"):
        try:
            return list(ast.walk(ast.parse(text)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return []


def is_open(code: str) -> bool:
    """Whether the number of rounds is a matter of what the function is called with.

    Not of modules, of numbers that stand there, of constants, or of what the object holds.
    """
    loop = next((node for node in _nodes(code) if isinstance(node, ast.For | ast.While)), None)
    if loop is None:
        return False
    return isinstance(loop, ast.While) or _varies(loop.iter)


def _ranges_over_name(code: str) -> bool:
    """Whether it goes over a `range` of a name, which may be a number that is read before."""
    loop = next((node for node in _nodes(code) if isinstance(node, ast.For)), None)
    over = loop.iter if loop is not None else None
    if not isinstance(over, ast.Call) or ast.unparse(over.func) != "range":
        return False
    return any(isinstance(one, ast.Name) and not one.id.isupper() for one in over.args)


def rests_in_ranges(breaks: Table[GraphBreak]) -> dict[tuple[str, str, int], str]:
    """Return the lines behind which the rest is given up for a loop over a `range` of a name."""
    found = {}
    for at, site in rests_given_up(sites(breaks)).items():
        loop = loop_of(site)
        if loop is not None and _ranges_over_name(loop.code):
            found[at] = loop.code.rstrip(":")
    return found


def _varies(value: ast.expr) -> bool:
    if isinstance(value, ast.Name):
        return not value.id.isupper()
    if isinstance(value, ast.Call):
        name = ast.unparse(value.func)
        if name.rpartition(".")[2] in _AROUND | {"len", "range", "int", "min", "max"}:
            return any(map(_varies, value.args))
        return isinstance(value.func, ast.Attribute) and _varies(value.func.value)
    if isinstance(value, ast.BinOp):
        return _varies(value.left) or _varies(value.right)
    return _is_part_that_varies(value)


def _is_part_that_varies(value: ast.expr) -> bool:
    if not isinstance(value, ast.Attribute | ast.Subscript | ast.Starred) or _is_own(value):
        return False
    part = value.slice if isinstance(value, ast.Subscript) else None
    ends = isinstance(part, ast.Slice) and part.upper is not None  # the first five
    return not ends and _varies(value.value)


def _is_own(value: ast.expr) -> bool:
    return ast.unparse(value).startswith(("self.", "cls."))
