"""What a GPU computes in a form that has a cheaper one, and what keeps it waiting for long."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracelens
from tests.traces.test_bounds import found
from tests.traces.test_first_line import A100, GEMM
from tests.traces.test_idle import call, ran
from tests.traces.writing import Json, copy, kernel, op, span, text

SORT = "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<long, long>(int)"
ATEN = "void at::native::"
WEIGHTS = f"{ATEN}conv_depthwise2d_grad_weight_kernel<c10::BFloat16, unsigned int>()"
DEPTHWISE = f"{ATEN}conv_depthwise2d_forward_kernel_generic<float, int>()"
MI300X = {"deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X"}]}
XPU = f"{ATEN}xpu::UpsampleBilinear2dBackwardKernelFunctor<float>"


def beside(name: str, us: float) -> list[Json]:
    """Return twenty kernels of a name, each with as much else as makes up a millisecond."""
    events: list[Json] = []
    for at in range(0, 20_000, 1000):
        events += [kernel(name, at, us), kernel(GEMM, at + us, 1000 - us)]
    return events


def within(operator: str, name: str = SORT, us: float = 300.0) -> list[Json]:
    """Return the same, launched in an operator, and what else there is outside of it."""
    events: list[Json] = []
    for n, at in enumerate(range(0, 20_000, 1000)):
        events += [op(operator, at, 20), op("aten::sort", at + 2, 16)]
        events += [
            call("cudaLaunchKernel", at + 5, 5, 2 * n + 1),
            ran(name, at + 20, us, 2 * n + 1),
        ]
        events.append(call("cudaLaunchKernel", at + 30, 5, 2 * n + 2))
        events.append(ran(GEMM, at + 20 + us, 980 - us, 2 * n + 2))
    return sorted(events, key=lambda event: (event["ts"], -event["dur"]))


@pytest.mark.parametrize(
    ("name", "form"),
    [
        (DEPTHWISE, "depthwise"),
        (WEIGHTS, "depthwise"),
        ("void conv2d_grouped_direct_kernel<false, true, int, __half>()", "grouped"),
        ("naive_conv_ab_nonpacked_fwd_nchw_half_double_half", "naive"),
        (f"{ATEN}vol2col_kernel<float>(long)", "fallback"),
        (f"{ATEN}indexing_backward_kernel<float, 4>()", "index-gradient"),
        (SORT, "sort"),
        (f"{ATEN}upsample_bilinear2d_backward_out_frame<float, float>()", "interpolation-gradient"),
        (XPU, "interpolation-gradient"),
        (f"{ATEN}upsample_gen2d_aa_out_frame<float, float>()", "antialias"),
        (f"{ATEN}grid_sampler_2d_backward_kernel<float, int>()", "grid-gradient"),
        (f"{ATEN}max_pool_backward_nchw<float, float>()", "pool-gradient"),
        (f"{ATEN}max_pool_backward_nhwc<float, float>()", None),  # it is what is advised
        (f"{ATEN}cdist_kernel_cuda_impl<float, dists<float>::two>()", "distances"),
        ("multi_bluestein_fft<unsigned int, float>()", "spectra"),
        ("regular_fft<256u, EPT<16u> >()", None),
        (f"{ATEN}kernelHistogram1D<float, float, long>()", "histogram"),
        (f"{ATEN}tensor_kernel_scan_outer_dim<float, std::plus<float> >()", "scan"),
        (f"{ATEN}tensor_kernel_scan_innermost_dim<float, std::plus<float> >()", None),
        (f"{ATEN}triu_tril_kernel<float, int, true>()", "triangle"),
        (f"{ATEN}fused_dropout_kernel_vec<float, 1>()", "dropout"),
        (f"{ATEN}distribution_elementwise_grid_stride_kernel<float, 4, bernoulli>()", "random"),
        (f"{ATEN}bernoulli_tensor_cuda_kernel<float, float>()", "random"),
        # Options of what does other things, and all that a generated kernel fuses.
        ("fmha_cutlassB_bf16_aligned_128x64_k64_dropout_sm80(Params)", None),
        ("triton_poi_fused_add_native_dropout_native_layer_norm_3", None),
        ("triton_poi_fused_max_pool2d_with_indices_backward_5", None),
        ("void cutlass::Kernel<cutlass::gemm::OpMultiplyAddDequantizeInterleavedBToA>()", None),
        (f"{ATEN}cdist_kernel_cuda_impl<float, at::native::dists<float>::one>()", None),
        (f"{ATEN}distribution_elementwise_grid_stride_kernel<float, 4, normal>()", "random"),
        (f"{ATEN}vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int)", "fill"),
        (f"{ATEN}ctc_loss_log_alpha_gpu_kernel<float, long>()", "ctc"),
        (f"{ATEN}_cuda_scatter_gather_internal_kernel<true, at::native::ReduceAdd>()", "scatter"),
        (f"{ATEN}vectorized_elementwise_kernel<4, float8_copy_kernel_cuda>()", "quantizing"),
        ("void kDequantizeBlockwise<__nv_bfloat16, 512>()", "dequantizing"),
        (f"{ATEN}GroupNorm1dBackward<float>()", "group-norm"),
        (f"{ATEN}RowwiseMomentsCUDAKernel<float>()", None),  # layer normalization has it, too
        (f"{ATEN}batch_norm_collect_statistics_kernel<float>()", "batch-norm"),
        (f"{ATEN}batch_norm_collect_statistics_channels_last_kernel<float>()", None),
        (f"{ATEN}vectorized_elementwise_kernel<4, at::native::tanh>()", None),
    ],
)
def test_kernels_are_told_by_their_form(tmp_path: Path, name: str, form: str | None) -> None:
    finding = found(tmp_path, beside(name, 300.0), **A100).get("TRC035")
    assert (finding and finding.data["form"]) == form
    if finding is not None:
        assert finding.cost is not None
        assert finding.cost.share == pytest.approx(0.3, abs=0.005)
        ids = [advice.id.removesuffix("-on-gpu") for advice in finding.advice]
        assert ids == [form]


@pytest.mark.parametrize(("us", "told"), [(210.0, True), (190.0, False)])
def test_a_form_is_told_from_a_fifth_on(tmp_path: Path, us: float, told: bool) -> None:
    assert ("TRC035" in found(tmp_path, beside(DEPTHWISE, us), **A100)) is told


@pytest.mark.parametrize(("us", "told"), [(410.0, True), (390.0, False)])
def test_taking_rows_may_be_what_a_model_is_for(tmp_path: Path, us: float, told: bool) -> None:
    name = f"{ATEN}indexSelectLargeIndex<float, long, unsigned int, 2, 2>()"
    assert ("TRC035" in found(tmp_path, beside(name, us), **A100)) is told


def test_a_gpu_of_amd_has_no_cudnn(tmp_path: Path) -> None:
    finding = found(tmp_path, beside(DEPTHWISE, 300.0), **MI300X)["TRC035"]
    assert [advice.id for advice in finding.advice] == ["miopen"]


@pytest.mark.parametrize(
    ("operator", "form"),
    [
        ("aten::sort", "sort"),
        ("aten::argsort", "sort"),
        ("aten::_coalesce", "coalesce"),
        ("aten::_unique2", "unique"),
        ("aten::topk", None),
        ("aten::embedding_dense_backward", None),  # TRC031 is about it
    ],
)
def test_kernels_that_sort_are_told_by_the_operator_around(
    tmp_path: Path, operator: str, form: str | None
) -> None:
    """The outermost: each of these calls ``aten::sort``."""
    finding = found(tmp_path, within(operator), **A100).get("TRC035")
    assert (finding and finding.data["form"]) == form


SAMPLING = ("aten::cumsum", "aten::multinomial")


@pytest.mark.parametrize(
    ("operators", "us", "form"),
    [
        (SAMPLING, 300.0, "top-p"),
        (("aten::cumsum", "aten::exponential_"), 300.0, "top-p"),
        (SAMPLING, 210.0, "top-p"),
        (SAMPLING, 190.0, None),  # a small part
        (("aten::cumsum",), 300.0, None),  # areas under curves need every place
        (("aten::multinomial",), 300.0, "sort"),
        ((*SAMPLING, "aten::searchsorted"), 300.0, None),
    ],
)
@pytest.mark.parametrize("around", ["aten::sort", "aten::argsort"])
def test_a_sort_to_sample_is_told(
    tmp_path: Path, around: str, operators: tuple[str, ...], us: float, form: str | None
) -> None:
    each = [op(name, 20_000 + 10 * n, 5) for n in range(20) for name in operators]
    finding = found(tmp_path, [*within(around, us=us), *each], **A100).get("TRC035")
    assert (finding and finding.data["form"]) == form


def test_a_sort_is_no_sampling_because_something_else_is_drawn(tmp_path: Path) -> None:
    events = [*within("aten::sort"), *(op(name, 20_000, 5) for name in SAMPLING)]
    assert "TRC035" not in found(tmp_path, events, **A100)


def test_names_of_kernels_do_not_tell_what_sorts(tmp_path: Path) -> None:
    """Without calls in the trace; it looks for different values, too."""
    events = [*beside(SORT, 300.0), op("aten::_unique2", 20_000, 5)]
    assert "TRC035" not in found(tmp_path, events, **A100)


@pytest.mark.parametrize(
    ("operator", "name", "besides", "forms"),
    [
        ("aten::_index_put_impl_", "index_elementwise_kernel", "", []),  # x[index] = y
        ("aten::_index_put_impl_", "indexing_backward_kernel", "", ["index-gradient"]),
        ("aten::im2col", "im2col_kernel<float>", "", ["unfolding"]),
        ("aten::slow_conv_dilated2d", "im2col_kernel<float>", "", ["fallback"]),
        ("aten::unique_consecutive", "cub_kernel", "", []),  # it is what is advised
        ("aten::_coalesce", "cub_kernel", "", ["coalesce"]),
        ("aten::_coalesce", "cub_kernel", "aten::embedding_sparse_backward", []),
        ("aten::_linalg_svd", "gesvdj_kernel", "", ["svd"]),
        ("aten::_linalg_svd", "gesvdj_kernel", "aten::linalg_svdvals", []),
        ("aten::sort", "bitonicSortKVInPlace", "", ["sort"]),
        ("aten::sort", "bitonicSortKVInPlace", "aten::quantile", []),
        ("aten::randperm", "DeviceRadixSortOnesweepKernel", "", []),
    ],
)
def test_a_form_is_told_where_nothing_needs_it(
    tmp_path: Path, operator: str, name: str, besides: str, forms: list[str]
) -> None:
    events = [
        event
        for event in within(operator, f"{ATEN}{name}()")
        if event["name"] != "aten::sort" or operator == "aten::sort"
    ]
    if besides:
        events.append(op(besides, 30_000, 5))
    path = tmp_path / "trace.json"
    path.write_bytes(text(events, **A100))
    told = tracelens.analyze(str(path)).findings
    assert [one.data["form"] for one in told if one.code == "TRC035"] == forms


def trained(clears: float, walks: float, other: float) -> list[Json]:
    """Return ten steps: a gradient of a table, an optimizer, and a product."""
    events: list[Json] = []
    for n in range(10):
        at = n * (clears + walks + other)
        for part, (name, us) in enumerate(
            [(f"{ATEN}FillFunctor", clears), ("multi_tensor_apply_kernel", walks), (GEMM, other)]
        ):
            number, start = 3 * n + part + 1, at + 20 * part
            if not part:
                events.append(op("aten::embedding_dense_backward", start, 15))
            events.append(call("cudaLaunchKernel", start + 2, 5, number))
            before = (0, clears, clears + walks)[part]
            events.append(ran(name, at + 60 + before, us, number))
    return sorted(events, key=lambda event: (event["ts"], -event["dur"]))


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ((100.0, 700.0, 400.0), True),
        ((100.0, 350.0, 400.0), False),  # half of the time
        ((100.0, 2_100.0, 400.0), False),  # there is more to walk than the table
        ((10.0, 190.0, 400.0), False),
    ],
)
def test_a_dense_gradient_is_told_on_a_gpu(
    tmp_path: Path, times: tuple[float, float, float], told: bool
) -> None:
    finding = found(tmp_path, trained(*times), **A100).get("TRC031")
    assert (finding is not None) is told
    if finding is not None:
        assert "of the time in which the GPU computes" in finding.title


def validating(function: str, us: float, *, back: bool) -> list[Json]:
    """Return steps of 20 ms, each with a function whose kernels take ``us`` of 10 ms."""
    events: list[Json] = []
    for step in range(4):
        at = 20_000.0 * step
        events.append(span("user_annotation", f"ProfilerStep#{step}", at, 19_990.0))
        events.append(span("python_function", f"train.py(120): {function}", at + 100, 4_000))
        for part, took in ((0, us), (1, 10_000 - us)):
            start, number = at + 200 + 5_000 * part, 2 * step + part + 1
            events.append(op("MmBackward0" if part and back else "aten::mm", start, 20))
            events.append(call("cudaLaunchKernel", start + 2, 5, number))
            events.append(ran(GEMM, at + 300 + (us if part else 0), took, number))
    return sorted(events, key=lambda event: (event["ts"], -event["dur"]))


@pytest.mark.parametrize(
    ("function", "us", "back", "told"),
    [
        ("validate", 2_500.0, True, True),
        ("evaluate_model", 2_500.0, True, True),
        ("eval_epoch", 2_500.0, True, True),
        ("validate", 1_900.0, True, False),
        ("validate", 2_500.0, False, False),  # nothing is trained
        ("validate_shapes", 2_500.0, True, False),
        ("forward", 2_500.0, True, False),
    ],
)
def test_validation_in_the_steps_of_training_is_told(
    tmp_path: Path, function: str, us: float, back: bool, told: bool
) -> None:
    events = validating(function, us, back=back)
    finding = found(tmp_path, events, with_stack=1, **A100).get("TRC036")
    assert (finding is not None) is told
    if finding is not None:
        assert finding.where is not None
        assert finding.where.line == 120
        assert [advice.id for advice in finding.advice] == ["validate-rarely"]


@pytest.mark.parametrize(
    ("updates", "calls", "told"), [(4, 4, True), (4, 2, True), (4, 1, False), (0, 1, False)]
)
def test_validation_after_an_epoch_is_none_of_its_steps(
    tmp_path: Path, updates: int, calls: int, told: bool
) -> None:
    """Without a schedule, the optimizer's steps are those of training."""
    events = [
        event
        for event in validating("validate", 9_000.0, back=True)
        if event["name"].startswith(("train.py", "ProfilerStep")) is False
        or (event["name"].startswith("train.py") and event["ts"] < 20_000.0 * calls)
    ]
    for step in range(updates):
        at = 20_000.0 * step + 15_000
        events.append(span("user_annotation", "Optimizer.step#Adam.step", at, 100))
    events.sort(key=lambda event: (event["ts"], -event["dur"]))
    assert ("TRC036" in found(tmp_path, events, with_stack=1, **A100)) is told


