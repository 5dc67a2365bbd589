"""How often models under DistributedDataParallel run, and in how many messages they meet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import (
    Annotation,
    BackwardNode,
    Collective,
    Operator,
    OptimizerCall,
    ParallelCall,
    PythonFunction,
)

__all__ = [
    "DDP",
    "REDUCER",
    "Passes",
    "Sharded",
    "Trained",
    "begun_apart",
    "is_replicating",
    "often",
    "passes_of",
    "replicates",
    "sharded",
]

DDP = "DistributedDataParallel"
#: What DistributedDataParallel fills a bucket with, once for each gradient that it reduces, and the
#: node that every gradient ends in, reduced or not.
REDUCER = "torch::distributed::reducer::mul_out"
GRADIENT = "torch::autograd::AccumulateGrad"
#: Files of ``nn.DataParallel``.
_REPLICATING = tuple(
    f"torch/nn/parallel/{file}.py" for file in ("data_parallel", "replicate", "parallel_apply")
)
#: Files of DTensor, and of tensor parallelism.
_TENSOR = "torch/distributed/tensor"
#: Part of the gradients that is reduced at least where all of them are.
ALL = 0.9
#: Messages for each pass of a model from which on its buckets are small: 25 MB are the usual ones.
MANY = 20
#: Messages on the host that take less are short, milliseconds each: without buckets.
SHORT_MS = 1.0


class Passes(NamedTuple):
    """What runs under DistributedDataParallel."""

    #: Calls of the wrapped model, and how many there are for each step of the optimizer.
    forward: int
    each_step: int
    #: Steps of the optimizer.
    updates: int = 0


class Sharded(NamedTuple):
    """Who shards what is gathered and scattered, as far as the trace names it."""

    #: FSDP; tensor parallelism, whose collectives a compiler can move.
    fsdp: bool
    tensors: bool


class Trained(NamedTuple):
    """What tells how often a model is trained, and on how much of it ranks agree."""

    wrappers: Table[ParallelCall]
    optimizers: Table[OptimizerCall]
    nodes: Table[BackwardNode]
    operators: Table[Operator]


def passes_of(rows: Iterable[Seen[Collective]], of: Trained, source: str) -> Passes:
    """Return how often a wrapped model ran; per step only where each pass reduces its gradients."""
    forward = sum(row.count for row in of.wrappers.within(source) if row.record.wrapper == DDP)
    updates = sum(row.count for row in of.optimizers.within(source) if row.record.call == "step")
    each = (
        updates
        and sum(row.count for row in rows) >= forward
        and _all_reduced(of, source)
        and _all_backward(of, source, forward)
    )
    return Passes(forward, round(forward / updates) if each else 0, updates)


def sharded(
    wrappers: Table[ParallelCall],
    notes: Table[Annotation],
    called: Iterable[Operator],
    frames: Table[PythonFunction],
    source: str,
) -> Sharded:
    """Tell who shards a model: by annotations, operators, and files of Python."""
    ops = {record.namespace for record in called}
    files = {row.record.file.replace("\\", "/") for row in frames.within(source)}
    names = {row.record.name for row in notes.within(source)}
    fsdp = any(row.record.wrapper != DDP for row in wrappers.within(source)) or "fsdp" in ops
    return Sharded(
        fsdp or any("fsdp" in text.lower() for text in (*files, *names)),
        "_c10d_functional" in ops or any(_TENSOR in file for file in files),
    )


def replicates(notes: Table[Annotation], frames: Table[PythonFunction], source: str) -> bool:
    """Tell whether ``nn.DataParallel`` sends a model to all devices, in one process."""
    called = {row.record.name for row in notes.within(source)}
    files = (row.record.file for row in frames.within(source))
    return (
        "DataParallel.forward" in called
        or {"Broadcast", "ReduceAddCoalesced"} <= called
        or any(is_replicating(file) for file in files)
    )


def is_replicating(file: str) -> bool:
    """Tell whether a file is one of ``nn.DataParallel``'s."""
    return file.replace("\\", "/").endswith(_REPLICATING)


def _all_reduced(of: Trained, source: str) -> bool:
    """Tell whether no pass leaves its gradients on the rank, as those in ``no_sync()`` do."""
    kept = sum(row.count for row in of.nodes.within(source) if str(row.record) == GRADIENT)
    sent = sum(row.count for row in of.operators.within(source) if str(row.record) == REDUCER)
    return sent >= ALL * kept > 0


def _all_backward(of: Trained, source: str, forward: int) -> bool:
    """Tell whether all passes are of training: a loss has a node in each, evaluation has none."""
    counts = [row.count for row in of.nodes.within(source) if not row.record.evaluated]
    return min(counts, default=0) >= forward


def begun_apart(passes: Passes, n: int, ms: float) -> bool:
    """Tell whether a program trains, and begins many short messages itself for each step."""
    return not passes.forward and n >= MANY * passes.updates > 0 and ms < SHORT_MS * n


def often(passes: Passes, n: int, ms: float) -> str:
    """Say how often gradients are reduced, and in how many messages, where that is often."""
    told = ""
    if passes.each_step > 1:
        told += (
            f" The model runs {passes.each_step} times for each step of the optimizer: gradients "
            "are reduced as often, unless all but the last run in `no_sync()`."
        )
    if passes.forward and n >= MANY * passes.forward:
        told += f" For each pass there are {n / passes.forward:.0f}: buckets are small."
    elif begun_apart(passes, n, ms):
        told += (
            f" {n / passes.updates:,.0f} are begun for each step of the optimizer: so short, they "
            "take the time of a message, not that of what they carry."
        )
    return told
