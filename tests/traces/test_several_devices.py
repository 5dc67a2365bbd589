"""Devices of one trace: what is said of one counts its own kernels, and costs its own time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.test_first_line import A100, GEMM, elementwise
from tests.traces.test_idle import call
from tests.traces.writing import Json, kernel, span

SORT = "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<long, long>(int)"
LAYOUT = "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(int)"


def late(each: int, devices: int) -> list[Json]:
    """Return ``each`` short kernels of every device, launched too late."""
    events: list[Json] = []
    for n in range(each * devices):
        at, device = 20.0 * n, n % devices
        one = kernel(elementwise("tanh"), at + 6, 3, device=device)
        events += [call("cudaLaunchKernel", at, 5, n + 1), one | {"args": {"correlation": n + 1}}]
    return events


@pytest.mark.parametrize(
    ("each", "devices", "told"), [(300, 1, False), (300, 2, False), (500, 1, True), (500, 2, True)]
)
def test_launches_are_those_of_one_device(
    tmp_path: Path, each: int, devices: int, told: bool
) -> None:
    finding = found(tmp_path, late(each, devices), **A100).get("TRC002")
    assert (finding is not None) is told
    if finding is not None:
        assert finding.title.startswith(f"{each} kernels in the trace of 3 us each")


@pytest.mark.parametrize(("each", "severity"), [(40, "info"), (60, "warning")])
def test_an_idle_device_is_judged_by_its_own_kernels(
    tmp_path: Path, each: int, severity: str
) -> None:
    finding = found(tmp_path, late(each, 2), **A100)["TRC001"]
    assert finding.severity == severity
    assert finding.data["kernels"] == each


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(("name", "code"), [(SORT, "TRC035"), (LAYOUT, "TRC014")])
def test_what_is_added_up_over_devices_costs_the_time_of_one(
    tmp_path: Path, name: str, code: str, devices: int
) -> None:
    """Each has 6 ms of them, of 20."""
    events: list[Json] = []
    for at in range(0, 20_000, 1000):
        for device in range(devices):
            events.append(kernel(name, at, 300, device=device))
            events.append(kernel(GEMM, at + 300, 700, device=device))
    finding = found(tmp_path, events, **A100)[code]
    assert finding.cost is not None
    assert finding.cost.ms == pytest.approx(6.0)
    assert finding.cost.share == pytest.approx(0.3)


@pytest.mark.parametrize(("inner", "named"), [(5_000, "prepare"), (9_000, "tokens")])
def test_a_pause_is_named_by_the_function_that_covers_it(
    tmp_path: Path, inner: int, named: str
) -> None:
    """Of a pause of 10 ms: `tokens` has half of it, or nearly all; `main` has all pauses."""
    events: list[Json] = [span("python_function", "train.py(1): main", 0, 100_000)]
    for step in range(5):
        at = 20_000.0 * step
        args = {"args": {"correlation": step + 1}}
        events += [call("cudaLaunchKernel", at, 5, step + 1), kernel(GEMM, at + 10, 10_000) | args]
        events.append(span("python_function", "train.py(20): prepare", at + 10_000, 9_950))
        events.append(span("python_function", "train.py(9): tokens", at + 10_500, inner + 300))
    finding = found(tmp_path, events, with_stack=1, **A100)["TRC024"]
    assert finding.where is not None
    assert finding.where.function == named


@pytest.mark.parametrize(
    ("name", "advice"),
    [("DataParallel.forward", "ddp"), ("DistributedDataParallel.forward", "compile")],
)
def test_one_process_that_launches_for_all_devices_is_told_to_be_several(
    tmp_path: Path, name: str, advice: str
) -> None:
    """No CUDA graph holds what is sent to several devices."""
    events = [span("user_annotation", name, 0, 20_000), *late(600, 2)]
    advised = [one.id for one in found(tmp_path, events, **A100)["TRC002"].advice]
    assert advised[0] == advice
    assert ("graph" in advised) is (advice == "compile")


@pytest.mark.parametrize(
    ("file", "advice"),
    [
        ("torch/nn/parallel/data_parallel.py", "ddp"),
        ("torch/nn/parallel/distributed.py", "graph"),
    ],
)
def test_a_wrapper_of_several_devices_is_no_graph(tmp_path: Path, file: str, advice: str) -> None:
    events: list[Json] = []
    for step in range(5):
        at = 20_000.0 * step
        args = {"args": {"correlation": step + 1}}
        events += [call("cudaLaunchKernel", at, 5, step + 1), kernel(GEMM, at + 10, 10_000) | args]
        events.append(span("python_function", f"{file}(160): forward", at + 10_000, 9_950))
    finding = found(tmp_path, events, with_stack=1, **A100)["TRC024"]
    assert [one.id for one in finding.advice] == [advice]


@pytest.mark.parametrize(
    ("function", "each", "told"),
    [("random_affine", 128, True), ("forward", 128, False), ("random_affine", 8, False)],
)
def test_samples_that_a_gpu_prepares_one_by_one_are_told(
    tmp_path: Path, function: str, each: int, told: bool
) -> None:
    """As often as a block of a model is called in a step, or for each of its samples."""
    events: list[Json] = []
    for step in range(4):
        start, length = 20_000.0 * step, 20_000.0 / each
        events.append(span("user_annotation", f"ProfilerStep#{step}", start, 19_999))
        events += [
            span("python_function", f"augment.py(30): {function}", start + length * n, length - 2)
            for n in range(each)
        ]
    events += late(4_000, 1)
    events.sort(key=lambda event: (event["ts"], -event["dur"]))
    advised = [one.id for one in found(tmp_path, events, with_stack=1, **A100)["TRC002"].advice]
    assert advised[0] == ("samples" if told else "compile")
