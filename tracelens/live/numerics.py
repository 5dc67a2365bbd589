"""How far the results of a command are from eager: the first calls of what is compiled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Output", "difference"]


@dataclass(frozen=True)
class Output:
    """What one call of a compiled callable returned."""

    #: Number of the callable, and of the call.
    callable: int
    call: int
    #: Stands for arguments and weights.
    given: str
    #: Per tensor some of its numbers.
    numbers: tuple[tuple[float, ...], ...]


def difference(found: Sequence[Output], eager: Sequence[Output]) -> dict[str, float] | None:
    """Return ``max_abs`` and ``max_rel``; None where no call had the same arguments in both runs.

    The relative difference is relative to the largest number of the tensor.
    """
    expected = {(one.callable, one.call, one.given): one.numbers for one in eager}
    max_abs = max_rel = 0.0
    compared = False
    for one in found:
        other = expected.get((one.callable, one.call, one.given))
        if other is None or [len(t) for t in other] != [len(t) for t in one.numbers]:
            continue
        for mine, theirs in zip(one.numbers, other, strict=True):
            if not mine:
                continue
            compared = True
            error = max(map(_apart, mine, theirs))
            max_abs = max(max_abs, error)
            max_rel = max(max_rel, error / max(*map(abs, theirs), 1e-30))
    return {"max_abs": max_abs, "max_rel": max_rel} if compared else None


def _apart(one: float, other: float) -> float:
    """Return how far two numbers are apart: equal infinities, and two NaN, are not."""
    if one == other or (math.isnan(one) and math.isnan(other)):
        return 0.0
    return abs(one - other) if math.isfinite(one - other) else math.inf
