"""Why timings may not be trusted: they drift; and whether they fall into two groups."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

__all__ = ["doubt", "groups"]

#: Change of a step's time within a run that makes its median depend on where it is cut.
DRIFT = 0.05
#: Two groups: the lesser one's share of the steps, the ratio between them, and the distance between
#: them in standard deviations within them.
SHARE, APART, DEVIATIONS = 0.2, 1.15, 4.0
#: Share of a side's runs whose steps must be so.
MOST = 0.8
#: Steps in a run below which neither can be told.
FEW = 9

Runs = Sequence[Sequence[float]]


def doubt(blocks: Sequence[Runs], effect: float) -> str:
    """Return why the medians of these runs cannot carry an answer; empty when they can.

    Args:
        blocks: Per block its runs, each the times of its steps in order.
        effect: Logarithm of the ratio that the medians give; a large one outweighs a small doubt.
    """
    runs = [run for block in blocks for run in block if len(run) >= FEW]
    if not runs:
        return ""
    drift = _median([_drift(run) for run in runs])
    if abs(drift) > max(DRIFT, abs(effect) / 2):
        return (
            f"a step's time still changes by {_percent(drift)} while it is measured: "
            f"warm-up is not over, or the work grows from step to step"
        )
    between = _between(blocks)
    if abs(between) / len(blocks) > max(DRIFT, abs(effect) / 2):
        return f"the machine's speed changed by {_percent(between)} during the measurement"
    return ""


def groups(blocks: Sequence[Runs]) -> bool:
    """Return whether steps fall into two groups, so that a median is of one or of the other.

    The mean is then what a step costs: it does not jump with the share of each. What the program
    does shows in almost all runs of a side; what others do to it, only in some.
    """
    unchanged = [run for block in blocks for run in block[:-1] if len(run) >= FEW]
    changed = [block[-1] for block in blocks if block and len(block[-1]) >= FEW]
    return any(
        sum(_groups(run) is not None for run in side) >= MOST * len(side) > 0
        for side in (unchanged, changed)
    )


def _drift(run: Sequence[float]) -> float:
    """Return how far the last third of a run is from the first, as a logarithm."""
    third = len(run) // 3
    return math.log(_median(run[-third:]) / _median(run[:third]))


def _between(blocks: Sequence[Runs]) -> float:
    """Return how far the last block is from the first, as a logarithm, when all move one way."""
    levels = [sum(math.log(_median(run)) for run in block) / len(block) for block in blocks]
    steps = [after - before for before, after in itertools.pairwise(levels)]
    alike = all(step > 0 for step in steps) or all(step < 0 for step in steps)
    return levels[-1] - levels[0] if alike else 0.0


def _groups(run: Sequence[float]) -> tuple[float, float] | None:
    """Return the centres of the two groups that the steps of a run fall into, if they do.

    The cut is the one that leaves the least variance within both parts, found with running sums.
    """
    ranked = sorted(run)
    count, total = len(ranked), sum(ranked)
    squares = sum(value * value for value in ranked)
    least = max(2, math.ceil(SHARE * count))
    best, cut, sums = math.inf, 0, 0.0
    head = 0.0
    for i, value in enumerate(ranked[: count - least], start=1):
        head += value
        if i < least:
            continue
        within = squares - head * head / i - (total - head) ** 2 / (count - i)
        if within < best:
            best, cut, sums = within, i, head
    if not cut:
        return None
    low, high = sums / cut, (total - sums) / (count - cut)
    deviation = math.sqrt(max(best, 0.0) / count)
    apart = high / low > APART and high - low > DEVIATIONS * deviation
    return (low, high) if apart else None


def _percent(logarithm: float) -> str:
    return f"{abs(math.expm1(logarithm)) * 100:.0f} %"


def _median(values: Sequence[float]) -> float:
    ranked = sorted(values)
    middle = len(ranked) // 2
    return ranked[middle] if len(ranked) % 2 else (ranked[middle - 1] + ranked[middle]) / 2
