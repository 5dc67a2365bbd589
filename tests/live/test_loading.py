"""What ``confirm`` and ``repro`` are given: one helper tells a report from a log."""

from pathlib import Path

import pytest

from tests.live.reports import finding, report
from tracelens import cli
from tracelens.cli import _loading
from tracelens.config import Config
from tracelens.errors import SourceError
from tracelens.report import Confirmation, saved

BREAKS = next((Path(__file__).parents[2] / "fixtures/rules").glob("GBR001-*/fires-*.log"))


def test_a_report_is_told_from_a_log(tmp_path: Path) -> None:
    stored = tmp_path / "any.name"
    stored.write_text(report(finding()).to_json())
    assert _loading.is_report(stored)
    for text in ("", '{"a": 1}', BREAKS.read_text(), "schema_version"):
        (tmp_path / "other").write_text(text)
        assert not _loading.is_report(tmp_path / "other")
    assert not _loading.is_report(tmp_path)
    assert not _loading.is_report(tmp_path / "missing")


def test_a_file_and_its_directory_are_the_same_report(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(report(finding()).to_json())
    assert _loading.read(str(tmp_path), Config()) == _loading.read(str(path), Config())
    assert _loading.read(str(path), Config()).path == path


def test_the_report_of_a_log_is_beside_it_and_taken_up_again(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_bytes(BREAKS.read_bytes())
    path, first = _loading.read(str(log), Config())
    assert path == tmp_path / "run.log.report.json"
    assert not path.exists()
    tested = first.findings[0].model_copy(update={"confirmation": Confirmation(state="refuted")})
    path.write_text(first.model_copy(update={"findings": (tested,)}).to_json())
    assert _loading.read(str(log), Config()).report == saved.load(str(path))
    log.write_bytes(log.read_bytes() * 2)
    again = _loading.read(str(log), Config()).report
    assert again.inputs != first.inputs
    assert again.findings[0].confirmation.state == "not_tried"


@pytest.mark.parametrize("command", ["confirm", "repro"])
def test_what_is_not_there_is_said_by_both(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tmp_path / "missing.log")
    with pytest.raises(SourceError, match="No such file"):
        _loading.read(missing, Config())
    assert cli.main([command, missing, *(["ONE001"] if command == "repro" else [])]) == 2
    assert "missing.log" in capsys.readouterr().err
