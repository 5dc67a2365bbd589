"""Failures that torch really has on this machine are named by their rule."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracelens import analyze

pytestmark = pytest.mark.live
MARK = "==== "
#: The case, the code that is first, and words of its title.
EXPECTED = {
    "shapes": ("ERR015", "reduction dim"),
    "no_fake_kernel": ("ERR015", "no implementation for fake tensors"),
    "mapped": ("ERR000", "under vmap"),
    "printing": ("ERR016", "builtin"),
    "branch": ("ERR016", "branching"),
    "own_backend": ("ERR017", "`bad`"),
    "unknown_backend": ("ERR000", "no backend of that name"),
    "inside_dynamo": ("ERR018", "ZeroDivisionError"),
    "traced_again": ("ERR019", "traced again"),
    "decided": ("DYN001", "n > 4"),
    "marked": ("DYN002", "16"),
    "limit": ("RCP001", "ended the program"),
    "twice": ("ERR000", "differentiated twice"),
    "recomputed": ("ERR028", "recomputed"),
    "strides": ("ERR021", "stride"),
    "refused": ("ERR007", "expected unqualified-id"),
    "no_compiler": ("ERR001", "compiler"),
}
#: A compiler that says what g++ says of a broken program.
COMPILER = """#!/bin/sh
case "$*" in *--version*) echo "g++ (GCC) 13.2.0"; exit 0;; esac
echo "main.cpp:3:1: error: expected unqualified-id before numeric constant" >&2
exit 1
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What each case printed, in a file."""
    folder = tmp_path_factory.mktemp("provoked")
    compiler = folder / "refusing-g++"
    compiler.write_text(COMPILER, encoding="utf-8")
    compiler.chmod(0o755)
    (folder / "cache").mkdir()
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "REFUSING_COMPILER": str(compiler),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
    program = Path(__file__).with_name("provoke.py")
    done = subprocess.run(
        [sys.executable, str(program), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert (folder / "done").exists(), done.stderr[-2000:]
    found = {}
    for part in done.stderr.split(f"\n{MARK}"):
        name, _, text = part.removeprefix(MARK).partition("\n")
        found[name] = folder / f"{name}.txt"
        found[name].write_text(text + "\n", encoding="utf-8")
    return found


@pytest.mark.parametrize("name", EXPECTED)
def test_a_real_failure_is_named_first(name: str, printed: dict[str, Path]) -> None:
    code, words = EXPECTED[name]
    first = analyze(str(printed[name])).told[0]
    assert first.code == code
    assert first.severity == "error"
    assert first.data["ended_program"]
    assert words in first.title
    assert first.advice


def test_what_was_suppressed_is_no_failure_of_the_program(printed: dict[str, Path]) -> None:
    report = analyze(str(printed["suppressed"]))
    assert [one.code for one in report.told if one.data.get("ended_program")] == []
    (cause,) = (one for one in report.told if one.code.startswith("ERR"))
    assert cause.data["suppressed"]
    (left_out,) = (one for one in report.findings if one.code == "GBR013")
    assert left_out.explained_by == cause.id
