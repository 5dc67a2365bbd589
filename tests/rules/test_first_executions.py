"""First executions of primitives, beside compilations that took long or did not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Severity

LOG = Path(__file__).parents[2] / "fixtures/rules/ONE019-verbose-summary/fires-first-executions.log"
LINE = (
    "V1122 09:15:{:06.3f}000 528 torch/_dynamo/guards.py:4519] [0/0] [__guards] "
    "Guard eval latency = 9.10 us\n"
)


@pytest.mark.parametrize(("compiling_s", "severity"), [(1.0, Severity.INFO), (20.0, Severity.NONE)])
def test_first_executions_are_no_news_where_compiling_took_a_hundred_times_as_long(
    compiling_s: float, severity: Severity, tmp_path: Path
) -> None:
    """They took 22 ms more than later ones: 2.2 % of a second, 0.1 % of 20 s."""
    path = tmp_path / "run.log"
    clocks = LINE.format(10.0) + LINE.format(10.0 + compiling_s)
    path.write_text(clocks + LOG.read_text(encoding="utf-8"), encoding="utf-8")
    (found,) = (one for one in analyze(str(path)).findings if one.code == "ONE019")
    assert found.severity is severity
    assert bool(found.advice) == (severity is Severity.INFO)
