"""A timed run is ended once it has made enough steps; a recorded one never is."""

import importlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.running import is_alive
from tracelens.live import early, injection, process
from tracelens.live.lab import Lab
from tracelens.live.process import Enough, Finished, Limits
from tracelens.live.steps import Steps
from tracelens.live.workload import Side, Workload

SECOND = 10**9
#: Steps for minutes; leaves a word when it is interrupted, and when it is not.
PROGRAM = """
import sys
import time
from pathlib import Path

import torch


@torch.compile(backend="eager")
def step(x):
    return torch.relu(x)


for size in (3, 4, 5):
    step(torch.ones(size))
number = 0
try:
    for number in range(int(sys.argv[1])):
        step(torch.ones(5))
        time.sleep(float(sys.argv[2]))
finally:
    with open("steps", "a") as file:
        file.write(f"{number + 1} ")
"""


def stopped(code: str, enough: Enough, limits: Limits | None = None) -> tuple[Finished, str]:
    out: list[bytes] = []
    finished = process.run(
        [sys.executable, "-c", code],
        env=dict(os.environ),
        limits=limits or Limits(patience=0.5, linger=0.3),
        enough=enough,
        on_output=lambda _, data: out.append(data),
    )
    return finished, b"".join(out).decode()


def test_enough_is_what_ctrl_c_is_and_the_end_is_waited_for(tmp_path: Path) -> None:
    code = (
        "import pathlib, time\n"
        "try:\n"
        "    pathlib.Path('ready').touch()\n"
        "    time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    time.sleep(1.5)\n"
        "    print('checkpoint written')\n"
        "    raise SystemExit(3)"
    )
    ready = tmp_path / "ready"
    code = f"import os; os.chdir({str(tmp_path)!r})\n{code}"
    finished, out = stopped(code, Enough(ready.exists, patience=30))
    assert (finished.reason, finished.code) == ("enough", 3)
    assert out == "checkpoint written\n"


@pytest.mark.parametrize(
    ("patience", "then", "ended_by"),
    [(300, "time.sleep(1)", None), (0.5, "time.sleep(300)", signal.SIGTERM)],
)
def test_who_ignores_ctrl_c_goes_on_and_is_ended_in_the_end(
    tmp_path: Path, patience: float, then: str, ended_by: signal.Signals | None
) -> None:
    """However long the machine takes to start it, or to end it once SIGTERM is sent."""
    ready = tmp_path / "ready"
    code = (
        "import pathlib, signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"pathlib.Path({str(ready)!r}).touch()\n{then}"
    )
    patient = Limits(patience=300, linger=0.3)
    finished, _ = stopped(code, Enough(ready.exists, patience=patience), patient)
    assert (finished.reason, finished.signal) == ("enough", ended_by)


def test_all_of_a_family_end(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, time\n"
        "other = os.fork()\n"
        "os.write(1, b'%d\\n' % os.getpid())\n"
        f"pathlib.Path({str(tmp_path)!r}, f'ready{{bool(other)}}').touch()\n"
        "time.sleep(60)\n"
    )
    finished, out = stopped(code, Enough(lambda: len(list(tmp_path.iterdir())) == 2, patience=30))
    assert finished.reason == "enough"
    assert finished.left_behind == 0
    pids = [int(word) for word in out.split() if word.isdigit()]
    assert len(pids) == 2, out
    assert not any(map(is_alive, pids))


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(injection.FOLDER))
    before = signal.getsignal(signal.SIGINT)
    yield importlib.import_module("tracelens_injected.enough").Enough
    signal.signal(signal.SIGINT, before)


class Journal:
    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.on_rows: object = None


def test_steps_count_from_where_the_recorded_run_was_steady(counter: Any, tmp_path: Path) -> None:
    spec = {"callable": [1, "step"], "begins": 10, "calls": 10_000, "plenty": [[20, 1.0]]}

    def made(*rows: tuple[Any, ...], name: str = "step") -> bool:
        for file in tmp_path.iterdir():
            file.unlink()
        one = counter(spec, Journal(tmp_path))
        one.named(1, name)
        for row in rows:
            one.look([row])
        return any(tmp_path.iterdir())

    slower = 1

    def calls(first: int, last: int, number: int = 1) -> list[tuple[Any, ...]]:
        used = SECOND // slower
        return [("call", number, k * SECOND, k * SECOND + 5, k * used) for k in range(first, last)]

    assert not made(*calls(0, 30))
    assert made(*calls(0, 31))
    assert not made(*calls(0, 31), name="another")
    assert not made(*calls(0, 31, number=2))
    assert not made(*calls(0, 25), ("compile", 1, 2), *calls(25, 45))
    assert made(*calls(0, 25), ("compile", 1, 2), *calls(25, 46))
    spec["plenty"], slower = [[20, 25.0]], 10
    assert not made(*calls(0, 40)), "a busy machine made them slow: more are wanted"
    assert made(*calls(0, 62)), "and not for ever"
    spec["calls"] = 50
    assert not made(*calls(0, 50)), "a run that is half over goes on to its end"
    spec["plenty"] = "broken"
    with pytest.raises(ValueError, match="unpack"):
        counter(spec, Journal(tmp_path))


def test_a_short_run_is_whole() -> None:
    steady = {"marker": (0, "step"), "begins": 4}
    assert early.wanted(Steps(calls=30, **steady), 1.0) is None  # type: ignore[arg-type]
    assert early.wanted(Steps(calls=400), 1.0) is None
    found = early.wanted(Steps(calls=400, **steady), 1.0)  # type: ignore[arg-type]
    assert found is not None
    assert json.loads(json.dumps(found.spec))["begins"] == 4


@pytest.mark.live
@pytest.mark.parametrize(("steps", "made"), [(2000, range(40, 1001)), (60, range(60, 61))])
def test_a_long_program_is_ended_when_it_is_timed(
    torch_python: str,
    torch_environment: dict[str, str],
    tmp_path: Path,
    steps: int,
    made: range,
) -> None:
    (tmp_path / "long.py").write_text(PROGRAM)
    side = Side(Workload((torch_python, "long.py", str(steps), "0.005"), cwd=tmp_path))
    with Lab(base=torch_environment, seconds=300) as lab:
        recorded = lab.record(side)
        assert (recorded.steps.calls, recorded.steps.begins) == (steps + 3, 2)
        times = lab.run_once(side, "step").times
    first, second = map(int, (tmp_path / "steps").read_text().split())
    assert first == steps, "a recorded run is whole"
    assert second in made
    assert len(times) >= 30
