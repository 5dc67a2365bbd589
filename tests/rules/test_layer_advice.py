"""Advice to compile the model is for runs in which only its layers are compiled."""

from pathlib import Path

import pytest

from tracelens import analyze

LOGS = Path(__file__).parents[2] / "fixtures" / "rules" / "RCP012-requires-grad-mismatch"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("fires-layers.log", {"same-flag", "compile-model"}),
        ("fires-model.log", {"same-flag"}),  # the model is compiled, and its loop breaks
        ("fires-once.log", {"same-flag"}),  # a function, and no layer
    ],
)
def test_compile_the_model_where_its_layers_are_compiled(log: str, expected: set[str]) -> None:
    (finding,) = [f for f in analyze(str(LOGS / log)).findings if f.code == "RCP012"]
    assert {advice.id for advice in finding.advice} == expected
