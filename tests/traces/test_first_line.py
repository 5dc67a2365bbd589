"""What is said first: the cause that takes most, and not what is beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.test_collectives import collective
from tests.traces.writing import Json, copy, kernel, launch, op, span

A100 = {"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}]}
LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"


def elementwise(what: str) -> str:
    return (
        "void at::native::vectorized_elementwise_kernel<4, at::native::"
        f"{what}_kernel_cuda(at::TensorIteratorBase&)::{{lambda()#1}}, std::array<char*, 2> >(int)"
    )


@pytest.mark.parametrize(
    ("kernels", "us", "told"), [(19, 60, False), (20, 60, True), (20, 40, False)]
)
def test_a_few_kernels_that_come_late_leave_a_device_idle(
    tmp_path: Path, kernels: int, us: int, told: bool
) -> None:
    """Of the 10 us that each takes of 60 or 40; 1 ms is the least."""
    events: list[Json] = []
    for at in range(kernels):
        args = {"args": {"correlation": at + 1}}
        events.append(launch(at * us) | args)
        events.append(kernel("work", at * us + 2, 10) | args)
    finding = found(tmp_path, events).get("TRC001")
    assert (finding is not None) is told
    if finding is not None:
        assert finding.severity == "info"


@pytest.mark.parametrize(("copied", "first"), [(11_000.0, "TRC013"), (30_000.0, None)])
def test_a_larger_cost_does_not_follow_from_a_smaller_one(
    tmp_path: Path, copied: float, first: str | None
) -> None:
    """Steps wait 10 ms for data, copy for as long or thrice as long, and compute for 30 ms."""
    events: list[Json] = []
    step = 40_000.0 + copied
    for at in range(5):
        start = step * at
        events.append(span("user_annotation", f"ProfilerStep#{at}", start, step))
        events.append(span("user_annotation", LOADER, start, 10_000.0))
        events.append(copy("Memcpy HtoD (Pageable -> Device)", start + 10_000, copied, 96_000_000))
        events += [kernel(GEMM, start + 10_000 + copied + 300 * k, 300) for k in range(100)]
    told = found(tmp_path, events, **A100)
    cause = told["TRC026"].explained_by
    codes = {finding.id: finding.code for finding in told.values()}
    assert (cause and codes[cause]) == first


@pytest.mark.parametrize(
    ("norm", "wide"), [(("pow", "mean", "rsqrt"), True), (("add", "mul"), False)]
)
def test_a_norm_written_by_hand_is_one_sequence(
    tmp_path: Path, norm: tuple[str, ...], wide: bool
) -> None:
    """A reduction stands between elementwise kernels: what surrounds it is fused with them."""
    events: list[Json] = []
    mean = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, MeanOps> >()"
    at = 0.0
    for _ in range(20):
        for name in [GEMM, *[mean if n == "mean" else elementwise(n) for n in norm]]:
            us = 300 if name == GEMM else 100
            events.append(kernel(name, at, us) | {"args": {"grid": [4096, 1, 1]}})
            at += us
        for name in ("mul", "tanh", "neg"):
            events.append(kernel(elementwise(name), at, 20) | {"args": {"grid": [4096, 1, 1]}})
            at += 20
    title = found(tmp_path, events, **A100)["TRC010"].title
    assert ("that could be fewer" in title) is wide


@pytest.mark.parametrize(
    ("name", "elements", "advice", "small"),
    [
        ("allreduce", 300_000, ["buckets"], True),
        ("allreduce", 30_000_000, ["buckets"], False),
        ("_allgather_base", 30_000_000, ["ahead", "overlap"], False),
    ],
)
def test_advice_fits_the_collective(
    tmp_path: Path, name: str, elements: int, advice: list[str], small: bool
) -> None:
    """At 70 us a message, nothing is computed meanwhile."""
    sizes = {"In msg nelems": elements, "Out msg nelems": elements}
    events = [collective(name, 1000 + 70 * at, 70, **sizes) for at in range(100)]
    finding = found(tmp_path, [kernel(GEMM, 0, 1000), *events], **A100)["TRC016"]
    assert [each.id for each in finding.advice] == advice
    assert ("0.6 MB each" in finding.message) is small
    assert ("larger buckets" in finding.advice[0].text) is small


SCATTER = "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::ReduceAdd>(int)"


@pytest.mark.parametrize(
    ("name", "us", "told"), [(SCATTER, 500, True), (SCATTER, 200, False), (GEMM, 500, False)]
)
def test_a_kernel_that_takes_most_is_named(tmp_path: Path, name: str, us: int, told: bool) -> None:
    """Of each millisecond; that products take long is what they are for."""
    events: list[Json] = []
    for at in range(0, 20_000, 1000):
        events.append(kernel(name, at, us))
        events.append(kernel(elementwise("tanh"), at + us, 100))
        events.append(kernel("volta_sgemm_128x64_tn", at + us + 100, 900 - us))
    note = found(tmp_path, events, **A100)["TRC030"]
    assert (f"alone takes {us // 10} %, in 20 runs" in (note.harmless or "")) is told


@pytest.mark.parametrize(("share", "told"), [(0.5, True), (0.3, False), (0.97, False)])
def test_the_function_that_has_most_of_a_trace_is_named(
    tmp_path: Path, share: float, told: bool
) -> None:
    """It computes with operators; the program around it is no answer, nor is a smaller part."""
    whole = 100_000.0
    events = [
        span("python_function", "train.py(9): main", 0, whole),
        span("python_function", "torch/nn/modules/module.py(1): _call_impl", 1, whole * share),
        span("python_function", "model.py(12): attend", 2, whole * share - 2),
        *[op("aten::mm", at, 990.0) for at in range(0, int(whole), 1000)],
    ]
    note = found(tmp_path, events, with_stack=1)["TRC030"].harmless or ""
    assert ("of the trace is in `attend`, model.py, line 12, in 1 call" in note) is told


@pytest.mark.parametrize(
    ("dtype", "told"), [("c10::Half", True), ("c10::BFloat16", False), ("float", False)]
)
def test_float16_on_the_cpu_is_named(tmp_path: Path, dtype: str, told: bool) -> None:
    args = {"Input Dims": [[512, 512], [512, 512]], "Input type": [dtype, dtype]}
    events = [
        op("aten::mm", 1000.0 * at, 990.0) | {"args": args | {"External id": at}}
        for at in range(20)
    ]
    note = found(tmp_path, events, record_shapes=1)["TRC030"].harmless or ""
    assert ("in float16" in note) is told


@pytest.mark.parametrize(("reads", "told"), [(300, True), (150, False)])
def test_results_that_are_read_one_by_one_are_counted(
    tmp_path: Path, reads: int, told: bool
) -> None:
    """Among 10,000 small operators, of which others bring most."""
    events: list[Json] = []
    for at in range(10_000):
        events.append(op("aten::mul", 12.0 * at, 7.0))
        if at < reads:
            events.append(op("aten::item", 12.0 * at + 7, 1.0))
    note = found(tmp_path, events)["TRC030"].harmless or ""
    assert (f"reads {reads} results one by one" in note) is told


def checkpointed(*, reentrant: bool) -> list[Json]:
    """Return backward passes of 10 ms, of which 3 ms compute again what was not kept."""
    events: list[Json] = []
    for start in range(0, 100_000, 10_000):
        first = start + 100.0
        if reentrant:
            node = "CheckpointFunctionBackward"
            events.append(op(f"autograd::engine::evaluate_function: {node}", start, 9_900))
            events.append(op(node, first, 9_700))
        else:
            place = "torch/utils/checkpoint.py(1527): recompute_fn"
            events.append(span("python_function", place, first, 3_000))
        events.append(op("aten::mm", first, 3_000))
        events.append(op("autograd::engine::evaluate_function: MmBackward0", first + 3_000, 6_000))
        events.append(op("aten::mm", first + 3_010, 5_900))
    return events


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_what_is_computed_again_is_told(tmp_path: Path, reentrant: bool, known: bool) -> None:
    events = checkpointed(reentrant=reentrant)
    for event in events:
        if not known:
            event["name"] = event["name"].replace("Checkpoint", "My").replace("recompute", "run")
    note = found(tmp_path, events, with_stack=1)["TRC030"].harmless or ""
    assert ("checkpointing computes for 30 % of it" in note) is known


def test_what_is_launched_again_counts_on_the_device(tmp_path: Path) -> None:
    """Of 10 ms of kernels a quarter are launched before the nested backward pass begins."""
    events: list[Json] = []
    for at in range(20):
        start = 10_000.0 * at
        events.append(op("CheckpointFunctionBackward", start, 90.0))
        events.append(op("autograd::engine::evaluate_function: MmBackward0", start + 40, 45.0))
        for number, (moment, us) in enumerate(((10, 2_500.0), (60, 7_500.0))):
            args = {"args": {"correlation": 2 * at + number + 1}}
            events.append(launch(start + moment) | args)
            events.append(kernel(GEMM, start + 100 + 2_500 * number, us - 50 * number) | args)
    note = found(tmp_path, events, **A100)["TRC030"].harmless or ""
    assert "checkpointing computes for 25 % of it" in note


@pytest.mark.parametrize(("count", "told"), [(600, True), (400, False)])
def test_many_convolutions_of_one_image_are_to_be_batches(
    tmp_path: Path, count: int, told: bool
) -> None:
    """Each is short: for one the fallback is the faster way, for all a batch is."""
    events = [op("aten::_slow_conv2d_forward", 120.0 * at, 80.0) for at in range(count)]
    finding = found(tmp_path, events)["TRC021"]
    assert (finding.severity == "info") is told
    assert ([each.id for each in finding.advice] == ["batch"]) is told


@pytest.mark.parametrize(
    ("reads", "beside", "told"),
    [
        (1_200, "", True),
        (900, "", False),
        (1_200, "Optimizer.step#Adam.step", False),
        (1_200, "aten::nonzero", False),
    ],
)
def test_many_results_that_are_read_one_by_one_are_a_finding(
    tmp_path: Path, reads: int, beside: str, told: bool
) -> None:
    """Of 12 us for each of 20,000 operators; an optimizer reads its counters, a loop its sizes."""
    events: list[Json] = []
    if beside.startswith("Optimizer"):
        events.append(span("user_annotation", beside, 0, 60_000))
    every = 100 if beside.startswith("aten") else 1 << 20
    for at in range(20_000):
        events.append(op("aten::mul" if at % 2 else "aten::sum", 12.0 * at, 7.0))
        if at % every == every - 1:
            events.append(op(beside, 12.0 * at + 9, 1.0))
        if at < reads:
            events.append(op("aten::item", 12.0 * at + 7, 1.0))
    finding = found(tmp_path, events).get("TRC002")
    assert (finding is not None) is told
    if finding is not None:
        assert finding.title.startswith("1,200 results are read one by one")
        assert [each.id for each in finding.advice] == ["stack"]


@pytest.mark.parametrize(
    ("frame", "own", "us", "told"),
    [
        ("train.py(8): <listcomp>", "train.py(3): mel", 2_000.0, True),
        ("train.py(8): <listcomp>", "other.py(3): mel", 2_000.0, False),
        ("train.py(8): <listcomp>", "train.py(3): mel", 900.0, False),
        ("train.py(8): batch", "train.py(3): mel", 2_000.0, False),
    ],
)
def test_a_comprehension_is_told_by_what_it_calls(
    tmp_path: Path, frame: str, own: str, us: float, told: bool
) -> None:
    """Four calls of a function take 8 or 3.6 of 10 ms, in each of five steps of 15."""
    events: list[Json] = []
    for start in range(0, 75_000, 15_000):
        events.append(span("python_function", frame, start, 10_000.0))
        events += [span("python_function", own, start + 5 + 2_400 * at, us) for at in range(4)]
        events.append(op("aten::mm", start + 10_000.0, 5_000.0))
    finding = found(tmp_path, events, with_stack=1)["TRC024"]
    assert finding.title.startswith("a loop over `mel` takes") is told
    assert (finding.where is not None and finding.where.line == 3) is told


@pytest.mark.parametrize(
    ("name", "us", "told"),
    [("aten::topk", 1_500.0, True), ("aten::copy_", 1_500.0, False), ("aten::topk", 300.0, False)],
)
def test_operators_that_fill_the_pauses_of_a_gpu_are_named(
    tmp_path: Path, name: str, us: float, told: bool
) -> None:
    """After each 5 ms of kernels the host is in several operators for 4.5 ms; none has half."""
    events: list[Json] = []
    for at in range(20):
        start = 10_000.0 * at
        args = {"args": {"correlation": at + 1}}
        events.append(launch(start, name="cudaGraphLaunch") | args)
        events += [kernel(GEMM, start + 10 + 50 * k, 50) | args for k in range(100)]
        many = range(int(4_500 // us))
        events += [op(name, start + 5_100 + us * k, us - 2) for k in many]
    finding = found(tmp_path, events, **A100)["TRC001"]
    assert (f"the host is in operators: `{name}`" in finding.message) is told
    assert ([each.id for each in finding.advice] == ["on-device"]) is told


@pytest.mark.parametrize(("small", "inside"), [(50.0, False), (50.0, True), (500.0, True)])
def test_what_waits_for_the_device_or_runs_beside_it_does_not_hold_it_up(
    tmp_path: Path, small: float, inside: bool
) -> None:
    """Operators leave the device idle for 4 ms of a step; then ``x[mask]`` takes 6 ms, it works."""
    events: list[Json] = []
    many = round(5_000 / small)
    for step in range(20):
        start = 11_000.0 * step
        for at in range(many):
            args = {"args": {"correlation": 200 * step + at + 1}}
            last = at == many - 1
            third = (small - 3) / 3
            events += [op("aten::mul", start + small * at + third * n, third) for n in range(3)]
            events.append(launch(start + small * (at + 1) - 2) | args)
            us = 6_000.0 if last else small / 5
            events.append(kernel(elementwise("mul"), start + small * (at + 1), us) | args)
        events.append(op("aten::index", start + 5_000, 5_980))
        if inside:
            events.append(span("cuda_runtime", "cudaStreamSynchronize", start + 5_010, 5_940))
    finding = found(tmp_path, events, **A100)["TRC001"]
    assert "Meanwhile the host is in operators" not in finding.message
    assert "on-device" not in [each.id for each in finding.advice]
