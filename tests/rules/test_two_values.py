"""Two values of a module's integer do no harm, unless the function has few entries left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding

PREFIX = "V1124 12:00:0{n}.000000 7 torch/_dynamo/guards.py:5396] [0/{n}] [__recompiles] "


def told(tmp_path: Path, others: int) -> Finding:
    """Return what is told of a mode with two values, beside other recompiles."""
    reasons = ["self.mode == 0", *(f"name == 'k{n}'" for n in range(others))]
    lines = []
    for n, reason in enumerate(reasons, 1):
        parts = [
            "Recompiling function forward in /home/ana/proj/model.py:8",
            "    triggered by the following guard failure(s):",
            f"    - 0/{n - 1}: {reason}",
        ]
        lines += [f"{PREFIX.format(n=n)}{part}\n" for part in parts]
    log = tmp_path / "run.log"
    log.write_text("".join(lines))
    (finding,) = [one for one in analyze(str(log)).findings if one.code == "RCP007"]
    return finding


@pytest.mark.parametrize("others", [0, 2])
def test_two_values_do_no_harm(others: int, tmp_path: Path) -> None:
    finding = told(tmp_path, others)
    assert "two entries do no harm" in finding.message
    assert "two values need two entries" in (finding.harmless or "")
    assert "a number that became a symbol" in (finding.harmless or "")


def test_two_values_of_a_function_that_is_full(tmp_path: Path) -> None:
    finding = told(tmp_path, 7)
    assert "no harm" not in finding.message
    assert "what else recompiles it is compiled for either value" in finding.message
    assert finding.harmless is None
