"""What is measured while a trace passes by: steps, threads, devices, compiled code."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traces.writing import Bytes, copy, kernel, launch, op, read, span, text
from tracelens.traces.device import Busy, Intervals
from tracelens.traces.header import read_header
from tracelens.traces.measured import (
    DeviceBusy,
    Measured,
    SelfTime,
    Step,
    StreamBusy,
    Thread,
    TraceHeader,
    Transfer,
    Window,
)
from tracelens.traces.reading import read_trace

STEP = "ProfilerStep#{}"


def step(number: int, ts: float, dur: float) -> dict[str, object]:
    return span("user_annotation", f"ProfilerStep#{number}", ts, dur)


# Operators.

COMPILED = [
    step(4, 1000, 1000),
    op("aten::randn", 1010, 20),
    op("aten::empty", 1015, 5),
    op("TorchDynamo Cache Lookup", 1040, 30),
    op("Torch-Compiled Region: 0/0", 1100, 500),
    op("Pregraph bytecode", 1110, 10),
    op("AOTDispatcher Runtime Wrapper Prologue", 1120, 5),
    span("user_annotation", "## Call CompiledFxGraph f0 ##", 1130, 200),
    op("aten::mm", 1140, 50),
    op("TorchDynamo Cache Lookup", 1340, 20),
    op("Torch-Compiled Region: 1/0", 1400, 150),
    op("aten::add", 1410, 40),
    span("user_annotation", "Optimizer.step#SGD.step", 1700, 100),
    op("aten::add_", 1710, 30),
    span("user_annotation", "enumerate(DataLoader)#_I.__next__", 1900, 60),
    op("aten::stack", 1910, 10),
]


def test_the_parts_of_a_step_are_told_apart() -> None:
    evidence = read([*COMPILED, op("aten::cat", 2100, 8), op("aten::cat", 2200, 8, tid=2)])
    ((found, window),) = [(evidence.table(Step), evidence.table(Window))]
    (seen,) = found
    assert seen.text == "user_annotation\tProfilerStep#4"
    record = seen.record
    assert (record.number, record.start_ms, record.ms) == (4, 0, 1)
    assert record.compiled_ms == 0.5  # 1/0 is inside of 0/0
    assert record.dispatch_ms == pytest.approx(0.03 + 0.01 + 0.005 + 0.02)
    assert (
        record.eager_ms == 0.02
    )  # neither the compiled ones, nor the optimizer's and the loader's
    assert record.operators_ms == pytest.approx(0.02 + 0.05 + 0.04 + 0.03 + 0.01)
    assert record.optimizer_ms == 0.1
    assert record.loading_ms == 0.06
    assert record.compile_ms == 0
    assert (record.regions, record.frames) == (2, ("0/0", "1/0"))
    (whole,) = window
    assert whole.record.eager_ms == pytest.approx(0.02 + 0.016)
    assert whole.record.ms == pytest.approx(1.208)
    assert whole.record.threads == 2


def test_a_compilation_inside_a_step_is_seen() -> None:
    evidence = read(
        [
            step(1, 0, 900),
            op("dynamo", 10, 700),
            span("user_annotation", "dynamo_data: compile_id=0/1", 11, 1),
            op("_compile.compile_inner (dynamo_timed)", 20, 600),
            op("aten::empty", 30, 5),
        ]
    )
    (seen,) = evidence.table(Step)
    assert seen.record.compile_ms == 0.7
    assert seen.record.eager_ms == 0


def test_self_time_is_what_the_inner_operators_leave() -> None:
    evidence = read([op("a::b", 0, 100), op("a::c", 10, 30), op("a::d", 15, 5), op("a::c", 50, 20)])
    assert {seen.record.name: seen.record.ms for seen in evidence.table(SelfTime)} == {
        "a::b": 0.05,
        "a::c": 0.045,
        "a::d": 0.005,
    }


def test_threads_are_followed_apart_and_named() -> None:
    label = {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "autograd"}}
    mixed = [op("a::a", 0, 100), op("a::b", 5, 10, tid=2), op("a::c", 20, 5), label]
    rows = {seen.record.thread: seen.record for seen in read(mixed).table(Thread)}
    assert (rows["1"].spans, rows["1"].ms, rows["1"].label) == (2, 0.1, "")
    assert (rows["2"].spans, rows["2"].ms, rows["2"].label) == (1, 0.01, "autograd")


def test_nothing_is_said_about_nesting_where_the_order_is_not_that_of_time() -> None:
    """In 2021 an operator came behind those inside it."""
    inner = [span("Operator", "aten::mm", 10 * n + 1, 2) for n in range(9)]
    evidence = read([*inner, span("Operator", "ProfilerStep#5", 0, 100)])
    (seen,) = evidence.table(Step)
    assert (seen.record.number, seen.record.ms) == (5, 0.1)
    assert seen.record.operators_ms is None
    assert seen.record.regions is None
    assert not len(evidence.table(SelfTime))
    assert next(iter(evidence.table(Thread))).record.ms is None


def test_one_late_span_among_many_does_not_spoil_a_thread() -> None:
    events = [op("a::a", 10 * n, 5) for n in range(300)]
    evidence = read([*events, op("a::late", 17, 2)])
    (seen,) = evidence.table(Thread)
    assert seen.record.ms == pytest.approx(300 * 0.005 + 0.002)


# Devices.


def test_streams_and_devices_are_busy_for_the_union_of_their_kernels() -> None:
    events = [
        kernel("k", 0, 10),
        kernel("k", 5, 10),
        kernel("k", 100, 20),
        kernel("k", 110, 20, stream=8),
        kernel("ncclDevKernel_AllReduce", 120, 40, stream=9),
        kernel("k", 0, 7, device=1),
        copy("Memcpy HtoD (Pageable -> Device)", 300, 5, 1000),
        copy("Memcpy HtoD (Pageable -> Device)", 310, 5, "24"),
    ]
    evidence = read([*events[1::2], *events[::2]])
    streams = {(s.record.device, s.record.stream): s.record for s in evidence.table(StreamBusy)}
    assert streams["0", "7"].busy_ms == pytest.approx(0.045)
    assert streams["0", "7"].span_ms == pytest.approx(0.315)
    assert (streams["0", "7"].kernels, streams["0", "7"].copies) == (3, 2)
    assert streams["0", "8"].busy_ms == 0.02
    devices = {seen.record.device: seen.record for seen in evidence.table(DeviceBusy)}
    first = devices["0"]
    assert (first.streams, first.kernels) == (3, 5)
    assert first.busy_ms == pytest.approx(0.015 + 0.06 + 0.01)
    assert first.collective_ms == 0.04
    assert first.exposed_ms == pytest.approx(0.03)
    assert first.gap_ms == pytest.approx(0.14)
    assert first.gap_at_ms == pytest.approx(0.16)
    assert devices["1"].busy_ms == 0.007
    (moved,) = evidence.table(Transfer)
    assert (moved.record.bytes, moved.record.ms) == (1024, 0.01)


def test_kernels_and_launches_belong_to_the_step_in_which_they_began() -> None:
    events = [
        step(1, 0, 100),
        step(2, 100, 100),
        launch(10, 2),
        launch(110, 3),
        launch(120, 3, "hipModuleLaunchKernel"),
        launch(130, 50, "cudaDeviceSynchronize"),
        launch(140, 9, "cudaEventRecord"),
        kernel("a", 90, 20),
        kernel("b", 150, 10),
        kernel("b", 500, 10),
    ]
    evidence = read([*events[::3], *events[1::3], *events[2::3]])
    first, second = (seen.record for seen in sorted(evidence.table(Step), key=lambda s: s.text))
    assert (first.kernels, first.busy_ms, first.launches, first.launch_ms) == (1, 0.01, 1, 0.002)
    assert (second.kernels, second.busy_ms) == (1, 0.02)
    assert (second.launches, second.launch_ms) == (2, 0.006)
    assert (second.waits, second.wait_ms) == (1, 0.05)
    (window,) = evidence.table(Window)
    assert (window.record.kernels, window.record.busy_ms) == (3, 0.04)
    assert window.record.ms == 0.51


INTERVALS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair))),
    max_size=30,
)


def moments(intervals: list[tuple[int, int]]) -> set[int]:
    return {moment for start, end in intervals for moment in range(start, end)}


@given(INTERVALS, INTERVALS, INTERVALS)
def test_unions_are_what_sets_of_moments_say(
    ours: list[tuple[int, int]], theirs: list[tuple[int, int]], spans: list[tuple[int, int]]
) -> None:
    sets = []
    for intervals in (ours, theirs):
        made = Intervals()
        for start, end in intervals:
            made.add(start, end)
        sets.append(made.busy())
    assert [busy.us for busy in sets] == [len(moments(ours)), len(moments(theirs))]
    assert Busy.union(sets).us == len(moments(ours) | moments(theirs))
    assert sets[0].shared_with(sets[1]) == len(moments(ours) & moments(theirs))
    spans.sort()
    expected = [len(moments(ours) & moments([one])) for one in spans]
    assert list(sets[0].within(spans)) == expected


def test_many_intervals_lose_their_shortest_gaps_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracelens.traces.device.BLOCK", 64)
    monkeypatch.setattr("tracelens.traces.device.MAX_INTERVALS", 200)
    made = Intervals()
    starts = list(range(0, 20_000, 10))
    for start in starts[::2] + starts[1::2]:
        made.add(start, start + 9)
    busy = made.busy()
    assert len(busy.starts) <= 264
    assert 0.9 * 20_000 <= busy.us <= 20_000
    assert made.grain > 0


# The header.


def test_the_header_tells_how_and_on_what_the_trace_was_recorded() -> None:
    record = read_header(
        b'{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA B200"}, {"id": 1}],'
        b' "with_stack": 1, "record_shapes": true, "profile_memory": 0,'
        b' "cuda_runtime_version": 12090,'
        b' "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [1]}}'
    )
    assert record == TraceHeader(
        schema_version=1,
        devices=("NVIDIA B200", ""),
        backend="nccl",
        rank=3,
        world_size=8,
        with_stack=True,
        record_shapes=True,
        runtime="CUDA 12.9",
    )
    assert read_header(b'{"hip_runtime_version": 70226015}').runtime == "HIP 7.2.26015"
    assert read_header(b'{"computeProperties": [{"name": "V100"}]}').devices == ("V100",)


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"3", b"{", b'{"schemaVersion": "one", "deviceProperties": 3, "with_stack": []}'],
)
def test_an_odd_header_says_nothing(text: bytes) -> None:
    assert read_header(text) == TraceHeader()


# All of it.


def test_the_size_of_the_pieces_does_not_matter() -> None:
    data = text([*COMPILED, kernel("k", 1, 2), launch(3), {"ph": "?"}], displayTimeUnit="ms")
    whole = read_trace(Bytes(data), "t")
    for chunk in (1, 100, 1000):
        for most in (3, 1 << 20):
            parts = read_trace(Bytes(data, most), "t", chunk=chunk)
            assert [(s.record, s.count, s.ms) for s in parts.rows()] == [
                (s.record, s.count, s.ms) for s in whole.rows()
            ]
            assert [s.record for s in parts.table(Measured)] == [
                s.record for s in whole.table(Measured)
            ]
            assert (parts.events, parts.understood_events) == (19, 18)


def test_a_trace_without_anything_to_follow_has_no_window() -> None:
    evidence = read([span("python_function", "f.py(1): g", 0, 5)])
    assert not len(evidence.table(Window))
    assert math.isclose(evidence.table(Measured).count, 1)


def test_two_traces_stay_two(tmp_path: object) -> None:
    del tmp_path
    one, two = read([step(1, 0, 5)]), read_trace(Bytes(text([step(1, 0, 7)])), "other.json")
    one.merge(two)
    assert [seen.record.ms for seen in one.table(Step)] == [0.007, 0.005]
    assert [seen.first.input for seen in one.table(Step)] == ["other.json", "trace.json"]
    assert (one.events, one.kinds) == (2, {"chrome_trace": 2})
