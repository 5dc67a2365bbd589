"""The lines of a program that a traced graph has statements from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Table

if TYPE_CHECKING:
    from tracelens.logs.graph_code import FxGraph

__all__ = ["lines_with"]

_LINE = re.compile(r"^ *# File: [^\n]{1,400}?, code: ([^\n]{1,400})", re.MULTILINE)


def lines_with(graphs: Table[FxGraph], source: str) -> Iterator[str]:
    """Yield the lines that name a value: ``self.k`` and ``s.k`` by the last of its names."""
    name = re.compile(rf"\b{re.escape(source.rpartition('.')[2])}\b")
    for row in graphs:
        graph = row.record
        if graph.traced and name.search(graph.body):
            yield from (one[1] for one in _LINE.finditer(graph.body) if name.search(one[1]))
