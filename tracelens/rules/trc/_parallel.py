"""How often models under DistributedDataParallel run, and in how many messages they meet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import Collective, OptimizerCall, ParallelCall

__all__ = ["Passes", "often", "passes_of"]

DDP = "DistributedDataParallel"
#: Messages for each pass of a model from which on its buckets are small: 25 MB are the usual ones.
MANY = 20


class Passes(NamedTuple):
    """What runs under DistributedDataParallel."""

    #: Calls of the wrapped model, and how many there are for each step of the optimizer.
    forward: int
    each_step: int


def passes_of(
    rows: Iterable[Seen[Collective]],
    wrappers: Table[ParallelCall],
    optimizers: Table[OptimizerCall],
    source: str,
) -> Passes:
    """Return how often a wrapped model ran; where messages are fewer, some passes reduce none."""
    forward = sum(row.count for row in wrappers.within(source) if row.record.wrapper == DDP)
    updates = sum(row.count for row in optimizers.within(source) if row.record.call == "step")
    many = updates and sum(row.count for row in rows) >= forward
    return Passes(forward, round(forward / updates) if many else 0)


def often(passes: Passes, n: int) -> str:
    """Say how often gradients are reduced, and in how many messages, where that is often."""
    told = ""
    if passes.each_step > 1:
        told += (
            f" The model runs {passes.each_step} times for each step of the optimizer: gradients "
            "are reduced as often, unless all but the last run in `no_sync()`."
        )
    if passes.forward and n >= MANY * passes.forward:
        told += f" For each pass there are {n / passes.forward:.0f}: buckets are small."
    return told