@pytest.mark.parametrize(
    ("name", "told"),
    [("deepspeed/ops/adam/cpu_adam.py(96): step", True), ("torch/optim/adam.py(200): step", False)],
)
def test_an_optimizer_on_the_host_is_told(tmp_path: Path, name: str, told: bool) -> None:
    events: list[Json] = []
    for step in range(5):
        at = 20_000.0 * step
        for n in range(2):
            number = 2 * step + n + 1
            events += [call("cudaLaunchKernel", at + 10 * n, 5, number)]
            events.append(ran(GEMM, at + 20 + 4_000 * n, 4_000, number))
        events.append(span("python_function", name, at + 9_000, 10_900))
    events.sort(key=lambda event: (event["ts"], -event["dur"]))
    finding = found(tmp_path, events, with_stack=1, **A100)["TRC024"]
    assert ("the optimizer on the host" in finding.title) is told
    assert ("optimizer-on-device" in [advice.id for advice in finding.advice]) is told


def late(names: list[str], pause: float = 20.0) -> list[Json]:
    """Return three steps of 600 operators with a short kernel each; the host is late."""
    events: list[Json] = []
    for step in range(3):
        at = 20_000.0 * step
        events.append(span("user_annotation", f"ProfilerStep#{step}", at, 600 * pause + 10))
        for n in range(600):
            start, number = at + 5 + pause * n, 600 * step + n + 1
            events.append(op(names[n % len(names)], start, pause - 4))
            events.append(call("cudaLaunchKernel", start + 5, 5, number))
            events.append(ran(f"{ATEN}tanh", start + 11, 3, number))
    return sorted(events, key=lambda event: (event["ts"], -event["dur"]))


