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

AGAIN = "checkpointing computes again for 30 % of the trace"


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
        ("all_to_allv", 30_000_000, ["halves"], False),
        ("recv", 30_000_000, ["stages"], False),
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


@pytest.mark.parametrize(
    ("name", "elements", "beside", "advice"),
    [
        ("all_to_allv", 30_000_000, "fbgemm::split_embedding_codegen_lookup_function", "prefetch"),
        ("all_to_allv", 30_000_000, "aten::embedding_bag", "prefetch"),
        ("all_to_allv", 30_000_000, "aten::topk", "halves"),
        ("_allgather_base", 512, "aten::batch_norm_backward_elemt", "norms"),
        ("allreduce", 512, "aten::batch_norm_backward_elemt", "norms"),
        ("allreduce", 512, "aten::native_batch_norm_backward", "during"),
        ("allreduce", 512, "aten::native_layer_norm", "fewer-ranks"),
        ("allreduce", 30_000_000, "aten::batch_norm_backward_elemt", "during"),
        ("allreduce", 30_000_000, "DistributedDataParallel.forward", "buckets"),
        ("allreduce", 30_000_000, "torch::distributed::reducer::mul_out", "buckets"),
    ],
)
def test_advice_fits_what_is_exchanged(
    tmp_path: Path, name: str, elements: int, beside: str, advice: str
) -> None:
    """Operators beside the collectives say what they are for: experts, tables, statistics."""
    sizes = {"In msg nelems": elements, "Out msg nelems": elements}
    events = [collective(name, 1000 + 70 * at, 70, **sizes) for at in range(100)]
    events += [*[op(beside, 10.0 * at, 9.0) for at in range(100)], kernel(GEMM, 0, 1000)]
    finding = found(tmp_path, events, **A100)["TRC016"]
    assert finding.advice[0].id == advice
    assert ("SyncBatchNorm sends them" in finding.message) is (advice == "norms")


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
    assert (
        f"alone takes {us // 10} % of the time in which the GPU computes, in 20 runs"
        in (note.harmless or "")
    ) is told


@pytest.mark.parametrize(
    ("name", "told"), [(SCATTER, True), (SCATTER.replace("Add", "Max"), False)]
)
def test_adding_to_places_of_an_index_has_a_hint(tmp_path: Path, name: str, told: bool) -> None:
    events: list[Json] = []
    for at in range(0, 20_000, 1000):
        events += [kernel(name, at, 500), kernel("volta_sgemm_128x64_tn", at + 500, 500)]
    finding = found(tmp_path, events, **A100).get("TRC035")
    assert (finding is not None and "segment by segment" in finding.advice[0].text) is told


@pytest.mark.parametrize(
    ("norms", "name", "told"),
    [
        (100, "aten::linalg_vector_norm", True),
        (99, "aten::linalg_vector_norm", False),
        (100, "aten::_foreach_norm", False),
    ],
)
@pytest.mark.parametrize(
    ("node", "step"),
    [
        ("MulBackward0", True),
        ("LinalgVectorNormBackward0", True),
        ("", True),
        ("MulBackward0", False),
    ],
)
@pytest.mark.parametrize("late", [True, False])
def test_norms_of_one_tensor_each_are_told(
    tmp_path: Path, *, norms: int, name: str, told: bool, node: str, step: bool, late: bool
) -> None:
    """In a step of 600 kernels of 5 us, which the device runs without a pause, or with.

    Those that the backward pass goes through, and those of inference, are of the model.
    """
    told = told and node.startswith("Mul") and step
    each = 20.0 if late else 5.0
    events: list[Json] = []
    if step:
        events.append(span("user_annotation", "ProfilerStep#1", 0, 600 * each + 10))
    for at in range(600):
        start, args = each * at, {"args": {"correlation": at + 1}}
        if at >= 500 and node:
            events.append(op(node, start, 4.0))
        events.append(op(name if at < norms else "aten::mul", start, 4.0))
        events.append(launch(start + 1, 2.0) | args)
        events.append(kernel("work", start + 4, 5) | args)
    finding = found(tmp_path, events, **A100)["TRC002" if late else "TRC030"]
    said = finding.message if late else finding.harmless or ""
    assert (f"{norms} norms per step" in said or f" {norms} of them per step" in said) is told
    if late:
        assert ("norms" in [each.id for each in finding.advice]) is told


@pytest.mark.parametrize(
    ("device", "advice"), [("NVIDIA A10", True), ("Intel(R) Data Center GPU Max 1550", False)]
)
def test_graphs_of_cuda_are_for_gpus_that_have_them(
    tmp_path: Path, device: str, advice: bool
) -> None:
    events: list[Json] = []
    for at in range(600):
        args = {"args": {"correlation": at + 1}}
        events.append(op("aten::mul", 20.0 * at, 19.0))
        events.append(launch(20.0 * at + 1, 2.0) | args)
        events.append(kernel("work", 20.0 * at + 4, 5) | args)
    told = found(tmp_path, events, deviceProperties=[{"id": 0, "name": device}])
    for code in ("TRC001", "TRC002"):
        assert ("graph" in [each.id for each in told[code].advice]) is advice


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


