"""The order of findings: what to act on first, and what names a place before sums of the run."""

from __future__ import annotations

from typing import Any

import pytest

from tracelens.report import Advice, Cost, Finding, Severity, Where
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


@pytest.mark.parametrize(("threads", "first"), [(1, "RCP004"), (8, "ENV001"), (None, "ENV001")])
def test_other_programs_on_the_machine_come_after_what_this_one_does(
    threads: int | None, first: str
) -> None:
    """With threads of its own it may be the program that has too many."""
    waits = _finding("ENV001").model_copy(
        update={"data": {"threads": threads}, "cost": Cost(ms=13_000, basis="estimated")}
    )
    again = _finding("RCP004").model_copy(update={"cost": Cost(ms=53_000, basis="estimated")})
    assert min(waits, again, key=lambda finding: finding.order).code == first


def test_a_worse_sum_comes_first_all_the_same() -> None:
    worse = _finding("CMP001").model_copy(update={"severity": Severity.WARNING})
    assert worse.order < _finding("DYN003").order


@pytest.mark.parametrize(("code", "data"), [("NUM003", {}), ("RCP023", {"computed": "lost"})])
def test_an_error_about_results_comes_before_one_that_costs_time(
    code: str, data: dict[str, str]
) -> None:
    error = {"severity": Severity.ERROR}
    wrong = _finding(code).model_copy(update={**error, "data": data})
    slow = _finding("RCP001").model_copy(update={**error, "cost": Cost(ms=9e5, basis="measured")})
    assert wrong.order < slow.order
    assert slow.order < _finding("RCP023").model_copy(update=error).order


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


def _cost(code: str, ms: float | None, **more: Any) -> Finding:
    cost = Cost(ms=ms, basis="measured") if ms is not None else None
    return _finding(code).model_copy(update={"cost": cost, **more})


def _codes(*findings: Finding) -> list[str]:
    return [one.code for one in sorted(findings, key=lambda finding: finding.order)]


@pytest.mark.parametrize(
    "once",
    ["RCP003", "GBR001", "CMP005", "TUN001", "DYN002", "DST001", "TRC003", "TRC023", "TRC029"],
)
def test_what_is_paid_once_is_weighed_against_what_is_paid_in_every_step(once: str) -> None:
    """A recording holds some steps of a run that has a hundred times as many, or more."""
    assert _codes(_cost("ONE004", 2.6), _cost(once, 20_000)) == [once, "ONE004"]
    assert _codes(_cost(once, 20_000), _cost("ONE004", 900)) == ["ONE004", once]


def test_severity_comes_before_any_cost() -> None:
    grave = _cost("ONE004", 0.6, severity=Severity.WARNING)
    assert _codes(_cost("RCP003", 90_000), grave) == ["ONE004", "RCP003"]


PASTED = (Advice(text="Convert it.", code="model.to(memory_format=torch.channels_last)"),)
WORDS = (Advice(text="Write the layer anew."),)
HERE = Where(file="/home/ana/proj/model.py", line=7)


@pytest.mark.parametrize("told", [{"advice": PASTED}, {"where": HERE, "advice": WORDS}])
def test_of_two_that_cost_about_the_same_the_one_that_can_be_changed_is_first(
    told: dict[str, Any],
) -> None:
    nowhere = _cost("ONE004", 8.0, advice=WORDS)
    assert _codes(nowhere, _cost("ONE018", 3.0, **told)) == ["ONE018", "ONE004"]
    assert _codes(_cost("ONE018", 0.3, **told), nowhere) == ["ONE004", "ONE018"]


def test_what_names_no_change_comes_second_of_two_that_cost_about_the_same() -> None:
    unchanged = _cost("RCP016", 61_000.0, where=HERE)
    changed = _cost("RCP003", 20_000.0, where=HERE, advice=WORDS)
    assert _codes(unchanged, changed) == ["RCP003", "RCP016"]
    assert _codes(_cost("RCP003", 9_000.0, where=HERE, advice=WORDS), unchanged)[0] == "RCP016"


def test_a_cost_that_is_not_known_is_about_the_same_as_no_other() -> None:
    """How much two of these cost is left open; the one that is seen more often stays first."""
    often = _cost("IND017", None, count=2, advice=WORDS)
    assert _codes(_cost("IND019", None, advice=PASTED), often) == ["IND017", "IND019"]


@pytest.mark.parametrize(("bound", "first"), [(180.0, "TRC033"), (190.0, "TRC012")])
def test_a_bound_counts_half_beside_an_estimate(bound: float, first: str) -> None:
    """It is the most that there can be; an estimate is what is expected."""
    most = Cost(ms=bound, basis="upper_bound")
    limited = _cost("TRC012", bound).model_copy(update={"cost": most})
    assert _codes(limited, _cost("TRC033", 92.0))[0] == first


@pytest.mark.parametrize(
    ("ms", "first"), [(0.58, "GBR019"), (0.9, "GBR019"), (1.1, "ONE003"), (12.0, "ONE003")]
)
def test_less_than_a_millisecond_in_all_comes_after_a_break(ms: float, first: str) -> None:
    assert _codes(_cost("ONE003", ms), _cost("GBR019", None))[0] == first
    assert _codes(_cost("ONE003", ms), _cost("IND004", None))[0] == "ONE003"


def test_a_count_of_guards_comes_after_what_names_a_cause() -> None:
    assert _codes(_finding("GRD002", 9), _finding("RCP003"))[0] == "RCP003"


def test_training_that_nothing_compiles_is_paid_in_each_step() -> None:
    """Other rules of its family tell of compiling, which a longer run does not do again."""
    assert _codes(_cost("ONE004", 0.6), _cost("CMP008", 1.9))[0] == "CMP008"
    assert _codes(_cost("ONE004", 19.0), _cost("CMP008", 1.0))[0] == "ONE004"
    assert _codes(_cost("ONE004", 0.6), _cost("CMP002", 1.9))[0] == "ONE004"


@pytest.mark.parametrize(("seconds", "first"), [(59.0, "GBR006"), (100.0, "RCP003")])
def test_what_breaks_a_graph_comes_before_recompiles_that_cost_about_the_same(
    seconds: float, first: str
) -> None:
    """A function that is lost is compiled in parts, and each of them again."""
    lost = _finding("GBR006").model_copy(update={"cost": Cost(ms=57_000, basis="upper_bound")})
    cost = Cost(ms=1000 * seconds, basis="estimated")
    again = _finding("RCP003").model_copy(update={"cost": cost})
    assert min(lost, again, key=lambda finding: finding.order).code == first
