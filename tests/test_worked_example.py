"""The worked example of docs/writing-rules.md: taken from the page, and run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.test_packs import rule_tests, write
from tests.warm import tracelens

PAGE = Path(__file__).parents[1] / "docs" / "writing-rules.md"
#: A path in backquotes, what may be said about it, and the block below.
FILE = re.compile(r"`([\w./-]+)`(?:, [^\n:]*(?:\n[^\n`:]+)?)?:\n\n```\w*\n(.*?)```", re.DOTALL)
EMPTY = ("", "logs/", "rules/")


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page, as pip installs them, and its tests beside them."""
    section = PAGE.read_text(encoding="utf-8").partition("### A worked example")[2]
    files = dict(FILE.findall(section.partition("\n### ")[0]))
    root = tmp_path_factory.mktemp("worked")
    code = {f"site/{name}": text for name, text in files.items() if name.startswith("queue_pack/")}
    code |= {f"site/queue_pack/{name}__init__.py": "" for name in EMPTY}
    rest = {name: text for name, text in files.items() if not name.startswith("queue_pack/")}
    project = tomllib.loads(files["pyproject.toml"])["project"]
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    )
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    info = "site/queue_pack-0.1.0.dist-info"
    write(root, code | rest | {f"{info}/METADATA": metadata, f"{info}/entry_points.txt": points})
    return root


def test_its_tests_pass(pack: Path) -> None:
    done = rule_tests(pack, "--snapshot-update")
    assert "5 snapshots generated" in done.stdout, done.stdout
    done = rule_tests(pack)
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


def test_its_workflow_is_green_and_would_be_red(pack: Path) -> None:
    workflow = (pack / ".github/workflows/ci.yml").read_text()
    (words,) = re.findall(r"- run: >-\n((?: {10}.*\n)+)", workflow)
    command = words.split()
    assert command[0] == "tracelens"
    assert tracelens(pack, *command[1:]).returncode == 0
    worse = [word.replace("quiet-shallow", "fires-deep") for word in command]
    assert tracelens(pack, *worse[1:]).returncode == 1
    listed = tracelens(pack, "packs").stdout
    assert listed.startswith("queue-pack 0.1.0 works\n")
    assert "note" not in listed
