"""Where a function around the line's is given up, not that itself, no size is captured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Advice, Finding
from tracelens.rules.gbr._break_data import BreakData
from tracelens.rules.gbr.dynamic_output_shape import DynamicOutputShape

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
LOG = RULES / "GBR008-dynamic-output-shape" / "fires-called-in-a-loop.log"
PACKAGE = "/home/ana/venv/lib/python3.11/site-packages/graphs/utils.py"


def told(path: Path) -> Finding:
    return next(one for one in analyze(str(path)).findings if one.code == "GBR008")


def test_in_ones_own_code_it_is_not_tried() -> None:
    """Followed in five programs, it was slower in three and without effect in two."""
    assert not [one.id for one in told(LOG).advice if one.id.startswith("capture-")]


def advice(**more: object) -> tuple[Advice, ...]:
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
    return DynamicOutputShape().advise(data.model_copy(update=more))


def given(**more: object) -> list[str]:
    return [one.id for one in advice(**more)]


def said(**more: object) -> str:
    return " ".join(one.text for one in advice(**more))


def test_in_a_package_it_is_said_what_came_of_it() -> None:
    """The setting that torch's hint names is no advice; the message says why not."""
    for inference in (True, False, None):
        assert given(inference=inference) == ["leave-break", "capture-raised"]
    for inference, outcome in ((True, "three became slower"), (False, "Inductor raised")):
        text = said(inference=inference)
        assert "which torch's hint names" in text
        assert outcome in text


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
    assert "capture-raised" not in given(**more)