@pytest.mark.parametrize(
    ("names", "advice"),
    [
        (["aten::addmm", "aten::addmm", "aten::_thnn_fused_lstm_cell"], "recurrent"),
        (["aten::addmm"] * 19 + ["aten::lstm_cell"], "compile"),
        (
            ["aten::addmm"] * 18
            + ["aten::_thnn_fused_lstm_cell", "aten::_thnn_fused_lstm_cell_backward"],
            "recurrent",
        ),
        (["aten::index"] * 9 + ["aten::nonzero"], "whole"),
        (["aten::index"] * 99 + ["aten::nonzero"], "compile"),
    ],
)
def test_launches_are_advised_by_what_is_launched(
    tmp_path: Path, names: list[str], advice: str
) -> None:
    finding = found(tmp_path, late(names), **A100)["TRC002"]
    advised = [one.id for one in finding.advice]
    assert advised[0] == advice
    # Sizes that the data says no graph can hold; and compiling unrolls a loop over cells.
    assert ("graph" in advised) is (advice == "compile")


@pytest.mark.parametrize(("passes", "told"), [(16, True), (15, False)])
def test_a_loop_of_backward_passes_is_told(tmp_path: Path, passes: int, told: bool) -> None:
    """Each begins with a one for the loss, and evaluates its first node."""
    events = late(["aten::addmm"])
    for step in range(3):
        for n in range(passes):
            at = 20_000.0 * step + 22 + 300 * n
            events.append(op("aten::ones_like", at, 1))
            events.append(op("autograd::engine::evaluate_function: MmBackward0", at + 1.5, 1))
    events.sort(key=lambda event: (event["ts"], -event["dur"]))
    finding = found(tmp_path, events, **A100)["TRC002"]
    advised = [one.id for one in finding.advice]
    assert ("passes" in advised) is told
    assert ("compile" in advised) is not told
    assert (f"{passes} backward passes run in each step" in finding.message) is told


