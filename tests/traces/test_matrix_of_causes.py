"""One cause each, in the dress of several devices: the sentence that comes first names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.test_first_line import A100, GEMM, elementwise
from tests.traces.test_idle import call, ran
from tests.traces.writing import Json, kernel, op, span
from tracelens.logs.chrome_trace import DeviceKernel
from tracelens.report import Finding
from tracelens.traces.kernel_names import kind_of
from tracelens.traces.names import Name

SORT = "void at_cuda_detail::cub::DeviceSegmentedRadixSortKernel<float, long>(int)"
WORK = elementwise("tanh")


def frame(name: str, ts: float, dur: float) -> Json:
    return span("python_function", name, ts, dur)


def waits(
    many: int, pause: float, each: int, name: str = "aten::nonzero", steps: bool = True
) -> list[Json]:
    """Return three rounds of ``many`` waits, kernels of 10 us before each, and a pause after it."""
    events: list[Json] = []
    at = 0.0
    for step in range(3):
        if steps:
            start = at = 40_000.0 * step
            events.append(span("user_annotation", f"ProfilerStep#{step}", start, 40_000))
        for n in range(many):
            for k in range(each):
                number = 100_000 * step + 100 * n + k + 1
                events += [call("cudaLaunchKernel", at, 5, number), ran(WORK, at + 6, 10, number)]
                at += 8
            events.append(op(name, at, 10 * each + pause / 2))
            events.append(call("cudaStreamSynchronize", at + 1, 5 + 2 * each))
            at += 5 + 2 * each + pause
    events.sort(key=lambda event: float(event["ts"]))
    return events


def causes(told: dict[str, Finding], code: str) -> str | None:
    """Return the code of what a finding is explained by."""
    names = {finding.id: finding.code for finding in told.values()}
    cause = told[code].explained_by
    return names[cause] if cause else None


def test_a_device_that_is_idle_after_many_waits_is_so_because_of_them(tmp_path: Path) -> None:
    told = found(tmp_path, waits(250, 60.0, 4), **A100)
    assert causes(told, "TRC001") == "TRC006"
    assert causes(told, "TRC002") == "TRC006"


def test_a_wait_after_which_the_host_works_for_long_is_not_the_cause(tmp_path: Path) -> None:
    told = found(tmp_path, waits(2, 18_000.0, 30), **A100)
    assert "TRC006" in told
    assert causes(told, "TRC001") != "TRC006"


@pytest.mark.parametrize(("many", "cause"), [(17, True), (16, False)])
def test_without_steps_waits_are_many_from_fifty_on(tmp_path: Path, many: int, cause: bool) -> None:
    """Of three rounds, each with as many."""
    told = found(tmp_path, waits(many, 500.0, 20, steps=False), **A100)
    assert "TRC006" in told
    assert (causes(told, "TRC001") == "TRC006") is cause


@pytest.mark.parametrize(
    ("name", "advice"),
    [("cudaDeviceSynchronize", "calls"), ("cudaStreamSynchronize", "rarely")],
)
def test_a_wait_for_the_whole_device_is_left_out(tmp_path: Path, name: str, advice: str) -> None:
    """``torch.cuda.synchronize()`` reads no result: to read less often does not help."""
    events = [event for event in waits(100, 60.0, 4) if event["cat"] != "cpu_op"]
    for event in events:
        event["name"] = str(event["name"]).replace("cudaStreamSynchronize", name)
    advised = [one.id for one in found(tmp_path, events, **A100)["TRC006"].advice]
    assert advice in advised
    assert {"calls", "rarely"} - {advice} == {"calls", "rarely"} - {*advised}


@pytest.mark.parametrize(
    ("inner", "told"),
    [("<built-in function collect>", True), ("<built-in function loads>", False)],
)
def test_garbage_that_is_collected_is_told_for_a_gpu_too(
    tmp_path: Path, inner: str, told: bool
) -> None:
    events: list[Json] = []
    for step in range(5):
        start = 20_000.0 * step
        events.append(frame("train.py(70): step", start, 19_900))
        for n in range(40):
            at, number = start + 250 * n, 1000 * step + n + 1
            events += [call("cudaLaunchKernel", at, 5, number), ran(GEMM, at + 6, 240, number)]
        events.append(frame(inner, start + 10_000, 9_800))
    events.sort(key=lambda event: (float(event["ts"]), -float(event["dur"])))
    finding = found(tmp_path, events, with_stack=1, **A100)["TRC024"]
    assert ("`gc.collect`" in finding.message) is told
    assert ([one.id for one in finding.advice] == ["garbage", "rarely"]) is told


@pytest.mark.parametrize(
    ("name", "advice"),
    [("aten::lerp_", "lists"), ("aten::lerp", "compile")],
)
def test_what_changes_one_tensor_at_a_time_is_not_compiled_but_put_together(
    tmp_path: Path, name: str, advice: str
) -> None:
    """An average of weights: the line is where the trace spends most of its time."""
    events: list[Json] = [frame("ema.py(12): update", 0, 24_000)]
    for n in range(1_200):
        at = 20.0 * n
        events += [op(name, at, 16), call("cudaLaunchKernel", at + 5, 5, n + 1)]
        events.append(ran(WORK, at + 11, 3, n + 1))
    told = found(tmp_path, events, with_stack=1, **A100)["TRC002"]
    assert told.where is not None
    assert (told.where.file, told.where.line) == ("ema.py", 12)
    advised = [one.id for one in told.advice]
    assert advised[0] == advice
    assert ("graph" in advised) is (advice == "compile")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (SORT, "sorting"),
        ("void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>()", "sorting"),
        ("void kDequantizeBlockwise<__nv_bfloat16, 512>()", "dequantization"),
        ("void at::native::indexing_backward_kernel<float, 4>()", "indexing"),
        ("void at::native::fused_dropout_kernel_vec<float, 1>()", "random"),
        ("void at::native::quantized_add<float>()", "other"),
    ],
)
def test_a_kernel_has_a_kind(name: str, kind: str) -> None:
    record = Name(f"kernel\t{name}", 1).record
    assert isinstance(record, DeviceKernel)
    assert kind_of(record) == kind


@pytest.mark.parametrize(
    ("left", "n", "told"), [(1, 1_000, True), (1, 999, False), (2, 1_000, False)]
)
def test_products_of_one_row_each_are_better_one(
    tmp_path: Path, left: int, n: int, told: bool
) -> None:
    sizes = {"Input Dims": [[left, 256], [256, 64]], "Input type": ["float", "float"]}
    events = [
        op("aten::mm", 20.0 * at, 18.0) | {"args": sizes | {"External id": at}} for at in range(n)
    ]
    note = found(tmp_path, events, record_shapes=1)["TRC030"].harmless or ""
    assert ("stacked they are one product" in note) is told


@pytest.mark.parametrize(("us", "told"), [(110.0, True), (90.0, False)])
def test_a_sparse_matrix_that_is_made_dense_is_told(tmp_path: Path, us: float, told: bool) -> None:
    """Of each millisecond."""
    events: list[Json] = []
    for at in range(0, 20_000, 1000):
        events += [op("aten::to_dense", at, us), op("aten::mm", at + us, 1000 - us)]
    note = found(tmp_path, events)["TRC030"].harmless or ""
    assert ("torch.sparse.mm" in note) is told


@pytest.mark.parametrize(("us", "told"), [(12_000, True), (7_000, False)])
def test_the_function_that_has_much_of_a_busy_trace_is_named(
    tmp_path: Path, us: int, told: bool
) -> None:
    """Of 20 ms: a validation inside of the window, say."""
    events: list[Json] = [frame("train.py(9): main", 0, 20_000)]
    events.append(frame("train.py(120): validate", 100, us))
    events += [kernel(GEMM, at, 990) for at in range(0, 20_000, 1000)]
    note = found(tmp_path, events, with_stack=1, **A100)["TRC030"].harmless or ""
    assert ("is in `validate`, train.py, line 120" in note) is told


def test_what_is_no_product_is_named_beside_longer_products(tmp_path: Path) -> None:
    events: list[Json] = []
    for at in range(0, 20_000, 1000):
        events += [kernel(GEMM, at, 600), kernel(SORT, at + 600, 400)]
    note = found(tmp_path, events, **A100)["TRC030"].harmless or ""
    assert "alone takes 40 % of the time in which the GPU computes, in 20 runs" in note
