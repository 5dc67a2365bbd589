"""Recorded runs side by side: where there is room, and what becomes of those that fail."""

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.live.reports import report
from tracelens.experiment import Knob
from tracelens.live import ahead, load
from tracelens.live.cases import sides_of
from tracelens.live.child import Child
from tracelens.live.lab import Lab, RunFailed
from tracelens.live.runs import Recorded
from tracelens.live.sides import OutOfTime
from tracelens.live.steps import Steps
from tracelens.live.trials import Trial
from tracelens.live.workload import Side, Workload

PROGRAM = Workload(("python", "train.py"))
SIDES = [Side(PROGRAM, Knob(name, env={name: "1"})) for name in ("A", "B", "C", "D", "E")]
SHOWN = Recorded(report(), Steps(), 1.0, {})


class Together:
    """Stands for the child: a run waits until as many others have begun as are to be at once."""

    def __init__(self, together: int, fail: str = "") -> None:
        self.barrier = threading.Barrier(together, timeout=60)
        self.fail = fail
        self.runs: list[str] = []
        self.seconds = 0.0

    def recorded(
        self, side: Side, folder: Path, seconds: float, stopped: Callable[[], bool] | None = None
    ) -> Recorded:
        del folder
        self.seconds = seconds
        self.runs.append(side.knob.text)
        if stopped is not None:
            self.barrier.wait(timeout=60)
            if side.knob.text == self.fail:
                raise RunFailed("Address already in use")
        return SHOWN


def lab(monkeypatch: pytest.MonkeyPatch, child: Together, at_once: int = 4, idle: int = 3) -> Lab:
    monkeypatch.setattr(ahead, "room", lambda _: idle)
    made = Lab(base={}, seconds=1000, at_once=at_once)
    monkeypatch.setattr(made, "_child", child)
    return made


def test_as_many_run_at_once_as_processors_are_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    child = Together(together=3)
    with lab(monkeypatch, child) as room:
        room.ahead(SIDES)
        assert sorted(child.runs) == ["A", "B", "C"], "they met at the barrier"
        for side in SIDES[:3]:
            assert room.record(side) is SHOWN
        assert len(child.runs) == 3, "none of them is run again"


@pytest.mark.parametrize(("at_once", "idle"), [(1, 3), (4, 1)])
def test_nothing_is_run_ahead_without_room(
    monkeypatch: pytest.MonkeyPatch, at_once: int, idle: int
) -> None:
    child = Together(together=2)
    with lab(monkeypatch, child, at_once, idle) as room:
        room.ahead(SIDES)
        assert child.runs == []


def test_what_fails_beside_another_is_run_again_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once may want the same port."""
    child = Together(together=2, fail="B")
    with lab(monkeypatch, child, idle=2) as room:
        room.ahead(SIDES[:2])
        assert room.record(SIDES[1]) is SHOWN
        assert sorted(child.runs) == ["A", "B", "B"]


def test_as_many_run_at_once_as_the_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run takes is known from those that were made."""
    taken: list[int] = []

    def only_one(memory: int) -> int:
        taken.append(memory)
        return 1

    child = Together(together=1)
    with lab(monkeypatch, child) as room:
        monkeypatch.setattr(ahead, "room", only_one)
        room.believe(Side(PROGRAM), replace(SHOWN, memory=3 << 30))
        room.ahead(SIDES)
    assert taken == [3 << 30]


def test_what_is_known_is_not_run_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    child = Together(together=2)
    with lab(monkeypatch, child, idle=2) as room:
        room.record(SIDES[0])
        room.ahead(SIDES[:2])
        assert child.runs == ["A"], "what is there is not run, and one alone is not ahead"
        room.ahead([SIDES[1], SIDES[0], SIDES[2]])
        assert sorted(child.runs) == ["A", "B", "C"]
        room.ahead([SIDES[0], SIDES[3], SIDES[4]])
        assert sorted(child.runs) == ["A", "B", "C", "D", "E"], "the unchanged program is known"


@pytest.mark.parametrize(("expected", "least"), [(0.0, 490), (100.0, 490), (400.0, 850)])
def test_a_program_that_took_long_before_may_take_what_is_left(
    monkeypatch: pytest.MonkeyPatch, expected: float, least: float
) -> None:
    """Half of the time would end it at every call, and nothing would ever be known."""
    child = Together(together=1)
    with Lab(base={}, seconds=1000, expected=expected) as room:
        monkeypatch.setattr(room, "_child", child)
        room.record(SIDES[0])
    assert least - 100 < child.seconds <= max(least + 10, 2 * expected + 60)


def test_an_interruption_ends_all() -> None:
    begun = threading.Barrier(2, timeout=60)
    ended: list[str] = []

    def record(side: Side, stopped: Callable[[], bool]) -> Recorded:
        begun.wait(timeout=60)
        if side.knob.text == "A":
            raise KeyboardInterrupt
        while not stopped():
            time.sleep(0.01)
        ended.append(side.knob.text)
        raise OutOfTime

    with pytest.raises(KeyboardInterrupt):
        ahead.at_once(SIDES[:2], record)
    assert ended == ["B"]


def test_a_real_run_ends_when_it_is_told_to(tmp_path: Path) -> None:
    room = tmp_path / "recording"
    waits = Workload((sys.executable, "-c", "import time; time.sleep(600)"))
    with pytest.raises(RunFailed, match="it was stopped"):
        Child({}, tmp_path).recorded(Side(waits), room, 300, lambda: True)


@pytest.mark.parametrize(("busy", "count"), [(0.0, 4), (1.0, 3), (2.2, 2), (4.0, 2)])
def test_room_is_what_others_leave(
    monkeypatch: pytest.MonkeyPatch, busy: float, count: int
) -> None:
    monkeypatch.setattr(load, "processors", lambda: 4)
    monkeypatch.setattr(load, "busy_elsewhere", lambda: busy)
    monkeypatch.setattr(ahead, "available", lambda: 8 << 30)
    assert ahead.room() == count
    assert ahead.room(memory=4 << 30) == 1
    monkeypatch.setattr(load, "processors", lambda: 1)
    assert ahead.room() == 1


def test_runs_that_rest_on_times_are_made_alone() -> None:
    def trial(number: int, *, by_time: bool = False) -> Trial:
        side = SIDES[number]
        return Trial(
            *(None, side.knob, Side(PROGRAM), side),  # type: ignore[arg-type]
            shows=lambda _: 1,
            left=lambda _: 0,
            by_time=by_time,
        )

    found = sides_of([trial(0), trial(1, by_time=True), trial(2)])
    assert [side.knob.text for side in found] == ["unchanged", "A"]


def test_nothing_is_run_ahead_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    child = Together(together=3)
    with lab(monkeypatch, child) as room:
        monkeypatch.setattr(room, "_until", time.monotonic())
        room.ahead(SIDES)  # and no OutOfTime: whoever needs a run asks for it next
        assert child.runs == []
        with pytest.raises(OutOfTime):
            room.record(SIDES[0])