@pytest.mark.parametrize(("each", "told"), [(40, True), (80, False)])
def test_a_host_that_asks_for_sizes_cannot_get_ahead(tmp_path: Path, each: int, told: bool) -> None:
    """Of 600 operators fifteen, or seven, ask; there are fewer kernels than TRC002 is about."""
    events = late(["aten::index"] * (each - 1) + ["aten::nonzero"])
    every = [event for event in events if event.get("args", {}).get("correlation", 1) % 2]
    finding = found(tmp_path, every, **A100)
    told_of = finding["TRC001"]
    assert ("how large a result is" in told_of.message) is told
    assert ("graph" in [one.id for one in told_of.advice]) is not told


@pytest.mark.parametrize(("name", "told"), [("aten::_is_any_true", True), ("aten::any", False)])
def test_anomaly_detection_is_told(tmp_path: Path, name: str, told: bool) -> None:
    events: list[Json] = []
    for step in range(3):
        at = 20_000.0 * step
        events.append(span("user_annotation", f"ProfilerStep#{step}", at, 9_000))
        for n in range(60):
            start, number = at + 100 * n, 60 * step + n + 1
            node = "autograd::engine::evaluate_function: AddmmBackward0"
            events += [op(node, start, 98), op(name, start + 1, 2)]
            events += [
                op("aten::item", start + 4, 50),
                op("aten::_local_scalar_dense", start + 5, 48),
            ]
            events.append(call("cudaStreamSynchronize", start + 6, 40))
            events.append(call("cudaLaunchKernel", start + 90, 5, number))
            events.append(ran(GEMM, start + 96, 40, number))
    events.sort(key=lambda event: (event["ts"], -event["dur"]))
    finding = found(tmp_path, events, **A100)["TRC006"]
    advised = [one.id for one in finding.advice]
    assert (advised == ["anomaly"]) is told
    assert ("anomaly" in advised) is told


