"""The recipes of docs/ci.md, followed literally: green on a healthy model, red on a broken one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.live

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text()

HEALTHY = """
import torch

@torch.compile(backend="eager")
def step(x):
    return x.relu() * 2 + 1

for _ in range(3):
    y = step(torch.ones(8))
print(float(y.sum()))
"""
BROKEN = HEALTHY.replace("    return", '    print("x is", x)\n    return')
CRASHING = HEALTHY.replace("import torch\n", "import torch\nraise SystemExit(7)\n", 1)

Repository = Callable[[str], "Shell"]


class Shell:
    """A job: its steps run in one folder, with one summary."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.summary = folder / "summary.md"
        bin_ = folder / "bin"
        bin_.mkdir()
        for name, arguments in (("python", ""), ("tracelens", "-m tracelens")):
            script = bin_ / name
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
            script.chmod(0o755)
        self.env = os.environ | {
            "PATH": f"{bin_}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "OMP_NUM_THREADS": "1",
        }

    def __call__(self, script: str, **more: str) -> subprocess.CompletedProcess[str]:
        # As GitHub runs a step whose shell is bash.
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        return subprocess.run(
            words,
            cwd=self.folder,
            env=self.env | more,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    def make(model: str) -> Shell:
        (tmp_path / "infer.py").write_text(model)
        (tmp_path / "pyproject.toml").write_text(textwrap.dedent(recipe("settings")))
        return Shell(tmp_path)

    return make


def recipe(name: str) -> str:
    found = re.search(rf"<!-- recipe: {name} -->\n *```\w+\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def steps(yaml: str) -> list[str]:
    """Return the scripts of the steps, in order."""
    found = re.finditer(r"^( +)run: \|\n((?:\1 .*\n)+)", yaml, re.MULTILINE)
    return [textwrap.dedent(match[2]) for match in found]


@pytest.mark.parametrize(
    ("model", "code", "annotated"),
    [(HEALTHY, 0, ""), (BROKEN, 1, "GBR003 print-or-builtin"), (CRASHING, 7, "")],
    ids=["healthy", "broken", "crashing"],
)
def test_the_recipe_for_github(
    repository: Repository, model: str, code: int, annotated: str
) -> None:
    shell = repository(model)
    install, judge, annotate = steps(recipe("github"))
    assert install == "python -m pip install torch torch-tracelens\n"
    judged = shell(judge)
    assert judged.returncode == code, judged.stderr
    drawn = shell(annotate)
    if code == 7:
        return
    assert drawn.returncode == 0, drawn.stderr
    commands = [line for line in drawn.stdout.splitlines() if line.startswith("::")]
    assert all(line.startswith("::notice") for line in commands)
    assert bool(annotated) is any(annotated in line for line in commands if annotated)
    assert bool(annotated) is any("file=infer.py,line=6," in line for line in commands)
    assert ("over budget: graph-breaks is 1, at most 0" in judged.stderr) is bool(annotated)
    assert shell.summary.read_text().startswith("## tracelens: ")
    assert (shell.folder / "compiled.github.sarif").stat().st_size


def test_the_recipe_for_gitlab_and_the_action(repository: Repository) -> None:
    shell = repository(BROKEN)
    _, judge, draw = [
        line.strip().removeprefix("- ")
        for line in recipe("gitlab").splitlines()
        if line.startswith("    - ")
    ]
    assert shell(judge).returncode == 1
    assert shell(draw).returncode == 0
    assert "print-or-builtin" in (shell.folder / "gl-code-quality-report.json").read_text()
    assert "info: `print` breaks the graph" in (shell.folder / "junit.xml").read_text()
    # The action, on the report of the same run's log.
    _, script = steps((ROOT / "action.yml").read_text())
    inputs = {
        "TRACELENS_COMMAND": "",
        "TRACELENS_LOGS": "compiled",
        "TRACELENS_FAIL_ON": "warning",
        "TRACELENS_REQUIRE": "GBR,RCP",
        "TRACELENS_BASELINE": "",
        "TRACELENS_ROOT": ".",
        "TRACELENS_SARIF": "x.github.sarif",
    }
    done = shell(script, **inputs)
    assert done.returncode == 1, done.stderr
    assert "::notice file=infer.py,line=6," in done.stdout
    (shell.folder / "pyproject.toml").write_text("")
    done = shell(script, **inputs)
    assert done.returncode == 0, done.stderr
    inputs["TRACELENS_FAIL_ON"] = "info"
    assert shell(script, **inputs).returncode == 1
    assert shell("tracelens baseline update base.json compiled").returncode == 0
    done = shell(script, **inputs | {"TRACELENS_BASELINE": "base.json"})
    assert done.returncode == 0, done.stderr
    assert shell(script, **inputs | {"TRACELENS_LOGS": "$(touch owned)"}).returncode == 2
    assert not (shell.folder / "owned").exists()
