"""The critical path of small traces, and that its parts always add up."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traces.writing import Json, op, read, span
from tracelens.source import read as read_files
from tracelens.traces.critical import CriticalPath

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
PARTS = ("host", "data", "launch", "compute", "comm", "copy", "pause")


def ran(number: int, call: float, start: float, us: float, **fields: Any) -> list[Json]:
    """Return a kernel and the call of 2 us that asked for it."""
    tid = fields.pop("thread", 1)
    name = fields.pop("name", "sgemm")
    args = {"args": {"correlation": number}}
    category = "gpu_memcpy" if name.startswith("Memcpy") else "kernel"
    return [
        span("cuda_runtime", "cudaLaunchKernel", call, 2, tid=tid, **args),
        span(category, name, start, us, pid=0, tid=7, **args),
    ]


def wait(start: float, end: float, **fields: Any) -> Json:
    return span("cuda_runtime", "cudaStreamSynchronize", start, end - start, **fields)


def step(number: int, start: float, end: float) -> Json:
    return span("user_annotation", f"ProfilerStep#{number}", start, end - start)


def paths(events: list[Json]) -> list[CriticalPath]:
    in_order: list[Json] = sorted(events, key=lambda event: (event["ts"], -event["dur"]))
    return [row.record for row in read(in_order).table(CriticalPath)]


def us(path: CriticalPath) -> dict[str, float]:
    """Return the parts that are there, microseconds."""
    parts = {part: round(1000 * getattr(path, f"{part}_ms"), 3) for part in PARTS}
    return {part: length for part, length in parts.items() if length}


def test_a_step_is_walked_from_its_last_kernel_to_what_each_waited_for() -> None:
    events = [step(1, 0, 70), wait(15, 42)]
    events += [*ran(1, 10, 14, 26), *ran(2, 60, 65, 25), *ran(3, 63, 90, 5, name="relu")]
    (path,) = paths(events)
    # 10 us of host, 4 to begin; the wait goes on 2 us after the kernel; 18 us of host, 5 to begin.
    assert us(path) == {"host": 28, "launch": 9, "compute": 56, "pause": 2}
    assert (path.phase, path.ms, path.longest) == ("ProfilerStep#1", 0.095, "sgemm")
    assert path.longest_ms == 0.051


def test_the_next_step_begins_where_the_device_was_done() -> None:
    events = [step(1, 0, 20), step(2, 20, 40)]
    events += [*ran(1, 2, 5, 45), *ran(2, 22, 50, 40, name="ncclDevKernel_AllReduce_Sum_f32")]
    first, second = paths(events)
    assert us(first) == {"host": 2, "launch": 3, "compute": 45}
    assert us(second) == {"comm": 40}
    assert (first.start_ms, second.start_ms) == (0, 0.05)


def test_a_host_that_goes_on_after_the_device_is_what_the_step_waits_for() -> None:
    events = [step(1, 0, 100), *ran(1, 2, 5, 10), op("aten::sort", 20, 80)]
    (path,) = paths(events)
    assert us(path) == {"host": 100}


@pytest.mark.parametrize("where", [1, 2], ids=["in the program", "in a thread that never launches"])
def test_a_backward_pass_on_a_thread_of_its_own_follows_the_waits_of_the_program(
    where: int,
) -> None:
    events = [step(1, 0, 50), wait(12, 32, tid=1 if where == 1 else 9)]
    events += [*ran(1, 2, 5, 25), *ran(2, 40, 45, 30, thread=2)]
    (path,) = paths(events)
    waited = {"host": 10, "launch": 8, "compute": 55, "pause": 2}
    assert us(path) == (waited if where == 1 else {"host": 40, "launch": 5, "compute": 30})


def test_waiting_for_a_batch_is_told_apart_from_other_work_of_the_host() -> None:
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    events = [
        step(1, 0, 100),
        op(name, 10, 60),
        *ran(1, 80, 85, 30, name="Memcpy HtoD (Pageable -> Device)"),
    ]
    (path,) = paths(events)
    assert us(path) == {"host": 20, "data": 60, "launch": 5, "copy": 30}


def test_without_steps_the_path_is_that_of_the_window_and_without_calls_there_is_none() -> None:
    (path,) = paths([*ran(1, 2, 5, 10), *ran(2, 6, 20, 10)])
    assert (path.phase, us(path)) == ("window", {"compute": 20, "pause": 5})
    assert not paths([span("kernel", "sgemm", 5, 10, pid=0, tid=7), step(1, 0, 20)])


@pytest.mark.parametrize("path", sorted(RULES.glob("TRC*/*.json*")), ids=lambda path: path.stem)
def test_the_parts_add_up_to_the_steps_and_these_follow_each_other(path: Path) -> None:
    evidence, _ = read_files([str(path)])
    rows = [row.record for row in evidence.table(CriticalPath)]
    for row in rows:
        parts = [getattr(row, f"{part}_ms") for part in PARTS]
        assert min(parts) >= -0.001
        assert sum(parts) == pytest.approx(row.ms, abs=0.001)
    for row, after in pairwise(rows):
        if row.device == after.device:
            assert after.start_ms == pytest.approx(row.start_ms + row.ms, abs=0.001)


def test_a_kernel_that_begins_before_its_call_is_taken_once() -> None:
    """Clocks of a host and of a device differ; the walk came back to it for ever."""
    events = [wait(4, 6), *ran(1, 7, 6, 1), *ran(2, 4, 0, 3)]
    (path,) = paths(events)
    assert sum(us(path).values()) == pytest.approx(1000 * path.ms, abs=0.01)


SHORT = st.integers(0, 40)


@given(
    st.lists(st.tuples(SHORT, SHORT, SHORT), min_size=1, max_size=6),
    st.lists(st.tuples(SHORT, SHORT), max_size=4),
)
def test_the_parts_add_up_whatever_the_clocks_say(
    kernels: list[tuple[int, int, int]], waits: list[tuple[int, int]]
) -> None:
    events = [wait(start, start + length) for start, length in waits]
    for number, (call, start, length) in enumerate(kernels):
        events += ran(number + 1, call, start, length)
    for path in paths(events):
        parts = us(path)
        assert sum(parts.values()) == pytest.approx(1000 * path.ms, abs=0.01)
        assert all(length >= 0 for length in parts.values())
