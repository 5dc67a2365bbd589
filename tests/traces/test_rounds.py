"""Loops that launch kernel after kernel, and numbers by which Python goes on."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traces.test_bounds import found
from tests.traces.test_device_forms import late
from tests.traces.test_first_line import A100
from tests.traces.test_idle import call
from tests.traces.writing import op
from tracelens.rules.trc._rounds import alike

FOUR = ["aten::index", "aten::sub", "aten::sum", "aten::minimum"]


@pytest.mark.parametrize(
    ("names", "rounds"),
    [
        (FOUR, 150),  # 600 operators in a step
        ([*FOUR, "aten::max"], 0),  # 120 rounds may be the layers of a model
        (FOUR[:3], 0),  # as three norms of each parameter are
        (["aten::index", "aten::sub_", "aten::sum", "aten::minimum"], 0),  # an optimizer's
        (["aten::index", "aten::view", "aten::sum", "aten::minimum"], 0),  # a view moves nothing
    ],
)
def test_a_loop_is_known_by_operators_that_run_equally_often(
    tmp_path: Path, names: list[str], rounds: int
) -> None:
    finding = found(tmp_path, late(names), **A100)["TRC002"]
    assert finding.data["rounds"] == rounds
    assert (f"run {rounds:,} times each" in finding.message) is bool(rounds)
    advised = [one.id for one in finding.advice]
    assert advised == (["record-loop", "compile-round"] if rounds else ["compile", "graph"])


def test_without_steps_nobody_knows_what_repeats(tmp_path: Path) -> None:
    events = [one for one in late(FOUR) if one["cat"] != "user_annotation"]
    assert found(tmp_path, events, **A100)["TRC002"].data["rounds"] == 0


@pytest.mark.parametrize(("numbers", "waits", "told"), [(8, 8, 8), (7, 7, 0), (40, 0, 0)])
@pytest.mark.parametrize("compiled", [False, True])
def test_numbers_that_are_read_from_the_gpu_leave_no_room_for_a_graph(
    tmp_path: Path, numbers: int, waits: int, told: int, *, compiled: bool
) -> None:
    """Numbers on the CPU wait for nothing: an optimizer reads how many steps it took."""
    events = late(["aten::addmm"])
    for step in range(3):
        for n in range(numbers):
            events.append(op("aten::_local_scalar_dense", 20_000.0 * step + 22 + 100 * n, 1.5))
        for n in range(waits):
            events.append(call("cudaStreamSynchronize", 20_000.0 * step + 22.2 + 100 * n, 1))
        if compiled:
            events.append(op("Torch-Compiled Region: 0/0", 20_000.0 * step + 5, 19.5))
    events.sort(key=lambda event: (event["ts"], -event["dur"]))
    finding = found(tmp_path, events, **A100)["TRC002"]
    assert finding.data["numbers"] == told
    assert ("numbers are read from the GPU" in finding.message) is bool(told)
    advised = [one.id for one in finding.advice]
    assert ("graph" in advised) is (compiled or not told)
    assert ("compile" in advised) is not compiled


@given(st.lists(st.integers(min_value=1, max_value=400), max_size=12))
def test_the_most_counts_that_are_alike_are_found(counts: list[int]) -> None:
    """By trying all of them as the largest."""
    counts.sort()
    naive = max(
        (sum(1 for one in counts if 0.95 * most <= one <= most) for most in counts), default=0
    )
    best = alike(counts)
    assert len(best) == naive
    assert not best or 0.95 * best[-1] <= best[0]


@pytest.mark.parametrize(("pause", "told"), [(14.0, False), (20.0, True)])
def test_a_launch_takes_longer_while_it_is_recorded(
    tmp_path: Path, pause: float, *, told: bool
) -> None:
    """By 8 us: of 14 us with a kernel of 8, nothing is left."""
    events = late(["aten::addmm"], pause)
    for event in events:
        if event["cat"] == "kernel":
            event["dur"] = 8
    assert ("TRC001" in found(tmp_path, events, **A100)) is told
