"""An ``itertools.count`` that compiled code draws from, and numbers that name a dimension."""

from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import ids, recompiled
from tests.rules.test_recompile_advice import told as told_of
from tracelens import analyze
from tracelens.report import Finding, Severity

LOGS = Path(__file__).parents[2] / "fixtures" / "rules" / "RCP023-shape-relation-guard"


def told(path: Path) -> Finding:
    (found,) = [one for one in analyze(str(path)).findings if one.code == "RCP023"]
    return found


def test_a_counter_is_no_condition_with_two_sides(tmp_path: Path) -> None:
    log = LOGS / "fires-counter.log"
    counted = told(log)
    assert ids(counted) == ["leave-counter"]
    assert counted.severity is Severity.WARNING
    assert "two sides" not in counted.message
    assert "bounded" not in counted.message
    other = tmp_path / "run.log"
    text = log.read_text()
    other.write_text(text.replace("___normalize_count_iter(G['Item'].numbers) ==", "n % 4 =="))
    assert all("leave-counter" not in ids(one) for one in analyze(str(other)).findings)


@pytest.mark.parametrize(
    ("source", "line", "symbol"),
    [
        ("self.order[1]", "x = x.permute(*self.order)", False),
        ("self.axis", "x = x.transpose(0, self.axis)", False),
        ("self.axis", "x = x.movedim(0, self.axis)", False),
        ("self.shift", "x = x.roll(self.shift)", True),
    ],
)
def test_a_number_of_a_dimension_becomes_no_symbol(
    source: str, line: str, *, symbol: bool, tmp_path: Path
) -> None:
    """Tried with the setting: three graphs for three dimensions, two for all shifts."""
    reasons = [f"{source} == {n}  # {line}  # proj/net.py:15 in forward" for n in range(1, 4)]
    found = told_of("RCP007", recompiled("forward", *reasons), tmp_path)
    assert ("unspec-int" in ids(found)) is symbol
