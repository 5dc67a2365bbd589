"""Runs that take turns: one at a time makes steps, and what waits holds up nobody for ever."""

import os
import socket
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.live.reports import report
from tests.live.test_aa import program
from tracelens.experiment import Knob
from tracelens.live import turns
from tracelens.live.child import Child
from tracelens.live.inject.tracelens_injected.journal import Journal
from tracelens.live.inject.tracelens_injected.turns import TURN
from tracelens.live.inject.tracelens_injected.turns import Turns as Asking
from tracelens.live.runs import Recorded, Run
from tracelens.live.sides import driven
from tracelens.live.steps import Steps
from tracelens.live.turns import Turns
from tracelens.live.workload import Side, Workload

COMMAND = Workload(("python", "serve.py"))
LIMIT = 600
#: Steps for a moment, and writes down when each was.
STEPS = """
import os
import time

import torch

assert "FAIL" not in os.environ

@torch.compile(backend="eager")
def step(x):
    until = time.process_time() + 0.02
    while time.process_time() < until:
        x = x + 1
    return x

for number in range(30):
    step(torch.ones(3))
"""


def asking(folder: Path, place: int, **more: Any) -> Asking:
    spec = {"address": str(folder / "turns"), "place": place, "seconds": LIMIT, **more}
    return Asking(spec, Journal(str(folder)))


def burn() -> None:
    """Use up a turn."""
    until = time.process_time_ns() + TURN
    while time.process_time_ns() < until:
        pass


def test_one_run_alone_goes_on_at_once_and_the_wait_is_not_its_time(tmp_path: Path) -> None:
    with Turns(tmp_path / "turns", 1):
        run = asking(tmp_path, 0)
        for _ in range(3):
            run.before()
            burn()
    assert not run._over
    assert run._journal.shift > 0
    assert [row[:2] for row in run._journal.rows] == [("waited", -1)] * 3, "a turn each"


def test_nobody_begins_before_everybody_has_come_or_gone(tmp_path: Path) -> None:
    with Turns(tmp_path / "turns", 2) as given:
        run = asking(tmp_path, 0)
        began = time.monotonic()
        timer = _later(0.3, lambda: given.leave(1))
        run.before()
        timer.join(timeout=LIMIT)
    assert time.monotonic() - began >= 0.3
    assert given.seen == {0}


def test_a_second_process_of_a_run_ends_the_turns_for_all(tmp_path: Path) -> None:
    with Turns(tmp_path / "turns", 2) as given:
        others = [_later(0, asking(tmp_path, 0).before) for _ in range(2)]
        for other in others:
            other.join(timeout=LIMIT)
        assert not any(other.is_alive() for other in others)
    assert given.is_mixed


def test_who_comes_after_the_turns_have_ended_goes_on_alone(tmp_path: Path) -> None:
    ended = threading.Event()
    with Turns(tmp_path / "turns", 3, on_mixed=ended.set):
        others = [_later(0, asking(tmp_path, 0).before) for _ in range(2)]
        assert ended.wait(LIMIT), "the runs are of no use any more"
        late = asking(tmp_path, 1, seconds=90)
        others.append(_later(0, late.before))
        for other in others:
            other.join(timeout=60)
        assert not any(other.is_alive() for other in others)
        assert late._over


def test_a_process_that_ends_before_it_says_who_it_is_takes_no_turn_away(tmp_path: Path) -> None:
    with Turns(tmp_path / "turns", 1) as given:
        with socket.socket(socket.AF_UNIX) as short:
            short.settimeout(LIMIT)
            short.connect(str(tmp_path / "turns"))
        run = asking(tmp_path, 0, seconds=30)
        run.before()
        assert not run._over
    assert not given.is_mixed


def test_who_holds_a_turn_for_long_holds_up_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "HELD", 0.2)
    with Turns(tmp_path / "turns", 2):
        first, second = asking(tmp_path, 0), asking(tmp_path, 1)
        waits = _later(0, first.before)
        second_waits = _later(0, second.before)
        waits.join(timeout=LIMIT)
        second_waits.join(timeout=LIMIT)
        assert [waits.is_alive(), second_waits.is_alive()] == [False, False]
        assert [first._over, second._over] == [False, False], "each had its turn"


