"""What belongs to modules, regions and phases; memory; sequences of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracelens
from tests.traces.writing import Json, copy, kernel, op, read, span, text
from tracelens.traces.measured import KernelWork
from tracelens.traces.memory import MemoryUse
from tracelens.traces.module_ops import ModuleOp
from tracelens.traces.rows import Timeline
from tracelens.traces.sequences import KernelSequence
from tracelens.traces.span_rows import ModuleTime, RegionTime

LOGS = Path(__file__).parents[2] / "fixtures" / "logs" / "chrome_trace"


def module(name: str, ts: float, dur: float, tid: int = 1) -> Json:
    return span("python_function", f"nn.Module: {name}", ts, dur, tid=tid)


def launched(key: int, at: float, ts: float, dur: float, tid: int = 1) -> list[Json]:
    call = span("cuda_runtime", "cudaLaunchKernel", at, 2, tid=tid, args={"correlation": key})
    return [call, kernel("gemm", ts, dur) | {"args": {"correlation": key}}]


MODEL = [
    module("Net_0", 0, 100),
    module("Linear_0", 10, 20),
    module("Linear_1", 40, 20),
    module("Net_0", 200, 100),
    module("Linear_0", 210, 20),
]


def test_a_kernel_is_of_the_modules_around_its_launch() -> None:
    events = [
        *MODEL,
        *launched(1, 15, 500, 7),
        *launched(2, 45, 510, 11),
        *launched(3, 90, 530, 13),
        *launched(4, 215, 550, 17),
        *launched(5, 150, 570, 19),
        *launched(6, 45, 590, 23, tid=2),
    ]
    rows = {row.record.module: row.record for row in read(events).table(ModuleTime)}
    assert {name: row.device_ms for name, row in rows.items()} == {
        "Net_0": pytest.approx(0.048),
        "Net_0 > Linear_0": pytest.approx(0.024),
        "Net_0 > Linear_1": pytest.approx(0.011),
    }
    assert {name: (row.calls, row.kernels, row.self_device_ms) for name, row in rows.items()} == {
        "Net_0": (2, 4, 0.013),
        "Net_0 > Linear_0": (2, 2, 0.024),
        "Net_0 > Linear_1": (1, 1, 0.011),
    }
    assert rows["Net_0"].host_ms == 0.2


def product(key: int, ts: float, rows: int = 8, tid: int = 1) -> Json:
    dims = {"Input Dims": [[rows, 4], [4, 2]], "Input type": ["float", "float"], "External id": key}
    return op("aten::mm", ts, 3, tid=tid) | {"args": dims}


def multiplied(key: int, ts: float, dur: float) -> Json:
    return kernel("gemm", ts, dur) | {"args": {"External id": key, "correlation": key}}


OPS = [
    *(product(1, 15), product(2, 45), product(3, 90, rows=16), product(4, 215), product(5, 150)),
    product(6, 45, tid=2),  # of another thread: of no module
]
OPS_ON_DEVICE = [multiplied(key, 500 + 50 * key, key) for key in range(1, 7)]


@pytest.mark.parametrize("on_device", [True, False])
def test_operators_are_told_by_module_and_add_up(on_device: bool) -> None:
    calls = [launched(key, 16, 0, 0)[0] for key in range(1, 7)] if on_device else []
    found = read([*MODEL, *OPS, *calls, *(OPS_ON_DEVICE if on_device else ())])
    rows = {
        (one.record.module, one.record.shapes): (one.record.n, one.record.sum_ms)
        for one in found.table(ModuleOp)
    }
    small, large = "8x4 by 4x2", "16x4 by 4x2"
    assert rows == {
        ("Net_0 > Linear_0", small): (2, 0.005 if on_device else 0.006),
        ("Net_0 > Linear_1", small): (1, 0.002 if on_device else 0.003),
        ("Net_0", large): (1, 0.003),
        (None, small): (2, 0.011 if on_device else 0.006),
    }
    whole = sum(one.record.ms for one in found.table(KernelWork))
    assert sum(ms for _, ms in rows.values()) == pytest.approx(whole, abs=1e-6)


def test_an_operator_inside_of_another_one_is_not_told_twice() -> None:
    """``aten::relu`` calls ``aten::clamp_min`` on the same tensor."""
    dims = {"Input Dims": [[1024, 64]], "Input type": ["float"]}
    relu = op("aten::relu", 15, 20) | {"args": dims | {"External id": 1}}
    clamp = op("aten::clamp_min", 16, 18) | {"args": dims | {"External id": 2}}
    later = op("aten::clamp_min", 40, 5) | {"args": dims | {"External id": 3}}
    found = read([*MODEL, relu, clamp, later])
    rows = [one.record for one in found.table(ModuleOp)]
    assert [(row.name, row.n, row.sum_ms) for row in rows] == [
        ("aten::relu", 1, 0.02),
        ("aten::clamp_min", 1, 0.005),
    ]


def test_calls_beyond_those_that_are_kept_are_of_no_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where all calls have one id; the rows still add up."""
    monkeypatch.setattr("tracelens.traces.products.MAX_OPERATORS", 2)
    found = read([*MODEL, *(product(7, ts) for ts in (11, 16, 21, 26))])
    rows = [one.record for one in found.table(ModuleOp)]
    assert {(row.module, row.n) for row in rows} == {("Net_0 > Linear_0", 2), (None, 2)}


