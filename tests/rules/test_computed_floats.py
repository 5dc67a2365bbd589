"""Numbers that compiled code computes of floats, and the guard that an entry lacks."""

import gzip
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding, Severity

LOGS = Path(__file__).parents[2] / "fixtures" / "rules" / "RCP023-shape-relation-guard"
LOST = gzip.decompress((LOGS / "fires-number-lost-2.13.log.gz").read_bytes()).decode()
GUARD = "LAMBDA_GUARD: (0.05*L['e'] + 0.95*L['self'].level) == 0.290125  # (fx/passes/"


def told(text: str, folder: Path) -> Finding:
    log = folder / "run.log"
    log.write_text(text)
    (found,) = [one for one in analyze(str(log)).findings if one.code == "RCP023"]
    return found


def of_last_entry(old: str, new: str) -> str:
    """Change what the log holds of the last entry."""
    return "".join(
        line.replace(old, new) if "[0/3" in line else line
        for line in LOST.splitlines(keepends=True)
    )


def test_an_entry_without_the_guard_and_with_the_number_is_an_error(tmp_path: Path) -> None:
    found = told(LOST, tmp_path)
    assert (found.severity, found.data["computed"]) == (Severity.ERROR, "lost")
    assert [one.id for one in found.advice] == ["keep-computed"]


def test_code_without_the_number_may_be_right(tmp_path: Path) -> None:
    found = told(of_last_entry("static_cast<double>(0.290125)", "in_ptr2[0]"), tmp_path)
    assert (found.severity, found.data["computed"]) == (Severity.WARNING, "unseen")


@pytest.mark.parametrize("guard", ["e", "self'].level"])
def test_a_float_that_is_no_symbol_needs_no_such_guard(guard: str, tmp_path: Path) -> None:
    found = told(of_last_entry(f"not math.isnan(L['{guard}", "L['e'] == 3.0  # "), tmp_path)
    assert (found.severity, found.data["computed"]) == (Severity.INFO, "held")


def test_an_entry_with_the_guard_is_right(tmp_path: Path) -> None:
    last = "LAMBDA_GUARD: not math.isnan(L['e'])"
    text = of_last_entry(
        f"+- {last}", f"+- {GUARD}_tensorify_python_scalars.py:429 in f)\n+- {last}"
    )
    assert told(text, tmp_path).severity is Severity.INFO
