"""A recompile that was copied with the prefix of its first line alone is one record."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.splitting import differences
from tracelens import analyze
from tracelens.logs.recompiles import Recompile
from tracelens.source import read

REASONS = (
    "    triggered by the following guard failure(s):\n"
    "    - 0/1: tensor 'x' size mismatch at index 0. expected 7, actual 8\n"
    "    - 0/0: tensor 'x' size mismatch at index 0. expected 6, actual 8\n"
)
FIRST = "Recompiling function f in /home/ana/proj/m.py:12\n"
PREFIXES = ("[0/2] [__recompiles] ", "torch/_dynamo/guards.py:2871] [0/2] [__recompiles] ")


def recompiles(folder: Path, text: str) -> list[tuple[str, int, int]]:
    """Return of each recompile the function, its reasons and the lines of its text."""
    path = folder / "pasted.log"
    path.write_text(text)
    evidence, _ = read([str(path)])
    rows = evidence.table(Recompile)
    return [
        (row.record.function, len(row.record.failures), len(row.text.split("\n"))) for row in rows
    ]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_bare_reasons_go_on_with_it(prefix: str, tmp_path: Path) -> None:
    assert recompiles(tmp_path, prefix + FIRST + REASONS) == [("f", 2, 4)]
    report = analyze(str(tmp_path / "pasted.log"))
    assert "LOG001" not in {one.code for one in report.findings}


def test_what_the_program_prints_below_it_does_not(tmp_path: Path) -> None:
    text = PREFIXES[0] + FIRST + REASONS + "    - 12 apples\nloss 0.3\n"
    assert recompiles(tmp_path, text) == [("f", 2, 4)]


def test_two_of_them_are_two(tmp_path: Path) -> None:
    one = PREFIXES[0] + FIRST + REASONS
    assert recompiles(tmp_path, one + one.replace("[0/2]", "[1/2]")) == [("f", 2, 4)]
    found = recompiles(tmp_path, one + one.replace("[0/2]", "[1/1]").replace(" f ", " g "))
    assert found == [("f", 2, 4), ("g", 2, 4)]


def test_in_parts_it_is_what_it_is_in_one(tmp_path: Path) -> None:
    path = tmp_path / "pasted.log"
    path.write_text((PREFIXES[0] + FIRST + REASONS + "step\n") * 60)
    for chunk, jobs in ((64, 3), (512, 5)):
        assert not differences(path, chunk, jobs)
