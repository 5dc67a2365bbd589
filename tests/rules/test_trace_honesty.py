"""What traces of strangers taught: programs of Python, old profilers, devices not recorded."""

from __future__ import annotations

import pytest

from tests.rules.test_trace_rules import found
from tests.traces.writing import Json, kernel, launch, op, read, span
from tracelens.engine import judge, select_rules
from tracelens.logs.chrome_trace import Operator
from tracelens.report import Finding, Severity
from tracelens.traces.host_kinds import host_kind
from tracelens.traces.measured import Step, Window
from tracelens.traces.runs import runs

PLAIN = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x128x8_stage3_warpsize1x4x1_ffma_aligna4"
TF32 = "sm80_xmma_gemm_tf32f32_tf32f32_f32_tn_n_tilesize64x64x32_stage3_warpsize2x2x1_tensor16x8x8"
AMPERE = [{"id": 0, "name": "NVIDIA A100", "computeMajor": 8}]


def told(events: list[Json], **header: object) -> dict[str, Finding]:
    """Return what the trace rules say of events in the order of their time, by code."""
    report = judge(read(events, **header), [], rules=select_rules(["TRC"]))
    return {finding.code: finding for finding in report.findings}


@pytest.mark.parametrize(
    ("name", "category", "kind"),
    [
        ("aten::as_strided", "cpu_op", "views and allocation"),
        ("aten::empty_strided", "cpu_op", "views and allocation"),
        ("aten::reshape", "cpu_op", "views and allocation"),
        ("aten::index_select", "cpu_op", "indexing"),
        ("aten::tanh", "cpu_op", "elementwise"),
        ("aten::maximum", "cpu_op", "elementwise"),
        ("aten::max", "cpu_op", "reduction"),
        ("aten::std", "cpu_op", "reduction"),
        ("aten::normal", "cpu_op", "random"),
        ("aten::norm", "cpu_op", "normalization"),
        ("aten::mkldnn_rnn_layer", "cpu_op", "recurrent"),
        ("aten::lstm", "cpu_op", "recurrent"),
        ("aten::lstsq", "cpu_op", "linear algebra"),
        ("model_forward", "user_annotation", "Python"),
        ("my_library::work", "cpu_op", "other"),
        ("DistributedDataParallel.forward", "user_annotation", "Python"),
        ("gloo:all_reduce", "user_annotation", "collectives"),
        ("c10d::allreduce_", "cpu_op", "collectives"),
    ],
)
def test_what_computes_nothing_is_told_from_what_does(name: str, category: str, kind: str) -> None:
    assert host_kind(name, category) == kind


@pytest.mark.parametrize("us", [2, 15])
def test_python_around_small_operators_does_not_compute(us: float) -> None:
    """200 operators in 4 ms: of 2 us each they take a tenth of it, of 15 us three quarters."""
    inside = [op("aten::add", 20 * at + 1, us) for at in range(200)]
    events = [span("user_annotation", "model_forward", 0, 4_000), *inside]
    finding = told(events)["TRC030"]
    assert finding.severity is Severity.NONE
    assert finding.data["busy_share"] == pytest.approx(us / 20)
    assert ("no more than" in finding.title) == (us == 2)


def test_a_collective_waits_beside_the_trace_and_is_no_share_of_it() -> None:
    waits = [span("user_annotation", "gloo:all_reduce", 0, 4_000, tid=tid) for tid in (2, 3)]
    finding = told([op("aten::mm", 0, 3_000), *waits, op("aten::add", 3_500, 500)])["TRC030"]
    assert finding.data["kinds"] == pytest.approx({"gemm": 0.75, "elementwise": 0.125})
    assert finding.data["busy_share"] == pytest.approx(0.875)


@pytest.mark.parametrize("device", [True, False])
def test_copies_may_go_to_a_device_that_was_not_recorded(device: bool) -> None:
    events = [op("aten::rand", 0, 5_000), op("aten::copy_", 5_000, 3_000)]
    finding = told(events, deviceProperties=AMPERE if device else [])["TRC014"]
    assert ("NVIDIA A100" in finding.message) == device
    assert {advice.id for advice in finding.advice} == (
        {"record"} if device else {"compile", "once"}
    )


