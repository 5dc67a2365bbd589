"""What more sizes than two, or two dimensions that change, say of the way out."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.rules.test_recompile_weight import CLOCK, last_batch
from tracelens import analyze


@pytest.mark.parametrize(
    ("more", "advised"),
    [
        ("tensor 'x' size mismatch at index 0. expected 16, actual 1", "one-size"),
        ("2 <= x.size()[0]", "one-size"),
        ("tensor 'x' size mismatch at index 1. expected 16, actual 1", "drop-last"),
        ("2 <= other.size()[0]", "drop-last"),
    ],
)
def test_a_batch_that_had_a_third_size_was_no_last_one(
    more: str, advised: str, tmp_path: Path
) -> None:
    """What is left of a search, or in a queue, gets less and less."""
    last_batch(tmp_path, 30, 28)
    path = tmp_path / "run.log"
    reason = partial(CLOCK.format, at=31, second=0, n=2, file="guards.py:5396", kind="recompiles")
    log = path.read_text() + reason(text="Recompiling function forward in /home/ana/proj/net.py:14")
    log += reason(text="    triggered by the following guard failure(s):")
    path.write_text(log + reason(text=f"    - 0/1: {more}"))
    found = [one for one in analyze(str(path)).findings if one.code == "RCP003"]
    (first,) = [one for one in found if one.data["dimension"] == 0]
    assert [one.id for one in first.advice][:2] == [advised, "mark-dynamic"]
