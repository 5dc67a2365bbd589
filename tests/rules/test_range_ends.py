"""A range of a size that begins at 2 is left below by a size of 1: an older entry tells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

HEAD = "V1126 10:00:0{n}.000000 7 torch/_dynamo/guards.py:5396] [0/{n}] [__recompiles] "
TOP = "Recompiling function forward in /home/ana/proj/model.py:7\n"
WHY = "    triggered by the following guard failure(s):\n"
RANGE = "    - 0/1: 2 <= x.size()[0] <= 15  # if x.dim() == 3:  # proj/model.py:9 in forward\n"
SIZE = "    - 0/0: tensor 'x' size mismatch at index 0. expected 8, actual {size}\n"


def log(tmp_path: Path, size: int) -> Path:
    """Return a log in which a batch of 8 is followed by one of 3, and that by another."""
    first = [TOP, WHY, SIZE.format(size=3)]
    second = [TOP, WHY, RANGE, SIZE.format(size=size)]
    path = tmp_path / "run.log"
    path.write_text(
        "".join(HEAD.format(n=1) + line for line in first)
        + "".join(HEAD.format(n=2) + line for line in second)
    )
    return path


@pytest.mark.parametrize(("size", "code"), [(1, "RCP016"), (0, "RCP016"), (16, "RCP023")])
def test_which_end_was_left_tells_the_size(size: int, code: str, tmp_path: Path) -> None:
    found = {one.code for one in analyze(log(tmp_path, size)).findings}
    assert code in found
    assert not {"RCP016", "RCP023"} - {code} & found