@pytest.mark.parametrize(("share", "fires"), [(0.09, False), (0.11, True)])
def test_copies_on_the_cpu_count_from_a_tenth_on(share: float, fires: bool) -> None:
    us = 10_000 * share
    events = [op("aten::mm", 0, 10_000 - us), op("aten::copy_", 10_000 - us, us)]
    assert ("TRC014" in told(events)) == fires


@pytest.mark.parametrize(("name", "fires"), [(PLAIN, True), (TF32, False)])
def test_products_of_newer_libraries_on_plain_cores_are_known(name: str, fires: bool) -> None:
    events = [kernel(name, 100 * at, 90) for at in range(60)]
    assert ("TRC019" in told(events, deviceProperties=AMPERE)) == fires


@pytest.mark.parametrize(
    ("name", "fires"), [("volta_sgemm_128x32_nt", True), ("matmul_k(float*, float*, int)", False)]
)
def test_a_kernel_of_ones_own_does_not_obey_autocast(name: str, fires: bool) -> None:
    events = [kernel(name, 100 * at, 90) for at in range(60)]
    volta = [{"id": 0, "name": "Tesla T4", "computeMajor": 7}]
    assert ("TRC028" in told(events, deviceProperties=volta)) == fires


TF32 = "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tensor16x8x8_cudnn"
HALF = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_stages_64x3_tn"
PLAIN_WORK = "void at::native::vectorized_elementwise_kernel<4, at::native::add<float>>(int)"


@pytest.mark.parametrize(
    ("names", "us", "major", "fires"),
    [
        ((TF32, PLAIN_WORK), 98, 8, True),
        ((TF32, PLAIN_WORK), 80, 8, False),  # the GPU waits: faster products change little
        ((TF32, HALF, PLAIN_WORK), 98, 8, False),  # mixed precision, and some that stay
        ((HALF, PLAIN_WORK), 98, 8, False),
        ((TF32, *[PLAIN_WORK] * 3), 98, 8, False),  # under a quarter
        ((TF32, PLAIN_WORK), 98, 7, False),  # not known to have TF32
    ],
)
def test_a_busy_gpu_that_computes_in_tf32(
    names: tuple[str, ...], us: float, major: int, *, fires: bool
) -> None:
    each = us if len(names) < 4 else us - 3
    events = [kernel(names[at % len(names)], 100 * at, each) for at in range(240)]
    if len(names) == 4:
        events = [e | {"dur": 85} if e["name"] == TF32 else e | {"dur": 99} for e in events]
    device = [{"id": 0, "name": "NVIDIA GPU", "computeMajor": major}]
    found = told(events, deviceProperties=device)
    assert (found.get("TRC028") is not None) is fires
    if fires:
        assert "TF32 take 50 %" in found["TRC028"].title
        assert [one.id for one in found["TRC028"].advice] == ["bfloat16"]


@pytest.mark.parametrize(
    ("name", "fires"),
    [
        ("void precomputed_convolve_sgemm<float, 1024, 5, 5, 4, 3, 3, 1, true>(int)", True),
        ("void precomputed_convolve_sgemm<__nv_bfloat16, 1024, 5, 5, 4, 3, 3, 1, true>()", False),
        ("void precomputed_convolve_sgemm<__half, 1024, 5, 5, 4, 3, 3, 1, true>(int)", False),
        ("volta_fp16_sgemm_fp16_64x64_nn", False),
    ],
)
def test_a_product_of_16_bits_is_none_of_float32(name: str, fires: bool) -> None:
    events = [kernel(name, 100 * at, 90) for at in range(60)]
    ampere = [{"id": 0, "name": "NVIDIA A100-SXM4-40GB", "computeMajor": 8}]
    assert ("TRC019" in told(events, deviceProperties=ampere)) == fires


