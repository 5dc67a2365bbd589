"""Why a device is idle, by hand and against a reference that looks at every microsecond."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.writing import Json, read, span
from tracelens.evidence import Evidence
from tracelens.traces.measured import TraceHeader
from tracelens.traces.rows import DeviceGap, HeldBy, KernelTime, Timeline

CAUSES = ("queued", "not_launched", "blocked", "data", "start", "unknown")


def call(name: str, ts: float, dur: float, number: int | None = None, tid: int = 1) -> Json:
    args = {} if number is None else {"correlation": number}
    return span("cuda_runtime", name, ts, dur, tid=tid, args=args)


def ran(name: str, ts: float, dur: float, number: int | None = None, stream: int = 7) -> Json:
    category = "gpu_memcpy" if name.startswith("Memcpy") else "kernel"
    args = {} if number is None else {"correlation": number}
    return span(category, name, ts, dur, pid=0, tid=stream, args=args)


def rows(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """Return the rows of time by phase."""
    return {row.record.phase: row.record.model_dump() for row in evidence.table(Timeline)}


def idle(events: list[Json]) -> dict[str, float]:
    """Return the causes of the window that are there, in microseconds."""
    row = rows(read(events))["window"]
    return {
        cause: round(1000 * row[f"idle_{cause}_ms"], 3)
        for cause in CAUSES
        if row[f"idle_{cause}_ms"]
    }


FIRST = [call("cudaLaunchKernel", 0, 5, 1), ran("gemm", 10, 90, 1)]


@pytest.mark.parametrize(
    ("later", "causes"),
    [
        ([call("cudaLaunchKernel", 50, 5, 2)], {"queued": 100}),
        ([call("cudaLaunchKernel", 95, 5, 2)], {"queued": 100}),
        ([call("cudaLaunchKernel", 95, 6, 2)], {"not_launched": 100}),
        ([call("cudaLaunchKernel", 190, 5, 2)], {"not_launched": 100}),
        # The host waits beyond the end of the kernel, and goes on after it.
        (
            [call("cudaStreamSynchronize", 20, 100), call("cudaLaunchKernel", 190, 5, 2)],
            {"blocked": 20, "not_launched": 80},
        ),
        # Another thread waits: the thread that launches does not.
        (
            [call("cudaStreamSynchronize", 20, 100, tid=2), call("cudaLaunchKernel", 190, 5, 2)],
            {"not_launched": 100},
        ),
        (
            [call("cudaMalloc", 110, 60), call("cudaLaunchKernel", 190, 5, 2)],
            {"start": 60, "not_launched": 40},
        ),
        (
            [
                span("user_annotation", "enumerate(DataLoader)#_It.__next__", 100, 80),
                call("cudaLaunchKernel", 190, 5, 2),
            ],
            {"data": 80, "not_launched": 20},
        ),
        ([], {"unknown": 100}),
    ],
    ids=[
        "queued",
        "just-over",
        "under-way",
        "late",
        "waits",
        "elsewhere",
        "allocates",
        "loads",
        "no-call",
    ],
)
def test_a_gap_has_the_cause_that_its_call_shows(
    later: list[Json], causes: dict[str, float]
) -> None:
    assert idle([*FIRST, *later, ran("relu", 200, 10, 2)]) == causes


def test_a_launch_that_loads_code_is_a_start_and_a_copy_that_waits_blocks() -> None:
    slow = [call("hipLaunchKernel", 110, 6000, 2), ran("relu", 6200, 10, 2)]
    assert idle([*FIRST, *slow]) == {"not_launched": 100, "start": 6000}
    copying = [
        call("hipMemcpyWithStream", 50, 200, 2),
        ran("Memcpy DtoH (Device -> Pageable)", 200, 9, 2),
    ]
    assert idle([*FIRST, *copying]) == {"blocked": 100}


def test_without_numbers_that_join_calls_and_kernels_nothing_is_claimed() -> None:
    events = [call("cudaLaunchKernel", 0, 5), ran("gemm", 10, 90), ran("relu", 200, 10)]
    row = rows(read(events))["window"]
    assert [row[f"idle_{cause}_ms"] for cause in CAUSES] == [None] * 5 + [0.1]


def test_kernels_of_one_graph_are_queued_behind_each_other() -> None:
    launch = call("cudaGraphLaunch", 0, 5, 1)
    assert idle([launch, ran("a", 10, 10, 1), ran("b", 30, 10, 1), ran("c", 45, 5, 1)]) == {
        "queued": 15
    }


@pytest.mark.parametrize(
    ("calls", "category"),
    [
        (("hipLaunchKernel", "hipStreamSynchronize"), "cuda_runtime"),
        (("urEnqueueKernelLaunch", "urQueueFinish"), "xpu_runtime"),
        (("zeCommandListAppendLaunchKernel", "zeEventHostSynchronize"), "xpu_runtime"),
        (("cuLaunchKernelEx", "cuStreamSynchronize"), "cuda_driver"),
    ],
)
def test_names_of_other_runtimes_mean_the_same(calls: tuple[str, str], category: str) -> None:
    launches, waits = calls
    events = [call(launches, 0, 5, 1), ran("gemm", 10, 90, 1)]
    events += [call(waits, 20, 100), call(launches, 190, 5, 2), ran("relu", 200, 10, 2)]
    for event in events:
        event["cat"] = category if event["cat"] == "cuda_runtime" else event["cat"]
    assert idle(events) == {"blocked": 20, "not_launched": 80}


def test_capital_letters_of_2021_in_any_order_mean_the_same() -> None:
    events = [call("cudaLaunchKernel", 190, 5, 2), ran("relu", 200, 10, 2), *FIRST]
    for event in events:
        event["cat"] = {"kernel": "Kernel", "cuda_runtime": "Runtime"}[event["cat"]]
    assert idle(events) == {"not_launched": 100}


@pytest.mark.parametrize("name", ["aclrtLaunchKernelWithConfig", "enqueueTask"])
@pytest.mark.parametrize("category", ["privateuse1_runtime", "privateuse1_driver"])
def test_calls_of_other_devices_are_joined_by_number_under_any_name(
    category: str, name: str
) -> None:
    calls = [call(name, 0, 5, 1), call(name, 190, 5, 2)]
    events = [*calls, ran("add", 10, 90, 1), ran("relu", 200, 10, 2)]
    for event in events:
        event["cat"] = category if event["cat"] == "cuda_runtime" else event["cat"]
    assert idle(events) == {"not_launched": 100}
    evidence = read(events)
    assert (evidence.events, evidence.understood_events) == (4, 4)


def test_events_that_nothing_uses_are_counted_and_not_called_understood() -> None:
    events = [*FIRST, span("mtia_ccp_events", "dma_request", 0, 10), span("cpu_op", "a::b", 0, 5)]
    evidence = read(events)
    assert (evidence.events, evidence.understood_events) == (4, 3)
    assert list(evidence.notes) == ["trace.json: 1 events of `mtia_ccp_events` are not used"]


def test_jobs_of_a_device_of_meta_are_its_kernels() -> None:
    """Pieces of copies and waits beside them compute nothing; a job is launched by its number."""
    jobs = [
        ("fc-dtype_Float", 110, 40, 1),
        ("event_wait", 150, 70, 0),
        ("add-dtype_Half", 220, 20, 2),
    ]
    events = [
        *[
            span("mtia_ccp_events", name, ts, us, pid=9, tid=4, args={"correlation": number})
            for name, ts, us, number in jobs
        ],
        *[
            span("mtia_runtime", "runFunction - submit", ts, 5, args={"correlation": number})
            for ts, number in ((90, 1), (200, 2))
        ],
    ]
    evidence = read(events)
    assert idle(events) == {"not_launched": 70}
    assert list(evidence.notes) == ["trace.json: 1 events of `mtia_ccp_events` are not used"]
    found = {row.record.name: row.record for row in evidence.table(KernelTime)}
    assert {name: (row.kind, row.dtype) for name, row in found.items()} == {
        "fc-dtype_Float": ("gemm", "f32"),
        "add-dtype_Half": ("other", "f16"),
    }
    assert [row.record.devices for row in evidence.table(TraceHeader)] == [("MTIA",)]


# Steps, and what is computed.


def test_what_runs_alone_is_told_apart_and_adds_up() -> None:
    events = [
        ran("gemm", 0, 100, 1),
        ran("ncclDevKernel_AllReduce", 50, 100, 2, stream=9),
        ran("Memcpy HtoD (Pinned -> Device)", 140, 30, 3, stream=8),
        span("user_annotation", "ProfilerStep#4", 60, 200),
    ]
    found = rows(read(events))
    window = {name: found["window"][f"{name}_ms"] for name in ("window", "busy", "compute")}
    assert window == {"window": 0.17, "busy": 0.17, "compute": 0.1}
    assert found["window"]["exposed_comm_ms"] == 0.05
    assert found["window"]["exposed_copy_ms"] == 0.02
    step = found["ProfilerStep#4"]
    assert (step["window_ms"], step["compute_ms"], step["idle_ms"]) == (0.2, 0.04, 0.09)


# Who holds the device up.


def test_the_innermost_frame_that_covers_half_of_a_long_gap_is_named() -> None:
    frames = [
        span("python_function", "train.py(3): main", 0, 2_000),
        span("python_function", "train.py(40): tokenize", 150, 700),
        span("python_function", "regex.py(9): sub", 200, 150),
    ]
    late = [call("cudaLaunchKernel", 990, 5, 2), ran("relu", 1_000, 10, 2)]
    evidence = read([*frames, *FIRST, *late])
    (gap,) = evidence.table(DeviceGap)
    assert gap.record.frame == "train.py(40): tokenize"
    assert (gap.record.ms, gap.record.cause, gap.record.next_kernel) == (
        0.9,
        "not_launched",
        "relu",
    )
    (held,) = evidence.table(HeldBy)
    assert (held.record.user_frame, held.record.ms) == ("train.py(40): tokenize", 0.9)


def test_a_frame_of_the_main_thread_is_named_where_the_launching_thread_has_none() -> None:
    events = [
        span("python_function", "train.py(3): main", 0, 2_000),
        call("cudaLaunchKernel", 0, 5, 1, tid=2),
        ran("gemm", 10, 90, 1),
        span("cpu_op", "MulBackward0", 150, 840, tid=2),
        call("cudaLaunchKernel", 990, 5, 2, tid=2),
        ran("relu", 1_000, 10, 2),
    ]
    (gap,) = read(events).table(DeviceGap)
    assert (gap.record.frame, gap.record.operator) == ("train.py(3): main", "MulBackward0")


# Against a reference that looks at every microsecond.

spans_ = st.tuples(st.integers(0, 60), st.integers(1, 12))


@st.composite
def traces(draw: st.DrawFn) -> list[Json]:
    """Draw a trace of small whole numbers: what is drawn need not make sense on a device."""
    events = []
    for number, (ts, dur) in enumerate(draw(st.lists(spans_, min_size=1, max_size=12)), start=1):
        name = draw(st.sampled_from(["gemm", "ncclKernel", "Memcpy HtoD (Pinned -> Device)"]))
        events.append(ran(name, ts, dur, number, stream=draw(st.sampled_from([7, 8]))))
        if draw(st.booleans()):
            at, tid = draw(st.integers(0, 60)), draw(st.sampled_from([1, 2]))
            events.append(call("cudaLaunchKernel", at, draw(st.integers(1, 9)), number, tid))
    for ts, dur in draw(st.lists(spans_, max_size=4)):
        name = draw(st.sampled_from(["cudaStreamSynchronize", "cudaMalloc"]))
        events.append(call(name, ts, dur, tid=draw(st.sampled_from([1, 2]))))
    if draw(st.booleans()):
        events.append(span("user_annotation", "enumerate(DataLoader)#_It.__next__", *draw(spans_)))
    return list(draw(st.permutations(events)))


def inside(event: Json) -> set[int]:
    return set(range(event["ts"], event["ts"] + event["dur"]))


def covered(events: list[Json], *words: str, tid: int | None = None) -> set[int]:
    """Return the microseconds in which an event of such a name ran."""
    chosen = [e for e in events if e["name"].startswith(words) and tid in {None, e["tid"]}]
    return set().union(*map(inside, chosen))


def reference(events: list[Json]) -> dict[str, int]:
    """Return the parts of the window, microsecond by microsecond."""
    on_device = [event for event in events if event["cat"] in {"kernel", "gpu_memcpy"}]
    calls = {
        event["args"]["correlation"]: event
        for event in events
        if "correlation" in event["args"] and event["cat"] == "cuda_runtime"
    }
    compute, comm = covered(on_device, "gemm"), covered(on_device, "nccl")
    busy = set().union(*map(inside, on_device))
    window = set(range(min(busy), max(busy) + 1))
    parts = dict.fromkeys(CAUSES, 0)
    known = any(event["args"]["correlation"] in calls for event in on_device)
    for moment in sorted(window - busy):
        start = max(m for m in busy if m < moment) + 1
        end = min(m for m in busy if m > moment)
        numbers = [e["args"]["correlation"] for e in on_device if e["ts"] == end]
        found = calls.get(min(numbers))
        if found is None:
            cause = "unknown"
        elif found["ts"] + found["dur"] <= start:
            cause = "queued"
        elif moment in covered(events, "cudaMalloc", tid=found["tid"]):
            cause = "start"
        elif moment in covered(events, "enumerate"):
            cause = "data"
        elif moment in covered(events, "cudaStreamSynchronize", tid=found["tid"]):
            cause = "blocked"
        else:
            cause = "not_launched"
        parts[cause] += 1
    return {
        "known": known,
        "window": len(window),
        "busy": len(busy),
        "compute": len(compute),
        "exposed_comm": len(comm - compute),
        "exposed_copy": len(busy - comm - compute),
        "idle": len(window - busy),
        **{f"idle_{cause}": us for cause, us in parts.items()},
    }


@settings(max_examples=300, deadline=None)
@given(traces())
def test_the_time_of_a_device_is_what_a_look_at_every_microsecond_shows(events: list[Json]) -> None:
    for event in events:
        event.setdefault("args", {})
    row = rows(read(events))["window"]
    expected = reference(events)
    # Of gaps alone it is asked: where no call of what ends one is known, all is unknown.
    causes = [row[f"idle_{cause}_ms"] for cause in CAUSES]
    assert sum(ms or 0 for ms in causes) == pytest.approx(row["idle_ms"], abs=1e-6)
    known = expected.pop("known") and row["idle_queued_ms"] is not None
    for name, us in expected.items():
        if known or not name.startswith("idle_"):
            assert row[f"{name}_ms"] == pytest.approx(us / 1000, abs=1e-6), name
