"""One run that wrote a text log and a structured log: each fact counts once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.evidence import Evidence
from tracelens.frames import Frame
from tracelens.logs.graph_breaks import GraphBreak, NotConverted
from tracelens.logs.guards import GuardLatency, GuardTree
from tracelens.logs.output_code import OutputModule
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile
from tracelens.logs.torch_log import CompileSpan
from tracelens.logs.torch_trace import CompilationMetrics
from tracelens.source import read

FIXTURES = Path(__file__).parent.parent / "fixtures" / "logs" / "torch_trace"
MODES = ("breaks", "layers", "twins")
#: What both logs say alike. A text log repeats a graph break in other words than it had first.
ALIKE = (Recompile, RecompileLimit, GuardTree, GuardLatency, OutputModule)


def logs(mode: str) -> tuple[str, str]:
    """Return the text log and the structured log of one run."""
    folder = FIXTURES / mode
    (structured,) = folder.glob("dedicated_log_*")
    return str(folder / "run.log.xz"), str(structured)


def evidence(*paths: str) -> Evidence:
    return read(list(paths))[0]


def sizes(found: Evidence) -> dict[str, int]:
    kinds = (*ALIKE, GraphBreak, CompilationMetrics, Frame, CompileSpan)
    return {kind.__name__: found.table(kind).count for kind in kinds}


@pytest.mark.parametrize("mode", MODES)
def test_the_structured_log_says_what_the_text_log_says(mode: str) -> None:
    text, structured = map(evidence, logs(mode))
    for kind in ALIKE:
        told = Counter(
            (place.frame, _bare(seen.record)) for place, seen in text.table(kind).events()
        )
        traced = structured.table(kind).events()
        assert told == Counter((place.frame, _bare(seen.record)) for place, seen in traced)
    assert not structured.unread


def _bare(record: object) -> str:
    """Return a record without the places of lines, which differ from log to log."""
    assert hasattr(record, "model_dump")

    def strip(value: object) -> object:
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k not in {"at", "stack"}}
        if isinstance(value, list):
            return [strip(part) for part in value]
        return value.strip() if isinstance(value, str) else value

    return repr(strip(record.model_dump(mode="json")))


def test_the_graph_breaks_are_those_of_the_text_log() -> None:
    text, structured = map(evidence, logs("breaks"))
    broken = [
        Counter(
            (place.frame, seen.record.line, seen.record.gb, seen.record.skips_frame)
            for place, seen in found.table(GraphBreak).events()
            if not seen.record.announced
        )
        for found in (text, structured)
    ]
    assert broken[0] == broken[1]
    assert broken[0].total() == 7


@pytest.mark.parametrize("mode", MODES)
def test_both_logs_together_are_not_more(mode: str) -> None:
    text, structured = logs(mode)
    alone, traced, both = (
        sizes(evidence(*paths)) for paths in ((text,), (structured,), (text, structured))
    )
    assert both == {**alone, "CompilationMetrics": traced["CompilationMetrics"]}


def test_what_was_looked_up_before_the_logs_were_joined_is_forgotten() -> None:
    text, structured = map(evidence, logs("breaks"))
    both = sizes(evidence(*logs("breaks")))
    sizes(text)
    text.merge(structured)
    assert sizes(text) == both


@pytest.mark.parametrize("mode", MODES)
def test_the_order_of_the_inputs_does_not_matter(mode: str) -> None:
    text, structured = logs(mode)
    assert sizes(evidence(structured, text)) == sizes(evidence(text, structured))


def test_the_findings_are_those_of_one_log() -> None:
    text, structured = logs("breaks")
    reports = [analyze(text), analyze(structured), analyze(text, structured)]
    told = [
        {
            finding.id: (finding.count, finding.severity, finding.where)
            for finding in report.findings
        }
        for report in reports
    ]
    assert told[0] == told[1] == told[2]
    assert {"GBR001", "GBR002", "GBR003", "GBR006", "RCP001", "RCP006"} <= {
        finding.code for finding in reports[0].findings
    }


def test_what_one_log_leaves_out_comes_from_the_other(tmp_path: Path) -> None:
    """A text log repeats a graph break in short; the structured log has it whole."""
    text, structured = logs("breaks")
    both = evidence(text, structured).table(GraphBreak)
    short = evidence(text).table(GraphBreak).where(lambda record: record.duplicate)
    assert short.count == 3
    assert not both.where(lambda record: record.duplicate)
    empty = tmp_path / "run.log"
    empty.write_text("onednn_verbose,v1,info,cpu,isa:AVX2\n")
    assert sizes(evidence(str(empty), structured)) == sizes(evidence(structured))


HEAD = "V1120 12:00:{second:02d}.000000 {pid} torch/_dynamo/x.py:1] "


def guards(pid: int, second: int, rank: str = "") -> str:
    prefix = rank + HEAD.format(second=second, pid=pid) + "[0/0] [__guards] "
    return f"{prefix}\n{prefix}TREE_GUARD_MANAGER:\n{prefix}+- RootGuardManager\n"


def traced(pid: int, second: int) -> str:
    envelope = '{"dynamo_cpp_guards_str": {}, "frame_id": 0, "frame_compile_id": 0}'
    payload = "\t\n\tTREE_GUARD_MANAGER:\n\t+- RootGuardManager\n"
    return HEAD.format(second=second, pid=pid) + envelope + "\n" + payload


@pytest.mark.parametrize(
    ("name", "text", "trees"),
    [
        ("a.log", guards(7, 1), 1),
        ("another process", guards(8, 1), 2),
        ("the same number, at another time", guards(7, 9), 2),
        ("rank", guards(7, 1, "[rank3]:"), 1),
    ],
)
def test_logs_of_one_process_have_its_number_and_its_time(
    tmp_path: Path, name: str, text: str, trees: int
) -> None:
    (tmp_path / name).write_text(text)
    structured = tmp_path / "dedicated_log_torch_trace_rank_3_abc.log"
    structured.write_text(traced(7, 1))
    found = evidence(str(tmp_path / name), str(structured))
    assert found.table(GuardTree).count == trees
    assert found.table(Frame).count == trees


def test_a_file_is_named_after_its_rank(tmp_path: Path) -> None:
    for rank in (0, 11):
        path = tmp_path / f"dedicated_log_torch_trace_rank_{rank}_abc.log"
        path.write_text(traced(100 + rank, 1))
    frames = evidence(str(tmp_path)).table(Frame)
    assert sorted(row.record.writer for row in frames) == ["rank0", "rank11"]


def test_a_suppressed_failure_is_a_frame_that_was_not_converted(tmp_path: Path) -> None:
    head = HEAD.format(second=1, pid=7)
    metrics = (
        '{"compilation_metrics": {"compile_id": "0/0", "co_name": "step", "co_filename": '
        '"/home/ana/proj/a.py", "co_firstlineno": 18, "fail_type": "BackendCompilerFailed", '
        '"fail_reason": "backend=\'refuse\' raised:\\nRuntimeError: no", "dynamo_config": '
        '"{\\"suppress_errors\\": %s}"}, "frame_id": 0, "frame_compile_id": 0}\n'
    )
    path = tmp_path / "trace.log"
    path.write_text(head + metrics % "false")
    assert not evidence(str(path)).table(NotConverted)
    path.write_text(head + metrics % "true")
    (row,) = evidence(str(path)).table(NotConverted)
    assert row.record == NotConverted(
        function="step", file="/home/ana/proj/a.py", line=18, error="RuntimeError: no"
    )