@pytest.mark.parametrize(("idle", "severity"), [(1_900, Severity.INFO), (2_100, Severity.WARNING)])
def test_a_capture_is_told_first_from_a_fifth_of_the_window_on(
    idle: float, severity: Severity
) -> None:
    """Of 10 ms, the device does nothing for so long while a graph is captured."""
    events = [launch(0), kernel("sgemm", 10, 10_000 - idle)]
    events += [
        launch(10_010 - idle, 2, "cudaStreamBeginCapture"),
        launch(10_000 - 20, 18, "cudaStreamEndCapture"),
        launch(10_000, 9, "cudaGraphInstantiateWithFlags"),
        kernel("sgemm", 10_010, 1),
    ]
    assert found(events)["TRC029"].severity is severity


def older(*events: tuple[str, str, float, float]) -> list[Json]:
    """Return events as ``torch.autograd.profiler`` wrote them: a process, no category."""
    return [
        {"name": name, "ph": "X", "ts": ts, "dur": us, "tid": 1, "pid": process, "args": {}}
        for process, name, ts, us in events
    ]


def test_the_profiler_before_1_8_1_wrote_operators_without_categories() -> None:
    one = older(
        ("CPU functions", "aten::conv2d", 0, 900),
        ("CPU functions", "aten::cudnn_convolution", 10, 880),
        ("CUDA functions", "aten::conv2d", 40, 5_000),
    )
    evidence = read(one)
    ops = {(row.record.category, str(row.record)) for row in evidence.table(Operator)}
    assert ops >= {("cpu_op", "aten::conv2d"), ("CUDA functions", "aten::conv2d")}
    report = judge(evidence, [], rules=select_rules(["TRC"]))
    (finding,) = [each for each in report.findings if each.code in {"TRC022", "TRC032"}]
    assert (finding.code, finding.severity) == ("TRC022", Severity.INFO)
    assert "up to torch 1.8" in finding.title


def test_that_profiler_on_the_cpu_has_operators_that_compute() -> None:
    one = older(*[("CPU functions", "aten::mm", 100.0 * at, 95.0) for at in range(50)])
    finding = told(one)["TRC030"]
    assert finding.data["kinds"] == {"gemm": pytest.approx(0.95, abs=0.01)}


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("aten::cudnn_is_acceptable", False),  # asked by every LSTM, on the CPU too
        ("aten::_use_cudnn_ctc_loss", False),
        ("aten::_cudnn_rnn", True),
    ],
)
def test_an_operator_that_asks_for_cudnn_uses_no_gpu(name: str, used: bool) -> None:
    events = [op(name, 10, 2), op("aten::mkldnn_rnn_layer", 20, 40_000)]
    assert ("TRC022" in told(events)) is used


FRAME = "/home/ana/proj/train.py({}): {}"


def waiting(us: float, *frames: Json) -> list[Json]:
    """Return two operators of 10 ms with a pause of ``us`` between, in which ``frames`` run."""
    return sorted(
        [op("aten::mm", 0, 10_000), op("aten::mm", 10_000 + us, 10_000), *frames],
        key=lambda event: (event["ts"], -event["dur"]),
    )


@pytest.mark.parametrize(("us", "fires"), [(4_900, False), (5_100, True)])
def test_a_line_between_operators_is_named_from_five_milliseconds_on(
    us: float, fires: bool
) -> None:
    frame = span("python_function", FRAME.format(7, "wait"), 10_000, us)
    finding = told(waiting(us, frame)).get("TRC024")
    assert (finding is not None) == fires
    if finding is not None:
        assert finding.where is not None
        assert (finding.where.function, finding.where.line) == ("wait", 7)
        assert finding.severity is Severity.INFO
        assert finding.data["ms"] == pytest.approx(us / 1000, abs=0.01)
        assert [advice.id for advice in finding.advice] == ["workers", "rarely", "lock"]


