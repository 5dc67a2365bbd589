"""Traces among the inputs: recognised by content, counted in events, read in little memory."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.source.splitting import KINDS
from tests.traces.writing import kernel, op, span, text
from tracelens import analyze
from tracelens.source import ranges, read
from tracelens.traces.measured import DeviceBusy, Step, TraceHeader

PREFIX = "V1120 10:45:50.410000 30895 torch/_dynamo/guards.py:5396] [0/2] [__recompiles] "


def test_a_trace_and_a_log_are_read_together(tmp_path: Path) -> None:
    trace = text([op("aten::mm", 0, 5), {"ph": "?"}, 3], distributedInfo={"rank": 1})
    (tmp_path / "trace.json.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + trace))
    (tmp_path / "run.log").write_text(f"{PREFIX}Recompiling function f in f.py:3\n")
    report = analyze(str(tmp_path / "trace.json.gz"), str(tmp_path / "run.log"))
    first, second = report.inputs
    assert (first.events, first.lines, first.kinds) == (3, 0, {"chrome_trace": 1})
    assert (second.events, second.lines) == (0, 1)
    coverage = report.coverage
    assert (coverage.events, coverage.understood_events, coverage.lines) == (3, 1, 1)
    reasons = {unread.reason: unread.count for unread in coverage.unread if unread.kind}
    assert reasons["Invalid value '?' at `event.ph`"] == 1
    assert reasons["Expected `object`, got `int`"] == 1
    assert report.environment.device is None


def test_without_a_trace_there_are_no_events(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(f"{PREFIX}Recompiling function f in f.py:3\n")
    coverage = analyze(str(tmp_path / "run.log")).coverage
    assert (coverage.events, coverage.understood_events) == (None, None)


def test_the_device_is_part_of_the_environment(tmp_path: Path) -> None:
    events = [kernel("k", 0, 5), op("aten::mm", 0, 1)]
    path = tmp_path / "trace.json"
    path.write_bytes(text(events, deviceProperties=[{"name": ""}, {"name": "NVIDIA B200"}]))
    report = analyze(str(path))
    assert report.environment.device == "NVIDIA B200"
    assert [row["name"] for row in report.tables["operators"]] == ["k", "aten::mm"]
    assert report.tables["operators"][0]["of"] == "the trace"
    assert "regions" not in report.tables


def test_a_bare_list_is_a_trace_and_other_json_is_not(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text(json.dumps([op("aten::mm", 0, 5)], indent=1))
    (tmp_path / "pods.json").write_text(json.dumps({"log": PREFIX + "x\n", "time": "now"}) + "\n")
    _, inputs = read([str(tmp_path / "list.json"), str(tmp_path / "pods.json")])
    assert [source.events for source in inputs] == [1, 0]
    assert inputs[1].lines == 1


def test_a_trace_may_be_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text('{"a": 1, "traceEvents" : [ {"ph": "X", "name": "a", "ts": 1} ] }')
    assert read([str(path)], kind="chrome_trace")[1][0].events == 1


def test_an_empty_trace_is_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_bytes(text([]))
    evidence, (source,) = read([str(path)])
    assert (source.events, source.kinds, source.truncated) == (0, {"chrome_trace": 1}, False)
    assert len(evidence.table(TraceHeader)) == 1


def test_several_processes_leave_a_trace_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "MIN_RANGE", 64)
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"preface": ["x"] * 900, "traceEvents": [op("a", 0, 1)]}, indent=1))
    assert ranges.plan(str(path), 2, KINDS) == []
    assert read([str(path)], jobs=2)[1][0].events == 1


def test_one_event_on_a_line_is_read_in_a_log(tmp_path: Path) -> None:
    path = tmp_path / "excerpt.log"
    path.write_text(f"{PREFIX}Recompiling function f in f.py:3\n{json.dumps(op('a::b', 0, 1))}\n")
    evidence, (source,) = read([str(path)])
    assert source.kinds["chrome_trace"] == 1
    assert evidence.understood_lines == 2


# Forms of other times and devices.


def test_the_form_of_2021(tmp_path: Path) -> None:
    def old(category: str, name: str, ts: int, dur: int, tid: str) -> dict[str, object]:
        device = category in {"Kernel", "Memcpy"}
        return span(category, name, ts, dur, pid=0 if device else 25738, tid=tid)

    events = [
        old("Operator", "aten::empty", 1623142623460111, 25, "25738"),
        old("Operator", "aten::conv2d", 1623142623460211, 70, "25738"),
        old("Runtime", "cudaLaunchKernel", 1623142623460231, 9, "25738"),
        {"ph": "s", "id": 1, "pid": 25738, "tid": 25738, "cat": "async", "name": "launch", "ts": 1},
        {"ph": "f", "id": 1, "pid": 0, "tid": "stream 7", "cat": "async", "name": "launch"},
        {"name": "[memory]", "ph": "i", "s": "t", "pid": 25738, "tid": 25738, "ts": 1},
        old("Kernel", "volta_sgemm_64x32_sliced1x4_tn", 1623142623460300, 40, "stream 7"),
        old("Memcpy", "Memcpy HtoD (Pageable -> Device)", 1623142623460340, 10, "stream 7"),
        old("Operator", "ProfilerStep#5", 1623142623460100, 400, "25738"),
        {"ph": "X", "cat": "Trace", "ts": 1, "dur": 9, "name": "PyTorch Profiler (0)"},
    ]
    path = tmp_path / "old.json"
    path.write_bytes(text(events, computeProperties=[{"id": 0, "name": "Tesla V100"}]))
    evidence, (source,) = read([str(path)])
    assert source.events == evidence.understood_events == 10
    (device,) = evidence.table(DeviceBusy)
    assert (device.record.kernels, device.record.busy_ms) == (1, 0.05)
    (step,) = evidence.table(Step)
    assert (step.record.number, step.record.ms) == (5, 0.4)
    assert (step.record.kernels, step.record.launches) == (1, 1)


def test_the_form_of_rocm(tmp_path: Path) -> None:
    events = [
        span("cuda_runtime", "hipModuleLaunchKernel", 1, 2, args={"kernel": "k", "bytes": ""}),
        span("cuda_runtime", "hipMemcpyWithStream", 5, 2, args={"bytes": "64", "kind": "DtoH"}),
        span("cuda_runtime", "hipDeviceSynchronize", 9, 90),
        span("kernel", "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs", 10, 80, pid=2, tid=0),
        span("gpu_memcpy", "Memcpy DtoH (Device -> Host)", 95, 3, pid=2, tid=0, args={"bytes": 64}),
    ]
    path = tmp_path / "hip.json"
    path.write_bytes(text(events, hip_runtime_version=60443483))
    evidence, _ = read([str(path)])
    assert evidence.understood_events == 5
    (device,) = evidence.table(DeviceBusy)
    assert (device.record.device, device.record.busy_ms) == ("2", 0.083)
    (header,) = evidence.table(TraceHeader)
    assert header.record.runtime == "HIP 6.4.43483"


# Memory.

PROBE = """
import re, sys
from pathlib import Path
from tracelens.traces.reading import read_trace

class Endless:
    def __init__(self, size):
        self.left, self.number = size, 0
    def read(self, size):
        if not self.number:
            self.number = 1
            return b'{"traceEvents": ['
        if self.left <= 0:
            return b""
        parts = []
        for _ in range(400):
            self.number += 1
            parts.append(
                b'{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": %d, '
                b'"dur": 2.5, "args": {"Input Dims": [[64, 64], [64, 64]], "Ev Idx": %d}},\\n'
                b'{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": %d.5, '
                b'"dur": 2, "args": {"stream": 7}},\\n'
                % (self.number * 10, self.number, self.number * 10)
            )
        text = b"".join(parts)
        self.left -= len(text)
        return text

def peak():  # getrusage() would count what the parent of this process has used
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) >> 10

read_trace(Endless(1 << 20), "t")
before = peak()
read_trace(Endless(int(sys.argv[1])), "t")
print(peak(), peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_a_large_trace_takes_little_memory() -> None:
    command = [sys.executable, "-c", PROBE, str(100 << 20)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    peak, more = map(int, done.stdout.split())
    assert peak < 120
    assert more < 75
