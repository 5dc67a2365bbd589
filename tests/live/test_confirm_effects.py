"""Effects that are there, and findings that are not so, on programs that really run.

One is timed from end to end, by the commands that a user types; of the others the structural half
is enough, in one laboratory that records each side once. The effect on a step is three times or
more, so that a busy machine does not hide it.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from tests.live.reports import finding, report
from tests.live.running import TRACELENS, runner
from tracelens.live import confirming
from tracelens.live.confirming import Means
from tracelens.live.lab import Lab, OutOfTime, Timing
from tracelens.live.workload import Side, Workload
from tracelens.report import Confirmation, Finding, Report, Where, saved

pytestmark = pytest.mark.live

PROGRAMS = Path(__file__).parents[2] / "fixtures" / "programs"
#: Many more threads than the two processors that they get. MKL would not allow it.
THREADS = 256
CROWDED = {
    "OMP_NUM_THREADS": str(THREADS),
    "MKL_DYNAMIC": "FALSE",
    "TORCHINDUCTOR_FREEZING": "1",
}


class Untimed(Lab):
    """Records as ever, and has no time for more."""

    def blocks(self, before: Side, after: Side, of: Literal["step", "run"] = "step") -> Timing:
        del before, after, of
        raise OutOfTime


class Room:
    """Records programs, each once, and has their findings tested."""

    def __init__(self, python: str, environment: dict[str, str]) -> None:
        self._python = python
        self._lab = Untimed(base=environment, seconds=1200)

    def workload(self, program: str, **env: str) -> Workload:
        name, *words = program.split()
        return Workload((self._python, str(PROGRAMS / f"{name}.py"), *words), env=env)

    def report(self, program: str, **env: str) -> Report:
        return self._lab.record(Side(self.workload(program, **env))).report

    def confirm(
        self,
        program: str,
        *codes: str,
        given: Report | None = None,
        env: dict[str, str] | None = None,
    ) -> list[Finding]:
        known = given or self.report(program, **(env or {}))
        means = Means(self.workload(program, **(env or {})), self._python)
        found = confirming.confirm(known, self._lab, means, only=codes).findings
        return sorted((f for f in found if f.code in codes), key=lambda each: each.code)

    def close(self) -> None:
        self._lab.__exit__()


@pytest.fixture(scope="module", autouse=True)
def two_processors() -> Iterator[None]:
    """Have the programs run on two processors, however many there are."""
    all_of_them = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(all_of_them)[:2])
    yield
    os.sched_setaffinity(0, all_of_them)


@pytest.fixture(scope="module")
def room(torch_python: str, torch_environment: dict[str, str]) -> Iterator[Room]:
    room = Room(torch_python, torch_environment)
    yield room
    room.close()


def gone(answer: Confirmation) -> None:
    """The log changed as predicted, and that is a verdict though nothing was timed."""
    assert answer.state in {"confirmed", "confirmed_structure"}, answer.note
    assert answer.structure is not None
    assert answer.structure.before > answer.structure.after == 0
    assert answer.effect is None
    assert answer.environment["torch"].startswith("2.")


def test_from_a_recording_to_a_measured_gain(
    torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    """Both halves: the log changed as predicted, and a step takes a third of the time or less."""
    command = [torch_python, str(PROGRAMS / "one003_weights.py")]
    bundle = runner(torch_python, tmp_path, torch_environment)(command).bundle
    words = ["confirm", str(bundle), "--only", "ONE003", "-q", "--minutes", "4", "--", *command]
    done = subprocess.run(
        [*TRACELENS, *words],
        env=torch_environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "1 finding, about" in done.stderr
    (found,) = (f for f in saved.load(str(bundle / "report.json")).findings if f.code == "ONE003")
    answer = found.confirmation
    assert answer.state == "confirmed", answer.note
    assert answer.structure is not None
    assert answer.structure.before > answer.structure.after == 0
    assert answer.effect is not None
    assert answer.effect.holds
    assert answer.effect.blocks >= 3
    assert answer.effect.ratio > 3
    assert answer.environment["clock"] == "CPU time"
    assert found.cost is not None
    assert found.cost.basis == "confirmed"


def test_one_change_speaks_for_all_findings_that_it_ends(room: Room) -> None:
    found = room.confirm("one003_weights", "ONE003", "IND004", "IND002")
    assert [each.code for each in found] == ["IND002", "IND004", "ONE003"]
    for each in found:
        gone(each.confirmation)
        assert each.confirmation.pending
        assert each.confirmation.knob == "freezing"


def test_many_more_threads_than_processors(room: Room) -> None:
    """That a table cannot be believed says nothing about a step: what is counted confirms it."""
    crowded, tuned = room.confirm("env001_threads", "ENV001", "TUN001", env=CROWDED)
    gone(crowded.confirmation)
    assert crowded.confirmation.settings["OMP_NUM_THREADS"] == "1"
    gone(tuned.confirmation)
    assert tuned.confirmation.state == "confirmed"


def test_a_size_and_an_attribute_that_are_compiled_anew(room: Room) -> None:
    for each in room.confirm("rcp001_variants sizes", "RCP001", "RCP002"):
        gone(each.confirmation)
    (found,) = room.confirm("rcp001_variants attribute", "RCP007")
    assert found.confirmation.state == "confirmed_structure", found.confirmation.note


@pytest.mark.parametrize(("mode", "code"), [("item", "GBR001"), ("print", "GBR003")])
def test_a_break_between_many_tensors_and_their_use(room: Room, mode: str, code: str) -> None:
    (found,) = room.confirm(f"gbr001_between {mode}", code)
    gone(found.confirmation)


def test_a_number_that_is_compiled_anew_is_shown_by_a_program_of_the_same_form(room: Room) -> None:
    """It is passed as a tensor there: a setting cannot do that, and it is no word on this one."""
    (found,) = room.confirm("rcp001_variants numbers", "RCP004")
    assert found.confirmation.reason in {"same_form_only", ""}
    assert found.confirmation.state != "refuted"


# What is not so.


def test_findings_that_a_healthy_program_does_not_have(room: Room) -> None:
    where = Where(file=str(PROGRAMS / "gbr001_between.py"), line=48, function="whole")
    codes = ["GBR003", "IND002", "IND004", "ONE003", "RCP001", "RCP002", "ENV001", "TUN001"]
    planted = report(*(finding(code, where=where) for code in codes))
    found = room.confirm("gbr001_between whole", *codes, given=planted)
    assert len(found) == len(codes)
    tried = [each.confirmation for each in found if each.confirmation.state != "not_tried"]
    assert len(tried) > len(codes) / 2
    assert {each.reason for each in tried} == {"not_applicable"}


def test_a_break_that_is_not_what_the_finding_says(room: Room) -> None:
    """The graph does break there, for another builtin: what would move a print changes nothing."""
    program = "gbr001_between open"
    real = room.report(program)
    (opened,) = (each for each in real.findings if each.code == "GBR003")
    told = opened.model_copy(update={"title": "`print` breaks the graph"})
    (found,) = room.confirm(program, "GBR003", given=real.model_copy(update={"findings": (told,)}))
    assert not found.confirmation.state.startswith("confirmed")
