"""Advice for a torch that the run has left behind is not printed."""

from __future__ import annotations

import pytest

from tracelens.judging.fitting import fitting
from tracelens.report import Advice, Finding, Severity


@pytest.mark.parametrize(
    ("until", "torch", "stays"),
    [
        ("2.9", "2.13.0+cpu", False),
        ("2.9", "2.10.0", False),
        ("2.9", "2.9.1", True),
        ("2.9", "2.8.0", True),
        ("2.15.0", "2.15.0", True),
        ("2.15.0", "2.15.1", False),
        ("2.9", None, True),
        ("2.9", "nightly", True),
        ("oneDNN 3.8", "3.9.0", True),
        (None, "2.13.0", True),
    ],
)
def test_advice_goes_where_it_no_longer_holds(
    until: str | None, torch: str | None, stays: bool
) -> None:
    kept, tried = Advice(text="Always."), Advice(text="In these.", until=until)
    finding = Finding(
        id="RCP022-000000",
        code="RCP022",
        name="optimizer-hyperparameter",
        severity=Severity.WARNING,
        title="t",
        message="m",
        advice=(kept, tried),
    )
    assert fitting(finding, torch).advice == ((kept, tried) if stays else (kept,))
