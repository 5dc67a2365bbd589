"""``tracelens confirm`` as a command: what it reads, writes, says and leaves behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import warm
from tests.live.reports import finding, report
from tests.live.running import ended
from tracelens.live import counters
from tracelens.report import Report, saved

ROOT = Path(__file__).parents[2]
CALL = "import sys; from tracelens.cli import main; sys.exit(main())"
BREAKS = next((ROOT / "fixtures" / "rules").glob("GBR001-*/fires-*.log"))


def environment(folder: Path) -> dict[str, str]:
    (folder / "tmp").mkdir(exist_ok=True)
    return os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "tmp")}


def start(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", CALL, "confirm", *arguments],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def confirm(folder: Path, *arguments: str) -> tuple[int, str, str]:
    done = warm.tracelens(folder, "confirm", *arguments, environment=environment(folder))
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "report.json"
    path.write_text(report(finding(), finding("RCP007", 2)).to_json())
    return path


def states(path: Path) -> list[str]:
    return [f.confirmation.state for f in saved.load(str(path)).findings]


def test_the_report_is_rewritten_in_place(stored: Path) -> None:
    code, out, err = confirm(stored.parent, "report.json", "--", sys.executable, "-c", "pass")
    assert code == 0, err
    assert states(stored) == ["inconclusive", "inconclusive"]
    assert "neither torch nor oneDNN logged anything" in " ".join(out.split())
    assert err.count(" inconclusive: ") == 2
    assert "2 findings, about" in err
    assert err.count("hardware counters unavailable") == (not counters.available())
    assert list((stored.parent / "tmp").iterdir()) == []


def test_with_an_output_the_report_stays_as_it_was(stored: Path) -> None:
    before = stored.read_bytes()
    arguments = ("report.json", "-o", "new.json", "-q", "--", sys.executable, "-c", "pass")
    code, out, err = confirm(stored.parent, *arguments)
    assert (code, out) == (0, ""), err
    assert stored.read_bytes() == before
    assert states(stored.with_name("new.json")) == ["inconclusive", "inconclusive"]


def test_a_log_is_analyzed_and_its_report_written_beside_it(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_bytes(BREAKS.read_bytes())
    arguments = ("run.log", "--only", "GBR001", "-q", "--", sys.executable, "-c", "exit(3)")
    code, _, err = confirm(tmp_path, *arguments)
    assert code == 0, err
    beside = tmp_path / "run.log.report.json"
    tested = [f for f in saved.load(str(beside)).findings if f.code == "GBR001"]
    assert {f.confirmation.note for f in tested} == {
        "the unchanged program: it ended with exit code 3"
    }
    again = confirm(tmp_path, *arguments)
    assert "1 of" in again[2], "what was left open is tried again when it is named"


def test_a_directory_stands_for_the_report_in_it(stored: Path) -> None:
    code, _, err = confirm(stored.parent, ".", "-q", "--", sys.executable, "-c", "pass")
    assert code == 0, err
    assert states(stored) == ["inconclusive", "inconclusive"]


def test_without_a_program_it_says_what_to_type(tmp_path: Path) -> None:
    """No small program of ours can show what the weights of a model cost."""
    (tmp_path / "report.json").write_text(report(finding("IND004")).to_json())
    code, out, _ = confirm(tmp_path, "report.json")
    assert code == 0
    assert "-- COMMAND" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("report.json", "--only", "ONE"), "the report has no such finding"),
        (("report.json", "--entry", "a:b", "--", "python"), "--entry and a command"),
        (("report.json", "--entry", "a"), "not of the form module:function"),
        (("report.json", "--explore"), "nothing to run"),
        (("report.json", "--execute-log-code"), "needs the log itself"),
        (("missing.log", "--", "python"), "missing.log"),
    ],
)
def test_misuse_is_said_before_anything_is_run(
    stored: Path, arguments: tuple[str, ...], words: str
) -> None:
    code, out, err = confirm(stored.parent, *arguments)
    assert (code, out) == (2, "")
    assert words in err


def test_a_program_that_hangs_costs_no_more_than_the_minutes(stored: Path) -> None:
    began = time.monotonic()
    hangs = ("--", sys.executable, "-c", "import time; time.sleep(600)")
    code, _, err = confirm(stored.parent, "report.json", "--minutes", "0.1", "-q", *hangs)
    assert code == 0, err
    assert time.monotonic() - began < 60
    assert states(stored)[0] == "inconclusive"
    assert "did not end within" in err


def test_an_interrupt_ends_the_program_and_leaves_a_whole_report(stored: Path) -> None:
    code = "import pathlib, os, time; pathlib.Path('pid').write_text(str(os.getpid())); "
    child = start(
        stored.parent, "report.json", "--", sys.executable, "-c", f"{code}time.sleep(600)"
    )
    told = stored.with_name("pid")
    for _ in range(600):
        if told.exists() and told.read_text():
            break
        time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    with ended(child):
        _, err = child.communicate(timeout=120)
    assert child.returncode == 130
    assert "interrupted" in err
    assert isinstance(saved.load(str(stored)), Report)
    assert json.loads(stored.read_text())["schema_version"] == 1
    assert not Path("/proc", told.read_text()).exists()
    assert list((stored.parent / "tmp").iterdir()) == []


def test_a_finding_whose_change_is_one_of_the_program_says_that_it_was_not_tested(
    tmp_path: Path,
) -> None:
    """Without a word the command would look as if it had confirmed something, or nothing."""
    branch = next((ROOT / "fixtures" / "rules").glob("GBR002-*/fires-if-2.13.log"))
    (tmp_path / "run.log").write_text(branch.read_text())
    code, _, err = confirm(tmp_path, "run.log", "--", sys.executable, "-c", "pass")
    assert code == 0, err
    assert "GBR002 was not tested: the change is made in the program" in " ".join(err.split())
