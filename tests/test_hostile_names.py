"""Names, devices and files that somebody has prepared: a message, and nothing else happens."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tracelens.cli import main
from tracelens.cli._saving import save
from tracelens.report import saved

ROOT = Path(__file__).parents[1]
LOG = ROOT / "fixtures" / "logs" / "recompiles" / "fn-x-n.log"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_compile_id_of_any_length(capsys: pytest.CaptureFixture[str]) -> None:
    long = LOG.read_text().replace("[1/1]", f"[{'9' * 5000}/{'8' * 5000}]")
    long = long.replace("[0/1]", f"[{'9' * 5000}/{'8' * 5000}]")
    assert long != LOG.read_text()
    Path("a.log").write_text(long)
    assert main(["analyze", "a.log", "-f", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"]


def test_a_name_that_is_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    Path("d").mkdir()
    name = os.fsdecode(b"d/\xff\xfe.log")
    Path(name).write_bytes(LOG.read_bytes())
    for given in ("d", name):
        for format_ in ("json", "text", "markdown"):
            assert main(["analyze", given, "-f", format_]) == 0
            assert "\\udcff\\udcfe.log" in capsys.readouterr().out.replace("\\" * 2, "\\")
    assert main(["analyze", "d", "-q", "-o", "r.json", "--jobs", "2"]) == 0
    assert saved.load("r.json").inputs[0].lines == LOG.read_text().count("\n")


@pytest.mark.parametrize(
    "words",
    [
        ["analyze", "n" * 300],
        ["analyze", str(LOG), "-o", "n" * 253 + ".md"],
        ["render", "n" * 300],
        ["analyze", "/dev/zero"],
        ["analyze", "/dev/urandom"],
    ],
)
def test_what_cannot_be_read_or_written(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_name_near_the_limit_is_written() -> None:
    name = "n" * 252 + ".md"
    assert main(["analyze", str(LOG), "-q", "-o", name]) == 0
    assert Path(name).stat().st_size
    assert [path.name for path in Path().iterdir()] == [name]


@pytest.mark.parametrize("start", [".", "../../hidden", "../../.hidden/x"])
def test_what_is_hidden_is_told_from_where_one_looks(
    start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = tmp_path / "a" / "b"
    here.mkdir(parents=True)
    for folder in ("hidden", ".hidden/x", "a/b"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "run.log").write_bytes(LOG.read_bytes())
        (tmp_path / folder / ".other.log").write_text("not to be read")
    monkeypatch.chdir(here)
    assert main(["analyze", start, "-f", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["inputs"]) == 1


def test_a_report_keeps_its_permissions_and_follows_no_planted_link() -> None:
    Path("victim").write_text("mine")
    Path(f".r.md.{os.getpid()}.part").symlink_to("victim")
    Path("r.md").touch(mode=0o600)
    assert main(["analyze", str(LOG), "-q", "-o", "r.md"]) == 0
    assert Path("victim").read_text() == "mine"
    assert Path("r.md").stat().st_mode & 0o777 == 0o600
    assert len(list(Path().iterdir())) == 3


def test_nothing_is_left_when_a_signal_hits_the_rename(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(Path("r.md"), "text")
    assert list(Path().iterdir()) == []


def test_json_shows_nothing_that_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "V1120 10:39:59.849000 26510 torch/_dynamo/x.py:1] [0/0] [__new] \x9b31m \u202e x\n"
    Path("a.log").write_text(LOG.read_text() + evil.replace("x.py", "\u202ex.py"))
    Path("\u202eb.log").write_text(LOG.read_text())
    assert main(["analyze", "a.log", "\u202eb.log", "-f", "json"]) == 0
    out = capsys.readouterr().out
    assert not {"\x9b", "\u202e", "\x7f"} & set(out)
    assert json.loads(out)["inputs"][1]["path"] == "\u202eb.log"


@pytest.mark.parametrize("depth", [100, 600, 5_000])
def test_a_report_that_is_nested_deeply_is_refused(
    depth: int, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["analyze", str(LOG), "-q", "-o", "r.json"])
    text = Path("r.json").read_text()
    deep = "[" * depth + "]" * depth
    Path("deep.json").write_text(
        text.replace('"tables": {', f'"tables": {{"x": [{{"a": {deep}}}],')
    )
    assert main(["render", "deep.json", "-f", "html"]) == 2
    assert "nested too deeply" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "place"),
    [([], "tracelens.cli._analyzing.analyze_as_asked"), (["-q"], "tracelens.cli._app.command")],
)
def test_ctrl_c_while_modules_are_imported(
    options: list[str],
    place: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupted)
    assert main(["analyze", str(LOG), *options]) == 130
    assert capsys.readouterr().err.strip() == "tracelens: interrupted."
