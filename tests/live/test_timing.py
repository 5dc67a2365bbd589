"""Rounds of timed runs, with runs that are made up: what is shared, and what is left when."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.live.reports import report
from tracelens.experiment import Knob
from tracelens.live.conditions import Strain
from tracelens.live.lab import Lab, OutOfTime, RunFailed
from tracelens.live.load import Usage
from tracelens.live.runs import Recorded, Run
from tracelens.live.steps import Steps
from tracelens.live.timing import timing_of
from tracelens.live.workload import Side, Workload

PROGRAM = Workload(("python", "train.py"))
BEFORE = Side(PROGRAM)


def change(name: str) -> Side:
    return Side(PROGRAM, Knob(name, env={name.upper(): "1"}))


class Timed(Lab):
    """Every change divides the time by its own number; a run takes a second of a made-up clock."""

    def __init__(self, gains: dict[str, float], seconds: float = 1000, keep: Path | None = None):
        super().__init__(base={}, seconds=10_000, keep=keep)
        self.gains = gains
        self.clock = seconds
        self.order: list[str] = []

    @property
    def left(self) -> float:
        return self.clock

    def _record(self, side: Side) -> Recorded:
        del side
        return Recorded(report(), Steps(), 1.0, {"threads": "1"})

    def run_once(self, side: Side, of: object) -> Run:
        del of
        if self.clock < 1:
            raise OutOfTime
        self.clock -= 1
        name = side.knob.text
        self.order.append(name)
        gain = self.gains.get(name, 1.0)
        if gain < 0:
            raise RunFailed(f"{name} failed")
        times = tuple(10 / gain * (1 + 0.001 * (step * 7 % 5)) for step in range(12))
        return Run(times, 1.0, Strain(0.0, Usage(1.0, 0)), 12)


def test_changes_share_the_unchanged_runs_and_leave_when_they_are_answered() -> None:
    gains = {"double": 2.0, "slight": 1.01, "half": 0.5}
    with Timed(gains) as lab:
        sides = [change(name) for name in gains]
        settled = [side.knob.text for side in lab.together(BEFORE, sides)]
        runs = len(lab.order)
        answers = {s.knob.text: lab.blocks(BEFORE, s).judgement.answer for s in sides}
    assert answers == {"double": "faster", "slight": "same", "half": "slower"}
    assert settled[0] == "double", "three blocks answer what is clear"
    assert runs == len(lab.order) == 3 * 5 + 2 * 4 + 3 * 3, "alone: nine, fifteen, twenty-four"


def test_each_side_stands_everywhere_equally_often() -> None:
    with Timed({"slight": 1.01}) as lab:
        list(lab.together(BEFORE, [change("slight")]))
    rounds = [lab.order[start : start + 3] for start in range(0, 9, 3)]
    assert sorted(one.index("slight") for one in rounds) == [0, 1, 2]


def test_a_change_that_fails_takes_no_other_with_it() -> None:
    with Timed({"double": 2.0, "broken": -1.0}) as lab:
        settled = [s.knob.text for s in lab.together(BEFORE, [change("broken"), change("double")])]
        with pytest.raises(RunFailed, match="broken failed"):
            lab.blocks(BEFORE, change("broken"))
        assert lab.blocks(BEFORE, change("double")).judgement.answer == "faster"
    assert set(settled) == {"broken", "double"}
    assert lab.order.count("broken") == 1


def test_an_unchanged_program_that_fails_answers_for_all() -> None:
    with Timed({"unchanged": -1.0}) as lab:
        assert len(list(lab.together(BEFORE, [change("double"), change("half")]))) == 2
        with pytest.raises(RunFailed, match="unchanged failed"):
            lab.blocks(BEFORE, change("half"))


def test_where_the_time_suffices_for_one_it_is_the_first() -> None:
    """Three rounds of both would take twelve seconds; of the first alone they take nine."""
    with Timed({"double": 2.0, "half": 0.5}, seconds=11) as lab:
        sides = [change("double"), change("half")]
        for side in (BEFORE, *sides):
            lab.record(side)
        assert [side.knob.text for side in lab.together(BEFORE, sides)] == ["double"]
        with pytest.raises(OutOfTime):
            lab.blocks(BEFORE, sides[1])


def test_what_a_shared_round_has_shown_is_kept_for_each_change(tmp_path: Path) -> None:
    gains = {"double": 2.0, "half": 0.5}
    sides = [change(name) for name in gains]
    with Timed(gains, keep=tmp_path / "kept") as lab:
        for side in (BEFORE, *sides):
            lab.record(side)
        list(lab.together(BEFORE, sides))
    with Timed(gains, keep=tmp_path / "kept") as lab:
        for side in (BEFORE, *sides):
            lab.record(side)
        assert [lab.blocks(BEFORE, s).judgement.answer for s in sides] == ["faster", "slower"]
    assert lab.order == []


def timed(wall: list[float], cpu: float) -> list[Run]:
    """Return runs of 20 steps, of which the walls are given and the CPU times are alike."""
    strain = Strain(2.0, Usage(1.0, 0))
    return [
        Run(
            tuple(one * (1 + 0.001 * (step % 5)) for step in range(20)),
            1.0,
            strain,
            20,
            tuple(cpu * (1 + 0.001 * (step % 5)) for step in range(20)),
        )
        for one in wall
    ]


@pytest.mark.parametrize(
    ("walls", "answer"),
    [
        pytest.param([13.0, 13.1, 12.9], "unclear", id="it surely takes longer"),
        pytest.param([7.0, 30.0, 18.0], "faster", id="it may take longer or shorter"),
    ],
)
def test_less_cpu_time_is_no_gain_where_it_surely_takes_longer(
    walls: list[float], answer: str
) -> None:
    before, again = timed([10.0, 10.1, 9.9], 10.0), timed([10.1, 9.9, 10.0], 10.0)
    blocks = list(zip(before, again, timed(walls, 7.0), strict=True))
    sides = [Recorded(report(), Steps(), 1.0, {"threads": "1"})] * 2
    assert timing_of(blocks, Knob("change"), sides).judgement.answer == answer


def test_rounds_in_turn_are_blocks_like_any_other() -> None:
    class Turning(Timed):
        def in_turns(self, sides: Sequence[Side]) -> list[Run]:
            return [self.run_once(side, "step") for side in sides]

    with Turning({"double": 2.0, "half": 0.5}) as lab:
        sides = [change("double"), change("half")]
        for side in (BEFORE, *sides):
            lab.record(side)
        list(lab.together(BEFORE, sides))
        answers = [lab.blocks(BEFORE, side).judgement.answer for side in sides]
    assert answers == ["faster", "slower"]
    assert lab.order[:4] == ["unchanged", "unchanged", "double", "half"], "the order of turns"
