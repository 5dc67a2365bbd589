"""Recompiles behind a break of a package: what is said where the log holds the break, or not."""

from __future__ import annotations

from pathlib import Path

from tests.rules.test_counts import BREAK
from tracelens import analyze
from tracelens.report import Finding

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
LOG = RULES / "RCP024-recompiles-in-resume-functions" / "fires-graph-layers.log"


def told(path: Path) -> Finding:
    return next(one for one in analyze(str(path)).findings if one.code == "RCP024")


def test_the_breaks_are_to_be_recorded_where_the_log_holds_none() -> None:
    assert [one.id for one in told(LOG).advice] == ["see-breaks"]


def test_no_more_is_asked_to_be_recorded_where_it_holds_them(tmp_path: Path) -> None:
    head = "V1127 04:00:00.000000 7 torch/_dynamo/symbolic_convert.py:5124] [9/0] [__graph_breaks] "
    lines = BREAK.format(file="pool.py", code="n = int(index[0])").split("\n")
    record = "".join(f"{head}{line}\n" for line in lines)
    log = tmp_path / "run.log"
    log.write_text(LOG.read_text("utf-8") + record, "utf-8")
    found = told(log)
    assert not found.advice
    assert "Begin with the graph break" in found.message
