"""Reorders of weights that all stand before the first use packed them once."""

from pathlib import Path

import pytest

from tracelens import analyze

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
OWN = RULES / "ONE003-weight-reorder-every-iteration"
#: Each product reorders its weight, and lines about arguments and kernels stand between the two.
CHECKED = RULES / "ONE012-strict-accumulation-f16" / "quiet-relaxed.log"


@pytest.mark.parametrize(
    ("log", "fires"),
    [
        (OWN / "quiet-one-call-of-frozen-stack.log", False),
        (OWN / "fires-one-call-of-stack.log", True),
        (CHECKED, True),
    ],
    ids=["all before the first use", "one before each use", "other lines between"],
)
def test_only_executions_are_counted_between_both(log: Path, fires: bool) -> None:
    assert ("ONE003" in {found.code for found in analyze(str(log)).findings}) is fires
