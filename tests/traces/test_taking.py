"""Calls that take memory of the driver: one-off work, or the way in which a program works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import H100, found
from tests.traces.writing import Json, kernel, launch, span

#: Milliseconds in microseconds; the time between two kernels.
MS = 1_000
EACH = 5 * MS


def steps(called: dict[int, list[str]], n: int, *, scheduled: bool) -> list[Json]:
    """Return ``n`` parts of 50 ms, in each ten kernels, before the first of which are the calls."""
    events: list[Json] = []
    for part in range(n):
        begin = part * 10 * EACH
        if scheduled:
            events.append(span("user_annotation", f"ProfilerStep#{part}", begin, 10 * EACH))
        for at in range(10):
            start = begin + at * EACH
            events += [launch(start + 4 * MS), kernel("work", start + 4 * MS + 10, MS - 20)]
        for at, name in enumerate(called.get(part, [])):
            events.append(span("cuda_runtime", name, begin + at * EACH + 100, 3.8 * MS))
    for at, event in enumerate(event for event in events if event["cat"] == "kernel"):
        event["args"] = {"correlation": at}
    for at, event in enumerate(event for event in events if event["name"] == "cudaLaunchKernel"):
        event["args"] = {"correlation": at}
    return events


def codes(tmp_path: Path, events: list[Json]) -> dict[str, str]:
    """Return what is advised about memory and about starting, by code."""
    told = found(tmp_path, events, **H100)
    return {code: told[code].advice[0].id for code in ("TRC023", "TRC024") if code in told}


@pytest.mark.parametrize(
    ("parts", "name", "expected"),
    [
        ((0, 1, 2, 3), "cudaHostAlloc", {"TRC024": "pin-once"}),
        ((1, 2, 3), "hipHostMalloc", {"TRC024": "pin-once"}),
        ((1, 2, 3), "cudaFree", {"TRC024": "caching"}),
        # What a step does without them, it need not do in the others.
        ((0, 1, 2), "cudaHostAlloc", {"TRC023": "warm-up"}),
        # ... but what gives memory back makes room for other memory.
        ((0, 1, 3), "cudaFree", {"TRC023": "segments"}),
        # Memory that is kept grows until all has been seen: that is a start, however long.
        ((0, 1, 2, 3), "cudaMalloc", {"TRC023": "warm-up"}),
        ((0, 1, 2, 3), "cudaStreamCreateWithPriority", {"TRC023": "warm-up"}),
    ],
)
def test_memory_that_is_taken_in_every_step_but_the_first_is_no_start(
    tmp_path: Path, parts: tuple[int, ...], name: str, expected: dict[str, str]
) -> None:
    called = {part: [name] * 4 for part in parts}
    assert codes(tmp_path, steps(called, 4, scheduled=True)) == expected


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ({0: 2, 1: 2, 2: 2, 3: 2}, {"TRC024": "caching"}),
        ({0: 2, 1: 2, 2: 2, 3: 1}, {"TRC023": "warm-up"}),  # seven are too few
        ({0: 4, 1: 4, 2: 4}, {"TRC023": "warm-up"}),  # ... and so is a part without them
    ],
)
def test_without_steps_every_quarter_counts(
    tmp_path: Path, calls: dict[int, int], expected: dict[str, str]
) -> None:
    called = {part: ["cudaFree"] * n for part, n in calls.items()}
    assert codes(tmp_path, steps(called, 4, scheduled=False)) == expected


def test_what_such_calls_take_is_told_of_the_idle_time_and_explains_it(tmp_path: Path) -> None:
    called = {part: ["cudaFree", "cudaMalloc"] * 4 for part in range(4)}
    told = found(tmp_path, steps(called, 4, scheduled=True), **H100)
    finding, idle = told["TRC024"], told["TRC001"]
    assert finding.cost is not None
    # 4 steps of 8 calls of 3.8 ms, in each of which nothing runs
    assert finding.cost.ms == pytest.approx(121.6, rel=0.1)
    assert idle.explained_by == finding.id
    assert "TRC026" not in told


def test_copies_hold_a_device_up_for_no_longer_than_they_keep_the_host(tmp_path: Path) -> None:
    called = {part: ["cudaFree"] * 8 for part in range(4)}
    events = steps(called, 4, scheduled=True)
    events.append(span("cuda_runtime", "cudaMemcpyAsync", 3_200, 60))
    assert "TRC026" not in found(tmp_path, events, **H100)