def test_where_nobody_gives_turns_a_run_goes_on_alone(tmp_path: Path) -> None:
    run = asking(tmp_path, 0)
    run.before()
    burn()
    run.before()
    assert len(run._journal.rows) == 1, "it asked once"


def test_warm_up_waits_for_nobody(tmp_path: Path) -> None:
    run = asking(tmp_path, 0, begins=2, callable=[1, "step"])
    assert (run.is_of(1, "step"), run.is_of(0, "step")) == (True, False)
    run.before()
    run.before()
    assert run._journal.rows == []
    run.before()
    assert len(run._journal.rows) == 1


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"steps": Steps(marker=(0, "step"))}, True),
        ({"steps": Steps()}, False),
        ({"steps": Steps(marker=(0, "step")), "memory": 1 << 60}, False),
        ({"steps": Steps(marker=(0, "step"), seconds=(2.4, 2.4, 9.0))}, True),
        ({"steps": Steps(marker=(0, "step"), seconds=(2.6, 2.6, 0.1))}, False),
    ],
)
def test_what_has_no_steps_or_long_ones_or_takes_too_much_memory_runs_alone(
    known: Mapping[str, Any], expected: bool
) -> None:
    found = Recorded(report(), seconds=1.0, about={}, **known)
    assert turns.fits([Side(COMMAND)] * 3, [found] * 3) is expected


def _later(seconds: float, what: Any) -> Any:
    timer = threading.Timer(seconds, what)
    timer.daemon = True
    timer.start()
    return timer


def rounds(workload: Workload, folder: Path, *knobs: Knob) -> list[Run] | None:
    known = None
    if not driven(Side(workload)):
        known = Recorded(report(), Steps(marker=(0, "step"), begins=5), 30.0, {})
    sides = [Side(workload), *(Side(workload, knob) for knob in knobs)]
    folder.mkdir()
    child = Child(dict(os.environ), folder.parent)
    return turns.in_turns(child, sides, [(known, None)] * len(sides), folder, LIMIT)


@pytest.mark.live
def test_steps_of_an_entry_are_made_in_turn(tmp_path: Path) -> None:
    workload = program("arithmetic", tmp_path, sys.executable)
    found = rounds(workload, tmp_path / "room", Knob("the same"), Knob("less", env={"REPEAT": "2"}))
    assert found is not None
    assert all(len(run.times) >= 5 for run in found)
    slow, same, fast = (min(run.cpu) for run in found)
    assert fast * 3 < min(slow, same), "a tenth of the work"


@pytest.mark.live
def test_steps_of_a_command_are_made_in_turn_and_waiting_is_no_part_of_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "steps.py"
    path.write_text(STEPS)
    workload = Workload((sys.executable, str(path)))
    found = rounds(workload, tmp_path / "room", Knob("the same"))
    assert found is not None
    assert [run.calls for run in found] == [30, 30]
    for run in found:
        assert len(run.times) == len(run.cpu) >= 15
        assert 10 < min(run.cpu) < 100, "20 ms, and what a call costs"


@pytest.mark.live
def test_samples_are_made_in_turn_and_one_that_fails_takes_no_other_with_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "steps.py"
    path.write_text(STEPS)
    (tmp_path / "room").mkdir()
    workload = Workload((sys.executable, str(path)))
    usual = Recorded(report(), Steps(marker=(0, "step"), begins=5), 30.0, {})
    knobs = (
        Knob("eager", config={"torch._dynamo.config.disable": True}),
        Knob("bad", {"FAIL": "1"}),
    )
    sides = [Side(workload), *(Side(workload, knob) for knob in knobs)]
    child = Child(dict(os.environ), tmp_path)
    plain, eager, bad = turns.samples_in_turns(child, sides, usual, tmp_path / "room", LIMIT)
    assert bad is None
    assert plain is not None
    assert eager is not None
    assert [recorded.steps.calls for recorded, _ in (plain, eager)] == [30, 30]
    assert plain[0].report.tables["graph_breaks"]
    assert not eager[0].report.tables.get("graph_breaks")


@pytest.mark.live
def test_what_fails_beside_another_is_left_to_be_run_alone(tmp_path: Path) -> None:
    workload = program("arithmetic", tmp_path, sys.executable)
    assert rounds(workload, tmp_path / "room", Knob("broken", env={"REPEAT": "none"})) is None
