"""Elementwise kernels that run one after the other over the same elements, as eager code does.

Alike grids on one stream are taken for equal numbers of elements: blocks differ by up to a factor
of four, since kernels take differently many elements per thread. ROCm's kernels have no grid:
there the order is all there is. A kernel of another kind, or one that begins before the last has
ended, ends the sequence; so does one that waited for a collective, on another stream, that began
after a kernel of the sequence had ended: the one makes what is sent, the other reads it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tracelens.late import late
from tracelens.logs._trace_events import Complete
from tracelens.logs.chrome_trace import DeviceKernel, InductorKernel
from tracelens.traces.device import StreamId
from tracelens.traces.names import Name

__all__ = ["Chains", "Ran", "is_collective", "work_of"]

#: Kernels from which on a sequence counts, and kernels of one that are told apart.
MIN_LENGTH = 3
MAX_LENGTH = 32
#: Different sequences that are counted.
MAX_CHAINS = 1_000
#: Streams that are followed.
MAX_STREAMS = 1_024
MAX_NAME = 80
#: By how much the numbers of blocks of kernels over the same elements differ at most.
ALIKE = 4.0
#: What an elementwise kernel of ATen does: the innermost name that says something.
_WORK = late(
    r"CUDAFunctor_(\w+)|launch_(\w+)\(|(?<!\w)(\w+?)(?:CUDAKernelImpl|_kernel_cuda|_kernel_impl|_kernel"
    r"|Functor)\b"
)
_CAT = "CatArrayBatchedCopy"
_WRAPPERS = frozenset({"AUnary", "BUnary", "Binary", "CUDA", "elementwise", "gpu"})


@dataclass(slots=True)
class Ran:
    """One sequence: how often it ran, and for how long in all."""

    first: int
    text: str
    count: int = 0
    us: float = 0.0


@dataclass(slots=True)
class _Run:
    """The sequence that a stream is in."""

    blocks: float | None = None
    end: float = 0.0
    #: When the first kernel ended, and when the last collective did that began after that.
    made: float = 0.0
    sent: float = 0.0
    us: float = 0.0
    names: list[Name] = field(default_factory=list)


class Chains:
    """The sequences of one trace."""

    def __init__(self) -> None:
        #: Kernels of the list in hand.
        self.waiting: list[tuple[float, Complete, Name]] = []
        self._runs: dict[StreamId, _Run] = {}
        self._ran: dict[tuple[str, ...], Ran] = {}

    def follow(self) -> None:
        """Take in the kernels that are waiting."""
        for _, event, name in sorted(self.waiting, key=lambda kernel: kernel[0]):
            key = event.pid, event.tid
            if is_collective(name):
                self._sends(event)
                continue
            run = self._runs.get(key)
            if run is None:
                if len(self._runs) >= MAX_STREAMS:
                    continue
                run = self._runs[key] = _Run()
            self._kernel(run, event, name)
        self.waiting.clear()

    def found(self) -> Iterator[tuple[tuple[str, ...], Ran]]:
        """Yield the sequences that ran, after all kernels, by the names of their kernels."""
        for run in self._runs.values():
            self._close(run)
        yield from self._ran.items()

    def _sends(self, event: Complete) -> None:
        """Note for the streams of a device that a collective may send what they have made."""
        for (device, _), run in self._runs.items():
            if device == event.pid and run.names and run.made <= event.ts:
                run.sent = max(run.sent, event.ts + event.dur)

    def _kernel(self, run: _Run, event: Complete, name: Name) -> None:
        if not is_elementwise(name):
            self._close(run)
            return
        blocks = _blocks(event.args.grid if event.args is not None else None)
        waited = run.end < run.sent <= event.ts
        if not _alike(blocks, run.blocks) or event.ts < run.end or waited:
            self._close(run)
        if not run.names:
            run.made, run.sent = event.ts + event.dur, 0.0
        run.blocks, run.end = blocks, event.ts + event.dur
        run.us += event.dur
        run.names.append(name)
        if len(run.names) >= MAX_LENGTH:
            self._close(run)

    def _close(self, run: _Run) -> None:
        if len(run.names) >= MIN_LENGTH:
            names = tuple(short(name) for name in run.names)
            if names in self._ran or len(self._ran) < MAX_CHAINS:
                first = run.names[0]
                ran = self._ran.setdefault(names, Ran(first.first, first.text))
                ran.count += 1
                ran.us += run.us
        run.blocks, run.us = None, 0.0
        run.names.clear()


#: Blocks that no launch has: the number was damaged.
IMPOSSIBLE = 1 << 96


def _blocks(grid: Any) -> float | None:
    """Return how many blocks a grid has; None where it is not known."""
    if not isinstance(grid, list) or not all(isinstance(n, int) for n in grid):
        return None
    blocks = math.prod(grid)
    return float(blocks) if abs(blocks) < IMPOSSIBLE else None


def _alike(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return one <= ALIKE * other <= ALIKE * ALIKE * one


def is_collective(name: Name) -> bool:
    """Tell whether a kernel moves data between ranks."""
    return isinstance(name.record, DeviceKernel) and name.record.is_collective


def is_elementwise(name: Name) -> bool:
    """Tell whether a kernel computes each element from those at the same place."""
    record = name.record
    if isinstance(record, InductorKernel):
        return record.kind == "poi"
    return "elementwise_kernel" in name.text or _CAT in name.text


def short(name: Name) -> str:
    """Return a name that fits into a sentence: ``add``, ``gelu``, ``triton_poi_fused_add_0``."""
    if isinstance(name.record, InductorKernel):
        return str(name.record)
    return work_of(name.text)


def work_of(text: str) -> str:
    """Return what an elementwise kernel of ATen with this name does: ``add``, ``gelu``."""
    if _CAT in text:
        return "cat"
    inner = text.partition("elementwise_kernel")[2].partition("<")[2]
    for match in _WORK.finditer(inner):
        word = match[match.lastindex or 0]
        if word not in _WRAPPERS:
            return word[:MAX_NAME].lower()
    return "elementwise"
