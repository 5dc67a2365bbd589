"""Real traces: what the profiler itself counted, and what a plain JSON parser finds in them."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import ROOT, cases, needs_corpus, truth
from tests.traces.writing import Bytes
from tracelens.evidence import Evidence
from tracelens.logs.chrome_trace import (
    ChromeTrace,
    CompiledRegion,
    DispatchStage,
    InductorKernel,
    TraceEvent,
)
from tracelens.source import read
from tracelens.summaries.chrome_trace import tables
from tracelens.traces.idle import Cause
from tracelens.traces.measured import DeviceBusy, SelfTime, Step, TraceHeader, Window
from tracelens.traces.reading import read_trace
from tracelens.traces.rows import Timeline

FIXTURES = Path(__file__).parents[2] / "fixtures" / "logs" / "chrome_trace"
Averages = dict[str, dict[str, float]]


def recorded(case: Path) -> Averages:
    """Return ``key_averages`` as the process itself had them, in one form."""
    averages = truth(case)["user"]["key_averages"]
    if isinstance(averages, dict):
        return averages
    return {name: {"count": count, "self_us": us} for name, count, us in averages}


def trace_of(case: Path) -> Path:
    (path,) = case.glob("*trace.json*")
    return path


def by_key(evidence: Evidence) -> Counter[str]:
    """Return counts by name as the profiler groups them: of what runs on the host."""
    counts: Counter[str] = Counter()
    for seen in evidence.table(TraceEvent):
        if seen.record.category in {"cpu_op", "user_annotation", "python_function"}:
            counts[str(seen.record)] += seen.count
    return counts


# Our own traces, which travel with the project; the numbers are those of key_averages().


def test_one_step_of_a_small_model() -> None:
    evidence, (source,) = read([str(FIXTURES / "mlp-one-step.json")])
    assert (source.events, source.kinds, source.lines) == (54, {"chrome_trace": 1}, 0)
    assert (evidence.events, evidence.understood_events) == (54, 54)
    assert by_key(evidence) == {
        "aten::randn": 1,
        "aten::empty": 4,
        "aten::normal_": 1,
        "aten::linear": 3,
        "aten::t": 3,
        "aten::transpose": 3,
        "aten::as_strided": 6,
        "aten::addmm": 3,
        "aten::expand": 3,
        "aten::copy_": 3,
        "aten::resolve_conj": 6,
        "aten::relu": 1,
        "aten::clamp_min": 1,
        "aten::layer_norm": 1,
        "aten::native_layer_norm": 1,
        "aten::view": 2,
        "aten::gelu": 1,
    }
    (header,) = evidence.table(TraceHeader)
    assert header.record == TraceHeader(schema_version=1, record_shapes=True)


def test_a_compiled_model_whose_kernels_are_profiled() -> None:
    evidence, _ = read([str(FIXTURES / "mlp-compiled-kernels.json")])
    kernels = {str(seen.record): seen for seen in evidence.table(InductorKernel)}
    assert {name: seen.count for name, seen in kernels.items()} == {
        "graph_0_cpp_fused_native_layer_norm_relu_0": 3,
        "graph_0_cpp_fused_gelu_1": 3,
    }
    assert kernels["graph_0_cpp_fused_gelu_1"].ms == pytest.approx(0.054963)
    (region,) = evidence.table(CompiledRegion)
    assert (region.record.frame, region.count) == ("0/0", 3)
    assert region.ms == pytest.approx(38.923314)
    stages = {str(seen.record): seen for seen in evidence.table(DispatchStage)}
    assert stages["TorchDynamo Cache Lookup"].ms == pytest.approx(0.370985)
    (window,) = evidence.table(Window)
    assert window.record.compiled_ms == pytest.approx(38.923314)
    assert window.record.frames == ("0/0",)
    shown = tables(evidence)
    assert shown["operators"][0]["name"] == "Torch-Compiled Region: 0/0"
    assert shown["operators"][0]["self_ms"] == pytest.approx(0.456063)
    assert [(row["name"], row["count"]) for row in shown["regions"]] == [
        ("Torch-Compiled Region: 0/0", 3)
    ]


def test_a_training_step_with_memory_and_one_with_stacks() -> None:
    train, _ = read([str(FIXTURES / "mlp-train.json.gz")])
    counts = by_key(train)
    assert counts["autograd::engine::evaluate_function: AddmmBackward0"] == 9
    assert counts["Optimizer.step#SGD.step"] == 3
    assert sum(s.count for s in train.table(TraceEvent) if str(s.record) == "[memory]") == 216
    (header,) = train.table(TraceHeader)
    assert (header.record.profile_memory, header.record.with_stack) == (True, False)
    stack, _ = read([str(FIXTURES / "encoder-compiled-stack.json.gz")])
    assert by_key(stack)["models.py(51): step"] == 3
    assert by_key(stack)["TorchDynamo Cache Lookup"] == 3
    (header,) = stack.table(TraceHeader)
    assert header.record.with_stack


@pytest.mark.parametrize("share", [0.2, 0.5, 0.97])
def test_a_file_that_was_cut_gives_what_is_there(share: float, tmp_path: Path) -> None:
    data = (FIXTURES / "mlp-one-step.json").read_bytes()
    cut = data[: int(len(data) * share)]
    whole = json.loads(data)["traceEvents"]
    left = _complete(cut)
    (tmp_path / "cut.json").write_bytes(cut)
    evidence, (source,) = read([str(tmp_path / "cut.json")])
    assert source.truncated
    assert source.events == evidence.understood_events == left
    assert [what for what, _ in evidence.gaps.values()] == ["ends in the middle of its trace"]
    packed = gzip.compress(data, mtime=0)
    (tmp_path / "cut.json.gz").write_bytes(packed[: int(len(packed) * share)])
    _, (source,) = read([str(tmp_path / "cut.json.gz")])
    assert source.truncated
    assert 0 < source.events <= len(whole)


def _complete(text: bytes) -> int:
    """Count the objects of the event list that end in ``text``, by decoding one after the other."""
    decoder = json.JSONDecoder()
    rest = text.decode("utf-8", "ignore").partition('"traceEvents": [')[2]
    count = 0
    while True:
        rest = rest.lstrip(" ,\n")
        try:
            _, end = decoder.raw_decode(rest)
        except ValueError:
            return count
        rest = rest[end:]
        count += 1


# Those of the corpus.

PROFILED = [*cases("2.13.0/prof_*"), *cases("real/prof_*")]


@needs_corpus
@pytest.mark.parametrize("case", PROFILED, ids=lambda case: case.name)
def test_the_profiler_counted_the_same(case: Path) -> None:
    averages = recorded(case)
    evidence, (source,) = read([str(trace_of(case))])
    assert source.events == evidence.understood_events > 0
    assert not source.truncated
    counts = by_key(evidence)
    # key_averages leaves memory out where no operator is around, and mixes processes' addresses.
    expected = Counter(
        {
            ChromeTrace.mask(name): 0
            for name in averages
            if name not in {"[memory]", "ProfilerStep*"}
        }
    )
    for name, entry in averages.items():
        if ChromeTrace.mask(name) in expected:
            expected[ChromeTrace.mask(name)] += int(entry["count"])
    differing = {name for name in expected if counts[name] != expected[name]}
    # The profiler groups a name twice where its events differ in more; the recorder kept one.
    assert all(counts[name] > expected[name] for name in differing)
    assert len(differing) <= 4


@needs_corpus
@pytest.mark.parametrize("case", PROFILED, ids=lambda case: case.name)
def test_the_profiler_found_the_same_times(case: Path) -> None:
    evidence, _ = read([str(trace_of(case))])
    averages = recorded(case)
    (header,) = evidence.table(TraceHeader)
    (window,) = evidence.table(Window)
    # With stacks, Python functions count as inner operators; and the phases of a compilation do not
    # always lie inside each other.
    if not header.record.with_stack and not window.record.compile_ms:
        for seen in evidence.table(SelfTime):
            if seen.record.name in averages:
                expected = averages[seen.record.name]["self_us"]
                assert seen.record.ms * 1000 == pytest.approx(expected, abs=0.06, rel=1e-3)
    for row in evidence.table(TraceEvent):
        entry = averages.get(str(row.record), {})
        if "cpu_time_total_us" in entry and row.count == entry["count"]:
            assert row.ms * 1000 == pytest.approx(entry["cpu_time_total_us"], abs=0.01)


def third_party() -> list[Path]:
    if ROOT is None:
        return []
    found = sorted((ROOT / "traces").rglob("*.json")) + sorted((ROOT / "traces").rglob("*.json.gz"))
    if not found:
        raise FileNotFoundError(f"{ROOT}/traces: no traces there")
    return found


def names_of(events: list[dict[str, Any]]) -> Iterator[tuple[str, float]]:
    for event in events:
        if event["ph"] in {"X", "i"}:
            name = event["name"]
            name = "ProfilerStep*" if name.startswith("ProfilerStep#") else name
            yield ChromeTrace.mask(f"{event.get('cat') or ''}\t{name}"), event.get("dur", 0.0)


@needs_corpus
@pytest.mark.parametrize("path", third_party(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_json_parser_finds_the_same_events(path: Path) -> None:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    whole = json.loads(data)
    events = whole["traceEvents"]
    counts: Counter[str] = Counter()
    us: dict[str, float] = {}
    for name, dur in names_of(events):
        counts[name] += 1
        us[name] = us.get(name, 0.0) + dur
    evidence = read_trace(Bytes(data), path.name)
    rows = {seen.text: seen for seen in evidence.table(TraceEvent)}
    assert (evidence.events, evidence.understood_events) == (len(events), len(events))
    assert {name: seen.count for name, seen in rows.items()} == counts
    for name, seen in rows.items():
        assert seen.ms * 1000 == pytest.approx(us[name], abs=0.001)
    assert not evidence.cut
    assert evidence.unread == []
    _check_devices(evidence, events)
    _check_rows(evidence)
    steps = {
        int(event["name"].partition("#")[2]): event["dur"] / 1000
        for event in events
        if event["name"].startswith("ProfilerStep#")
        and event["cat"] in {"user_annotation", "cpu_op", "Operator"}
    }
    found = {seen.record.number: seen.record.ms for seen in evidence.table(Step)}
    assert found == pytest.approx(steps)


def _check_rows(evidence: Evidence) -> None:
    """Each row of time adds up to its window, and idle time to its causes, within 1 us."""
    rows = [seen.record for seen in evidence.table(Timeline)]
    assert {row.device for row in rows} == {
        seen.record.device for seen in evidence.table(DeviceBusy)
    }
    for row in rows:
        assert row.busy_ms + row.idle_ms == pytest.approx(row.window_ms, abs=0.001)
        parts = row.compute_ms + row.exposed_comm_ms + row.exposed_copy_ms
        assert parts == pytest.approx(row.busy_ms, abs=0.001)
        assert min(row.compute_ms, row.exposed_comm_ms, row.exposed_copy_ms, row.idle_ms) >= 0
        causes = [getattr(row, f"idle_{cause}_ms") for cause in Cause]
        known = [ms for ms in causes if ms is not None]
        assert sum(known) == pytest.approx(row.idle_ms, abs=0.001)


def _check_devices(evidence: Evidence, events: list[dict[str, Any]]) -> None:
    """Compare the devices' busy time with a sweep over all of their events at once."""
    work = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}
    intervals: dict[str, list[tuple[float, float]]] = {}
    kernels: Counter[str] = Counter()
    for event in events:
        if event["ph"] == "X" and event.get("cat") in work:
            device = str(event["pid"])
            intervals.setdefault(device, []).append((event["ts"], event["ts"] + event["dur"]))
            kernels[device] += event["cat"].lower() == "kernel"
    rows = {seen.record.device: seen.record for seen in evidence.table(DeviceBusy)}
    assert rows.keys() == intervals.keys()
    for device, spans in intervals.items():
        busy, until = 0.0, float("-inf")
        for start, end in sorted(spans):
            busy += max(0.0, end - max(start, until))
            until = max(until, end)
        assert rows[device].busy_ms * 1000 == pytest.approx(busy, abs=0.5, rel=1e-6)
        assert rows[device].kernels == kernels[device]
        assert rows[device].exposed_ms <= rows[device].collective_ms <= rows[device].busy_ms
