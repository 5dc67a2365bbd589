"""Tables whose gradient could be sparse, told from those of which torch has none that is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

FIXTURES = Path("fixtures/rules/IND029-dense-table-gradient")


@pytest.mark.parametrize(
    ("log", "given", "other"),
    [
        ("once", "2.0, False, False)", "2.0, True, False)"),
        ("bags", "2.0, False, 'mean', False", "2.0, True, 'mean', False"),
        ("bags", "2.0, False, 'mean', False", "2.0, False, 'max', False"),
        ("once", "2.0, False, False)", "2.0, False, True)"),
    ],
)
def test_a_lookup_that_sparse_gradients_raise_in_is_no_finding(
    tmp_path: Path, log: str, given: str, other: str
) -> None:
    """``scale_grad_by_freq`` and ``mode="max"`` have dense gradients only (torch 2.13 raises)."""
    text = (FIXTURES / f"fires-{log}.log").read_text()
    assert given in text
    path = tmp_path / "run.log"
    path.write_text(text)
    assert "IND029" in {finding.code for finding in analyze(str(path)).findings}
    path.write_text(text.replace(given, other))
    assert "IND029" not in {finding.code for finding in analyze(str(path)).findings}
