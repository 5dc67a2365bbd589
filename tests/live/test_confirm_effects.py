"""Effects that are there, from a recording to a verdict, by the commands that a user types.

The effect on a step is five times or more, so that a busy machine does not hide it. Where a whole
run is timed, starting Python and torch is part of it, and twice is more than a short run shows.
"""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live.reports import finding
from tests.live.running import TRACELENS, Ran, runner
from tracelens.report import Confirmation, Finding, Where, saved

pytestmark = pytest.mark.live

PROGRAMS = Path(__file__).parents[2] / "fixtures" / "programs"
#: Many more threads than the two processors that they get. MKL would not allow it.
THREADS = 256
CROWDED = {
    "OMP_NUM_THREADS": str(THREADS),
    "MKL_DYNAMIC": "FALSE",
    "TORCHINDUCTOR_FREEZING": "1",
}
#: What an answer says that other programs' work may have spoiled; it is asked for once more.
NOISY = "its time is unclear"


class Room:
    """Records programs, each once, and has their findings tested."""

    def __init__(self, python: str, folder: Path, environment: dict[str, str]) -> None:
        self._python = python
        self._folder = folder
        self._environment = environment
        self._run = runner(python, folder, environment)
        self._ran: dict[str, Ran] = {}

    def command(self, program: str) -> list[str]:
        name, *words = program.split()
        return [self._python, str(PROGRAMS / f"{name}.py"), *words]

    def record(self, program: str, **env: str) -> Ran:
        if program not in self._ran:
            ran = self._run(self.command(program), env=env)
            assert ran.code == 0, ran.err
            self._ran[program] = ran
        return self._ran[program]

    def confirm(self, report: Path, *codes: str, program: str = "", **env: str) -> list[Finding]:
        words = ["confirm", str(report), "--only", ",".join(codes), "-q", "--minutes", "9"]
        words += ["--", *self.command(program)] if program else ["--python", self._python]
        for _ in range(2):
            done = subprocess.run(
                [*TRACELENS, *words],
                env=self._environment | env,
                cwd=self._folder,
                capture_output=True,
                text=True,
                timeout=590,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            path = report / "report.json" if report.is_dir() else report
            found = [f for f in saved.load(str(path)).findings if f.code in codes]
            if not any(NOISY in each.confirmation.reason for each in found):
                break
        return found


@pytest.fixture(scope="module", autouse=True)
def two_processors() -> Iterator[None]:
    """Have the programs run on two processors, however many there are."""
    all_of_them = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(all_of_them)[:2])
    yield
    os.sched_setaffinity(0, all_of_them)


