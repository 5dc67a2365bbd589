"""Bundles and other archives: what is in them, and that they are read as the logs in them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.cli import main
from tracelens.errors import SourceError

LOG = Path(__file__).parents[1] / "fixtures" / "logs" / "recompiles" / "fn-x-n.log"
USER = "zebulon"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return a log in which somebody has a name."""
    path = tmp_path / "logs of today" / "run.log"
    path.parent.mkdir()
    path.write_text(LOG.read_text("utf-8").replace("/home/ana/", f"/home/{USER}/"), "utf-8")
    assert USER in path.read_text("utf-8")
    return path


def bundled(tmp_path: Path, *argv: str | Path) -> Path:
    target = tmp_path / "evidence.zip"
    assert main(["bundle", *map(str, argv), "-o", str(target)]) == 0
    return target


def test_a_bundle_names_nobody_and_is_read_as_its_log(log: Path, tmp_path: Path) -> None:
    bundle = bundled(tmp_path, log)
    with zipfile.ZipFile(bundle) as archive:
        names = set(archive.namelist())
        for name in names:
            assert USER not in archive.read(name).decode("utf-8"), name
    assert {"README.txt", "report.html", "report.json", "report.md", "logs/run.log"} <= names
    whole, part = analyze(str(log)), analyze(str(bundle))
    assert [f.code for f in part.findings] == [f.code for f in whole.findings]
    assert [f.title for f in part.findings] == [f.title for f in whole.findings]
    assert part.coverage == whole.coverage
    assert [one.path for one in part.inputs] == [f"{bundle}/run.log"]


def test_equal_inputs_give_equal_bundles(log: Path, tmp_path: Path) -> None:
    first = bundled(tmp_path, log).read_bytes()
    assert bundled(tmp_path, log).read_bytes() == first


def test_a_bundle_without_redaction_holds_the_logs_byte_by_byte(log: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundled(tmp_path, log, "--no-redact")) as archive:
        assert archive.read("logs/run.log") == log.read_bytes()
        assert USER in archive.read("report.json").decode("utf-8")


def test_a_bundle_is_a_report_for_all_who_read_one(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = bundled(tmp_path, log)
    assert main(["render", str(bundle), "-f", "json"]) == 0
    assert '"logs/run.log"' in capsys.readouterr().out
    assert main(["compare", str(log), str(bundle), "--fail-on", "info"]) == 0
    assert "No finding is new, fixed, worse or better." in capsys.readouterr().out


def test_a_bundle_of_a_saved_report_finds_its_logs(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(log.parent)
    assert main(["analyze", log.name, "-q", "-o", "report.json"]) == 0
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile(bundled(tmp_path, log.parent / "report.json")) as archive:
        assert "logs/run.log" in archive.namelist()


def test_a_bundle_without_logs_says_what_it_is_good_for(log: Path, tmp_path: Path) -> None:
    bundle = bundled(tmp_path, log, "--no-logs")
    with pytest.raises(SourceError, match="without logs") as caught:
        analyze(str(bundle))
    assert "tracelens render" in caught.value.hint


def test_a_bundle_replaces_no_input(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundle", str(log), "-o", str(log)]) == 2
    assert "a bundle is a zip file" in capsys.readouterr().err
    assert USER in log.read_text("utf-8")


def test_names_in_an_archive_lead_nowhere(tmp_path: Path) -> None:
    archive = tmp_path / "in" / "a.zip"
    archive.parent.mkdir()
    with zipfile.ZipFile(archive, "w") as file:
        for name in ("../../out.log", "/abs.log", "a\\..\\b.log", ".hidden/c.log", "d/\x1b.log"):
            file.writestr(name, LOG.read_text("utf-8"))
    report = analyze(str(archive))
    said = sorted(one.path.removeprefix(str(archive)) for one in report.inputs)
    assert said == ["/a/b.log", "/abs.log", "/d/?.log", "/out.log"]
    assert {path.name for path in tmp_path.rglob("*")} == {"in", "a.zip"}


@pytest.mark.parametrize(
    ("fill", "says"),
    [
        (lambda file: file.writestr("a/", ""), "no files"),
        (lambda file: file.writestr("big.log", b"\0" * (70 << 20)), "expands"),
        (lambda file: [file.writestr(f"{n}.log", "") for n in range(10_001)], "more than 10,000"),
    ],
)
def test_an_archive_that_is_none_of_logs_is_refused(
    fill: object, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracelens.source.archives.MAX_RATIO", 1)
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("b/", "")
        fill(file)  # type: ignore[operator]
    if says == "no files":  # an empty folder comes first, so that the file is one all the same
        archive.write_bytes(b"PK\x03\x04" + archive.read_bytes()[4:])
    with pytest.raises(SourceError, match=says):
        analyze(str(archive))


def archive_of(tmp_path: Path, name: str = "run.log") -> Path:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, LOG.read_text("utf-8"))
    return archive


@pytest.mark.parametrize("keep", [10, 400, -30])
def test_what_only_begins_like_an_archive_is_no_folder(keep: int, tmp_path: Path) -> None:
    archive = archive_of(tmp_path)
    archive.write_bytes(archive.read_bytes()[:keep])
    with pytest.raises(SourceError, match="a zip archive"):
        analyze(str(archive))


def test_a_damaged_archive_is_said_to_be_one(tmp_path: Path) -> None:
    archive = archive_of(tmp_path)
    data = bytearray(archive.read_bytes())
    data[60:80] = bytes(20)
    archive.write_bytes(data)
    with pytest.raises(SourceError, match="cannot be unpacked"):
        analyze(str(archive))


def test_a_checkpoint_is_no_folder_of_logs(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="a PyTorch checkpoint"):
        analyze(str(archive_of(tmp_path, "archive/data.pkl")))
