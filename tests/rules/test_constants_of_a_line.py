"""The line that makes a size a constant: what else its condition names, and whose line it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

LOG = (
    Path(__file__).parents[2] / "fixtures/rules/DYN004-size-specialised-by-code/fires-one-less.log"
)


@pytest.mark.parametrize(
    ("was", "comes", "line", "advice"),
    [
        ("", "", 206, ["pad"]),
        ("Eq(s27 - 1", "Eq(s27 - s64", 0, ["pad"]),  # of two symbols either may be a constant
        ("Eq(s27 - 1", "Ne(s27 - 1", 0, ["pad"]),
        ("TorchCRF/__init__.py", "proj/app.py", 206, ["vectorize"]),  # the function's own file
    ],
)
def test_what_counts_one_less(
    was: str, comes: str, line: int, advice: list[str], tmp_path: Path
) -> None:
    log = tmp_path / "run.log"
    log.write_text(LOG.read_text().replace(was, comes) if was else LOG.read_text())
    (found,) = (one for one in analyze(log).findings if one.code == "DYN004")
    assert found.data["line"] == line
    assert [one.id for one in found.advice] == advice
