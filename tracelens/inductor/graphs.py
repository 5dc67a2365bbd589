"""What the rules about generated code ask of graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from tracelens.evidence import Seen, Table
from tracelens.logs.output_code import OutputModule

if TYPE_CHECKING:
    from tracelens.logs.chrome_trace import CompiledRegion
    from tracelens.logs.guards import GuardLatency
    from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveExec

__all__ = [
    "call_ms",
    "heaviest",
    "is_arm",
    "is_below_guards",
    "is_little",
    "is_training",
    "library_ms",
    "part_of_call",
    "traffic",
]

#: Bytes per call of a graph that stay in the nearest cache.
FEW = 8 << 10
#: Bytes that no graph is slower for, where they are a small part of what it moves: 0.1 ms.
SOME = 1 << 20
SMALL_PART = 0.02
#: What one core moves at least in a millisecond, and the part of a call below which that is noise.
BYTES_PER_MS = 5_000_000
NOISE = 0.005
#: How many times as long guards take where torch measures them, once, as in later calls, at least.
COLD = 2

T = TypeVar("T")


def is_training(modules: Table[OutputModule]) -> bool:
    """Whether the log holds graphs that are differentiated."""
    return any(row.record.graph in {"forward", "backward"} for row in modules)


def is_arm(isas: Table[CpuIsa]) -> bool:
    """Whether oneDNN says that it runs on AArch64."""
    return any("AArch64" in row.record.isa for row in isas)


def heaviest(
    found: Iterable[T], graph: Callable[[T], object], weight: Callable[[T], int]
) -> list[T]:
    """Return what was found in one graph only, the one where it weighs most; nothing of nothing.

    A recompilation repeats the code of its function, so the graphs of a log do not add up.
    """
    graphs: dict[object, list[T]] = {}
    for one in found:
        graphs.setdefault(graph(one), []).append(one)
    groups = graphs.values()
    return max(groups, key=lambda group: (sum(map(weight, group)), len(group)), default=[])


def traffic(module: OutputModule) -> int:
    """Return the bytes that the calls of a graph read and write, as far as sizes are known."""
    flow = module.flow
    return sum(
        content.bytes or 0
        for step in module.body
        for content in (*flow.operands(step), *flow.results(step))
    )


def is_little(count: int, module: OutputModule, call_ms: float = 0.0) -> bool:
    """Whether ``count`` bytes per call of the graph are not worth a word.

    Args:
        count: Bytes that are moved for nothing.
        module: The code of the graph.
        call_ms: How long a call takes, where a trace or oneDNN has it.
    """
    if call_ms and part_of_call(count, call_ms) < NOISE:
        return True
    return count < FEW or (count < SOME and count < SMALL_PART * traffic(module))


def is_below_guards(count: int, latencies: Table[GuardLatency]) -> bool:
    """Whether checking the guards takes longer than to move ``count`` bytes; no, if unknown."""
    us = min((row.record.us for row in latencies), default=0.0)
    return COLD * 1000 * count / BYTES_PER_MS < us


def part_of_call(count: int, call_ms: float) -> float:
    """Return the part of a call of so many milliseconds that moving ``count`` bytes takes."""
    return count / BYTES_PER_MS / call_ms


def call_ms(regions: Table[CompiledRegion]) -> float:
    """Return how long a call of the largest compiled function takes; 0 where no trace tells."""
    return max((row.times.median for row in regions if row.times), default=0.0)


def library_ms(execs: Table[PrimitiveExec], seen: Seen[OutputModule]) -> float:
    """Return how long oneDNN takes in a call of a graph, as far as its times are known."""
    if not len(execs):
        return 0.0
    # Most logs of generated code have no lines of oneDNN.
    from tracelens.inductor.library_calls import LibraryCall, LibraryRun  # noqa: PLC0415

    calls = Table(LibraryCall.join(Table([seen]), graphs=Table(())))
    times = {
        call.record.at: row.times.median
        for row in LibraryRun.join(calls, execs)
        if row.times
        for call in row.record.calls
        if call.first.compilation == seen.first.compilation
    }
    return sum(times.values())