def test_without_modules_operators_are_told_once() -> None:
    assert not list(read([*OPS, *OPS_ON_DEVICE]).table(ModuleOp))


def test_what_is_beyond_the_longest_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracelens.traces.module_ops.MAX_ROWS", 2)
    found = read([*MODEL, *OPS, *OPS_ON_DEVICE])
    rows = [one.record for one in found.table(ModuleOp)]
    assert [(row.module, row.name, row.n) for row in rows[2:]] == [(None, "the rest", 2)]
    assert sum(row.sum_ms for row in rows) == pytest.approx(0.021)


def test_without_a_device_modules_have_the_time_of_the_host() -> None:
    rows = {row.record.module: row.record for row in read(MODEL).table(ModuleTime)}
    assert (rows["Net_0 > Linear_0"].host_ms, rows["Net_0"].device_ms) == (0.04, None)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 90), st.integers(1, 30), st.integers(0, 99)), max_size=30))
def test_modules_share_out_every_kernel_that_is_launched_in_one(
    calls: list[tuple[int, int, int]],
) -> None:
    """Against the definition: the innermost module whose span holds the launch."""
    spans = sorted({(10 * (start // 10), 10) for start, _, _ in calls})
    events: list[Json] = [module("Net_0", 0, 1000), *(module("M_0", *each) for each in spans)]
    for key, (_, us, at) in enumerate(calls):
        events += launched(key + 1, at, 2000 + 50 * key, us)
    rows = {row.record.module: row.record for row in read(events).table(ModuleTime)}
    inside = sum(us for _, us, at in calls if any(s <= at < s + d for s, d in spans))
    if calls:
        assert rows["Net_0"].device_ms == pytest.approx(sum(us for _, us, _ in calls) / 1000)
        assert (rows["Net_0 > M_0"].device_ms or 0) == pytest.approx(inside / 1000)


def test_a_region_has_its_lookups_its_kernels_and_those_that_continue_it() -> None:
    events = [
        op("TorchDynamo Cache Lookup", 0, 5),
        op("Torch-Compiled Region: 0/0", 10, 90),
        *launched(1, 20, 500, 7),
        op("TorchDynamo Cache Lookup", 40, 3),
        op("Torch-Compiled Region: 1/0", 50, 40),
        *launched(2, 60, 510, 11),
        op("TorchDynamo Cache Lookup", 200, 4),
        op("Torch-Compiled Region: 0/0", 210, 50),
    ]
    rows = {row.record.frame: row.record for row in read(events).table(RegionTime)}
    first, second = rows["0/0"], rows["1/0"]
    assert (first.calls, first.host_ms, first.longest_ms) == (2, 0.14, 0.09)
    assert (first.device_ms, first.kernels, first.lookup_ms, first.breaks) == (0.018, 2, 0.009, 1)
    assert (second.device_ms, second.lookup_ms, second.breaks) == (0.011, 0.003, 0)


# Phases.


def phases(events: list[Json]) -> dict[str, Timeline]:
    return {row.record.phase: row.record for row in read(events).table(Timeline)}


def test_what_the_program_names_has_a_row_of_its_own() -> None:
    events = [
        span("user_annotation", "forward", 0, 100),
        span("user_annotation", "forward", 300, 100),
        span("user_annotation", "ProfilerStep#1", 0, 600),
        *launched(1, 10, 20, 50),
        *launched(2, 280, 290, 60),
        *launched(3, 500, 510, 40),
    ]
    found = phases(events)
    assert set(found) == {"window", "ProfilerStep#1", "forward"}
    assert (found["forward"].window_ms, found["forward"].compute_ms) == (0.2, 0.1)
    assert found["forward"].idle_not_launched_ms == pytest.approx(0.1)


def test_capture_and_starting_are_phases() -> None:
    events = [
        *launched(1, 0, 10, 5),
        span("cuda_runtime", "cudaStreamBeginCapture", 100, 1),
        span("cuda_runtime", "cudaStreamEndCapture", 190, 10),
        span("cuda_runtime", "cudaMalloc", 300, 50),
        *launched(2, 900, 1000, 5),
    ]
    found = phases(events)
    assert found["capture"].window_ms == 0.1
    assert found["start"].window_ms == found["start"].idle_start_ms == 0.05


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2000), st.integers(1, 200)), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(1, 300)), min_size=1, max_size=12),
)
def test_every_phase_adds_up(named: list[tuple[int, int]], ran: list[tuple[int, int]]) -> None:
    events = [span("user_annotation", "part", *each) for each in named]
    for key, (at, us) in enumerate(ran):
        events += launched(key + 1, at, at + 20, us)
    events.append(copy("Memcpy HtoD (Pageable -> Device)", 700, 60, 1024))
    for row in phases(events).values():
        assert row.busy_ms + row.idle_ms == pytest.approx(row.window_ms, abs=1e-3)
        parts = row.compute_ms + row.exposed_comm_ms + row.exposed_copy_ms
        assert parts == pytest.approx(row.busy_ms, abs=1e-3)
        causes = [getattr(row, name) or 0.0 for name in Timeline.model_fields if "idle_" in name]
        assert sum(causes) - row.idle_ms == pytest.approx(row.idle_ms, abs=1e-3)


