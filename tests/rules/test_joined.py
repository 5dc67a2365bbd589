"""Findings that name the user's line because two logs of one run were read together."""

from __future__ import annotations

from pathlib import Path

from tests.test_processes import FIXTURES, logs
from tracelens import analyze
from tracelens.report import Report, Where

MODEL = "/home/ana/proj/trc_cpu.py"


def found(report: Report, code: str) -> Where | None:
    (finding,) = (finding for finding in report.findings if finding.code == code)
    return finding.where


def test_pieces_of_a_graph_begin_at_the_first_break() -> None:
    text, structured = logs("pieces")
    trace = str(FIXTURES / "pieces" / "trace.json")
    assert found(analyze(trace), "TRC005") is None
    for logs_ in ([text], [structured], [text, structured]):
        report = analyze(*logs_, trace)
        assert found(report, "TRC005") == Where(file=MODEL, line=25, function="forward")
        (finding,) = (f for f in report.findings if f.code == "TRC005")
        assert finding.evidence[0].note == "why `0/0` ends: Call to torch._dynamo.graph_break()"


def test_a_trace_of_another_run_says_nothing_about_the_log() -> None:
    text, _ = logs("layers")
    report = analyze(text, logs("breaks")[0], str(FIXTURES / "pieces" / "trace.json"))
    assert found(report, "TRC005") is None


def test_the_frames_table_has_what_each_log_knows() -> None:
    text, structured = logs("layers")
    trace = str(Path(text).parent / "trace.json")
    (row,) = analyze(text, structured, trace).tables["frames"]
    assert {key: row[key] for key in ("frame", "function", "file", "line", "calls")} == {
        "frame": "0/0",
        "function": "forward",
        "file": "/home/ana/proj/every_log.py",
        "line": 72,
        "calls": 5,
    }
    assert row["library_calls"] == 3
    assert row["onednn_ms"] == 0.304
    assert row["trace_ms"] == 1.222
    (row,) = analyze(text).tables["frames"]
    assert row["onednn_ms"] == 0.304
    assert "trace_ms" not in row
    assert "function" not in row
