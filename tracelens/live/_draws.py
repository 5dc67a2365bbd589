"""The bootstrap over blocks: how large an effect is, how far equal runs are apart, who agrees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

__all__ = [
    "LOOKS",
    "Block",
    "Draws",
    "Estimate",
    "Level",
    "agreeing",
    "centre",
    "difference",
    "median",
]

#: What stands for the steps of a run: those that were least disturbed, their middle, or
#: their mean.
Level = Literal["calm", "median", "mean"]
#: Where in the order of its steps the level of a run is. Others' work only ever adds to a step.
QUANTILES = {"calm": 0.15, "median": 0.5}

#: Numbers of blocks after which the data are looked at.
LOOKS = (3, 5, 8, 12)
#: How often blocks may agree by chance on which program is faster, were the three runs alike.
CHANCE = 0.005
#: ... and on which is slower: hardly anything that is advised is, and nobody waits for that answer.
CHANCE_SLOWER = 0.001
#: One block in so many may be a disturbed one: its unchanged runs say nothing about the spread.
DISTURBED = 5
#: Resamples of the bootstrap, and precomputed resampled levels per run.
RESAMPLES, RESAMPLED = 400, 32
#: Ends of the intervals: of the effect (99 %), and of unchanged against unchanged (95 %).
EFFECT_TAIL, SPREAD_TAIL = 0.005, 0.025


@dataclass(frozen=True)
class Block:
    """One block: the times of three runs, in milliseconds, after warm-up and in their order."""

    before: tuple[float, ...]
    again: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def runs(self) -> tuple[tuple[float, ...], ...]:
        """The three runs."""
        return self.before, self.again, self.after


@dataclass(frozen=True)
class Estimate:
    """A logarithm of a ratio, with its interval."""

    centre: float
    low: float
    high: float

    @property
    def reach(self) -> float:
        """How far from no difference the interval reaches."""
        return max(abs(self.low), abs(self.high))


class Draws:
    """The bootstrap: levels of resampled runs first, then resampled blocks of them."""

    def __init__(self, blocks: Sequence[Block], random: Random, *, level: Level = "median") -> None:
        self.random = random
        self.levels = [
            tuple(math.log(_level(run, level)) for run in block.runs) for block in blocks
        ]
        self.resampled = [
            tuple(_resampled(sorted(run), random, level) for run in block.runs) for block in blocks
        ]

    def effect(self) -> Estimate:
        """Compare the changed runs with the mean of the two unchanged ones."""
        weights = (0.5, 0.5, -1.0)
        return self._estimate(self._pools(weights), weights, EFFECT_TAIL)

    def spread(self) -> Estimate:
        """Compare the unchanged runs with each other, without the blocks that are furthest off."""
        weights = (1.0, -1.0, 0.0)
        apart = sorted((before - again for before, again, _ in self.levels), key=abs)
        usual = apart[: len(apart) - len(apart) // DISTURBED]
        return self._estimate([(each,) for each in usual], weights, SPREAD_TAIL, usual)

    def _pools(self, weights: tuple[float, float, float]) -> list[list[float]]:
        u, v, w = weights
        mixed = ([self.random.choices(run, k=RESAMPLED) for run in runs] for runs in self.resampled)
        return [[u * a + v * b + w * c for a, b, c in zip(*runs, strict=True)] for runs in mixed]

    def _estimate(
        self,
        pools: Sequence[Sequence[float]],
        weights: tuple[float, float, float],
        tail: float,
        found: Sequence[float] = (),
    ) -> Estimate:
        u, v, w = weights
        random, count = self.random.random, len(pools)
        picked = self.random.choices(pools, k=count * RESAMPLES)
        drawn = [pool[int(random() * len(pool))] for pool in picked]
        centres = sorted(
            centre(drawn[start : start + count]) for start in range(0, len(drawn), count)
        )
        end = int(tail * RESAMPLES)
        return Estimate(
            centre(found or [u * a + v * b + w * c for a, b, c in self.levels]),
            centres[end],
            centres[-1 - end],
        )

    def one_sided(self, needed: float) -> int:
        """1 when the changed run beats both others in enough blocks, -1 when it is beaten, else 0.

        Were the three alike, a block would do either by chance once in three times, whatever the
        noise, as long as it does not depend on the position in the block. Of few blocks, each must
        show half of the ``needed`` difference: one that was disturbed would make it up alone.
        """
        count = len(self.levels)
        least = needed / 2 if count < LOOKS[2] else 0.0
        wins = sum(after + least < min(before, again) for before, again, after in self.levels)
        losses = sum(after - least > max(before, again) for before, again, after in self.levels)
        return int(wins >= agreeing(count)) - int(losses >= agreeing(count, CHANCE_SLOWER))


def agreeing(count: int, chance: float = CHANCE) -> int:
    """Return how many of so many blocks must agree, so that chance does it hardly ever."""
    tail = 0.0
    for least in range(count, 0, -1):
        tail += math.comb(count, least) * 2 ** (count - least) / 3**count
        if tail > chance:
            return min(least + 1, count)
    return count


def centre(values: Sequence[float]) -> float:
    """Return the mean of the middle half: a run that met a disturbance carries no weight."""
    ranked = sorted(values)
    cut = len(ranked) // 4
    middle = ranked[cut : len(ranked) - cut]
    return sum(middle) / len(middle)


def difference(blocks: Sequence[Block], level: Level) -> float:
    """Return the logarithm of the ratio of both sides by one level; nothing is drawn."""
    levels = ([math.log(_level(run, level)) for run in block.runs] for block in blocks)
    return centre([(before + again) / 2 - after for before, again, after in levels])


def median(values: Sequence[float]) -> float:
    """Return the middle value, or the mean of both middle ones."""
    ranked = sorted(values)
    middle = len(ranked) // 2
    return ranked[middle] if len(ranked) % 2 else (ranked[middle - 1] + ranked[middle]) / 2


def _level(run: Sequence[float], level: Level) -> float:
    if level == "mean":
        return _mean(run)
    if level == "median":
        return median(run)
    ranked = sorted(run)
    return ranked[int(QUANTILES[level] * len(ranked))]


def _resampled(ranked: Sequence[float], random: Random, level: Level) -> list[float]:
    """Return logarithms of levels of resampled runs.

    A quantile of a resample is an order statistic of the run, and its rank has a beta distribution:
    drawing the rank costs the same for a thousand steps as for ten.
    """
    if level == "mean":
        return _resampled_means(ranked, random)
    count, share = len(ranked), QUANTILES[level]
    one, other = share * (count + 1), (1 - share) * (count + 1)
    return [
        math.log(ranked[min(int(count * random.betavariate(one, other)), count - 1)])
        for _ in range(RESAMPLED)
    ]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _resampled_means(ranked: Sequence[float], random: Random) -> list[float]:
    """Return logarithms of means of resampled runs, which are as good as normal."""
    count, mean = len(ranked), _mean(ranked)
    variance = sum((value - mean) ** 2 for value in ranked) / max(count - 1, 1)
    error = math.sqrt(variance / count)
    return [math.log(max(random.gauss(mean, error), mean / 10)) for _ in range(RESAMPLED)]
