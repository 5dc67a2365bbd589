"""The lines of a program that a traced graph has statements from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Place, Table
from tracelens.logs._stack import StackFrame

if TYPE_CHECKING:
    from tracelens.logs.graph_code import FxGraph

__all__ = ["changed_in", "is_same_graph", "lines_with"]

_LINE = re.compile(r"^ *# File: [^\n]{1,400}?, code: ([^\n]{1,400})", re.MULTILINE)
_PLACED = re.compile(
    r"^ *# File: ([^\n]{1,400}?):(\d{1,7})(?: in (\w{1,100}))?, code: ([^\n]{1,400})", re.MULTILINE
)


def lines_with(graphs: Table[FxGraph], source: str) -> Iterator[str]:
    """Yield the lines that name a value: ``self.k`` and ``s.k`` by the last of its names."""
    name = re.compile(rf"\b{re.escape(source.rpartition('.')[2])}\b")
    for row in graphs:
        graph = row.record
        if graph.traced and name.search(graph.body):
            yield from (one[1] for one in _LINE.finditer(graph.body) if name.search(one[1]))


def changed_in(graphs: Table[FxGraph], source: str) -> StackFrame | None:
    """Return the traced line that changes an attribute, ``self.t += dt``; None where none does."""
    owner, _, name = source.rpartition(".")
    changes = re.compile(
        rf"\s*\w{{1,60}}(?:\.\w{{1,60}})*\.{re.escape(name)} (?:[-+*/]|\*\*|//)?= "
    )
    for row in graphs if owner else ():
        graph = row.record
        if graph.traced and name in graph.body:
            for file, line, function, code in _PLACED.findall(graph.body):
                if changes.match(code):
                    return StackFrame(file=file, line=int(line), function=function, code=code)
    return None


def is_same_graph(graphs: Table[FxGraph], place: Place, entry: str) -> bool:
    """Whether the entry that was compiled at ``place`` has the statements of another one."""
    bodies = graphs.derived(_bodies)
    new = bodies.get((*place.process, place.frame.partition("_")[0]))
    return bool(new) and new == bodies.get((*place.process, entry.partition("_")[0]))


def _bodies(graphs: Table[FxGraph]) -> dict[tuple[str, str, str], list[str]]:
    """Return the graphs of each entry as they were traced, after all restarts."""
    found: dict[tuple[str, str, str], tuple[str, list[str]]] = {}
    for place, seen in graphs.events():
        if seen.record.traced:
            key = (*place.process, place.frame.partition("_")[0])
            if key not in found or found[key][0] != place.frame:
                found[key] = place.frame, []
            found[key][1].append(seen.record.body)
    return {key: own for key, (_, own) in found.items()}
