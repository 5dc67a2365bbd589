"""The trace with what was found in it: nothing of it is lost, and ours stands where it happened."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import tracelens
from tests.traces.writing import Bytes, Json, kernel, span, text
from tracelens.cli import main
from tracelens.traces.annotating import PROCESS, added, inserted

MARK: list[Json] = [{"ph": "M", "name": "process_name", "pid": PROCESS}]


def starved(path: Path) -> tuple[Path, list[Json]]:
    """Write a trace whose device waits for its host."""
    events: list[Json] = []
    for k in range(40):
        key = {"correlation": k + 1}
        at = 5_000.0 + 700.0 * k
        events += [
            span("cuda_runtime", "cudaLaunchKernel", at - 5, 4, args=key),
            kernel("gemm", at, 5) | {"args": key},
        ]
    file = path / "trace.json"
    file.write_bytes(text(events, deviceProperties=[{"id": 0, "name": "NVIDIA A100"}], last=1))
    return file, events


def whole(data: bytes, events: list[Json], chunk: int = 1 << 30) -> Any:
    return json.loads(b"".join(inserted(Bytes(data, chunk), events)))


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    "data",
    [
        b'{"schemaVersion": 1, "traceEvents": [ {"ph": "X", "name": "a"} ], "x": [1]}',
        b'{"traceEvents":[]}',
        b'{"traceEvents": [\n]}',
    ],
)
def test_what_was_there_stays_there(data: bytes, chunk: int) -> None:
    before, after = json.loads(data), whole(data, MARK, chunk)
    assert after.pop("traceEvents") == MARK + before.pop("traceEvents")
    assert after == before


def test_a_bare_list_is_a_trace_too() -> None:
    assert whole(b' [{"ph": "X", "name": "a"}]', MARK)[:1] == MARK
    assert whole(b"[]", MARK) == MARK


def test_a_file_without_events_is_copied() -> None:
    assert whole(b'{"a": 1}', MARK) == {"a": 1}


def test_findings_and_gaps_stand_where_they_are(tmp_path: Path) -> None:
    file, events = starved(tmp_path)
    out = tmp_path / "seen.json.gz"
    assert main(["analyze", str(file), "--annotate", str(out), "-q"]) == 0
    report = tracelens.analyze(str(file))
    seen = json.loads(gzip.decompress(out.read_bytes()))
    assert seen["last"] == 1
    ours = [event for event in seen["traceEvents"] if event["pid"] == PROCESS]
    assert seen["traceEvents"][len(ours) :] == events
    gaps = [event for event in ours if event.get("cat") == "tracelens_gap"]
    assert [gap["dur"] for gap in gaps] == [1000 * row["ms"] for row in report.tables["gaps"]]
    starts = {event["ts"] + event["dur"] for event in events if event["cat"] == "kernel"}
    assert all(any(abs(gap["ts"] - start) < 0.01 for start in starts) for gap in gaps)
    found = {event["args"]["finding"] for event in ours if event.get("cat") == "tracelens_finding"}
    assert found == {finding.id for finding in report.findings if not finding.suppressed_by}
    quoted = [event["ts"] for event in ours if event.get("cat") == "tracelens_finding"]
    assert all(min(e["ts"] for e in events) <= ts <= max(e["ts"] for e in events) for ts in quoted)
    shares = [event["args"]["busy"] for event in ours if event["ph"] == "C"]
    assert sum(shares) / len(shares) == pytest.approx(100 * 40 * 5 / (39 * 700 + 5), rel=0.05)


def test_an_annotated_trace_says_the_same(tmp_path: Path) -> None:
    file, _ = starved(tmp_path)
    out = tmp_path / "again.json"
    assert main(["analyze", str(file), "--annotate", str(out), "-q"]) == 0
    once, twice = tracelens.analyze(str(file)), tracelens.analyze(str(out))
    assert [finding.id for finding in twice.findings] == [finding.id for finding in once.findings]
    assert twice.tables["time"] == once.tables["time"]


def test_findings_of_other_inputs_are_left_out() -> None:
    assert len(added(Bytes(text([kernel("gemm", 0, 5)])), "trace.json", [])) > 1


@pytest.mark.parametrize("inputs", [[], ["other.json"]])
def test_it_takes_one_trace(
    tmp_path: Path, inputs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file, _ = starved(tmp_path)
    for name in inputs:
        (tmp_path / name).write_bytes(file.read_bytes())
    where = str(tmp_path) if inputs else str(Path(__file__).parents[2] / "fixtures/logs/samples")
    assert main(["analyze", where, "--annotate", str(tmp_path / "x.json")]) == 2
    assert "--annotate" in capsys.readouterr().err
    assert main(["analyze", str(file), "--annotate", str(file)]) == 2
