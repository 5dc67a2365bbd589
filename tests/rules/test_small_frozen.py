"""Small products whose rows are a symbol: frozen, they are oneDNN's, and take longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Severity

RULES = Path(__file__).parents[2] / "fixtures" / "rules"


@pytest.mark.parametrize("code", ["IND002", "IND004"])
def test_small_products_of_unknown_rows_are_not_frozen(code: str) -> None:
    """Tried with 96 and 384 numbers: 1.3 to 2 times as long; with 256 and 1024: less."""
    large = RULES / "IND002-unfused-epilogue" / "fires-symbolic-rows-2.13.log.gz"
    (found,) = [one for one in analyze(str(large)).findings if one.code == code]
    assert "freeze" in [one.id for one in found.advice]
    small = RULES / "IND004-cpu-inference-not-frozen" / "quiet-symbolic-sizes.log.gz"
    told = [one for one in analyze(str(small)).findings if one.code == code]
    assert told
    assert all(one.severity is Severity.NONE and not one.advice for one in told)