def test_what_another_thread_does_meanwhile_is_not_blamed() -> None:
    """The thread that holds a lock runs longer than the one that waits for it."""
    other = span("python_function", FRAME.format(30, "hog"), 0, 90_000, tid=2)
    mine = span("python_function", FRAME.format(7, "wait"), 10_000, 60_000)
    finding = told(waiting(60_000, other, mine))["TRC024"]
    assert finding.where is not None
    assert finding.where.function == "wait"
    assert "TRC024" not in told(waiting(60_000, other))


def test_an_annotation_is_named_where_there_are_no_stacks() -> None:
    note = span("user_annotation", "checkpoint", 10_000, 50_000)
    finding = told(waiting(50_000, note))["TRC024"]
    assert finding.title.startswith("`checkpoint` takes 71 %")
    assert "torch.compile" not in told(waiting(50_000, note))["TRC030"].message


def test_waiting_for_batches_is_no_pause() -> None:
    loading = span("user_annotation", "enumerate(DataLoader)#_It.__next__", 10_000, 50_000)
    frame = span("python_function", FRAME.format(7, "load"), 10_000, 50_000)
    assert "TRC024" not in told(waiting(50_000, loading, frame))


@pytest.mark.parametrize(("us", "small"), [(15, True), (30, False)])
def test_many_small_operators_are_the_price_of_calling_them(us: float, small: bool) -> None:
    """Copies of 15 us are no movement of data, and compiling makes fewer of them."""
    every = [op(("aten::copy_", "aten::add")[at % 2], us * at, us) for at in range(600)]
    findings = told(every)
    assert ("TRC014" in findings) != small
    assert ("calling them" in findings["TRC030"].message) == small


def test_a_few_long_operators_among_many_small_ones_are_not_the_price_of_calling() -> None:
    """600 of 5 us, and three that take most of the time: 19 us each, all told."""
    every = [op(("aten::copy_", "aten::add")[at % 2], 5.0 * at, 5.0) for at in range(600)]
    long = [op("aten::mm", 3_000.0 + 2_800 * at, 2_800.0) for at in range(3)]
    assert "calling them" in told(every)["TRC030"].message
    assert "calling them" not in told([*every, *long])["TRC030"].message


@pytest.mark.parametrize(("reads", "said"), [(200, True), (150, False)])
def test_reading_element_by_element_is_named(reads: int, said: bool) -> None:
    """A fifth to an eighth of 1,200 operators reads one element; compiling does not help that."""
    every = [
        op("aten::item" if at % 6 == 0 and at < 6 * reads else "aten::add", 5.0 * at, 5.0)
        for at in range(1_200)
    ]
    message = told(every)["TRC030"].message
    assert ("`tolist()`" in message, "`torch.compile`" in message) == (said, not said)


@pytest.mark.parametrize(("name", "compiles"), [("aten::gru", False), ("aten::linear", True)])
def test_a_recurrent_module_is_not_compiled(name: str, compiles: bool) -> None:
    around = op(name, 0.0, 6_000.0)
    inside = [op("aten::tanh", 10.0 * at, 9.0) for at in range(600)]
    message = told([around, *inside])["TRC030"].message
    assert "calling them" in message
    assert ("`torch.compile`" in message) == compiles


@pytest.mark.parametrize(("us", "said"), [(6_000.0, True), (4_000.0, False)])
def test_the_optimizer_is_named_where_it_has_half_the_time(us: float, said: bool) -> None:
    work = [op("aten::add", 100.0 * at, 100.0) for at in range(100)]
    around = span("user_annotation", "Optimizer.step#SparseAdam.step", 0.0, us)
    assert ("optimizer's steps" in told([around, *work])["TRC030"].message) == said


@pytest.mark.parametrize(
    ("header", "events", "fires"),
    [
        ({}, [], True),
        ({"schemaVersion": None}, [span("Trace", "PyTorch Profiler (0)", 0, 10)], True),
        (
            {"schemaVersion": None},
            [{"ph": "X", "name": "load", "ts": 0, "dur": 9, "pid": 1}],
            False,
        ),
        ({"schemaVersion": None}, [], False),
    ],
)
def test_files_of_other_tools_are_no_empty_profiles(
    header: dict[str, object], events: list[Json], fires: bool
) -> None:
    assert ("TRC032" in told(events, **header)) == fires


