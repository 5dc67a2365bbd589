"""Which nodes Inductor did not fuse, after all rounds, and how much they go over."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tracelens.evidence.tables import Place, Seen, Table
from tracelens.logs.fusion import Candidate, Fused, FusionRefused
from tracelens.words import is_whole

__all__ = ["Pair", "apart"]

#: Refusals that have to be, or that another rule tells.
_RIGHT = ("intermediate nodes", "no shared data", "node1 is extern", "node2 is extern")

Graph = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two nodes that stayed apart."""

    row: Seen[FusionRefused]
    place: Place
    first: Candidate | None
    #: Elements of the smaller node; 0 where the log does not say.
    elements: int


def apart(
    refused: Table[FusionRefused],
    fused: Table[Fused],
    candidates: Table[Candidate],
) -> Iterator[Pair]:
    """Yield the refused pairs that no later fusion brought together."""
    together: dict[Graph, dict[str, str]] = {}
    for place, done in fused.events():
        names = together.setdefault(_graph(place), {})
        parts = [*done.record.first.split("_"), *done.record.second.split("_")]
        root = _root(names, parts[0])
        for part in parts:
            names[_root(names, part)] = root
    nodes: dict[tuple[Graph, str], Candidate] = {}
    for place, seen in candidates.events():
        nodes.setdefault((_graph(place), seen.record.name), seen.record)
    for place, row in refused.events():
        record, graph = row.record, _graph(place)
        names = together.get(graph, {})
        one, other = record.first.split("_"), record.second.split("_")
        if _root(names, one[0]) == _root(names, other[0]) or record.reason.startswith(_RIGHT):
            continue
        found = [[nodes.get((graph, part)) for part in parts] for parts in (one, other)]
        sizes = [max(map(_count, parts)) for parts in found]
        # A reduction goes over more than the log says: the elements of its result.
        folds = any(node is not None and node.body == "Reduction" for p in found for node in p)
        yield Pair(row, place, found[0][0], max(sizes) if folds else min(sizes))


def _graph(place: Place) -> Graph:
    return place.compilation


def _root(names: dict[str, str], name: str) -> str:
    while names.get(name, name) != name:
        name = names[name]
    return name


def _count(node: Candidate | None) -> int:
    """Return how many elements a node goes over; 0 where its loops are symbolic or unknown."""
    dims = [dim.strip() for dim in node.shape.split(",")] if node is not None else []
    known = bool(dims) and all(map(is_whole, dims))
    return math.prod(map(int, dims)) if known else 0