# Memory.


def memory(ts: float, size: int, total: int, **more: Any) -> Json:
    args = {"Bytes": size, "Total Allocated": total, "Device Type": 1, "Device Id": 0, **more}
    return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1} | {
        "ts": ts,
        "args": args,
    }


def test_memory_is_followed_by_device() -> None:
    events = [
        op("aten::big", 1000, 2000),
        op("aten::late", 5000, 500),
        memory(500, 100, 1100, **{"Total Reserved": 4000}),
        memory(1500, 700, 1800, **{"Total Reserved": 8000}),
        memory(5100, -700, 1100, **{"Total Reserved": 8000}),
        memory(5200, 64, 64, **{"Device Type": 0, "Device Id": -1}),
    ]
    rows = {row.record.device: row.record for row in read(events).table(MemoryUse)}
    cuda, cpu = rows["cuda:0"], rows["cpu"]
    assert (cuda.allocations, cuda.frees, cuda.allocated_bytes) == (2, 1, 800)
    assert (cuda.start_bytes, cuda.peak_bytes, cuda.end_bytes) == (1000, 1800, 1100)
    assert (cuda.reserved_bytes, cuda.largest_bytes, cuda.operator) == (8000, 700, "aten::big")
    assert (cpu.peak_bytes, cpu.reserved_bytes, cpu.operator) == (64, None, "aten::late")


