"""An unknown size is captured where a function around the line's is given up, not that itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding
from tracelens.rules.gbr._break_data import BreakData
from tracelens.rules.gbr.dynamic_output_shape import DynamicOutputShape

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
LOG = RULES / "GBR008-dynamic-output-shape" / "fires-called-in-a-loop.log"
PACKAGE = "/home/ana/venv/lib/python3.11/site-packages/graphs/utils.py"


def told(path: Path) -> Finding:
    return next(one for one in analyze(str(path)).findings if one.code == "GBR008")


def test_in_ones_own_code_it_is_not_tried() -> None:
    """Followed in five programs, it was slower in three and without effect in two."""
    assert "capture-and-compare" not in [one.id for one in told(LOG).advice]


def given(**more: object) -> list[str]:
    data = BreakData(
        family="dynamic_shape",
        file=PACKAGE,
        line=7,
        function="without_loops",
        code="return edges[:, mask]",
        package="graphs",
        alone=True,
        skipped=1,
        records=9,
        lost=("forward",),
        inference=True,
    )
    told = data.model_copy(update=more)
    return [one.id for one in DynamicOutputShape().advise(told)]


def test_in_a_package_it_is_tried_without_gradients() -> None:
    """With them, Inductor raised in one of three programs: what is known is said."""
    assert given() == ["capture-and-compare", "leave-break"]
    for training in (False, None):
        assert given(inference=training) == ["leave-break", "capture-raised"]


@pytest.mark.parametrize(
    "more",
    [
        {"leaves": True},  # the line stands in the loop
        {"function": "forward"},
        {"lost": ("torch_dynamo_resume_in_without_loops_at_3",)},
        {"lost": ()},
        {"beside": ("self.head",), "alone": False},  # another change is named
    ],
)
def test_it_is_not_where_the_line_is_in_the_loop(more: dict[str, object]) -> None:
    assert not {"capture-and-compare", "capture-raised"} & set(given(**more))
