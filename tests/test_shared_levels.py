"""Bundles, issues and scripts obey the levels of ``--redact``, and the words of the settings."""

from __future__ import annotations

import ast
import zipfile
from pathlib import Path

import pytest

from tracelens.cli import main
from tracelens.render._own import LEVELS

RULES = Path(__file__).parents[1] / "fixtures" / "rules"
LOG = next(RULES.glob("RCP008-*/fires-function-per-layer.log"))
#: What is in the log, and what somebody else would have called it.
RENAMED = {
    "ana": "zebulon",
    "attend": "soar_high",
    "processor(x) + 1": "wing_fold(x) + plumage",
    "processor": "wing_fold",
    "rcp_modules": "falcon",
    "proj": "acme",
}
HIDDEN = {
    "": ("zebulon", "plumage"),
    "paths": ("falcon.py", "acme"),
    "source": ("wing_fold(x)",),
    "all": ("soar_high", "wing_fold"),
}
WORDS = '[tool.tracelens]\nredact-words = ["plumage"]\n'


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path, text = tmp_path / "run.log", LOG.read_text("utf-8")
    for old, new in RENAMED.items():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, "utf-8")
    (tmp_path / "pyproject.toml").write_text(WORDS)
    return path


def made(log: Path, command: str, *words: str) -> dict[str, str]:
    """Run a command, and return the files that it made, by name."""
    if command == "bundle":
        assert main(["bundle", str(log), "-o", "all.zip", *words]) == 0
        with zipfile.ZipFile("all.zip") as archive:
            return {name: archive.read(name).decode() for name in archive.namelist()}
    if command == "issue":
        assert main(["issue", str(log), "-o", "issue", *words]) == 0
        return {path.name: path.read_text() for path in Path("issue").iterdir()}
    assert main(["repro", str(log), first(log), "-o", "show.py", *words]) == 0
    return {"show.py": Path("show.py").read_text()}


def first(log: Path) -> str:
    from tracelens import analyze

    return analyze(str(log)).told[0].id


@pytest.mark.parametrize(
    ("level", "how"), [*((level, "option") for level in LEVELS), ("all", "settings")]
)
@pytest.mark.parametrize("command", ["bundle", "issue", "repro"])
def test_nothing_of_a_level_is_in_what_is_passed_on(
    command: str, level: str, how: str, log: Path
) -> None:
    if how == "settings":
        Path("pyproject.toml").write_text(f'{WORDS}redact = "{level}"\n')
    files = made(log, command, *([f"--redact={level}"] if how == "option" else []))
    hidden = [*HIDDEN[""]]
    for one in LEVELS[: LEVELS.index(level) + 1]:
        hidden += HIDDEN[one]
    found = [(word, name) for name, text in files.items() for word in hidden if word in text]
    assert found == []
    assert not [name for name in files if name.startswith("logs/")]
    for name, text in files.items():
        if name.endswith(".py"):
            ast.parse(text)


@pytest.mark.parametrize("command", ["bundle", "issue", "repro"])
def test_without_a_level_names_and_words_go_and_code_stays(command: str, log: Path) -> None:
    files = made(log, command)
    text = "".join(files.values())
    assert [word for word in HIDDEN[""] if word in text] == []
    assert "falcon.py" in text
    assert ("logs/run.log" in files) is (command == "bundle")
    if command != "repro":  # which quotes no path
        assert "zebulon" in "".join(made(log, command, "--no-redact").values())


def test_logs_and_a_level_are_misuse(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundle", str(log), "-o", "all.zip", "--logs", "--redact=paths"]) == 2
    assert "--logs: a log is of no use" in capsys.readouterr().err
    assert not Path("all.zip").exists()


def test_a_level_that_is_none_is_misuse(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["issue", str(log), "--redact=most"]) == 2
    assert "no such level" in capsys.readouterr().err


def test_the_page_of_a_bundle_says_what_is_replaced(log: Path) -> None:
    said = made(log, "bundle", "--redact=source")["README.txt"]
    assert "files and lines of code are replaced" in said
    assert "replaced" not in made(log, "bundle", "--no-redact")["README.txt"]
