"""Effects that are there, on compiled programs that really run.

One is timed from end to end, by the commands that a user types, and of the other the structural
half is enough. The effect on a step is three times or more, so that a busy machine does not hide
it. What needs no compiler is in ``test_confirm_torch``, what is not so in ``test_falsehoods``.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from tests.live.running import TRACELENS, runner
from tracelens.live import confirming
from tracelens.live.confirming import Means
from tracelens.live.lab import Lab, OutOfTime, Timing
from tracelens.live.workload import Side, Workload
from tracelens.report import Confirmation, saved

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


@pytest.fixture(scope="module", autouse=True)
def two_processors() -> Iterator[None]:
    """Have the programs run on two processors, however many there are."""
    all_of_them = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(all_of_them)[:2])
    yield
    os.sched_setaffinity(0, all_of_them)


def gone(answer: Confirmation) -> None:
    """The log changed as predicted, and that is a verdict though nothing was timed."""
    assert answer.state in {"confirmed", "confirmed_structure"}, answer.note
    assert answer.structure is not None
    assert answer.structure.before > answer.structure.after == 0
    assert answer.effect is None
    assert answer.environment["torch"].startswith("2.")


@pytest.mark.longest
@pytest.mark.timeout(1200)
def test_from_a_recording_to_a_measured_gain(
    torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    """Both halves: the log changed as predicted, and a step takes half of the time or less.

    One change speaks for all findings that it ends: it is recorded and timed once.
    """
    command = [torch_python, str(PROGRAMS / "one003_weights.py")]
    bundle = runner(torch_python, tmp_path, torch_environment)(command).bundle
    codes = ["IND002", "IND004", "ONE003"]
    only = ["--only", ",".join(codes)]
    words = ["confirm", str(bundle), *only, "-q", "--minutes", "8", "--", *command]
    done = subprocess.run(
        [*TRACELENS, *words],
        env=torch_environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=800,
    )
    assert "3 findings, about" in done.stderr
    found = [f for f in saved.load(str(bundle / "report.json")).findings if f.code in codes]
    assert sorted(each.code for each in found) == codes
    for each in found:
        answer = each.confirmation
        assert answer.state == "confirmed", answer.note
        assert answer.knob == "freezing"
        assert answer.structure is not None
        assert answer.structure.before > answer.structure.after == 0
        assert answer.effect is not None
        assert answer.effect.holds
        assert answer.effect.blocks >= 3
        assert answer.effect.ratio > 2
        assert answer.environment["clock"] == "CPU time"
        assert each.cost is not None
        assert each.cost.basis == "confirmed"
    assert len({each.confirmation.effect for each in found}) == 1


def test_many_more_threads_than_processors(
    torch_python: str, torch_environment: dict[str, str]
) -> None:
    """That a table cannot be believed says nothing about a step: what is counted confirms it."""
    argv = (torch_python, str(PROGRAMS / "env001_threads.py"))
    workload = Workload(argv, env=CROWDED)
    means = Means(workload, torch_python)
    with Untimed(base=torch_environment, seconds=600) as lab:
        known = lab.record(Side(workload)).report
        done = confirming.confirm(known, lab, means, only=["ENV001", "TUN001"])
    answers = {f.code: f.confirmation for f in done.findings}
    gone(answers["ENV001"])
    assert answers["ENV001"].settings["OMP_NUM_THREADS"] == "1"
    gone(answers["TUN001"])
    assert answers["TUN001"].state == "confirmed"
