"""The log format of torch 2.0: the prefix of torch 2.1, before a record's first line only."""

from __future__ import annotations

from pathlib import Path

from tracelens.dynamo import phases
from tracelens.evidence import Evidence
from tracelens.logs.compile_times import PhaseTimes
from tracelens.logs.dynamo_debug import TraceStep
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.source import read

LOG = Path(__file__).parents[2] / "fixtures" / "logs" / "formats" / "torch20.log"


def said(evidence: Evidence) -> None:
    (limit,) = evidence.table(RecompileLimit)
    assert (limit.record.function, limit.record.file, limit.record.line) == (
        "f",
        "/home/ana/proj/model.py",
        5,
    )
    assert limit.record.limit == 64
    (times,) = evidence.table(PhaseTimes)
    assert {phase.name: phase.seconds for phase in times.record.phases} == {
        "_compile": (0.9, 0.1),
        "OutputGraph.call_user_compiler": (0.5,),
    }
    (step,) = evidence.table(TraceStep)
    assert (step.record.function, step.record.file) == ("f", "")
    assert not evidence.unread
    assert evidence.understood_lines == 15


def test_lines_without_a_prefix_go_on_with_the_record_above() -> None:
    evidence, (source,) = read([str(LOG)])
    said(evidence)
    assert source.lines == 17
    assert phases.tables(evidence)["compile_phases"][0] == {
        "phase": "_compile",
        "runs": 2,
        "seconds": 1.0,
    }


def test_lines_of_the_program_are_the_programs(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(
        "[2023-03-01 10:00:00,130] torch._dynamo.convert_frame: [WARNING] "
        "torch._dynamo hit config.cache_size_limit (64)\n"
        "epoch 3 loss 0.25\n"
        "   function: 'f' (/home/ana/proj/model.py:5)\n"
    )
    evidence, _ = read([str(path)])
    assert evidence.understood_lines == 1
    assert not evidence.unread
