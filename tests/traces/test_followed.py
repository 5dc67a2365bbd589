"""What the trace rules need besides names: breaks, compilations, idle time, chains of kernels."""

from typing import Any, TypeVar

import pytest

from tests.traces.writing import Json, kernel, launch, op, read, span
from tracelens.evidence import Evidence
from tracelens.logs._trace_events import Complete
from tracelens.traces.chains import MAX_LENGTH
from tracelens.traces.device import Busy, Calls
from tracelens.traces.measured import Chain, Measured, Step, TraceHeader, Window

T = TypeVar("T", bound=Measured)
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)"
MUL = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, "
    "at::native::binary_internal::MulFunctor<float> > >(int)"
)


def region(frame: str, ts: float, dur: float) -> Json:
    return op(f"Torch-Compiled Region: {frame}", ts, dur)


def step(number: int, ts: float, dur: float) -> Json:
    return span("user_annotation", f"ProfilerStep#{number}", ts, dur)


def wide(name: str, ts: float, dur: float, grid: object, stream: int = 7) -> Json:
    return kernel(name, ts, dur, stream) | {"args": {"grid": grid}}


def only(evidence: Evidence, kind: type[T]) -> T:
    (row,) = evidence.table(kind)
    return row.record


def test_a_region_inside_another_is_nested_and_one_after_it_is_not() -> None:
    events = [region("0/0", 0, 100), region("1/0", 40, 50), region("2/0", 120, 10)]
    window = only(read(events), Window)
    assert (window.regions, window.nested, window.frames) == (3, 1, ("0/0", "1/0", "2/0"))


def test_compilations_belong_to_the_step_that_they_are_in() -> None:
    note = "entire_frame_compile_data: fn_name=_compile.compile_inner, compile_id=0/1"
    events = [
        step(1, 0, 100),
        step(2, 100, 100),
        op("entire_frame_compile", 110, 80),
        span("user_annotation", note, 111, 1),
    ]
    first, second = (row.record for row in read(events).table(Step))
    assert (first.compile_ms, first.compiles) == (0.0, ())
    assert (second.compile_ms, second.compiles) == (0.08, ("0/1",))


def test_operators_of_an_optimizer_are_counted_by_kind_outside_of_compiled_code() -> None:
    events = [
        span("user_annotation", "Optimizer.step#Adam.step", 0, 100),
        op("aten::mul_", 1, 10),
        op("aten::empty", 2, 1),
        op("aten::_foreach_add_", 20, 10),
        op("aten::_fused_adam_", 40, 10),
        region("0/0", 60, 20),
        op("aten::addcdiv_", 61, 5),
        op("aten::add", 200, 5),
    ]
    window = only(read(events), Window)
    assert (window.optimizer_single, window.optimizer_multi) == (1, 2)


def test_idle_time_is_told_apart_by_what_the_program_did() -> None:
    loading = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    events = [
        step(1, 0, 100),
        span("user_annotation", loading, 0, 30),
        op("aten::add", 5, 5),
        op("aten::mm", 40, 20),
        op("entire_frame_compile", 70, 10),
        kernel(ADD, 20, 25),
        kernel(ADD, 95, 5),
    ]
    record = only(read(events), Step)
    # Loading is idle from 0 to 20, operators from 45 to 60; the operator in the loader is loading.
    idle = (record.idle_loading_ms, record.idle_host_ms, record.idle_compile_ms)
    assert idle == (0.02, 0.015, 0.01)
    assert record.busy_ms == 0.03


def test_without_a_device_nothing_is_idle() -> None:
    window = only(read([op("aten::mm", 0, 20)]), Window)
    assert (window.idle_host_ms, window.idle_after_wait_ms) == (0.0, 0.0)


def test_idle_after_a_wait_ends_with_the_next_kernel() -> None:
    events = [
        launch(0, 4, "cudaStreamSynchronize"),  # before the first kernel: not because of the wait
        launch(10, 20, "cudaStreamSynchronize"),
        launch(32, 3, "cudaStreamSynchronize"),  # the same gap
        launch(60, 5, "cudaStreamSynchronize"),  # while the device works
        launch(100, 5, "cudaStreamSynchronize"),  # after the last kernel
        kernel(ADD, 8, 20),
        kernel(ADD, 50, 40),
    ]
    assert only(read(events), Window).idle_after_wait_ms == 0.02