@pytest.mark.parametrize(("step", "of"), [(10_000, "steps"), (400, "first kernel")])
def test_steps_in_which_the_work_is_only_launched_are_no_measure(
    tmp_path: Path, step: int, of: str
) -> None:
    """Each copies for 2 ms and computes for 8; the host may be done with all steps before that."""
    events: list[Json] = []
    for at in range(5):
        events.append(span("user_annotation", f"ProfilerStep#{at}", at * step, step))
        start = at * 10_000.0
        events.append(copy("Memcpy HtoD (Pinned -> Device)", start, 2_000, 44_000_000))
        events += [kernel(GEMM, start + 2_000 + 400 * k, 400) for k in range(20)]
    title = found(tmp_path, events, **A100)["TRC026"].title
    assert "for 20 % of" in title
    assert of in title


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
    told = found(tmp_path, events, with_stack=1).get("TRC035")
    assert (told and told.title) == (AGAIN if known else None)


SOFTMAX = (
    "void at::native::(anonymous namespace)::cunn_SoftMax%s<4, float, float, float, at::native::"
    "(anonymous namespace)::%sSoftMax%sEpilogue>(float*, float const*, int)"
)


@pytest.mark.parametrize(
    ("log", "between", "us", "advice"),
    [
        ("", [elementwise("log")], 600, ["cross-entropy", "compile"]),
        ("", [elementwise("log")], 400, []),
        ("", [GEMM], 600, []),
        ("Log", [], 600, ["compile-loss"]),
        ("Log", [], 400, []),
    ],
)
def test_the_loss_over_many_classes_is_told_by_itself(
    tmp_path: Path, log: str, between: list[str], us: int, advice: list[str]
) -> None:
    """Each step has 10 ms of products, and softmax forward and backward (and its logarithm)."""
    events: list[Json] = []
    at = 0
    for _ in range(3):
        names = [(GEMM, 5_000), (SOFTMAX % ("Forward", log, "Forward"), us)]
        names += [(name, us) for name in between]
        names += [(GEMM, 5_000), (SOFTMAX % ("Backward", log, "Backward"), 2 * us)]
        for name, length in names:
            events.append(kernel(name, at, length))
            at += length
    finding = found(tmp_path, events, **A100).get("TRC010")
    assert [each.id for each in (finding.advice if finding else ())] == advice


@pytest.mark.parametrize(
    ("node", "inside", "told"),
    [
        ("GeluBackward0", "aten::linear", True),
        ("GeluBackward0", "aten::gelu_backward", False),
        ("MmBackward0", "aten::mm", False),
        ("MyLayerBackward", "aten::linear", False),
        ("torch::autograd::CppNode<Mine>", "aten::linear", False),
    ],
)
def test_a_forward_pass_in_a_backward_node_is_told(
    tmp_path: Path, node: str, inside: str, told: bool
) -> None:
    """Without stacks: 3 of 10 ms. A function of the program's own may compute what it likes."""
    events: list[Json] = []
    for start in range(0, 100_000, 10_000):
        events.append(op("aten::linear", start, 3_000))
        events.append(op(f"autograd::engine::evaluate_function: {node}", start + 3_000, 7_000))
        events.append(op(node, start + 3_005, 6_990))
        events.append(op("aten::addmm", start + 3_010, 1_500))
        events.append(op(inside, start + 4_510, 1_500))
        events.append(op("aten::mm", start + 6_020, 3_900))
    finding = found(tmp_path, events).get("TRC035")
    assert (finding and finding.title) == (AGAIN if told else None)


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


CAT = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<OpaqueType<2u>, 4, 64, 64>(int)"
CAST = (
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda()::"
    "{lambda(c10::BFloat16)#1}, std::array<char*, 2ul>, 4, at::native::memory::LoadWithCast<1> >()"
)
COPY = CAST.replace("memory::LoadWithCast<1>", "memory::LoadWithoutCast")


@pytest.mark.parametrize(
    ("name", "us", "advice"),
    [
        (CAT, 120, ["preallocate"]),
        (CAT, 100, []),
        (CAST, 120, ["keep-type", "compile"]),
        (elementwise("bfloat16tofloat32_copy"), 120, ["keep-type", "compile"]),
        (COPY, 120, ["compile", "once"]),
    ],
)
def test_advice_fits_what_a_gpu_copies(
    tmp_path: Path, name: str, us: int, advice: list[str]
) -> None:
    """Of each millisecond; products take the rest: a tenth is where it begins."""
    events: list[Json] = []
    for at in range(0, 20_000, 1000):
        events.append(kernel(name, at, us))
        events.append(kernel(GEMM, at + us, 1010 - us))
    finding = found(tmp_path, events, **A100).get("TRC014")
    assert [each.id for each in (finding.advice if finding else ())] == advice


