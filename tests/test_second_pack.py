"""The example of a whole pack, as its users have it: a wheel of its own, beside ours."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.environments import Environment

ROOT = Path(__file__).parents[1]
PACK = ROOT / "docs" / "examples" / "tile-backend"
CODES = ["TIL001", "TIL002", "TIL003", "TIL004", "TIL101"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the wheel, built of a copy without anything that git does not have."""
    folder = tmp_path_factory.mktemp("second")
    environment = Environment(folder / "venv")
    sources = folder / "sources"
    ignored = shutil.ignore_patterns("__pycache__", "dist", "*.egg-info", ".pytest_cache")
    shutil.copytree(PACK, sources, ignore=ignored)
    environment.install(str(sources), cwd=folder)
    return environment


def test_its_own_tests_pass_where_its_wheel_is_installed(
    installed: Environment, tmp_path: Path
) -> None:
    for name in ("tests", "fixtures", "pyproject.toml"):
        copy = shutil.copytree if (PACK / name).is_dir() else shutil.copy
        copy(PACK / name, tmp_path / name)
    said = installed.run("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path)
    assert "16 passed" in said
    where = installed.run("-c", "import tiler; print(tiler.__file__)", cwd=tmp_path)
    assert "site-packages" in where


def test_it_is_listed_and_changes_nothing_that_is_built_in(
    installed: Environment, tmp_path: Path
) -> None:
    listed = installed.run("-m", "tracelens", "packs", "-f", "json", cwd=tmp_path)
    (pack,) = json.loads(listed)
    assert (pack["distribution"], pack["version"], pack["state"]) == (
        "tile-backend",
        "0.1.0",
        "works",
    )
    assert (pack["api"], pack["rules"], pack["logs"]) == (">=1,<2", CODES, ["tiler"])
    assert pack["policies"] == ["tile-backend:strict"]
    analyze = ("-m", "tracelens", "analyze", "--sample", "-f", "json")
    with_it = json.loads(installed.run(*analyze, cwd=tmp_path))
    without = json.loads(installed.run(*analyze, "--no-plugins", cwd=tmp_path))
    assert with_it["findings"] == without["findings"]
    ours = [one for one in with_it["verdicts"] if one["code"] not in CODES]
    assert ours == without["verdicts"]


@pytest.mark.live
@pytest.mark.parametrize(
    ("program", "settings", "log"),
    [
        ("fits", {}, "TIL004-operator-falls-back/quiet-fits.log"),
        ("spills", {"TILER_TILE": "64"}, "TIL001-scratchpad-spills/quiet-smaller.log"),
        ("falls_back", {}, "TIL004-operator-falls-back/fires-falls-back.log"),
    ],
)
def test_its_logs_are_what_the_backend_writes(
    installed: Environment, tmp_path: Path, program: str, settings: dict[str, str], log: str
) -> None:
    shutil.copy(PACK / "examples" / f"{program}.py", tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"TILER_LOG": "1", **settings}.items():
            patch.setenv(name, value)
        written = installed.run(f"{program}.py", cwd=tmp_path)
    neutral = written.replace(f"{tmp_path}/", "/srv/proj/")
    assert neutral == (PACK / "fixtures" / "rules" / log).read_text()


@pytest.mark.live
def test_a_finding_of_its_rule_is_confirmed_by_running_it_again(
    installed: Environment, tmp_path: Path
) -> None:
    program = (str(installed.python), str(PACK / "examples" / "spills.py"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILER_LOG", "1")
        run = ("-m", "tracelens", "run", "--artifacts", "lean", "-q", "-o", "rec", "--", *program)
        installed.run(*run, cwd=tmp_path)
        confirm = ("-m", "tracelens", "confirm", "rec/report.json", "--only", "TIL001", "-q")
        installed.run(*confirm, "--", *program, cwd=tmp_path)
    report = json.loads((tmp_path / "rec" / "report.json").read_text())
    found = [one for one in report["findings"] if one["code"] == "TIL001"]
    assert {one["data"]["node"] for one in found} == {"matmul", "matmul_1"}
    assert {one["confirmation"]["state"] for one in found} == {"confirmed"}
