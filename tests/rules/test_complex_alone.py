"""A graph of little but small calls on complex numbers is better left uncompiled."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding, Severity
from tracelens.rules.ind import complex_ops_not_lowered as rule

FOLDER = Path(__file__).parents[2] / "fixtures/rules/IND010-complex-ops-not-lowered"
CIRCUIT = FOLDER / "fires-circuit.log.gz"


def _found(log: Path) -> Finding:
    (found,) = [one for one in analyze(str(log)).findings if one.code == "IND010"]
    return found


def test_it_is_a_warning_which_names_what_to_compile_instead() -> None:
    found = _found(CIRCUIT)
    assert found.severity is Severity.WARNING
    assert [one.id for one in found.advice] == ["real-modules"]
    assert "They are 135 of its 159 calls, and small" in found.message


@pytest.mark.parametrize(("name", "value"), [("MIN_ALONE", 135), ("MIN_PART", 135 / 159)])
def test_both_thresholds_have_two_sides(
    name: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule, name, value)
    assert _found(CIRCUIT).severity is Severity.WARNING
    monkeypatch.setattr(rule, name, value * 1.01)
    found = _found(CIRCUIT)
    assert found.severity is Severity.INFO
    assert [one.id for one in found.advice] == ["two-parts"]


def test_large_tensors_are_computed_as_fast_in_either_mode(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    text = gzip.decompress(CIRCUIT.read_bytes()).decode()
    log.write_text(text.replace("(16, 4), (4, 1)", "(160000, 4), (4, 1)"))
    assert _found(log).severity is Severity.INFO


def test_a_few_calls_of_a_rotation_are_information() -> None:
    assert _found(FOLDER / "fires-rotary.log").severity is Severity.INFO
