"""Parts of a module that its ``forward`` calls before a break, and that are worth compiling."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.report.stories import Story
from tracelens.rules.gbr._break_data import BreakData, Line

if TYPE_CHECKING:
    from tracelens.evidence import Table
    from tracelens.logs.graph_code import FxGraph

__all__ = ["convolved", "in_function", "leads_to", "of_functions"]

#: Statements of one graph that are read.
MAX_STATEMENTS = 2_000
#: A parameter of a part that holds others: ``l_self_modules_cnn_modules_0_parameters_weight_``.
_WITHIN = re.compile(r"\bl_self_modules_(\w{1,80}?)_modules_\w{1,300}?_parameters_\w{1,80}_\b")
_CONVOLUTION = re.compile(r"\bconv(?:_transpose)?[123]d$")


def convolved(data: BreakData, graphs: Table[FxGraph]) -> str:
    """Return the one part whose convolutions are in the graph before the line; empty if none is."""
    found: set[str] = set()
    for row in graphs:
        if row.record.traced and "_modules_" in row.record.parameters:
            found |= _of(row.record, data)
    return found.pop() if len(found) == 1 else ""


def _of(graph: FxGraph, data: BreakData) -> set[str]:
    parts: set[str] = set()
    is_before = False
    for node, origin in islice(graph.calls(), MAX_STATEMENTS):
        if origin is not None and origin.line <= data.line:
            is_before = is_before or (origin.file, origin.function) == (data.file, data.function)
        if _CONVOLUTION.search(node.target):
            parts |= set(_WITHIN.findall(node.arguments)) or {""}
    return parts if is_before and "" not in parts else set()


def leads_to(data: BreakData) -> Line | None:
    """Return the program's own line that calls the module whose ``forward`` holds the line."""
    at = next((n for n, one in enumerate(data.stack) if one.function == data.function), 0)
    own = (one for one in reversed(data.stack[:at]) if user_code.distance(one.file) == 0)
    return next((one for one in own if one.function != "<module>"), None)


def of_functions(data: BreakData) -> Iterator[Story]:
    """Return the stories of the program's own functions that lead to the line."""
    own = (one for one in data.stack if user_code.distance(one.file) == 0)
    for file, function in dict.fromkeys((one.file, one.function) for one in own):
        if function not in {"<module>", data.function}:
            yield in_function(file, function)


def in_function(file: str, function: str) -> Story:
    """Return the story of a function that need not be compiled, if a part of a module is."""
    return "a part in place of", file, function
