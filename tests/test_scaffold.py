"""What is begun by a command passes its own tests as it is: really written, installed and run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.environments import Environment
from tracelens import cli


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("environment") / "venv")


def test_all_that_is_begun_passes_its_own_tests_untouched(
    tmp_path: Path, environment: Environment
) -> None:
    def tracelens(*words: str, cwd: Path, code: int = 0) -> str:
        return environment.run("-m", "tracelens", *words, cwd=cwd, code=code)

    tracelens("new-pack", "tile-watch", cwd=tmp_path)
    pack = tmp_path / "tile-watch"
    environment.install("-e", str(pack), cwd=tmp_path)
    (listed,) = json.loads(tracelens("packs", "-f", "json", cwd=tmp_path))
    assert (listed["state"], listed["api"], listed["notes"]) == ("works", ">=1,<2", [])
    assert listed["rules"] == ["TIL001", "TIL101"]
    assert listed["policies"] == ["tile-watch:strict"]

    tracelens("new-log", "tile_layout", cwd=pack)
    tracelens("new-rule", "TIL002", "small-tiles", cwd=pack / "tile_watch")
    tracelens("new-rule", "TIL003", "many-breaks", "--reads", "graph_breaks.GraphBreak", cwd=pack)
    tracelens("new-rule", "TIL102", "big-numbers", "--toml", cwd=pack)
    assert "17 passed" in environment.run("-m", "pytest", "-q", cwd=pack)

    # What cannot be begun leaves nothing behind.
    before = sorted(pack.rglob("*.py")), sorted(pack.rglob("*.log"))
    tracelens("new-rule", "TIL002", "smaller-tiles", cwd=pack, code=2)
    grammar = next(pack.rglob("tile_layout.lark"))
    whole = grammar.read_text()
    grammar.write_text(f"{whole}\nbroken: (\n")
    tracelens("new-rule", "TIL004", "other-tiles", cwd=pack, code=3)
    assert "tile_layout.lark" in environment.run("-m", "pytest", "-q", cwd=pack, code=2)
    grammar.write_text(whole)
    assert (sorted(pack.rglob("*.py")), sorted(pack.rglob("*.log"))) == before

    # The step of its workflow, and a project that extends its policy.
    log = pack / "fixtures/rules/TIL001-slow-steps"
    judge = ("analyze", "--require", "TIL001", "--fail-on", "warning")
    tracelens(*judge, str(log / "quiet-fast.log"), cwd=tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.tracelens]\nextends = "tile-watch:strict"\n')
    tracelens("analyze", str(log / "fires-slow.log"), cwd=tmp_path, code=1)


def test_the_workflow_uses_what_the_action_has() -> None:
    root = Path(cli.__file__).parents[2]
    workflow = (root / "tracelens/cli/_templates/pack/ci.yml.tmpl").read_text()
    given = workflow.partition("        with:\n          logs:")[2]
    action = (root / "action.yml").read_text().partition("\nruns:")[0]
    inputs = set(re.findall(r"^  ([a-z-]+):$", action, re.MULTILINE))
    assert {"require", "fail-on", "sarif", "install"} <= inputs
    assert set(re.findall(r"^          ([a-z-]+):", given, re.MULTILINE)) <= inputs


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("new-pack", "Tile Watch"), "can be no name"),
        (("new-pack", "one-pack"), "codes of tracelens begin with ONE"),
        (("new-pack", "t1"), "codes begin with three letters"),
        (("new-pack", "tile-watch", "--code", "TI"), "codes begin with three letters"),
        (("new-pack", "jinja2"), "there is a package jinja2 here already"),
        (("new-log", "layout"), "is in no pack"),
        (("new-rule", "TIL002", "small"), "is in no pack"),
        (("new-rule", "TIL2", "small"), "'TIL2' is no code"),
        (("new-pack", "there"), "is there already"),
    ],
)
def test_a_mistake_is_explained_and_nothing_is_written(
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "README.md").write_text("mine")
    assert cli.main(words) == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["README.md"]
