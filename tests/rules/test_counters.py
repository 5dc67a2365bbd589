"""An ``itertools.count`` that compiled code draws from."""

from pathlib import Path

from tests.rules.test_recompile_advice import ids
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