@pytest.mark.parametrize(
    ("name", "us", "code"),
    [
        ("aten::empty", 2_000, "TRC023"),
        ("aten::empty", 900, "TRC001"),
        ("aten::bernoulli_", 2_000, "TRC024"),
    ],
)
def test_the_first_operator_that_takes_memory_is_part_of_starting(
    tmp_path: Path, name: str, us: int, code: str
) -> None:
    """It makes the context, and no call of the runtime is in the trace for that."""
    events: list[Json] = [span("user_annotation", "ProfilerStep#1", 0, us + 300)]
    events.append(op(name, 10, us))
    for at in range(20):
        args = {"args": {"correlation": at + 1}}
        events.append(launch(us + 50 + 10 * at, 2.0) | args)
        events.append(kernel("work", us + 55 + 10 * at, 4) | args)
    assert code in found(tmp_path, events, **A100)


@pytest.mark.parametrize(
    ("others", "iterator", "advice"),
    [
        (1.0, "_MultiProcessingDataLoaderIter", ["later", "stay"]),
        (1.0, "_SingleProcessDataLoaderIter", ["later"]),
        (1.5, "_MultiProcessingDataLoaderIter", ["workers"]),
    ],
)
def test_one_batch_that_is_waited_for_is_no_starvation(
    tmp_path: Path, others: float, iterator: str, advice: list[str]
) -> None:
    """The first of 21 takes 1,000 ms, the others 1 or 1.5 ms each, with 10 ms of work between."""
    events: list[Json] = []
    at = 0.0
    for number in range(21):
        wait = 1000.0 * (others if number else 1_000.0)
        events.append(op(f"enumerate(DataLoader)#{iterator}.__next__", at, wait))
        args = {"args": {"correlation": number + 1}}
        events.append(launch(at + wait + 5) | args)
        events.append(kernel(GEMM, at + wait + 10, 10_000) | args)
        at += wait + 10_010
    finding = found(tmp_path, events, **A100)["TRC013"]
    assert [each.id for each in finding.advice] == advice
    assert finding.title.startswith("one batch of 21 is waited for 1 s") is ("later" in advice)


@pytest.mark.parametrize(
    ("tokens", "size", "told"), [(21, 200_000, True), (20, 200_000, False), (21, 4, False)]
)
def test_work_on_results_of_the_gpu_belongs_there(
    tmp_path: Path, tokens: int, size: int, told: bool
) -> None:
    """Each is copied to the host, and a line works on it for 3 ms; after the last nothing runs."""
    events: list[Json] = []
    for number in range(tokens):
        at = 10_000.0 * number
        args = {"args": {"correlation": number + 1}}
        events.append(launch(at, 2.0) | args)
        events.append(kernel(GEMM, at + 5, 6_000) | args)
        events.append(copy("Memcpy DtoH (Device -> Pageable)", at + 6_005, 40, size))
        events.append(span("python_function", "sampler.py(33): sample", at + 6_100, 3_850))
    finding = found(tmp_path, events, with_stack=1, **A100)["TRC024"]
    assert finding.where is not None
    assert finding.where.line == 33
    assert (finding.advice[0].id == "on-results") is told


@pytest.mark.parametrize(("name", "told"), [("recv", False), ("send", False), ("allreduce", True)])
def test_a_receive_that_waits_says_nothing_about_the_link(
    tmp_path: Path, name: str, told: bool
) -> None:
    """60 MB in 10 ms between 4 ranks."""
    sizes = {"In msg nelems": 30_000_000, "Out msg nelems": 30_000_000, "Group size": 4}
    events = [collective(name, 10_000 + 11_000 * at, 10_000, **sizes) for at in range(10)]
    assert ("TRC027" in found(tmp_path, [kernel(GEMM, 0, 9_000), *events], **A100)) is told


@pytest.mark.parametrize(("elements", "first"), [(15_000_000, True), (3_000_000, False)])
def test_what_runs_alone_comes_before_the_rate_that_one_rank_shows(
    tmp_path: Path, elements: int, first: bool
) -> None:
    """All-gathers at 7 or 1.5 % of the link between 8 ranks, each before 1.8 ms of products."""
    sizes = {"In msg nelems": elements, "Out msg nelems": elements, "Group size": 8}
    events: list[Json] = []
    for at in range(0, 90_000, 3_000):
        events.append(collective("_allgather_base", at, 1_200, **sizes))
        events.append(kernel(GEMM, at + 1_200, 1_800))
    told = found(tmp_path, events, **A100)
    assert (told["TRC016"].order < told["TRC027"].order) is first
