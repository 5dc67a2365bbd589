"""A number that a module computes anew in each call, and what comes of the break that reads it."""

from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import ids
from tracelens import analyze
from tracelens.report import Finding, Report
from tracelens.rules.gbr._running import is_running

LOGS = Path(__file__).parents[2] / "fixtures" / "rules" / "GBR001-scalar-from-tensor"


def first(report: Report, code: str) -> Finding:
    return next(one for one in report.findings if one.code == code)


def test_a_running_number_becomes_a_buffer() -> None:
    """A tensor in place of the number is refused by ``round`` further on, or stays a number's."""
    report = analyze(str(LOGS / "fires-running-range-2.13.log"))
    found = first(report, "GBR001")
    assert ids(found) == ["keep-in-buffer"]
    (advice,) = found.advice
    assert advice.code == (
        "self.high = self.high + 0.1 * (x.detach().abs().max().detach() - self.high)"
    )
    assert "self.register_buffer('high', torch.tensor(...))" in advice.text


def test_layers_that_a_break_has_compiled_apart_are_no_cause() -> None:
    """The layers get inputs with and without a gradient in each call of the model."""
    report = analyze(str(LOGS / "fires-running-range-2.13.log"))
    cause = first(report, "GBR001")
    flags = [one for one in report.findings if one.code == "RCP012"]
    assert flags
    assert {one.explained_by for one in flags} == {cause.id}
    assert report.findings[0] is cause


def test_flags_that_the_model_is_called_with_are_a_cause() -> None:
    """The model has as many entries as what it calls: the break does not make them."""
    report = analyze(str(LOGS / "fires-flags-of-callers-2.13.log"))
    assert not first(report, "RCP012").explained_by
    assert "keep-in-buffer" not in ids(first(report, "GBR001"))


@pytest.mark.parametrize(
    ("code", "running"),
    [
        ("self.low += 0.1 * (x.min().item() - self.low)", True),
        ("self.low = 0.9 * self.low + 0.1 * x.min().item()", True),
        ("self.range.low -= x.min().item()", True),
        ("self.low = x.min().item()", False),
        ("self.low = self.lowest + x.min().item()", False),
        ("low += x.min().item()", False),
        ("self.low[0] += x.min().item()", False),
        ("other.low += x.min().item()", False),
        ("self.low += 0.1 * (x.min() - self.low)", False),
        ("self.low += x.min().item(", False),
    ],
)
def test_a_running_number_is_computed_of_itself(code: str, running: bool) -> None:
    assert is_running(code) is running
