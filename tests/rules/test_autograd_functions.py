"""What is advised where the graph breaks within an autograd.Function: no symbol leaves it."""

from pathlib import Path

import pytest

from tracelens import analyze

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
SYMBOLS = {"capture-scalars", "capture-size"}


@pytest.mark.parametrize(
    "log",
    [
        "GBR001-scalar-from-tensor/fires-autograd-function.log",
        "GBR001-scalar-from-tensor/fires-library-function.log",
        "GBR008-dynamic-output-shape/fires-autograd-function.log",
    ],
)
def test_no_symbol_is_captured_within_an_autograd_function(log: str) -> None:
    """Dynamo fails there: `PendingUnbackedSymbolNotFound`."""
    found = analyze(str(FIXTURES / log)).told[0]
    ids = {one.id for one in found.advice}
    assert not ids & {*SYMBOLS, "read-outside"}  # what it returns are its results
    assert ids & ({"see-parts"} if "library" in log else {"keep-tensor", "keep-size"})


@pytest.mark.parametrize(
    ("log", "advice"),
    [
        ("GBR001-scalar-from-tensor/fires-listed-reasons-2.13.log", "capture-scalars"),
        ("GBR001-scalar-from-tensor/fires-item-2.13.log", "read-outside"),
        ("GBR008-dynamic-output-shape/fires-nonzero-2.13.log", "capture-size"),
    ],
)
def test_elsewhere_it_is(log: str, advice: str) -> None:
    found = [one for one in analyze(str(FIXTURES / log)).findings if one.code == log[:6]]
    assert advice in {one.id for finding in found for one in finding.advice}
