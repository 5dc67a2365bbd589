"""Calls on a machine that is slow or busy, products of one row, and pauses of nobody's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.test_first_line import A100, GEMM
from tests.traces.test_idle import call, ran
from tests.traces.writing import Json, op, span


def small(us: float, view_us: float) -> list[Json]:
    """Return 4,000 small operators, ``us`` from one to the next, and a view for each."""
    events: list[Json] = []
    for n in range(4_000):
        at = us * n
        events += [op("aten::tanh", at, us / 4), op("aten::t", at + us / 2, view_us)]
    return events


@pytest.mark.parametrize(
    ("us", "view_us", "told"), [(20.0, 0.5, True), (80.0, 0.5, False), (80.0, 5.0, True)]
)
def test_what_a_call_takes_is_told_by_views(
    tmp_path: Path, us: float, view_us: float, told: bool
) -> None:
    assert ("TRC002" in found(tmp_path, small(us, view_us))) is told


@pytest.mark.parametrize(
    ("shape", "n", "told"),
    [
        ([[1, 64], [64, 64]], 1_000, True),
        ([[4, 64], [64, 64]], 1_000, False),
        ([[1, 4096], [4096, 64]], 1_000, False),  # as large as those of one token
        ([[1, 64], [64, 64]], 190, False),
    ],
)
def test_a_model_that_is_given_one_sample_at_a_time(
    tmp_path: Path, shape: list[list[int]], n: int, told: bool
) -> None:
    events = small(20.0, 0.5)
    args = {"Input Dims": shape, "Input type": ["float", "float"]}
    for at in range(n):
        events.append(
            op("aten::mm", 80_000.0 + 10 * at, 3) | {"args": args | {"External id": at + 1}}
        )
    finding = found(tmp_path, events, record_shapes=1)["TRC002"]
    assert ("rows" in [one.id for one in finding.advice]) is told


def late(each: float, function: str) -> list[Json]:
    """Return 600 short kernels; before every second one the host is in a function for ``each``."""
    events: list[Json] = []
    at = 0.0
    for n in range(600):
        if n % 2:
            events.append(span("python_function", f"model.py(44): {function}", at, each))
            at += each
        events += [call("cudaLaunchKernel", at, 5, n + 1), ran(GEMM, at + 6, 10, n + 1)]
        at += 20
    return events


@pytest.mark.parametrize(("us", "told"), [(300.0, False), (150.0, True)])
def test_one_line_that_holds_a_gpu_up_is_no_lack_of_launches(
    tmp_path: Path, us: float, told: bool
) -> None:
    """In gaps of 0.2 ms and more a line is named; below, the host is slow."""
    findings = found(tmp_path, late(us, "mask"), with_stack=1, **A100)
    assert ("TRC002" in findings) is told
    assert ("TRC024" in findings) is not told


@pytest.mark.parametrize(
    ("function", "loop", "told"),
    [("<listcomp>", 60_000, False), ("rows", 60_000, True), ("<listcomp>", 30_000, True)],
)
def test_a_comprehension_has_nothing_before_its_loop(
    tmp_path: Path, function: str, loop: int, told: bool
) -> None:
    """One pause of 20 ms in each of its calls, which last ``loop``: none of its elements."""
    events: list[Json] = []
    for n in range(4):
        start = 100_000.0 * n
        events.append(span("python_function", f"means.py(7): {function}", start, loop))
        times = (*range(0, 10_000, 500), *range(30_000, loop, 500))
        events += [op("aten::mean", start + at, 490) for at in times]
        events.append(op("aten::mm", start + loop + 1, 99_900 - loop))
    assert ("TRC024" in found(tmp_path, events, with_stack=1)) is told
