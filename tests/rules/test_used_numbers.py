"""A number that the function itself needs further on is not read outside of it."""

from __future__ import annotations

from pathlib import Path

from tracelens import analyze
from tracelens.report import Advice

FOLDER = Path(__file__).parents[2] / "fixtures/rules/GBR001-scalar-from-tensor"


def advice(path: Path) -> dict[str, Advice]:
    (finding,) = [one for one in analyze(str(path)).findings if one.code == "GBR001"]
    return {one.id: one for one in finding.advice}


def test_where_python_decides_by_it_no_symbol_takes_its_place() -> None:
    told = advice(FOLDER / "fires-number-decides-2.13.log")
    assert list(told) == ["read-outside"]
    assert told["read-outside"].text.startswith("`if error <= 0.5:` needs the number within")
    assert "let Python do the lines between them" in told["read-outside"].text


def test_what_is_computed_with_stays_in_the_graph() -> None:
    assert list(advice(FOLDER / "fires-number-computes-2.13.log")) == [
        "keep-tensor",
        "capture-scalars",
    ]


def test_what_is_returned_may_be_read_by_the_caller() -> None:
    told = advice(FOLDER / "fires-number-returns-2.13.log")
    assert list(told) == ["keep-tensor", "capture-scalars", "read-outside"]
    assert "Return the tensor" in told["read-outside"].text
