"""The clocks of ranks, from the collectives in which they meet: nobody leaves before all are there.

The trace of each rank counts time by the clock of its own machine. A collective that all ranks wait
for ends on all of them at nearly the same moment, so the median difference of the ends is that of
the clocks.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from operator import sub
from statistics import median
from typing import NamedTuple

from tracelens.late import late

__all__ = ["Clock", "Lane", "Pair", "align", "clocks", "named"]

#: Collectives that nobody leaves before all have come.
_WAITS_FOR_ALL = late(
    r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|barrier", re.IGNORECASE
)
#: By how many collectives the recordings of two ranks may be apart.
MAX_SHIFT = 16
#: Collectives that recordings which are apart must have in common at the least.
MIN_SHIFTED = 6
#: How much better the ends must fit before recordings are taken to be apart.
BETTER = 0.5
NOISE_US = 20.0
#: How far the ends of one collective are apart at most, microseconds, and as a part of what it
#: takes; and from how many collectives on they show it.
MEET_US = 200.0
MEET = 0.1
MIN_SHOWN = 3


class Lane(NamedTuple):
    """The collectives of one rank in one group. Microseconds of its own clock."""

    starts: Sequence[float]
    ends: Sequence[float]
    names: Sequence[str]


class Clock(NamedTuple):
    """How far a rank's clock is ahead of the first rank's, and how far single ends are off."""

    offset: float = 0.0
    spread: float = 0.0


class Pair(NamedTuple):
    """Two ranks in one group: number ``k`` of the first is number ``k + shift`` of the second."""

    shift: int
    clock: Clock


def named(group: str) -> bool:
    """Whether the traces list the ranks of a group: they meet in it for sure."""
    return group.endswith("]")


def align(one: Lane, other: Lane, *, sure: bool = True) -> Pair | None:
    """Return how two ranks fit together; None where they call different collectives.

    Where it is not ``sure`` that they meet, ends that are far apart show that they do not: groups
    of the same name, or of none, may call the same collectives at times of their own.
    """
    best: Pair | None = None
    for shift in sorted(range(-MAX_SHIFT, MAX_SHIFT + 1), key=abs):
        first, last = max(0, -shift), min(len(one.names), len(other.names) - shift)
        if last <= first or (shift and last - first < max(MIN_SHIFTED, len(one.names) // 2)):
            continue
        if one.names[first:last] != other.names[first + shift : last + shift]:
            continue
        apart = [
            other.ends[at + shift] - one.ends[at]
            for at in range(first, last)
            if _WAITS_FOR_ALL.search(one.names[at])
        ]
        if not apart:
            continue
        offset = median(apart)
        spread = median(abs(each - offset) for each in apart)
        if best is None or spread < BETTER * best.clock.spread - NOISE_US:
            best = Pair(shift, Clock(offset, spread))
    if best is not None and not sure and len(one.names) >= MIN_SHOWN:
        lasts = median(map(sub, one.ends, one.starts))
        return best if best.clock.spread <= max(MEET_US, MEET * lasts) else None
    return best


def clocks(groups: Mapping[str, Mapping[int, Lane]]) -> dict[int, Clock]:
    """Return the clock of each rank that meets the first one, or meets one that does.

    ``groups`` has the ranks of each group. Where several groups could tell, the first does.
    """
    ranks = sorted({rank for lanes in groups.values() for rank in lanes})
    if not ranks:
        return {}
    member_of: dict[int, list[str]] = {rank: [] for rank in ranks}
    for group, lanes in groups.items():
        for rank in lanes:
            member_of[rank].append(group)
    known = {ranks[0]: Clock()}
    waiting = deque([ranks[0]])
    asked: set[str] = set()
    while waiting:
        near = waiting.popleft()
        for group in member_of[near]:
            if group in asked:
                continue
            asked.add(group)
            for rank, lane in sorted(groups[group].items()):
                pair = None
                if rank not in known:
                    pair = align(groups[group][near], lane, sure=named(group))
                if pair is not None:
                    ahead = known[near].offset + pair.clock.offset
                    known[rank] = Clock(ahead, max(known[near].spread, pair.clock.spread))
                    waiting.append(rank)
    return known
