"""The steady part of traces without profiler steps, and what comes before it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.traces.test_idle import call, idle, ran, rows
from tests.traces.writing import Json, read, span
from tracelens.traces.rows import Activity, FirstCall, HeldBy


def steady(start: float, n: int, first: int) -> list[Json]:
    """Return ``n`` kernels of 90 us, each launched 100 us before it begins, back to back."""
    events: list[Json] = []
    for at in range(n):
        begin = start + 100 * at
        events.append(call("cudaLaunchKernel", begin - 100, 5, first + at))
        events.append(ran("gemm", begin, 90, first + at))
    return events


def names(row: dict[str, Any]) -> tuple[float, float]:
    return row["window_ms"], row["busy_ms"]


#: A kernel of another stream, then a copy that the host waits for, launched at once.
EARLIER = [
    call("cudaLaunchKernel", 0, 5, 1),
    ran("arange", 10, 10, 1, stream=2),
    call("cudaLaunchKernel", 100, 5, 2),
    call("hipMemcpyWithStream", 110, 20_000, 3),
    ran("resolve", 20_000, 10, 2),
    ran("Memcpy HtoD (Host -> Device)", 20_010, 10, 3),
]


def test_work_from_before_the_recording_is_no_idle_time_of_the_steady_part() -> None:
    found = rows(read([*EARLIER, *steady(20_120, 60, 10)]))
    assert names(found["earlier work"]) == (19.99, 0.01)
    assert names(found["steady"]) == pytest.approx((6.11, 0.02 + 60 * 0.09), abs=0.1)
    whole = found["window"]["window_ms"]
    assert found["earlier work"]["window_ms"] + found["steady"]["window_ms"] == pytest.approx(whole)
    assert "cold" not in found


def test_what_starts_a_millisecond_after_its_call_is_queued() -> None:
    first = [call("cudaLaunchKernel", 0, 5, 1), ran("gemm", 10, 90, 1)]
    late = [call("cudaLaunchKernel", 150, 50, 2), ran("relu", 1_200, 10, 2)]
    assert idle([*first, *late]) == {"not_launched": 100, "queued": 1_000}
    soon = [call("cudaLaunchKernel", 150, 50, 2), ran("relu", 1_199, 10, 2)]
    assert idle([*first, *soon]) == {"not_launched": 1_099}


def test_a_long_call_between_kernels_makes_no_context() -> None:
    first = [call("cudaLaunchKernel", 0, 5, 1), ran("gemm", 10, 90, 1)]
    again = [call("cudaEventQuery", 200, 80_000), call("cudaLaunchKernel", 80_200, 5, 2)]
    found = idle([*first, *again, ran("gemm", 80_210, 90, 2)])
    assert found == {"not_launched": pytest.approx(80_110)}


def test_a_stream_that_has_run_before_waits_for_the_host_not_for_earlier_work() -> None:
    same = [dict(event, tid=7) if event["name"] == "arange" else event for event in EARLIER]
    assert "earlier work" not in rows(read([*same, *steady(20_120, 60, 10)]))


@pytest.mark.parametrize(
    ("once", "cold"),
    [
        (call("cudaMalloc", 150, 8_000), True),
        (span("cpu_op", "_compile.compile_inner (dynamo_timed)", 150, 8_000), True),
        # Too little of the time before the steady part.
        (call("cudaMalloc", 150, 900), False),
    ],
    ids=["memory", "compile", "short"],
)
def test_one_off_work_at_the_beginning_is_told_apart(once: Json, cold: bool) -> None:
    first = [call("cudaLaunchKernel", 0, 5, 1), ran("gemm", 10, 90, 1)]
    found = rows(read([*first, once, *steady(8_300, 60, 10)]))
    assert ("cold" in found) is cold
    assert ("steady" in found) is cold


@pytest.mark.parametrize(("us", "begins"), [(30_000, 40_000), (12_000, 12_150)])
def test_the_rest_of_an_operator_that_mostly_starts_is_start(us: int, begins: int) -> None:
    """A gap of 40 ms, in which memory is taken for ``us``."""
    first = [call("cudaLaunchKernel", 0, 5, 1), ran("gemm", 10, 90, 1)]
    found = rows(read([*first, call("cudaMalloc", 150, us), *steady(40_000, 60, 10)]))
    end = 40_000 + 100 * 59 + 90
    assert found["steady"]["window_ms"] == pytest.approx((end - begins) / 1000)


def test_what_the_host_does_is_told_of_the_steady_part_alone() -> None:
    """A gap before it, in one operator, and two in it, in another; what meets it is cut."""
    begin = 40_000
    first = [call("cudaLaunchKernel", 0, 5, 1), ran("gemm", 10, 90, 1)]
    events = [*first, call("cudaMalloc", 150, 30_000), span("cpu_op", "aten::one", 140, 39_000)]
    events += steady(begin, 60, 10)
    for at in range(2):
        start = begin + 6_000 + 5_000 * at
        launch = call("cudaLaunchKernel", start + 4_000, 5, 100 + at)
        events += [span("cpu_op", "aten::two", start + 10, 3_980), launch]
        events.append(ran("gemm", start + 4_010, 990, 100 + at))
    held = {row.record.operator: row.record for row in read(events).table(HeldBy)}
    inside = {name: row.within({"steady"}) for name, row in held.items()}
    assert inside["aten::one"] is None
    assert held["aten::one"].ms == pytest.approx(39.9, abs=0.1)
    two = inside["aten::two"]
    assert two is not None
    assert two.count == 2
    assert two.ms == pytest.approx(8.0, abs=0.1)


def test_what_the_host_does_is_told_of_each_step() -> None:
    events = []
    for at in range(3):
        start = 10_000 * at
        events.append(span("user_annotation", f"ProfilerStep#{at}", start, 9_990))
        events.append(span("cpu_op", "aten::slow", start + 10, 5_000 if at else 9_000))
        events.append(call("cudaLaunchKernel", start + 9_500, 5, 1 + at))
        events.append(ran("gemm", start + 9_510, 400, 1 + at))
    held = [row.record for row in read(events).table(HeldBy)]
    whole = sum(row.ms for row in held)
    later = [row.within({"ProfilerStep#1", "ProfilerStep#2"}) for row in held]
    assert whole == pytest.approx(28.7, abs=0.3)
    assert sum(row.ms for row in later if row) == pytest.approx(19.2, abs=0.3)


@pytest.mark.parametrize(("begins", "inside"), [(400, 0.7), (50, 0.99)])
def test_of_a_gap_only_what_is_inside_of_a_span_is_its_own(begins: int, inside: float) -> None:
    """The gap begins at 100, and the call that ends it at 1,090."""
    events = [call("cudaLaunchKernel", 0, 5, 1), ran("gemm", 10, 90, 1)]
    events.append(span("cpu_op", "aten::slow", begins, 1_110 - begins))
    events += [call("cudaLaunchKernel", 1_090, 5, 2), ran("gemm", 1_100, 50, 2)]
    (held,) = [row.record for row in read(events).table(HeldBy)]
    assert (held.operator, held.ms) == ("aten::slow", 1.0)
    assert held.inside_ms == pytest.approx(inside, abs=0.011)


@pytest.mark.parametrize(
    ("names", "later", "found"),
    [
        ("aten::conv2d aten::cudnn_convolution", 2_000, ["aten::conv2d"]),
        ("aten::conv2d aten::cudnn_convolution", 90_000, []),  # not much longer than the others
        ("aten::to aten::cudnn_convolution", 2_000, []),  # it may have waited
        ("aten::conv2d", 2_000, []),  # a CPU computes
    ],
)
def test_first_calls_without_a_device(names: str, later: int, found: list[str]) -> None:
    events, at = [], 0
    for us in (500_000, later, later):
        events += [span("cpu_op", name, at + n, us - 2 * n) for n, name in enumerate(names.split())]
        at += us + 10
    calls = [row.record for row in read(events).table(FirstCall)]
    assert [call.operator for call in calls] == found
    assert all((call.ms, call.later) == (500.0, 2) for call in calls)


@pytest.mark.parametrize(
    ("us", "told"),
    [
        ((800_000, 300_000, 500, 500, 500, 500), (800.0, 1, 300.0, 4, 2.0)),
        ((800_000, 500, 500, 500, 500, 500), (800.0, 0, 0.0, 5, 2.5)),
        ((800_000, 300_000, 300_000, 300_000, 300_000, 300_000), None),  # it takes as long
        ((800_000, 500, 500, 300_000, 500, 500), None),  # something else comes later
    ],
)
def test_the_next_call_may_start_something_too(
    us: tuple[int, ...], told: tuple[float, ...] | None
) -> None:
    events, at = [], 0
    for each in us:
        events.append(span("cpu_op", "aten::inverse", at, each))
        events.append(span("cpu_op", "aten::cudnn_convolution", at + each + 1, 5))
        at += each + 10
    calls = [row.record for row in read(events).table(FirstCall)]
    found = [(call.ms, call.again, call.again_ms, call.later, call.later_ms) for call in calls]
    assert found == ([pytest.approx(told)] if told else [])


def test_a_few_kernels_are_no_steady_part() -> None:
    first = [call("cudaLaunchKernel", 0, 5, 1), ran("gemm", 10, 90, 1)]
    once = call("cudaMalloc", 150, 8_000)
    assert "steady" in rows(read([*first, once, *steady(8_300, 50, 10)]))
    assert "steady" not in rows(read([*first, once, *steady(8_300, 49, 10)]))


def test_profiler_steps_say_themselves_what_is_steady() -> None:
    step = span("user_annotation", "ProfilerStep#1", 0, 27_000)
    assert "steady" not in rows(read([*EARLIER, step, *steady(20_120, 60, 10)]))


def test_recording_a_cuda_graph_is_no_compilation() -> None:
    name = "CUDAGraphNode.record (dynamo_timed)"
    first = [call("cudaLaunchKernel", 0, 5, 1), ran("gemm", 10, 90, 1)]
    graph = span("user_annotation", name, 150, 8_000)
    assert "compile" not in rows(read([*first, graph, *steady(8_300, 60, 10)]))


def test_slices_of_the_window_add_up_to_it() -> None:
    evidence = read([*EARLIER, *steady(20_120, 60, 10)])
    slices = [row.record for row in evidence.table(Activity)]
    window = rows(evidence)["window"]
    assert len(slices) == 240
    for column in ("ms", "compute_ms", "exposed_comm_ms", "exposed_copy_ms"):
        whole = window[column if column != "ms" else "window_ms"]
        assert sum(getattr(one, column) for one in slices) == pytest.approx(whole, abs=1e-3)
    ends = [one.start_ms + one.ms for one in slices]
    assert [one.start_ms for one in slices[1:]] == pytest.approx(ends[:-1], abs=1e-5)