@pytest.fixture(scope="module")
def room(
    torch_python: str, torch_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Room:
    return Room(torch_python, tmp_path_factory.mktemp("effects"), torch_environment)


def check(answer: Confirmation, ratio: float) -> None:
    """Both halves: the log changed as predicted, and the time by a factor of ``ratio`` or more."""
    assert answer.state == "confirmed", answer.reason
    assert answer.structure is not None
    assert answer.structure.before > answer.structure.after == 0
    assert answer.effect is not None
    assert answer.effect.holds
    assert answer.effect.blocks >= 3
    assert answer.effect.ratio > ratio
    assert answer.environment["torch"].startswith("2.")


def test_weights_that_are_laid_out_anew_in_every_call(room: Room) -> None:
    """Freezing ends it, and takes the activation into the convolution."""
    program = "one003_weights"
    bundle = room.record(program).bundle
    found = room.confirm(bundle, "ONE003", "IND004", "IND002", program=program)
    assert sorted(each.code for each in found) == ["IND002", "IND004", "ONE003"]
    for each in found:
        check(each.confirmation, 3)
        assert each.confirmation.knob == "freezing"


def test_many_more_threads_than_processors(room: Room) -> None:
    """They wait for each other in every layer, and while a product is tuned.

    That a table cannot be believed says nothing about a step's time: what is counted confirms it.
    """
    program = "env001_threads"
    bundle = room.record(program, **CROWDED).bundle
    found = room.confirm(bundle, "ENV001", "TUN001", program=program, **CROWDED)
    crowded, tuned = sorted(found, key=lambda each: each.code)
    check(crowded.confirmation, 3)
    assert crowded.confirmation.settings["OMP_NUM_THREADS"] == "1"
    assert tuned.confirmation.state == "confirmed", tuned.confirmation.reason
    assert tuned.confirmation.structure is not None
    assert tuned.confirmation.structure.after == 0
    assert tuned.confirmation.effect is None


def test_a_table_that_cannot_be_believed_without_a_program(room: Room) -> None:
    """The log's product is tuned alone, with as many threads as in the log and with one."""
    ran = room.record("env001_threads", **CROWDED)
    alone = ran.bundle.with_name("tuned.json")
    alone.write_text((ran.bundle / "report.json").read_text())
    report = saved.load(str(alone))
    untried = [f.model_copy(update={"confirmation": Confirmation()}) for f in report.findings]
    alone.write_text(report.model_copy(update={"findings": tuple(untried)}).to_json())
    (tuned,) = room.confirm(alone, "TUN001")
    assert tuned.confirmation.state == "confirmed", tuned.confirmation.reason
    assert f"{THREADS} threads" in (tuned.confirmation.workload or "")


def test_a_size_that_is_compiled_anew_until_the_limit(room: Room) -> None:
    program = "rcp001_variants sizes"
    bundle = room.record(program).bundle
    found = room.confirm(bundle, "RCP001", "RCP002", program=program)
    assert sorted(each.code for each in found) == ["RCP001", "RCP002"]
    for each in found:
        check(each.confirmation, 1.2)
        assert each.confirmation.effect is not None
        assert each.confirmation.effect.of == "run"


def test_an_attribute_that_is_compiled_anew(room: Room) -> None:
    program = "rcp001_variants attribute"
    bundle = room.record(program).bundle
    (found,) = room.confirm(bundle, "RCP007", program=program)
    check(found.confirmation, 1.2)


def test_a_number_that_is_compiled_anew(room: Room) -> None:
    """It is passed as a tensor by a small program: a setting cannot do that."""
    bundle = room.record("rcp001_variants numbers").bundle
    (found,) = room.confirm(bundle, "RCP004")
    check(found.confirmation, 3)


@pytest.mark.parametrize(("mode", "code"), [("item", "GBR001"), ("print", "GBR003")])
def test_a_break_between_many_tensors_and_their_use(room: Room, mode: str, code: str) -> None:
    program = f"gbr001_between {mode}"
    bundle = room.record(program).bundle
    (found,) = room.confirm(bundle, code, program=program)
    check(found.confirmation, 3)


# What is not so.


@pytest.fixture
def plant(room: Room) -> Callable[..., Path]:
    """Return a function that adds findings to the report of a program, and returns the path."""

    def add(program: str, *planted: Finding) -> Path:
        bundle = room.record(program).bundle
        report = saved.load(str(bundle / "report.json"))
        path = bundle.with_name(f"planted-{bundle.name}.json")
        path.write_text(report.model_copy(update={"findings": planted}).to_json())
        return path

    return add


def test_findings_that_a_healthy_program_does_not_have(
    room: Room, plant: Callable[..., Path]
) -> None:
    program = "gbr001_between whole"
    where = Where(file=str(PROGRAMS / "gbr001_between.py"), line=48, function="whole")
    codes = ["GBR003", "IND002", "IND004", "ONE003", "RCP001", "RCP002", "ENV001", "TUN001"]
    titles = {"GBR003": "`print` breaks the graph at gbr001_between.py:48"}
    planted = [finding(code, where=where, title=titles.get(code, "a title")) for code in codes]
    found = room.confirm(plant(program, *planted), *codes, program=program)
    assert [each.confirmation.state for each in found] == ["inconclusive"] * len(codes)
    assert all("did not show" in each.confirmation.reason for each in found)


def test_a_break_that_is_not_what_the_finding_says(room: Room, plant: Callable[..., Path]) -> None:
    """The graph does break there, for another builtin: what would move a print changes nothing."""
    program = "gbr001_between open"
    real = saved.load(str(room.record(program).bundle / "report.json"))
    (opened,) = (each for each in real.findings if each.code == "GBR003")
    path = plant(program, opened.model_copy(update={"title": "`print` breaks the graph"}))
    (found,) = room.confirm(path, "GBR003", program=program)
    assert found.confirmation.state == "refuted"
    assert found.confirmation.structure is not None
    assert found.confirmation.structure.after == found.confirmation.structure.before > 0
