"""Padding to a multiple and marking the size belong together where a first size was a constant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

LOG = Path(__file__).parents[2] / "fixtures/rules/RCP023-shape-relation-guard/fires-patches.log"


@pytest.mark.parametrize("learned", [True, False])
def test_a_size_that_was_a_constant_is_marked_as_well(learned: bool, tmp_path: Path) -> None:
    lines = LOG.read_text().splitlines(keepends=True)
    log = tmp_path / "run.log"
    log.write_text("".join(one for one in lines if learned or "size mismatch" not in one))
    (found,) = [one for one in analyze(log).findings if one.code == "RCP023"]
    assert found.advice[0].id == "pad-to-multiple"
    assert ("only both together" in found.advice[0].text) is learned
