"""Is an effect real: interleaved blocks, a hierarchical bootstrap, unchanged against unchanged.

A block holds three runs, each a process of its own: the unchanged program twice, the changed one
once. What moves the whole machine moves all three, so runs are compared within their block. What
differs from process to process shows between the two unchanged runs, and an effect has to stand out
from that. Where the data do not allow an answer, the answer is ``unclear``, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from tracelens.live import _doubts
from tracelens.live._draws import LOOKS, Block, Draws, Estimate, Level, difference, median

__all__ = [
    "BUSY_CPU_FLOOR",
    "BUSY_FLOOR",
    "FLOOR",
    "LOOKS",
    "MIN_ITERATIONS",
    "Answer",
    "Block",
    "Judgement",
    "judge",
]

#: Iterations that each side needs, over all blocks.
MIN_ITERATIONS = 20
#: The least change of a time that counts, as a fraction: on a quiet machine, and on a busy one.
FLOOR, BUSY_FLOOR = 0.03, 0.25
#: ... and of CPU time, which others bend by what they take of caches and of a shared core.
BUSY_CPU_FLOOR = 0.08
#: Times the spread of unchanged against unchanged that an effect must exceed, and the same for an
#: answer before the second look, where few blocks can look alike by chance.
SPREADS, EARLY_SPREADS = 2.0, 3.0
#: ... which need not exceed twice the spread by more than this ratio.
EARLY_MARGIN = 1.5
#: An interval that reaches no further than this above 1 shows that there is no gain to be had, as
#: long as the bar is not higher.
NO_GAIN = 0.05
SEED = 20250215
_ONE_PART = "the steps that were least disturbed and the others do not say the same"

Answer = Literal["faster", "slower", "same", "unclear"]


@dataclass(frozen=True)
class Judgement:
    """What the timings say. Ratios are unchanged divided by changed: above 1 is faster."""

    answer: Answer
    #: Why there is no clear answer, or what to know about the one there is.
    reason: str
    ratio: float = 1.0
    low: float = 1.0
    high: float = 1.0
    #: What the ratio must exceed.
    threshold: float = 1 + FLOOR
    aa_ratio: float = 1.0
    before_ms: float = 0.0
    after_ms: float = 0.0
    #: Per side: unchanged (both runs of a block) or changed, whichever has fewer.
    iterations: int = 0
    blocks: int = 0

    def settled(self, *, last: bool = False) -> bool:
        """Return whether more blocks would be wasted."""
        return last or self.blocks >= LOOKS[-1] or self.answer != "unclear"


def judge(
    blocks: Sequence[Block],
    *,
    of: Literal["step", "run"] = "step",
    floor: float = FLOOR,
    seed: int = SEED,
) -> Judgement:
    """Say whether the changed program is faster.

    Args:
        blocks: The timings so far; at least three blocks are needed for an answer.
        of: ``run`` where each run gives one time, from start to end.
        floor: The least change that counts, as a fraction: more where others were at work.
        seed: Of the bootstrap; equal timings and seed give an equal answer.
    """
    whole = [block for block in blocks if all(block.runs)]
    iterations = min(
        sum(len(block.before) + len(block.again) for block in whole),
        sum(len(block.after) for block in whole),
    )
    if lacking := _lacking(blocks, whole, iterations, of):
        return Judgement("unclear", lacking, iterations=iterations, blocks=len(whole))
    judged = _judged(whole, floor, seed, _level(whole, of))
    if judged.answer in {"faster", "slower"} or of == "step":
        doubt = _doubts.doubt([block.runs for block in whole], math.log(judged.ratio))
        judged = replace(judged, answer="unclear", reason=doubt) if doubt else judged
    return replace(judged, iterations=iterations, blocks=len(whole))


def _level(blocks: Sequence[Block], of: Literal["step", "run"]) -> Level:
    """Return what stands for a run: where steps fall into two groups, their mean."""
    is_grouped = of == "step" and _doubts.groups([block.runs for block in blocks])
    return "mean" if is_grouped else "calm"


def _judged(blocks: Sequence[Block], floor: float, seed: int, level: Level) -> Judgement:
    """Judge by the steps that were least disturbed, where the others do not contradict them."""
    found = _by(blocks, floor, seed, level)
    if level != "calm":
        return found
    effect, other = math.log(found.ratio), difference(blocks, "median")
    if found.answer in {"faster", "slower"}:
        agrees = other * math.copysign(1, effect) > abs(effect) / 2
        if agrees or _allows(_by(blocks, floor, seed, "median"), found.ratio):
            return found
        return replace(found, answer="unclear", reason=_ONE_PART)
    if other < math.log1p(floor):
        return found
    middle = _by(blocks, floor, seed, "median")
    if middle.answer == "faster" and effect > 0:
        return middle
    is_doubtful = middle.answer == "faster" or (found.answer == "same" and middle.low > 1)
    return replace(found, answer="unclear", reason=_ONE_PART) if is_doubtful else found


def _allows(judged: Judgement, ratio: float) -> bool:
    return judged.low < ratio < judged.high


def _by(blocks: Sequence[Block], floor: float, seed: int, level: Level) -> Judgement:
    draws = Draws(blocks, Random(seed), level=level)  # noqa: S311 -- a bootstrap, not a secret
    effect, spread = draws.effect(), draws.spread()
    bar = max(math.log1p(floor), SPREADS * spread.reach)
    answer, reason = _answer(draws, effect, spread, bar)
    return Judgement(
        answer,
        reason,
        ratio=math.exp(effect.centre),
        low=math.exp(effect.low),
        high=math.exp(effect.high),
        threshold=math.exp(bar),
        aa_ratio=math.exp(spread.centre),
        before_ms=median([t for block in blocks for t in (*block.before, *block.again)]),
        after_ms=median([t for block in blocks for t in block.after]),
    )


def _lacking(
    blocks: Sequence[Block], whole: Sequence[Block], iterations: int, of: Literal["step", "run"]
) -> str:
    """Return what is missing for an answer; empty when there is enough."""
    if len(whole) < len(blocks):
        return f"{len(blocks) - len(whole)} of {len(blocks)} blocks have a run without any times"
    if len(whole) < LOOKS[0]:
        return f"{len(whole)} blocks, and an answer needs {LOOKS[0]}"
    if of == "step" and iterations < MIN_ITERATIONS:
        return f"{iterations} steps after warm-up per side, and an answer needs {MIN_ITERATIONS}"
    return ""


def _answer(draws: Draws, effect: Estimate, spread: Estimate, bar: float) -> tuple[Answer, str]:
    blocks = len(draws.levels)
    early = blocks < LOOKS[1]
    more = min((EARLY_SPREADS - SPREADS) * spread.reach, math.log(EARLY_MARGIN))
    needed = max(bar, SPREADS * spread.reach + more) if early else bar
    side = draws.one_sided(needed)
    if effect.low > 0 and effect.centre > needed and side > 0:
        return "faster", ""
    if effect.high < 0 and effect.centre < -needed and side < 0 and blocks >= LOOKS[2]:
        return "slower", ""
    no_gain = math.log1p(NO_GAIN)
    if not early and bar <= no_gain and effect.high < no_gain and effect.centre > -needed:
        return "same", ""
    needed_percent = f"{math.expm1(needed) * 100:.0f} %"
    if needed > no_gain and abs(effect.centre) < needed:
        return "unclear", (
            f"two runs of the unchanged program differ too much to see less than {needed_percent}"
        )
    if effect.low > 0 or effect.high < 0:
        return "unclear", "too few blocks agree on which program is faster"
    return "unclear", (
        f"the interval from {math.exp(effect.low):.3f} to {math.exp(effect.high):.3f} allows both "
        f"no effect and one above {needed_percent}"
    )
