"""What ranks compiled, one beside the other: their collectives, and what their caches said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from tracelens.evidence import Evidence, Place
from tracelens.logs import Record
from tracelens.logs._estimates import EstimatedGraph
from tracelens.logs.inductor_debug import CacheBypass, CacheEvent
from tracelens.logs.nccl import CollectiveSchedule, operator_of
from tracelens.logs.output_code import ExternCall, OutputModule
from tracelens.words import plural

__all__ = ["by_graph", "caches", "rank_of", "schedules", "unlike"]

#: Rows of a table.
MAX_ROWS = 1_000
FUNCTIONAL, WAIT = "_c10d_functional.", "wait_tensor"

R = TypeVar("R", bound=Record)
#: Compile id, and which of its graphs: the passes of one compilation have the same.
_Graph = tuple[str, int]


class _Call(NamedTuple):
    """A collective as generated code calls it; what is not known is empty."""

    name: str
    reduces: str = ""
    group: str = ""
    tensors: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.reduces}".rstrip()


def rank_of(place: Place) -> str:
    """Return the rank, or else the input, that a record is of."""
    return place.writer or place.input


def by_graph(evidence: Evidence) -> dict[_Graph, dict[str, EstimatedGraph]]:
    """Return each graph, as each rank has compiled it."""
    graphs: dict[_Graph, dict[str, EstimatedGraph]] = {}
    for graph, rank, record in _parts(evidence, EstimatedGraph):
        graphs.setdefault(graph, {})[rank] = record
    return graphs


def _parts(evidence: Evidence, kind: type[R]) -> Iterator[tuple[_Graph, str, R]]:
    """Yield records with their graph and rank."""
    seen: Counter[tuple[str, str]] = Counter()
    for place, row in evidence.table(kind).events():
        rank, frame = rank_of(place), place.frame
        yield (frame, seen[rank, frame]), rank, row.record
        seen[rank, frame] += 1


def schedules(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the collectives of each graph and rank, in the order of the generated code."""
    graphs = _collectives(evidence)
    rows = []
    for (frame, part), held in graphs.items():
        first_rank, first = min(held.items())
        for rank, calls in sorted(held.items()):
            for at, call in enumerate(calls):
                other = first[at] if at < len(first) else None
                rows.append(
                    {
                        "graph": frame,
                        "part": part,
                        "rank": rank,
                        "at": at + 1,
                        "collective": call.name,
                        "reduces": call.reduces or None,
                        "group": call.group or None,
                        "tensors": call.tensors or None,
                        "differs": None
                        if str(call) == str(other)
                        else f"{other or 'nothing more'} on {first_rank}",
                    }
                )
            for at in range(len(calls), len(first)):
                differs = f"{first[at]} on {first_rank}"
                none = dict.fromkeys(("collective", "reduces", "group", "tensors"))
                place = {"graph": frame, "part": part, "rank": rank, "at": at + 1}
                rows.append({**place, **none, "differs": differs})
    return rows[:MAX_ROWS]


def _collectives(evidence: Evidence) -> dict[_Graph, dict[str, tuple[_Call, ...]]]:
    """Return the collectives of the graphs in which any rank has one."""
    graphs: dict[_Graph, dict[str, tuple[_Call, ...]]] = {}
    told = _schedules(evidence)
    for graph, rank, module in _parts(evidence, OutputModule):
        if calls := tuple(_of_module(module)):
            graphs.setdefault(graph, {})[rank] = calls
            if scheduled := told.get((rank, graph[0])):
                graphs[graph][rank] = _either(scheduled.pop(0), calls)
    for (rank, frame), left in told.items():
        for part, calls in enumerate(left):
            graphs.setdefault((frame, part), {}).setdefault(rank, calls)
    outputs = by_graph(evidence)
    for graph, rank, _ in _parts(evidence, OutputModule):
        if graph in graphs:
            graphs[graph].setdefault(rank, ())
    for graph, held in graphs.items():
        for rank, calls in held.items():
            held[rank] = _with_tensors(calls, outputs.get(graph, {}).get(rank))
    return graphs


