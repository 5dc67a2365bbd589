"""Loops over a size, as traced graphs show them: a line is repeated as often as the size says."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.evidence import Place, Table
from tracelens.logs.recompiles import TensorMismatch

if TYPE_CHECKING:
    from tracelens.dynamo.recompile_history import Step
    from tracelens.logs.graph_code import FxGraph, Origin

__all__ = ["looped"]

#: Statements of one graph that are read.
MAX_STATEMENTS = 10_000
#: A loop goes round as often as the size says, or once less: ``range(1, n)``.
_LESS = (0, 1)
_NUMBER = re.compile(r"_\d+$")

Entry = tuple[object, ...]


def looped(steps: Iterable[Step], graphs: Table[FxGraph]) -> Origin | None:
    """Return the program's line that each entry repeats as its size says; None where none is.

    Two sizes are needed, and a graph that does not agree is an objection.
    """
    sizes = _sizes(steps)
    if len(set(sizes.values())) < len(_LESS) or not len(graphs):
        return None
    traced = graphs.derived(_traced)
    known = {entry: _lines(traced[entry]) for entry in sizes if entry in traced}
    if len({sizes[entry] for entry in known}) < len(_LESS):
        return None
    first = next(iter(known.values()))
    for origin in first:
        less = {sizes[entry] - of_lines.get(origin, 0) for entry, of_lines in known.items()}
        if len(less) == 1 and less <= set(_LESS):
            return origin
    return None


def _sizes(steps: Iterable[Step]) -> dict[Entry, int]:
    """Return the sizes that entries were compiled for."""
    sizes: dict[Entry, int] = {}
    for step in steps:
        check, failure = step.check, step.failure
        if failure is None or not isinstance(check, TensorMismatch):
            continue
        function = step.place.frame.partition("/")[0]
        old = (*step.place.process, f"{function}/{failure.number}")
        for entry, size in ((old, check.expected), (_entry(step.place), check.actual)):
            if size.isdecimal() and int(size) > 1:
                sizes[entry] = int(size)
    return sizes


def _entry(place: Place) -> Entry:
    return (*place.process, place.frame.partition("_")[0])


def _traced(graphs: Table[FxGraph]) -> dict[Entry, FxGraph]:
    """Return the graph of each entry, as it was traced."""
    return {_entry(place): seen.record for place, seen in graphs.events() if seen.record.traced}


def _lines(graph: FxGraph) -> dict[Origin, int]:
    """Return how often a graph has each line: as the statement that it has fewest of."""
    called: defaultdict[Origin, Counter[str]] = defaultdict(Counter)
    for node, origin in islice(graph.calls(), MAX_STATEMENTS):
        if origin is not None and _is_own(origin):
            called[origin][_NUMBER.sub("", node.label)] += 1
    return {origin: min(counts.values()) for origin, counts in called.items()}


def _is_own(origin: Origin) -> bool:
    near = user_code.distance(origin.file, origin.function) == 0
    return near and not user_code.package(origin.file)
