"""Which clock tells what a change saves, and which steps of two runs did the same work.

Other programs' work bends the wall clock, and hardly the CPU time of a process and its threads.
Only where waiting is the point does the wall clock count: on accelerators, for whole runs that
compile in other processes, and where the number of threads is what is changed, since threads that
wait for each other burn CPU time.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from tracelens.experiment import Knob
from tracelens.live.runs import Recorded, Run
from tracelens.live.statistics import BUSY_CPU_FLOOR, BUSY_FLOOR, FLOOR

__all__ = ["Clock", "aligned", "choose", "floor_of", "read"]

Clock = Literal["cpu", "wall"]
#: Parts of the names of settings that change how many threads or processes work, or who waits.
_WAITING = (
    "OMP_", "GOMP_", "KMP_", "MKL_NUM", "MKL_DYNAMIC", "compile_threads", "COMPILE_THREADS",
    "worker", "reduce-overhead", "cudagraph", "num_threads", "cpp.threads",
)  # fmt: skip
#: Steps that all runs must have in common to be compared one by one.
COMMON = 7


def choose(knob: Knob, sides: Sequence[Recorded]) -> Clock:
    """Return the clock for a change, given what the recorded runs of both sides told."""
    words = " ".join(f"{name}={value}" for name, value in knob.settings.items())
    if any(part in words for part in _WAITING):
        return "wall"
    if any("device" in side.about for side in sides):
        return "wall"
    threads = {side.about.get("threads") for side in sides}
    return "cpu" if len(threads) <= 1 else "wall"


def floor_of(clock: Clock, *, busy: bool) -> float:
    """Return the least change that counts, as a fraction."""
    if not busy:
        return FLOOR
    return BUSY_CPU_FLOOR if clock == "cpu" else BUSY_FLOOR


def read(runs: Sequence[Sequence[Run]], clock: Clock) -> tuple[list[list[Run]], Clock]:
    """Return runs whose ``times`` are those of a clock, which every run must have; else the wall's.

    Args:
        runs: Blocks of runs.
        clock: What is wanted.
    """
    if clock == "cpu" and all(run.cpu for block in runs for run in block):
        return [[replace(run, times=run.cpu) for run in block] for block in runs], "cpu"
    return [list(block) for block in runs], "wall"


def aligned(blocks: Sequence[Sequence[Run]]) -> list[list[Run]]:
    """Return runs in which a step's time is relative to the same step of the unchanged program.

    A program that does the same each time makes its steps in the same order: a size that changes, a
    cache that grows, the first of a batch are the same step of every run. What such steps differ in
    is divided out, and only steps that all runs made are left.
    """
    every = [run for block in blocks for run in block]
    if any(run.first is None for run in every):
        return [list(block) for block in blocks]
    low = max(run.first or 0 for run in every)
    high = min((run.first or 0) + len(run.times) for run in every)
    if high - low < COMMON:
        return [list(block) for block in blocks]
    unchanged = [_part(run, low, high) for block in blocks for run in block[:2]]
    usual = [max(statistics.median(times), 1e-9) for times in zip(*unchanged, strict=True)]
    middle = statistics.median(usual)

    def relative(run: Run) -> Run:
        part = _part(run, low, high)
        times = (max(t, 1e-9) / u * middle for t, u in zip(part, usual, strict=True))
        return replace(run, times=tuple(times))

    return [[relative(run) for run in block] for block in blocks]


def _part(run: Run, low: int, high: int) -> tuple[float, ...]:
    first = run.first or 0
    return run.times[low - first : high - first]