def test_what_is_idle_after_calls_is_counted_once() -> None:
    calls = Calls()
    calls.add([Complete(name="wait", ts=start, dur=5.0) for start in (0.0, 2.0, 20.0)])
    busy = Busy.of([(0.0, 4.0), (10.0, 12.0)])
    assert list(calls.idle_after(busy).pairs()) == [(5.0, 10.0)]


@pytest.mark.parametrize(
    ("mine", "theirs", "both"),
    [
        ([(0, 10), (20, 30)], [(5, 25)], [(5, 10), (20, 25)]),
        ([(0, 10)], [(10, 20)], []),
        ([(0, 10)], [(2, 3), (4, 5), (9, 12)], [(2, 3), (4, 5), (9, 10)]),
        ([], [(0, 1)], []),
    ],
)
def test_what_two_sets_share(
    mine: list[tuple[float, float]],
    theirs: list[tuple[float, float]],
    both: list[tuple[float, float]],
) -> None:
    assert list(Busy.of(mine).both(Busy.of(theirs)).pairs()) == both
    assert list(Busy.of(theirs).both(Busy.of(mine)).pairs()) == both


def test_a_chain_is_three_elementwise_kernels_with_one_grid_on_one_stream() -> None:
    grid = [64, 1, 1]
    events = [wide(name, 10 * at, 5, grid) for at, name in enumerate((MUL, ADD, ADD))]
    events += [wide("sgemm", 30, 5, grid), wide(MUL, 40, 5, grid), wide(ADD, 50, 5, grid)]
    chain = only(read(events), Chain)
    assert (chain.kernels, chain.count, chain.ms) == (("mul", "add", "add"), 1, 0.015)


@pytest.mark.parametrize(
    "third",
    [
        wide(ADD, 20, 5, [15, 1, 1]),
        wide(ADD, 20, 5, [257, 1, 1]),
        wide(ADD, 20, 5, [64, 1, 1], stream=8),
        wide(ADD, 12, 5, [64, 1, 1]),
        kernel(ADD, 20, 5),
        wide("sgemm", 20, 5, [64, 1, 1]),
    ],
    ids=("fewer", "more", "stream", "overlap", "no grid", "kernel"),
)
def test_a_chain_ends_where_its_kernels_differ(third: Json) -> None:
    events = [wide(MUL, 0, 5, [64, 1, 1]), wide(ADD, 10, 5, [64, 1, 1]), third]
    assert not len(read(events).table(Chain))


@pytest.mark.parametrize(
    "grids",
    [([64, 1, 1], [16, 1, 1]), ([64, 1, 1], [256, 1, 1]), ([8, 4, 2], [64, 1, 1]), (None, None)],
    ids=("a quarter", "four times", "as many", "none"),
)
def test_a_chain_goes_on_over_about_as_many_elements(grids: tuple[Any, Any]) -> None:
    one, other = grids
    ran = ((MUL, one), (ADD, other), (ADD, other))
    events = [
        kernel(name, 10 * at, 5) if grid is None else wide(name, 10 * at, 5, grid)
        for at, (name, grid) in enumerate(ran)
    ]
    assert only(read(events), Chain).kernels == ("mul", "add", "add")


def test_chains_are_bounded_and_any_grid_is_only_compared() -> None:
    events = [wide(ADD, 10 * at, 5, {"odd": "grid"}) for at in range(2 * MAX_LENGTH)]
    chain = only(read(events), Chain)
    assert (len(chain.kernels), chain.count) == (MAX_LENGTH, 2)


def test_the_header_tells_the_generation_of_the_device() -> None:
    properties = [{"id": 0, "name": "NVIDIA H100", "computeMajor": 9, "computeMinor": 0}]
    assert only(read([op("aten::mm", 0, 1)], deviceProperties=properties), TraceHeader).major == 9
    odd = [{"name": "NVIDIA H100", "computeMajor": "nine"}]
    header = only(read([op("aten::mm", 0, 1)], deviceProperties=odd), TraceHeader)
    assert (header.devices, header.major) == (("NVIDIA H100",), None)
