"""Loops of Python that became one graph: Dynamo traces each round of them anew."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from tracelens.dynamo import user_code
from tracelens.evidence import Table

if TYPE_CHECKING:
    from tracelens.logs.graph_code import FxGraph, Origin

__all__ = ["Unrolled", "unrolled"]

#: Rounds from which on a loop is worth a word: a model has fewer layers that share their weights.
MIN_ROUNDS = 32
#: Statements of one graph that are read.
MAX_STATEMENTS = 10_000
#: Code of the program, and of libraries that are not torch.
NEAR = 2
_NUMBER = re.compile(r"_\d+$")


class Unrolled(NamedTuple):
    """The line of a loop's body, or of what that calls, that most of a graph comes from."""

    #: How often the graph has it: more than the loop has rounds, where a round calls it twice.
    rounds: int = 0
    #: Of the whole graph, as far as they were read.
    operations: int = 0
    file: str = ""
    line: int = 0
    function: str = ""
    code: str = ""


def unrolled(graphs: Table[FxGraph]) -> Unrolled:
    """Return the longest loop that most statements of a traced graph come from.

    Where loops are a small part of all that was traced, they are not why compiling takes long.
    """
    traced = [row.record for row in graphs if row.record.traced]
    found = [(_longest(graph), graph.statements) for graph in traced]
    looped = sum(size for one, size in found if one.rounds)
    if 2 * looped < sum(size for _, size in found):
        return Unrolled()
    return max((one for one, _ in found), key=lambda one: one.rounds, default=Unrolled())


def _longest(graph: FxGraph) -> Unrolled:
    """Return the line with most rounds: as many as of the statement that it has fewest of.

    Statements of one line differ in their names, ``mul`` and ``add``; further rounds number them.
    Layers are called one after another with weights of their own, which the graph is given.
    """
    if graph.statements < MIN_ROUNDS:
        return Unrolled()
    called: defaultdict[Origin, Counter[str]] = defaultdict(Counter)
    read = takewhile(lambda one: one[0] < MAX_STATEMENTS, enumerate(graph.calls()))
    total = 0
    for _, (node, origin) in read:
        total += 1
        if origin is not None and user_code.distance(origin.file) < NEAR:
            called[origin][_NUMBER.sub("", node.label)] += 1
    rounds = {origin: min(counts.values()) for origin, counts in called.items()}
    least = max(MIN_ROUNDS, len(graph.inputs) + 1)
    of_loop = {origin: times for origin, times in rounds.items() if times >= least}
    if 2 * sum(called[origin].total() for origin in of_loop) < total or not of_loop:
        return Unrolled()
    line, times = max(of_loop.items(), key=lambda item: item[1])
    return Unrolled(times, total, line.file, line.line, line.function, line.code)
