"""The order of findings: what names a place comes before what sums up the whole run."""

from __future__ import annotations

import pytest

from tracelens.report import Finding, Severity
from tracelens.report.stories import graph_break, resumed


def _finding(code: str, count: int = 1) -> Finding:
    return Finding(
        id=f"{code}-000000",
        code=code,
        name="some-rule",
        severity=Severity.INFO,
        title=code,
        message="",
        count=count,
    )


def test_a_sum_over_the_run_comes_after_places_in_it() -> None:
    found = [_finding("LOG001", 9), _finding("CMP001", 9), _finding("DYN003"), _finding("IND004")]
    ordered = sorted(found, key=lambda finding: finding.order)
    assert [finding.code for finding in ordered] == ["DYN003", "IND004", "CMP001", "LOG001"]


def test_a_worse_sum_comes_first_all_the_same() -> None:
    worse = _finding("CMP001").model_copy(update={"severity": Severity.WARNING})
    assert worse.order < _finding("DYN003").order


@pytest.mark.parametrize(
    ("function", "line"),
    [
        ("torch_dynamo_resume_in_forward_at_35", 35),
        ("torch_dynamo_resume_in_step_at_x_at_7", 7),
        ("forward_at_35", None),
        ("torch_dynamo_resume_in_forward_at_", None),
        ("torch_dynamo_resume_in_forward_at_12345678901", None),
    ],
)
def test_code_behind_a_break_belongs_to_it(function: str, line: int | None) -> None:
    expected = [] if line is None else [graph_break("/home/ana/proj/m.py", line)]
    assert list(resumed(function, "/home/ana/proj/m.py")) == expected
