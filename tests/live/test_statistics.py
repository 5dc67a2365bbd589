"""Is an effect real: on timings with a known effect and the noise that machines have."""

import math
from collections import Counter
from dataclasses import dataclass, replace
from random import Random

import pytest

from tracelens.live._draws import agreeing
from tracelens.live.statistics import BUSY_FLOOR, LOOKS, Block, Judgement, judge


@dataclass(frozen=True)
class Noise:
    """What disturbs a measurement. Sizes are standard deviations of logarithms."""

    #: From step to step, and how much of it a step takes over from the one before.
    jitter: float = 0.02
    memory: float = 0.0
    #: From process to process: where memory came to lie, what else ran.
    process: float = 0.01
    #: From block to block.
    block: float = 0.05
    #: Share of the steps that something interrupts.
    outliers: float = 0.03
    #: Growth of a step's time within a run, and the machine's drift over the whole measurement.
    growth: float = 0.0
    drift: float = 0.0
    #: A second frequency, this much slower, between which a processor goes back and forth.
    slow: float = 0.0
    steps: int = 15
    #: Share of the processes that are slowed as a whole, by up to four fifths.
    disturbed: float = 0.0
    #: Share of the processes of which this share of the steps takes half as long again.
    contended: float = 0.0
    part: float = 0.7


def run(random: Random, level: float, noise: Noise) -> tuple[float, ...]:
    level *= math.exp(random.gauss(0, noise.process))
    if noise.disturbed and random.random() < noise.disturbed:
        level *= math.exp(random.uniform(0.1, 0.6))
    part = noise.part * (random.random() < noise.contended) if noise.contended else 0.0
    wander, slow, out = 0.0, random.random() < 0.5, []
    for step in range(noise.steps):
        fresh = math.sqrt(1 - noise.memory**2) * random.gauss(0, noise.jitter)
        wander = noise.memory * wander + fresh
        slow ^= random.random() < 0.05
        growth = noise.growth * step / noise.steps
        time = level * math.exp(wander + growth + noise.slow * slow)
        time *= 1.5 if part and random.random() < part else 1
        out.append(time * (1 + random.expovariate(1) * (random.random() < noise.outliers)))
    return tuple(out)


def block(random: Random, effect: float, noise: Noise, number: int, drift: float) -> Block:
    """One block, whose three runs change places from block to block."""
    level = 10 * math.exp(random.gauss(0, noise.block))
    levels = [
        level * math.exp(drift * (3 * number + (place - number) % 3) / (3 * LOOKS[-1]))
        for place in range(3)
    ]
    before, again, after = (
        run(random, at / by, noise) for at, by in zip(levels, (1, 1, effect), strict=True)
    )
    return Block(before, again, after)


def experiment(random: Random, effect: float, noise: Noise) -> Judgement:
    """As many blocks as it takes, looked at where the protocol looks at them."""
    blocks: list[Block] = []
    drift = random.gauss(0, noise.drift)
    answer = judge(blocks)
    for look in LOOKS:
        while len(blocks) < look:
            blocks.append(block(random, effect, noise, len(blocks), drift))
        answer = judge(blocks)
        if answer.settled():
            break
    return answer


def answers(effect: float, noise: Noise, draws: int, seed: int = 1) -> Counter[str]:
    random = Random(seed)
    return Counter(experiment(random, effect, noise).answer for _ in range(draws))


USUAL = Noise()
#: What a machine in use looks like.
REALISTIC = {
    "quiet": Noise(process=0.004, jitter=0.01),
    "usual": USUAL,
    "few steps": Noise(steps=7),
    "interrupted": Noise(outliers=0.1),
    "jumping": Noise(jitter=0.05, process=0.015),
    "getting warmer": Noise(growth=0.04, drift=0.1),
    "unsteady blocks": Noise(block=0.3),
}
#: Where a 10 % effect may stay undecided, but nothing may be confirmed that is not there.
HOSTILE = {
    "loud": Noise(process=0.05, jitter=0.1, outliers=0.1),
    "two frequencies": Noise(slow=0.25),
    "dependent steps": Noise(memory=0.9, jitter=0.06),
    "strong drift": Noise(drift=0.5),
    "growing": Noise(growth=0.2),
}
#: Whole processes that are slowed: what a machine looks like on which others work.
DISTURBED = Noise(process=0.03, disturbed=0.15)


