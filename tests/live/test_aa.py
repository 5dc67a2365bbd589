"""Three nulls and an effect, really run and really timed, whatever else the machine does.

One answer in some hundred may be wrong by chance: that rate is what ``benchmarks/aa.py`` measures,
with torch. Here an answer counts when a second, independent comparison gives it too. The work is
plain Python, since what is tested is the clock and the judgement: a package of the name ``torch``
holds the little that the driver asks for.
"""

import os
import sys
from pathlib import Path

import pytest

from tracelens.experiment import Knob
from tracelens.live.lab import Lab, OutOfTime
from tracelens.live.micro import DRIVER
from tracelens.live.workload import Side, Workload

pytestmark = [pytest.mark.live, pytest.mark.timed]

STUB = {
    "torch/__init__.py": "class cuda:\n    is_initialized = staticmethod(lambda: False)\n",
    "torch/utils/__init__.py": "",
    "torch/utils/_pytree.py": "",
}
PROGRAMS = {
    "arithmetic": "sum(i * i for i in range(2000))",
    "words": "' '.join(sorted(map(str, range(1500)))).split()",
    "tables": "{i: [i] * 5 for i in range(1500)}",
}
SOURCE = """import os

REPEAT = int(os.environ.get("REPEAT", "20"))


def work():
    for _ in range(REPEAT):
        {step}


def setup():
    return work
"""
NOTHING = Knob("nothing", env={"TRACELENS_CHANGES_NOTHING": "1"})
LESS = Knob("less work", env={"REPEAT": "8"})
NO_CHANGE = {"same", "unclear"}


def program(name: str, folder: Path, python: str) -> Workload:
    """Write one of the programs into a folder, and return how it is run."""
    for path, text in STUB.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / f"{name}.py").write_text(SOURCE.format(step=PROGRAMS[name]))
    words = ("--program", str(folder / f"{name}.py"), "--seconds", "0.1")
    return Workload((python, str(DRIVER), *words), env={"PYTHONPATH": str(folder)}, title=name)


def answer(name: str, change: Knob, folder: Path, seconds: float) -> tuple[str, float]:
    """Compare a program with itself, or with the same doing less; return answer and ratio."""
    workload = program(name, folder, sys.executable)
    with Lab(base=os.environ, seconds=seconds) as lab:
        try:
            said = lab.blocks(Side(workload), Side(workload, change)).judgement
        except OutOfTime:
            return "unclear", 1.0
    return said.answer, said.ratio


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_not_found_to_be_a_change(name: str, tmp_path: Path) -> None:
    said, _ = answer(name, NOTHING, tmp_path, 20)
    if said not in NO_CHANGE:
        said, _ = answer(name, NOTHING, tmp_path, 40)
    assert said in NO_CHANGE


def test_what_does_two_fifths_of_the_work_is_found(tmp_path: Path) -> None:
    """It takes a few seconds on a free machine, and longer on a busy one."""
    said, ratio = answer("arithmetic", LESS, tmp_path, 90)
    if said != "faster":
        said, ratio = answer("arithmetic", LESS, tmp_path, 90)
    assert said == "faster"
    assert ratio > 1.2  # 2.5, and what a busy machine makes of it