def reading(us: float, waits: int) -> list[Json]:
    """Return steps of 10 ms with ``waits`` reads, each ``us`` long; the device is busy for 6."""
    events: list[Json] = []
    for step in range(4):
        at = 10_000.0 * step
        events.append(span("user_annotation", f"ProfilerStep#{step}", at, 9_990.0))
        for n in range(waits):
            start, number = at + 9_900.0 * n / waits, waits * step + n + 1
            busy = 6_000.0 / waits
            events.append(call("cudaLaunchKernel", start, 5, number))
            events.append(ran(GEMM, start + 6, busy, number))
            events.append(op("aten::_local_scalar_dense", start + 10, us))
            events.append(call("cudaStreamSynchronize", start + 11, us - 2))
    return sorted(events, key=lambda event: (event["ts"], -event["dur"]))


@pytest.mark.parametrize(
    ("us", "waits", "told"), [(110.0, 10, True), (90.0, 10, False), (122.0, 9, False)]
)
def test_what_the_host_loses_in_many_waits_is_told(
    tmp_path: Path, us: float, waits: int, told: bool
) -> None:
    """A tenth of the step, though the device works on while the host waits."""
    assert ("TRC006" in found(tmp_path, reading(us, waits), **A100)) is told


@pytest.mark.parametrize(("passes", "told"), [(4, True), (1, False)])
def test_gradients_that_are_reduced_in_each_pass_are_told(
    tmp_path: Path, passes: int, told: bool
) -> None:
    """All but the last can run in ``no_sync()``."""
    nccl = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    events: list[Json] = []
    for number in range(passes):
        at = 10_000.0 * number
        events.append(span("user_annotation", "DistributedDataParallel.forward", at, 100))
        events.append(op("MmBackward0", at + 200, 100))
        events.append(op("torch::autograd::AccumulateGrad", at + 300, 100))
        events.append(op("torch::distributed::reducer::mul_out", at + 310, 50))
        events.append(span("user_annotation", "nccl:all_reduce", at + 400, 50))
        events.append(call("cudaLaunchKernel", at + 210, 5, 2 * number + 1))
        events.append(ran(GEMM, at + 300, 6_000, 2 * number + 1))
        events.append(call("cudaLaunchKernel", at + 410, 5, 2 * number + 2))
        events.append(ran(nccl, at + 6_300, 3_000, 2 * number + 2, stream=20))
    events.append(span("user_annotation", "Optimizer.step#SGD.step", 10_000.0 * passes, 100))
    events.sort(key=lambda event: (event["ts"], -event["dur"]))
    finding = found(tmp_path, events, **A100)["TRC016"]
    assert (f"reduced {passes} times for each step" in finding.title) is told
    assert ([one.id for one in finding.advice] == ["accumulate"]) is told


