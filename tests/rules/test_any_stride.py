"""A stride that changed once is expected where the new entry has a symbol for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens.engine import analyze
from tracelens.report import Severity

LOG = (
    Path(__file__).parents[2] / "fixtures/rules/RCP015-stride-mismatch/quiet-any-stride.log"
).read_text()


@pytest.mark.parametrize(
    ("of", "severity"),
    [
        ("stride=[None, 128, 1]", Severity.NONE),
        ("stride=[5632, 128, 1]", Severity.INFO),
        ("stride=[5632, None, 1]", Severity.INFO),
    ],
)
def test_only_a_symbol_in_that_dimension_takes_further_strides(
    tmp_path: Path, of: str, severity: Severity
) -> None:
    log = tmp_path / "run.log"
    log.write_text(LOG.replace("stride=[None, 128, 1]", of))
    (finding,) = analyze(str(log), select=["RCP015"]).findings
    assert finding.severity is severity


def test_without_guards_nothing_is_known(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("".join(line for line in LOG.splitlines(True) if "[__recompiles]" in line))
    (finding,) = analyze(str(log), select=["RCP015"]).findings
    assert finding.severity is Severity.INFO