def test_nothing_is_confirmed_that_is_not_there() -> None:
    draws = 90
    found = {name: answers(1.0, noise, draws) for name, noise in (REALISTIC | HOSTILE).items()}
    wrong = sum(counts["faster"] for counts in found.values())
    assert wrong <= draws * len(found) / 100, found
    assert max(counts["faster"] for counts in found.values()) <= 4, found


def test_a_change_below_the_bar_is_not_confirmed() -> None:
    assert answers(1.015, USUAL, 100)["faster"] <= 1


@pytest.mark.parametrize("name", REALISTIC)
def test_ten_percent_are_found(name: str) -> None:
    assert answers(1.10, REALISTIC[name], 60)["faster"] >= 54


@pytest.mark.parametrize("name", REALISTIC)
def test_what_is_slower_is_not_faster(name: str) -> None:
    found = answers(0.9, REALISTIC[name], 30)
    assert found["slower"] >= 24
    assert found["faster"] == 0


def test_a_large_effect_takes_three_blocks() -> None:
    random = Random(7)
    found = [experiment(random, 1.5, USUAL) for _ in range(30)]
    assert {answer.answer for answer in found} == {"faster"}
    assert sum(answer.blocks == LOOKS[0] for answer in found) >= 28


@pytest.mark.parametrize("name", HOSTILE)
def test_a_large_effect_is_found_in_hostile_noise(name: str) -> None:
    assert answers(3.0, HOSTILE[name], 20)["faster"] >= 18


def test_one_disturbed_run_in_seven_does_not_hide_a_third() -> None:
    """There is more to be run, and then there is an answer; of nothing, nothing comes."""
    assert answers(1.33, DISTURBED, 40)["faster"] >= 28
    assert answers(1.0, DISTURBED, 40)["faster"] == 0


def test_steps_that_others_slow_hide_nothing_and_make_up_nothing() -> None:
    """What was disturbed only ever takes longer: the steps that were least so are compared."""
    contended = Noise(process=0.015, contended=0.5)
    assert answers(1.15, contended, 30)["faster"] >= 20
    assert answers(1.33, contended, 30)["faster"] >= 26
    nulls = answers(1.0, contended, 40)
    assert nulls["faster"] + nulls["slower"] == 0


def test_slower_needs_eight_blocks_that_agree() -> None:
    slow = Block(steady(10), steady(10.02), steady(14))
    assert [judge([slow] * count).answer for count in (3, 5, 8)] == ["unclear", "unclear", "slower"]
    one = Block(steady(10), steady(15), steady(14))
    assert judge([slow] * 7 + [one]).answer == "unclear"


def test_a_gain_of_a_part_of_the_steps_is_no_gain_of_all() -> None:
    """The least disturbed tell one thing, and the middle another: nobody is told a figure."""
    few = tuple(6.0 + i / 6 if i % 6 == 0 else 10.0 + 0.01 * (i % 4) for i in range(24))
    answer = judge([Block(steady(10, 24), steady(10.02, 24), few)] * 5)
    assert (answer.answer, round(answer.ratio, 1)) == ("unclear", 1.1)


@pytest.mark.parametrize(("count", "enough"), [(3, 3), (5, 5), (8, 7), (12, 9)])
def test_so_many_blocks_must_agree_that_chance_does_it_hardly_ever(count: int, enough: int) -> None:
    assert agreeing(count) == enough
    tails = [
        sum(
            math.comb(count, k) * (1 / 3) ** k * (2 / 3) ** (count - k)
            for k in range(at, count + 1)
        )
        for at in (enough, enough - 1)
    ]
    assert tails[1] > 0.005
    assert tails[0] <= 0.005 or enough == count