def test_the_memory_of_a_real_run_is_all_returned() -> None:
    (row,) = tracelens.analyze(str(LOGS / "mlp-train.json.gz")).tables["memory"]
    assert (row["device"], row["allocations"], row["frees"]) == ("cpu", 108, 108)
    assert (row["start_bytes"], row["end_bytes"]) == (0, 0)
    assert row["peak_bytes"] <= row["allocated_bytes"]


# Sequences.


def test_a_sequence_counts_what_one_kernel_would_save() -> None:
    add = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>()"
    mul = "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>()"
    events: list[Json] = []
    for at in (0, 1000):
        events += [
            kernel("ampere_sgemm_128x64_nn", at, 100),
            kernel(add, at + 110, 20),
            kernel(mul, at + 135, 30),
            kernel("ncclDevKernel_AllReduce", at + 170, 10),
            kernel(add, at + 200, 20),
        ]
    (row,) = [row.record for row in read(events).table(KernelSequence)]
    assert (row.n, row.sum_ms) == (2, 0.3)
    assert (row.between_ms, row.saves_ms) == (0.03, 0.13)
    assert [name.split()[-1] for name in row.kernels][1:] == ["add", "mul"]


def test_what_runs_once_is_no_frequent_sequence() -> None:
    names = ["elementwise_kernel a", "elementwise_kernel b"]
    assert not list(read([kernel(n, 10 * k, 5) for k, n in enumerate(names)]).table(KernelSequence))


def calls_of_graphs(recording: Sequence[bool]) -> list[Json]:
    """Return calls of a compiled function: 100 ms each that records, 2 ms each that does not."""
    events: list[Json] = []
    start = 0.0
    for at, records in enumerate(recording):
        us = 100_000 if records else 2_000
        name = "Torch-Compiled Region: 0/0"
        events.append(span("cpu_op", name, start, us))
        if records:
            for what, after in (("BeginCapture", 80_000), ("EndCapture", 90_000)):
                events.append(span("cuda_runtime", f"cudaStream{what}", start + after, 5))
            name = "cudaGraphInstantiateWithFlags"
            events.append(span("cuda_runtime", name, start + 91_000, 900))
        events += launched(at + 1, start + us - 500, start + us - 400, 300)
        events[-2]["name"] = "cudaGraphLaunch"
        start += us + 100
    return events


@pytest.mark.parametrize(
    ("recording", "again"),
    [
        ((True, False, True, False, True), 2),
        ((True, True, False, False, False), 0),  # the first calls, which warm up
    ],
)
def test_calls_that_record_graphs_after_one_that_did_not(
    tmp_path: Path, recording: tuple[bool, ...], again: int
) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(text(calls_of_graphs(recording)))
    findings = {each.code: each for each in tracelens.analyze(str(path)).findings}
    finding = findings["TRC029"]
    assert finding.data["again"] == again
    assert [each.id for each in finding.advice] == ["why"] * bool(again) + ["later"]
    made = sum(recording)
    if again:
        assert finding.title.startswith(f"CUDA graphs are recorded in {made} of 5 calls")
    assert finding.data["idle_ms"] > 98 * (made - 1)  # the whole calls, but before the first kernel
    assert findings["TRC001"].explained_by == finding.id
    # The program has CUDA graphs.
    assert "reduce-overhead" not in "".join(str(each.code) for each in findings["TRC001"].advice)


def test_a_call_that_is_compiled_is_no_recording() -> None:
    """What compiling takes is told for itself; of the call only the recording itself is left."""
    events = calls_of_graphs((True, False))
    events.append(span("cpu_op", "OutputGraph.call_user_compiler (dynamo_timed)", 10, 50_000))
    events += launched(9, -100, -90, 20)
    assert phases(events)["capture"].window_ms == pytest.approx(10.005)
