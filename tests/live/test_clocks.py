"""Which clock counts, and which steps are compared with which."""

import pytest

from tests.live.reports import report
from tracelens.experiment import Knob
from tracelens.live.clocks import aligned, choose, read
from tracelens.live.conditions import Strain
from tracelens.live.load import Usage
from tracelens.live.runs import Recorded, Run
from tracelens.live.statistics import Block, judge
from tracelens.live.steps import Steps

QUIET = Strain(0.0, Usage(1.0, 0))
FREEZING = Knob("freezing", config={"torch._inductor.config.freezing": True})


def recorded(**about: str) -> Recorded:
    return Recorded(report(), Steps(), 1.0, {"threads": "2"} | about)


def run(times: tuple[float, ...], first: int | None = 0, cpu: tuple[float, ...] = ()) -> Run:
    return Run(times, 1.0, QUIET, len(times), cpu, first)


@pytest.mark.parametrize(
    ("knob", "after", "clock"),
    [
        (FREEZING, recorded(), "cpu"),
        (FREEZING, recorded(threads="1"), "wall"),
        (FREEZING, recorded(device="NVIDIA H100"), "wall"),
        (Knob("one thread", env={"OMP_NUM_THREADS": "1"}), recorded(), "wall"),
        (Knob("w", config={"torch._inductor.config.compile_threads": 8}), recorded(), "wall"),
        (Knob("graphs", compile={"mode": "reduce-overhead"}), recorded(), "wall"),
    ],
)
def test_waiting_is_timed_by_the_wall_clock_and_work_by_the_processor(
    knob: Knob, after: Recorded, clock: str
) -> None:
    assert choose(knob, [recorded(), after]) == clock


def test_a_run_without_cpu_time_leaves_the_wall_clock() -> None:
    known, unknown = run((2.0,), cpu=(1.0,)), run((2.0,))
    assert read([[known, known, known]], "cpu")[0][0][0].times == (1.0,)
    assert read([[known, known, unknown]], "cpu")[1] == "wall"


def growing(level: float, count: int = 20) -> tuple[float, ...]:
    """Every step is 10 % more work than the one before; every third compiles nothing, but waits."""
    return tuple(level * 1.1**i * (3 if i % 3 == 0 else 1) for i in range(count))


def test_the_same_step_of_every_run_is_compared() -> None:
    blocks = [[run(growing(10)), run(growing(10.01)), run(growing(8))] for _ in range(3)]
    plain = [Block(*(one.times for one in block)) for block in blocks]
    assert judge(plain).answer != "faster", "growth hides what is less"
    found = [Block(*(one.times for one in block)) for block in aligned(blocks)]
    answer = judge(found)
    assert answer.answer == "faster"
    assert answer.ratio == pytest.approx(1.25, abs=0.01)


def test_only_steps_that_all_runs_made_are_left() -> None:
    """The changed program compiled less, and so was steady from an earlier step on."""
    late = run(growing(10)[6:], 6)
    block = aligned([[late, late, run(growing(10))]])[0]
    assert [len(one.times) for one in block] == [14, 14, 14]
    assert block[2].times == pytest.approx(block[0].times)


def test_what_has_too_little_in_common_or_no_order_stays_as_it_is() -> None:
    early, late = run((1.0,) * 9, 0), run((1.0,) * 9, 5)
    assert aligned([[early, early, late]]) == [[early, early, late]]
    driven = run((1.0,) * 9, None)
    assert aligned([[driven] * 3]) == [[driven] * 3]