def test_the_interval_holds_the_true_ratio() -> None:
    random, inside = Random(3), 0
    for _ in range(100):
        answer = judge([block(random, 1.2, USUAL, number, 0.0) for number in range(8)])
        inside += answer.low <= 1.2 <= answer.high
    assert inside >= 94


def test_no_gain_is_an_answer() -> None:
    assert answers(1.0, REALISTIC["quiet"], 30)["same"] >= 28


def test_equal_timings_give_an_equal_answer() -> None:
    random = Random(11)
    blocks = [block(random, 1.1, USUAL, number, 0.0) for number in range(5)]
    assert judge(blocks) == judge(blocks)


# Refusals.


def steady(level: float, steps: int = 12) -> tuple[float, ...]:
    return tuple(level * (1 + 0.001 * (step * 7 % 5)) for step in range(steps))


PAIR = Block(steady(10), steady(10.02), steady(5))


def test_two_blocks_are_too_few() -> None:
    answer = judge([PAIR] * 2)
    assert answer.answer == "unclear"
    assert "2 blocks" in answer.reason


def test_too_few_steps_are_said() -> None:
    answer = judge([Block(*(times[:5] for times in PAIR.runs))] * 3)
    assert answer.answer == "unclear"
    assert answer.reason == "15 steps after warm-up per side, and an answer needs 20"


def test_a_run_without_times_is_said() -> None:
    answer = judge([PAIR, PAIR, Block(PAIR.before, (), PAIR.after)])
    assert answer.reason == "1 of 3 blocks have a run without any times"


def test_one_time_per_run_will_do_where_the_run_is_what_is_timed() -> None:
    blocks = [Block((9000.0 + n,), (9100.0 - n,), (3000.0 + n,)) for n in range(3)]
    answer = judge(blocks, of="run")
    assert answer.answer == "faster"
    assert answer.ratio == pytest.approx(3.0, rel=0.02)


def test_steps_that_grow_are_refused_unless_the_effect_is_larger() -> None:
    def growing(level: float) -> tuple[float, ...]:
        return tuple(level * (1 + 0.03 * step) for step in range(12))

    small = Block(growing(10), growing(10), growing(9))
    answer = judge([small] * 5)
    assert answer.answer == "unclear"
    assert "still changes" in answer.reason
    large = replace(small, after=growing(3))
    assert judge([large] * 5).answer == "faster"


def test_of_two_groups_of_steps_the_mean_is_compared() -> None:
    """A median is of one group or of the other; how often each comes must not differ by chance."""

    def grouped(level: float, slow: int) -> tuple[float, ...]:
        times = enumerate(steady(level))
        return 6 * tuple(time * (1.6 if i * 5 % 12 < slow else 1) for i, time in times)

    same = Block(grouped(10, 6), grouped(10, 6), grouped(9, 6))
    answer = judge([same] * 5)
    assert answer.answer == "faster"
    assert answer.ratio == pytest.approx(1.11, abs=0.01)
    other = [
        Block(grouped(10, 4 + n % 3), grouped(10, 6 - n % 3), grouped(9.6, 5)) for n in range(5)
    ]
    assert judge(other).answer == "unclear"


def test_on_a_busy_machine_only_large_effects_count() -> None:
    some = Block(steady(10), steady(10.02), steady(8.7))
    assert judge([some] * 5).answer == "faster"
    assert judge([some] * 5, floor=BUSY_FLOOR).answer == "unclear"
    assert judge([PAIR] * 5, floor=BUSY_FLOOR).answer == "faster"


def test_unchanged_runs_that_differ_hide_what_is_smaller() -> None:
    blocks = [Block(steady(10), steady(10 + n % 2 * 2), steady(9.5)) for n in range(5)]
    answer = judge(blocks)
    assert answer.answer == "unclear"
    assert "two runs of the unchanged program differ" in answer.reason