@pytest.mark.parametrize(
    ("function", "call_name", "us", "advice"),
    [
        ("snapshot", "cudaMemcpyAsync", 3_000.0, "rarely"),
        ("postprocess", "cudaMemcpyAsync", 3_000.0, "later"),
        ("snapshot", "cudaMemcpyAsync", 1_400.0, None),  # less than half of them
        ("snapshot", "cudaStreamSynchronize", 3_000.0, None),  # it waits for products, too
    ],
)
def test_the_line_that_waits_for_copies_is_named(
    tmp_path: Path, function: str, call_name: str, us: float, advice: str | None
) -> None:
    """Copies of 3 ms after products of 6."""
    events: list[Json] = []
    for step in range(5):
        at, number = 10_000.0 * step, 2 * step + 1
        events.append(call("cudaLaunchKernel", at, 5, number))
        events.append(ran(GEMM, at + 6, 6_000, number))
        copied = copy("Memcpy DtoH (Device -> Pageable)", at + 6_006, 3_000, 18_000_000)
        copied["args"]["correlation"] = number + 1
        events.append(copied)
        events.append(span("python_function", f"ckpt.py(12): {function}", at + 5_900, us + 150))
        events.append(call(call_name, at + 6_000, us, number + 1))
    events.sort(key=lambda event: (event["ts"], -event["dur"]))
    finding = found(tmp_path, events, with_stack=1, **A100)["TRC026"]
    assert finding.title.startswith("the GPU only copies")
    assert (finding.where is not None) is (advice is not None)
    first = finding.advice[0].id
    assert first == (advice or "later")


