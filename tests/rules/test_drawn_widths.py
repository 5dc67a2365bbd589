"""Numbers that Python draws: how wide a slice is, or where one of a fixed size begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Advice

LOGS = Path(__file__).parents[2] / "fixtures" / "rules" / "GBR016-random-or-numpy-state"
WIDTH = "first = random.randint(0, x.shape[1] - width)"


def told(log: Path, code: str = "GBR016") -> Advice:
    (found,) = [one for one in analyze(str(log)).findings if one.code == code]
    return next(one for one in found.advice if one.id == "draw-outside")


def test_a_width_is_drawn_as_a_tensor_and_compared() -> None:
    """Tried: as numbers, eight recompiles; as tensors, none that are drawn for."""
    found = told(LOGS / "fires-width-2.13.log")
    assert "becomes a symbol" not in found.text
    assert "comparing with `torch.arange`" in found.text
    assert found.code is not None
    assert "masked_fill" in found.code


def test_a_place_of_a_fixed_size_is_passed_in() -> None:
    """Tried: one recompile, after which the place is a symbol."""
    found = told(LOGS / "fires-crop-2.13.log")
    assert "an int becomes a symbol" in found.text
    assert found.code is None


@pytest.mark.parametrize(
    ("line", "width"),
    [
        (WIDTH, True),
        ("w = random.randint(0, 6); f = random.randint(0, NMEL - w)", True),
        ("t = random.randrange(x.size(2) - w)", True),
        ("t = random.randint(0, x.size(2) - 24)", False),
        ("t = random.randint(0, n) - w", False),
        ("t = random.uniform(0, n - w)", False),
    ],
)
def test_a_place_is_drawn_where_a_width_is_left(line: str, *, width: bool, tmp_path: Path) -> None:
    text = (LOGS / "fires-width-2.13.log").read_text()
    assert WIDTH in text
    other = tmp_path / "run.log"
    other.write_text(text.replace(WIDTH, line))
    assert ("torch.arange" in told(other).text) is width


def test_the_function_that_draws_may_be_called_uncompiled(tmp_path: Path) -> None:
    """Tried: before, and between two compiled functions; no break is left."""
    for log in ("fires-width-2.13.log", "fires-crop-2.13.log"):
        assert "between these and the rest, each compiled by itself." in told(LOGS / log).text
    text = (LOGS / "fires-width-2.13.log").read_text()
    other = tmp_path / "run.log"
    other.write_text(text.replace(" in cover", " in forward").replace("line 20, in forward", ""))
    assert "uncompiled" not in told(other).text
