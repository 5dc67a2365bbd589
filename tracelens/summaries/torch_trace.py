"""What only the structured log tells of graphs: expected times, tensors, the order of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby, zip_longest
from typing import Any

from tracelens.evidence import Evidence
from tracelens.logs._estimates import EstimatedGraph, EstimatedOp, GraphOrder, GraphRun
from tracelens.summaries._ranks import by_graph, caches, rank_of, schedules

__all__ = ["tables"]

#: Rows of operations, those with the most time first, and graphs told of one order.
MAX_OPS, MAX_TOLD = 500, 100

#: Compile id, and which of its graphs: the passes of one compilation have the same.
_Graph = tuple[str, int]


def tables(evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
    """Return what ranks were expected to do, what they called, and what their caches said."""
    graphs = by_graph(evidence)
    found = {
        "collective_schedules": schedules(evidence),
        "caches": caches(evidence),
        "estimated_graphs": list(_graphs(graphs)),
        "estimated_ops": _operations(graphs),
        "graph_order": list(_orders(evidence)),
    }
    return {name: rows for name, rows in found.items() if rows}


def _graphs(graphs: Mapping[_Graph, Mapping[str, EstimatedGraph]]) -> Iterator[dict[str, Any]]:
    """Yield a row for each graph on each rank."""
    for (frame, number), held in graphs.items():
        total = {rank: _ms(graph.ops) for rank, graph in held.items()}
        known = [ms for ms in total.values() if ms is not None]
        first = next(iter(sorted(held.items())))[1]
        for rank, graph in sorted(held.items()):
            collectives = [op for op in graph.ops if op.type == "collective"]
            yield {
                "graph": frame,
                "part": number,
                "rank": rank,
                "ops": len(graph.ops),
                "estimated_ms": total[rank],
                "collectives": len(collectives),
                "collective_ms": _ms(collectives) if collectives else None,
                "behind_ms": _behind(total[rank], known),
                "differs": _difference(first, graph),
            }


def _behind(ms: float | None, known: list[float]) -> float | None:
    """Return by how much more than the fastest rank one needs; None where there is but one."""
    return round(ms - min(known), 6) if ms is not None and len(known) > 1 else None


def _difference(first: EstimatedGraph, other: EstimatedGraph) -> str | None:
    """Return the first operation that is not the same, tensors included, on two ranks."""
    for number, (one, two) in enumerate(zip_longest(first.ops, other.ops), 1):
        if one is None or two is None:
            return f"{number}: {_told(one)} or {_told(two)}"
        if (one.name, one.outputs) != (two.name, two.outputs):
            return f"{number}: {_told(one)} or {_told(two)}"
    return None


def _told(op: EstimatedOp | None) -> str:
    return f"{op.name} {', '.join(op.outputs)}".rstrip() if op is not None else "nothing"


def _ms(ops: tuple[EstimatedOp, ...] | list[EstimatedOp]) -> float | None:
    """Return the sum; None where Inductor had no estimate for any, as on the CPU."""
    return round(sum(op.ns for op in ops) / 1e6, 6) if any(op.ns for op in ops) else None


def _operations(graphs: Mapping[_Graph, Mapping[str, EstimatedGraph]]) -> list[dict[str, Any]]:
    """Return operations with the tensors that they write; ranks that agree share a row."""
    rows: list[dict[str, Any]] = []
    for (frame, number), held in graphs.items():
        ranks: dict[EstimatedGraph, list[str]] = {}
        for rank, graph in sorted(held.items()):
            ranks.setdefault(graph, []).append(rank)
        for graph, names in ranks.items():
            counted = Counter(graph.ops)
            rows += [
                {
                    "graph": frame,
                    "part": number,
                    "ranks": ", ".join(names),
                    "op": op.name,
                    "type": op.type,
                    "n": n,
                    "estimated_ms": round(n * op.ns / 1e6, 6) if op.ns else None,
                    "outputs": ", ".join(op.outputs) or None,
                }
                for op, n in counted.items()
            ]
    rows.sort(key=lambda row: -(row["estimated_ms"] or 0.0))
    return rows[:MAX_OPS]


def _orders(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """Yield a row for each rank: which graphs ran, in their order."""
    ran: dict[str, list[str]] = {}
    cut: set[str] = set()
    for place, row in evidence.table(GraphOrder).events():
        ran.setdefault(rank_of(place), []).extend(row.record.graphs)
    for place, one in evidence.table(GraphRun).events():
        ran.setdefault(rank_of(place), []).append(one.record.graph)
        if one.count > len(one.places):  # the first ones only are remembered
            cut.add(rank_of(place))
    first = next(iter(sorted(ran.items())), ("", []))[1]
    for rank, graphs in sorted(ran.items()):
        pairs = enumerate(zip_longest(first, graphs), 1)
        yield {
            "rank": rank,
            "runs": len(graphs) if rank not in cut else None,
            "order": _short(graphs),
            "differs_at": next((at for at, (one, two) in pairs if one != two), None),
        }


def _short(graphs: list[str]) -> str:
    """Write an order, what repeats at once with its number: ``0/0, 1/0 x 2``."""
    told = []
    for graph, group in groupby(graphs):
        n = sum(1 for _ in group)
        told.append(f"{graph or '?'} x {n}" if n > 1 else graph or "?")
    more = len(told) - MAX_TOLD
    return ", ".join([*told[:MAX_TOLD], *([f"and {more} more"] if more > 0 else [])])
