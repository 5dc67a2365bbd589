"""The one kernel, call or rank that is behind much of the time, and what a trace does not hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.traces.writing import Json, kernel, launch, op, span
from tracelens import analyze
from tracelens.logs.chrome_trace import ChromeTrace, DeviceKernel
from tracelens.report import Finding, Severity
from tracelens.traces.kernel_names import is_tensor_core, kind_of, short_name

#: 8 ranks, of which this is one.
JOB = {"deviceProperties": [{"name": "NVIDIA H100 80GB HBM3", "computeMajor": 9}]}
ALONE = {"deviceProperties": [{"name": "Tesla V100-SXM2-16GB", "computeMajor": 7}]}


def found(tmp_path: Path, events: list[Json], **header: object) -> dict[str, Finding]:
    file = tmp_path / "trace.json"
    events = sorted(events, key=lambda event: float(event["ts"]))
    file.write_text(json.dumps({"schemaVersion": 1, **header, "traceEvents": events}))
    return {finding.code: finding for finding in analyze(str(file)).findings}


SM90 = (
    "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::X<2> "
    "> > >(int)"
)
BWD = "void cutlass::device_kernel<flash::FlashAttnBwdPreprocess<cute::tuple<int>, float> >(int)"
GEMM = "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int> > >(int)"
FMHA = "void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaFwdKernel<int> >(int)"


@pytest.mark.parametrize(
    ("name", "kind", "short"),
    [
        (SM90, "attention", "flash::FlashAttnFwdSm90"),
        (BWD, "attention", "flash::FlashAttnBwdPreprocess"),
        (FMHA, "attention", "cutlass::fmha::kernel::Sm100FmhaFwdKernel"),
        (GEMM, "gemm", "cutlass::gemm::kernel::GemmUniversal"),
        ("void flash::flash_fwd_splitkv_kernel<Traits<128> >(int)", "attention", None),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3", "attention", None),
        ("fmha_cutlassF_bf16_aligned_64x64_rf_sm80(Params)", "attention", None),
        ("_ZN5aiter27fmha_fwd_hd128_bf16_causalE", "attention", None),
        ("void flashinfer::BatchPrefillWithPagedKVCacheKernel<int>(int)", "attention", None),
        ("void flashinfer::SingleDecodeWithKVCacheKernel<int>(int)", "attention", None),
        ("void flashinfer::norm::RMSNormKernel<8u, half>(int)", "normalization", None),
        ("void flashinfer::sampling::TopKTopPSamplingFromProbKernel<int>(int)", "sorting", None),
        ("void vllm::reshape_and_cache_flash_kernel<bf16, bf16>(int)", "copy", None),
        ("cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64", "gemm", None),
        ("triton_tem_fused_flex_attention_0", "attention", None),
        ("triton_tem_fused_addmm_relu_1", "gemm", None),
    ],
)
def test_attention_is_told_by_what_stands_in_the_template(
    name: str, kind: str, short: str | None
) -> None:
    (record,) = ChromeTrace.parse(f"kernel\t{name}")
    assert kind_of(record) == kind  # type: ignore[arg-type]
    assert short is None or short_name(record) == short  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "told"), [(SM90, True), (BWD, None)])
def test_only_the_products_of_attention_use_tensor_cores(name: str, told: bool | None) -> None:
    (record,) = ChromeTrace.parse(f"kernel\t{name}")
    assert isinstance(record, DeviceKernel)
    assert is_tensor_core(record) is told


def reduced(*milliseconds: float, elements: int = 1 << 24) -> list[Json]:
    """Return all-reduces of 67 MB between 8 ranks, which take so long."""
    events, start = [], 0.0
    args = {"Collective name": "allreduce", "In msg nelems": elements, "Group size": 8}
    for ms in milliseconds:
        one = kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", start, 1000 * ms)
        events.append(one | {"args": {**args, "dtype": "Float"}})
        start += 1000 * ms + 100
    return events


@pytest.mark.parametrize(
    ("took", "title"),
    [
        ((0.5, 9.0, 8.0, 9.5), "large collectives wait for ranks that come late: 25 ms"),
        ((9.0, 9.2, 9.1, 9.5), "large collectives run at 2.8 % of the link"),
        ((0.5, 0.6, 0.5, 0.6), None),
    ],
)
def test_a_link_is_judged_by_the_fastest_of_a_size(
    tmp_path: Path, took: tuple[float, ...], title: str | None
) -> None:
    finding = found(tmp_path, reduced(*took), **JOB).get("TRC027")
    assert (finding.title if finding else None) == title
    waits = title is not None and "wait" in title
    if finding is not None:
        assert (finding.severity is Severity.INFO) is waits
        assert ("transport" in {each.id for each in finding.advice}) is not waits


def gathering(*beside: Json) -> list[Json]:
    """Return a step whose gathers run alone, begun by what is beside them."""
    events: list[Json] = [op("aten::mm", 10_000 * at, 100) for at in range(10)]
    for at in range(10):
        events.append(kernel("sgemm", 10_000 * at, 5_000))
        one = kernel("ncclDevKernel_AllGather_RING_LL(x)", 10_000 * at + 5_000, 5_000)
        args = {"Collective name": "_allgather_base", "In msg nelems": 1 << 24, "Group size": 8}
        events.append(one | {"args": {**args, "dtype": "Float"}})
    return [*events, *beside]


@pytest.mark.parametrize(
    ("beside", "advice"),
    [
        ((), {"earlier"}),
        ((span("user_annotation", "FSDP::all_gather", 5, 20),), {"ahead"}),
        ((op("fsdp::all_gather_copy_in", 5, 20),), {"ahead"}),
        ((op("_c10d_functional::all_gather_into_tensor", 5, 20),), {"overlap"}),
    ],
)
def test_who_shards_a_model_is_told_by_the_trace(
    tmp_path: Path, beside: tuple[Json, ...], advice: set[str]
) -> None:
    finding = found(tmp_path, gathering(*beside), **JOB)["TRC016"]
    assert {each.id for each in finding.advice} == advice


def late(ends: str, others: int) -> list[Json]:
    """Return gaps of 2 ms that end with one kernel, and other kernels without gaps."""
    events: list[Json] = [op("aten::mm", 0, 60_000)]
    start, number = 100.0, 1
    for _ in range(20):
        for name in (ends, *(f"k{at}" for at in range(others))):
            start += 2_000 if name == ends else 3
            asked = {"args": {"correlation": number}}
            events.append(launch(start - 10 if name == ends else start - 2, 1) | asked)
            events.append(kernel(name, start, 100) | asked)
            start, number = start + 100, number + 1
    return events


@pytest.mark.parametrize(("others", "named"), [(4, True), (0, False)])
def test_the_kernel_that_most_gaps_end_with_is_named(
    tmp_path: Path, others: int, *, named: bool
) -> None:
    """One that is all that runs ends all gaps in any case."""
    message = found(tmp_path, late("square_kernel", others))["TRC001"].message
    assert ("end with `square_kernel`, which runs 20 times" in message) is named


@pytest.mark.parametrize(("waits", "told"), [(20, True), (5, False)])
def test_a_function_that_waits_often_is_named_where_the_device_is_idle(
    tmp_path: Path, waits: int, *, told: bool
) -> None:
    events = late("square_kernel", 4)
    for at in range(waits):
        start = 500.0 + 2_500 * at
        events.append(span("python_function", "net.py(9): check", start - 50, 150))
        events.append(launch(start, 20, "cudaStreamSynchronize"))
    message = found(tmp_path, events, with_stack=1)["TRC001"].message
    assert ("In `net.py(9): check` the host waits 20 times" in message) is told


def launched(n: int, ran: range, *more: Json) -> list[Json]:
    events: list[Json] = [op("aten::mm", 0, 100 * n)]
    for at in range(n):
        asked = {"args": {"correlation": at + 1}}
        events.append(launch(100.0 * at, 5) | asked)
        events += [kernel("sgemm", 100.0 * at + 10, 80) | asked] if at in ran else []
    return [*events, *more]


@pytest.mark.parametrize(
    ("ran", "more", "missing"),
    [
        (range(40), (), 60),
        (range(100), (), 0),
        (range(95), (), 0),
        (range(60, 100), (), 0),
        (range(40), (launch(0, 1, "cudaStreamBeginCapture"),), 0),
    ],
    ids=["cut", "whole", "the last few", "the first are missing", "recorded into a graph"],
)
def test_launches_without_a_kernel_are_told(
    tmp_path: Path, ran: range, more: tuple[Json, ...], missing: int
) -> None:
    finding = found(tmp_path, launched(100, ran, *more)).get("TRC022")
    assert (finding.title if finding else None) == (
        f"{missing} of 100 launches have no kernel in the trace" if missing else None
    )
    if finding is not None:
        assert [each.id for each in finding.advice] == ["fewer"]


@pytest.mark.parametrize(
    ("each", "calls", "told"),
    [
        (100_000, (), True),
        (2_000, (launch(5, 100, "cudaDeviceSynchronize"),), True),
        (2_000, (), False),
    ],
    ids=["too long for a launch", "CUDA was recorded", "may not have been recorded"],
)
def test_a_gpu_on_which_nothing_ran_is_told(
    tmp_path: Path, each: float, calls: tuple[Json, ...], *, told: bool
) -> None:
    events = [op("aten::addmm", each * at + 10, each - 20) for at in range(10)]
    note = found(tmp_path, [*events, *calls], **ALONE)["TRC030"]
    sentence = "the machine has a GPU (Tesla V100-SXM2-16GB), on which nothing ran"
    assert (sentence in (note.harmless or "")) is told
    assert ("of which nothing was recorded" in note.message) is not told
    without = found(tmp_path, [*events, *calls])["TRC030"]
    assert "GPU" not in (without.harmless or "") + without.message


LOADING = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


@pytest.mark.parametrize(
    ("each", "title"),
    [
        (300, "waiting for data takes 29 % of the time from the first kernel to the last"),
        (20, "one batch of 21 is waited for 40 ms, 50 % of the trace"),
    ],
)
def test_what_comes_before_the_first_kernel_is_no_time_of_other_batches(
    tmp_path: Path, each: float, title: str
) -> None:
    events = [span("user_annotation", LOADING, 0, 40_000)]
    for at in range(20):
        start = 60_000.0 + 1_050 * at
        asked = {"args": {"correlation": at + 1}}
        events += [launch(start, 5) | asked, kernel("sgemm", start + 10, 600) | asked]
        events += [op("aten::mm", start, 100), span("user_annotation", LOADING, start + 700, each)]
    finding = found(tmp_path, events)["TRC013"]
    assert finding.title == title


def test_copies_are_no_kernels(tmp_path: Path) -> None:
    """600 kernels of 2 us, and as many copies of 3."""
    events: list[Json] = []
    for at in range(600):
        start = 50.0 * at
        asked = {"args": {"correlation": at + 1}}
        events += [launch(start, 5) | asked, kernel("k", start + 10, 2) | asked]
        events.append(span("gpu_memcpy", "Memcpy DtoD", start + 20, 3, pid=0, tid=7))
    assert "of 2 us each" in found(tmp_path, events)["TRC002"].title