def test_events_without_a_category_are_not_understood() -> None:
    evidence = read([{"ph": "X", "name": "load", "ts": 0, "dur": 9, "pid": 1, "tid": 1}])
    assert (evidence.events, evidence.understood_events) == (1, 0)


@pytest.mark.parametrize(
    ("name", "fires"), [("aten::_is_any_true", True), ("aten::any", False), ("aten::isnan", False)]
)
def test_the_checks_of_anomaly_mode_are_known_in_a_trace(name: str, fires: bool) -> None:
    """A program that looks for NaN by itself calls other operators."""
    report = judge(read([op(name, 10.0 * at, 9.0) for at in range(20)]), [])
    assert ("ENV005" in {finding.code for finding in report.findings}) == fires


@pytest.mark.parametrize(
    ("us", "severity"), [(3_200.0, Severity.WARNING), (2_800.0, Severity.INFO)]
)
def test_slow_convolutions_come_first_where_they_can_save_much(
    us: float, severity: Severity
) -> None:
    """Half of their time can be saved: 16 or 14 % of 100 ms."""
    slow = [op("aten::_slow_conv2d_forward", 4_000.0 * at, us) for at in range(10)]
    rest = op("aten::mm", 40_000.0, 60_000.0)
    assert told([*slow, rest])["TRC021"].severity is severity


@pytest.mark.parametrize(("after", "fires"), [(20, False), (60, True)])
def test_what_follows_convolutions_is_told_from_a_tenth_on(after: float, fires: bool) -> None:
    """Twelve convolutions of 400 us, each with normalization and activation of so many behind it.

    Fused, the two take as long as the longer: of 440 us 20 are saved, of 520 us 60.
    """
    names = (
        "cudnn_convolve_fprop",
        "cudnn::bn_fw_inf_1C11_kernel_NCHW",
        "elementwise_kernel<relu>",
    )
    events: list[Json] = []
    at = 0.0
    for _ in range(12):
        for name, us in zip(names, (400, after, after), strict=True):
            events.append(kernel(name, at, us))
            at += us
    assert ("TRC010" in told(events)) == fires
    generated = [
        event | {"name": event["name"].replace("cudnn::bn", "triton_red_bn")} for event in events
    ]
    assert "TRC010" not in told(generated)


@pytest.mark.parametrize("busy", [False, True], ids=["nothing", "kernels"])
def test_the_end_of_the_recording_is_no_idle_device(busy: bool) -> None:
    """Five steps of 10 ms that are busy for 9, and one that goes on for 10 ms, doing nothing."""
    starts = [10_000.0 * at for at in range(6)]
    lengths = [10_000.0] * 5 + [20_000.0]
    events = [
        span("user_annotation", f"ProfilerStep#{at}", start, us)
        for at, (start, us) in enumerate(zip(starts, lengths, strict=True))
    ]
    for start in starts:
        events += [launch(start + 1), *(kernel("sgemm", start + 90 * at, 90) for at in range(100))]
    if busy:
        events += [kernel("sgemm", 60_000 + 900 * at, 450) for at in range(11)]
    in_order: list[Json] = sorted(events, key=lambda event: (event["ts"], -event["dur"]))
    seen = read(in_order)
    (run,) = runs(seen.table(Window), seen.table(Step))
    assert (len(run.steps), len(run.all_steps)) == ((6, 6) if busy else (5, 6))


def test_sequences_that_are_named_alike_are_told_once() -> None:
    """Two helpers of one name, with other types, before the same kernels."""
    events: list[Json] = []
    at = 0.0
    for number in range(40):
        first = f"cudnn::cnn::wgrad_helper<float, {'int' if number % 2 else 'long'}>"
        for name, us in ((first, 100), ("elementwise_kernel<relu>", 80), ("bn_bw_kernel", 90)):
            events.append(kernel(name, at, us))
            at += us
    message = told(events)["TRC010"].message
    assert message.count("wgrad_helper") == 1
    assert "40 times" in message