@pytest.mark.parametrize(("rest", "told"), [(30.0, "12 MB per step"), (900.0, "6 MB per step")])
def test_an_empty_rest_of_the_schedule_is_no_step(tmp_path: Path, rest: float, told: str) -> None:
    """A step is one that is a tenth as long as the others, or longer."""
    events: list[Json] = [span("user_annotation", "ProfilerStep#3", 0, 5_000)]
    events.append(copy("Memcpy HtoD (Pageable -> Device)", 100, 4_000, 12_000_000))
    events.append(kernel(GEMM, 4_200, 500))
    events.append(span("user_annotation", "ProfilerStep#4", 5_000, rest))
    assert told in found(tmp_path, events, **A100)["TRC007"].title


@pytest.mark.parametrize(
    ("name", "compiles", "advice"),
    [
        (f"{ATEN}fused_dropout_kernel_vec<float, 1>()", False, ["dropout-on-gpu"]),
        (f"{ATEN}fused_dropout_kernel_vec<float, 1>()", True, []),
        ("void transformer_engine::cast_transpose_kernel<float>()", False, ["quantize-once"]),
        (f"{ATEN}vectorized_elementwise_kernel<4, float8_copy_kernel>()", True, ["quantize-once"]),
    ],
)
def test_what_compiling_does_not_change_is_not_advised_to_be_compiled(
    tmp_path: Path, name: str, compiles: bool, advice: list[str]
) -> None:
    events = beside(name, 300.0)
    if compiles:
        events.append(op("Torch-Compiled Region: 0/0", 20_000, 900))
    finding = found(tmp_path, events, **A100)["TRC035"]
    assert [one.id for one in finding.advice] == advice


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(
    ("gpu", "code"), [("NVIDIA A100-SXM4-80GB", "TRC019"), ("Tesla V100-SXM2-32GB", "TRC028")]
)
def test_products_cost_the_time_of_a_device(
    tmp_path: Path, gpu: str, code: str, devices: int
) -> None:
    """Each has 10 ms of them."""
    major = 8 if "A100" in gpu else 7
    properties = [
        {"id": n, "name": gpu, "computeMajor": major, "computeMinor": 0} for n in range(devices)
    ]
    name = "ampere_sgemm_128x64_tn" if major > 7 else "volta_sgemm_128x64_tn"
    events = [
        kernel(name, 1_000.0 * at, 1_000, device=device)
        for at in range(10)
        for device in range(devices)
    ]
    finding = found(tmp_path, events, deviceProperties=properties)[code]
    assert finding.cost is not None
    assert finding.cost.ms == pytest.approx(10.0)