def _schedules(evidence: Evidence) -> dict[tuple[str, str], list[tuple[_Call, ...]]]:
    """Return what torch says itself that a graph calls: of ranks and compile ids, in order.

    Graphs without collectives are not told of.
    """
    found: dict[tuple[str, str], list[tuple[_Call, ...]]] = {}
    for (frame, _), rank, schedule in _parts(evidence, CollectiveSchedule):
        if calls := tuple(_Call(operator_of(name)) for name in schedule.collectives):
            found.setdefault((rank, frame), []).append(calls)
    return found


def _either(scheduled: tuple[_Call, ...], code: tuple[_Call, ...]) -> tuple[_Call, ...]:
    """Return the calls of the code, which have arguments, unless the schedule says others."""
    same = [call.name for call in scheduled] == [call.name for call in code]
    return code if same else scheduled


def _of_module(module: OutputModule) -> Iterator[_Call]:
    for _, call in module.extern_calls():
        if FUNCTIONAL in call.target and call.op != WAIT:
            yield _Call(call.op, *_arguments(call))


def _arguments(call: ExternCall) -> tuple[str, str]:
    """Return how a collective reduces, if it does, and its group: they stand last."""
    texts = call.strings
    return (texts[-2] if len(texts) > 1 else "", texts[-1] if texts else "")


def _with_tensors(calls: tuple[_Call, ...], estimated: EstimatedGraph | None) -> tuple[_Call, ...]:
    """Return the calls with the tensors that they write, where as many are told of."""
    told = [op for op in estimated.ops if op.type == "collective"] if estimated else []
    if len(told) != len(calls):
        return calls
    return tuple(
        call._replace(tensors=", ".join(op.outputs)) for call, op in zip(calls, told, strict=True)
    )


def caches(evidence: Evidence) -> list[dict[str, Any]]:
    """Return what the caches said of each graph on each rank, and where ranks were told otherwise.

    A rank that finds a graph waits in its first collective for one that compiles it.
    """
    asked: dict[tuple[str, str, int], dict[str, Mapping[str, Any]]] = {}
    counts: Counter[tuple[str, str, str]] = Counter()
    for place, cache, told in _lookups(evidence):
        rank, frame = rank_of(place), place.frame
        number = counts[rank, frame, cache]
        counts[rank, frame, cache] += 1
        asked.setdefault((frame, cache, number), {})[rank] = told
    rows = []
    for (frame, cache, number), held in asked.items():
        first_rank, first = min(held.items())
        for rank, told in sorted(held.items()):
            same = told["outcome"] == first["outcome"]
            differs = None if same else f"{first['outcome']} on {first_rank}"
            asker = {"graph": frame, "part": number, "rank": rank, "cache": cache or None}
            rows.append({**asker, **told, "differs": differs})
    return rows[:MAX_ROWS]


def unlike(evidence: Evidence) -> Iterator[str]:
    """Yield a note where a rank found in a cache what another had to compile."""
    found = [row for row in caches(evidence) if row["differs"]]
    graphs = {row["graph"] for row in found}
    ranks = {row["rank"] for row in found}
    if found:
        first = found[0]
        yield (
            f"caches: of {plural(len(graphs), 'compilation')} {plural(len(ranks), 'rank')} "
            f"{'was' if len(ranks) == 1 else 'were'} told otherwise than the first: "
            f"{first['graph']} {first['outcome']} on {first['rank']}, {first['differs']}"
        )


def _lookups(evidence: Evidence) -> Iterator[tuple[Place, str, Mapping[str, Any]]]:
    found: list[tuple[Place, str, Mapping[str, Any]]] = [
        *(
            (place, _short(row.record.cache), _told(row.record.outcome, None, row.record.key))
            for place, row in evidence.table(CacheEvent).events()
        ),
        *(
            (place, _short(row.record.cache), _told("bypass", row.record.reason, None))
            for place, row in evidence.table(CacheBypass).events()
        ),
    ]
    return iter(sorted(found, key=lambda one: (one[0].input, one[0].line)))


def _told(outcome: str, reason: str | None, key: str | None) -> dict[str, Any]:
    return {"outcome": outcome, "reason": reason or None, "key": key or None}


def _short(cache: str) -> str:
    return cache.removesuffix(" cache")
