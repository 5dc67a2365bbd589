"""Advice follows what the trace shows: guards that failed, the optimizer, what was counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.test_first_line import A100, GEMM
from tests.traces.test_idle import call, ran
from tests.traces.writing import Json, kernel, op, span
from tracelens.report import Severity


def looking_up(*ids: str) -> list[Json]:
    """Return steps of 10 ms, each with a lookup of 4 ms, and what an earlier step compiled."""
    events: list[Json] = []
    for at in range(4):
        events += [
            span("user_annotation", f"ProfilerStep#{at}", 10_000.0 * at, 9_990.0),
            op("TorchDynamo Cache Lookup", 10_000.0 * at + 1_000, 4_000.0),
        ]
    for name in ids:
        what = f"entire_frame_compile_data: fn_name=_compile.compile_inner, compile_id={name}"
        events.append(span("user_annotation", what, 2.0, 3.0))
    return sorted(events, key=lambda event: event["ts"])


@pytest.mark.parametrize(
    ("ids", "advice"),
    [
        ([], ["filter"]),
        (["0/0", "1/0"], ["filter"]),
        (["0/0", "0/4"], ["variants"]),
        (["0/1_2"], ["variants"]),
        (["10/0_1"], ["filter"]),  # after a graph break
        (["!0/10/0"], ["filter"]),
    ],
)
def test_no_guards_are_dropped_where_one_has_failed(
    tmp_path: Path, ids: list[str], advice: list[str]
) -> None:
    finding = found(tmp_path, looking_up(*ids))["TRC004"]
    assert [one.id for one in finding.advice if one.id != "larger"] == advice


@pytest.mark.parametrize(
    ("optimizer", "sparse", "fused"),
    [
        ("Adam", "SparseAdam", "torch.optim.Adam("),
        ("AdamW", "SparseAdam", "torch.optim.AdamW("),
        ("SGD", None, "torch.optim.SGD("),
        ("Adagrad", None, "torch.optim.Adagrad("),
        ("Lamb", "SparseAdam", None),
    ],
)
def test_the_optimizer_stays_what_it_is(
    tmp_path: Path, optimizer: str, sparse: str | None, fused: str | None
) -> None:
    events: list[Json] = []
    for at in range(4):
        events += [
            op("aten::embedding_dense_backward", 10_000.0 * at, 4_000.0),
            span(
                "user_annotation",
                f"Optimizer.step#{optimizer}.step",
                10_000.0 * at + 4_000,
                5_000.0,
            ),
            op("aten::add_", 10_000.0 * at + 4_001, 4_990.0),
        ]
    advice = {one.id: one.code or "" for one in found(tmp_path, events)["TRC031"].advice}
    assert ("SparseAdam" in advice["sparse"]) is (sparse is not None)
    assert advice.get("fused", "").startswith(fused or "")
    assert ("fused" in advice) is (fused is not None)


@pytest.mark.parametrize(("waits", "told"), [(60.0, "note"), (260.0, "finding")])
def test_collectives_that_hold_nothing_up_are_a_note(
    tmp_path: Path, waits: float, told: str
) -> None:
    """Small all-reduces run while the host is late; or the host waits for each."""
    nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"
    events: list[Json] = []
    for at in range(400):
        start = 300.0 * at
        if not at % 100:
            events.append(span("user_annotation", f"ProfilerStep#{at // 100}", start, 29_990.0))
        late = told == "note"
        events.append(call("cudaLaunchKernel", start + 1, 5, 2 * at + 1))
        events.append(ran(GEMM, start + 8, 20, 2 * at + 1))
        events.append(call("cudaLaunchKernel", start + 10, 5, 2 * at + 2))
        events.append(ran(nccl, start + 30, waits, 2 * at + 2, stream=20))
        events.append(op("aten::mm", start + 16, 270) if late else op("aten::mm", start + 16, 1))
        if not late:
            events.append(call("cudaStreamSynchronize", start + 18, 280, 0))
    events.append(call("cudaDeviceSynchronize", 120_000.0, 100, 0))
    events.sort(key=lambda event: (event["ts"], -event["dur"]))
    finding = found(tmp_path, events, **A100)["TRC016"]
    assert (finding.severity is Severity.NONE) is (told == "note")
    assert bool(finding.advice) is (told == "finding")
    assert ("400 collectives, 100 per step" in (finding.harmless or "")) is (told == "note")


SORTS = "void at_cuda_detail::cub::DeviceSegmentedRadixSortKernel<Policy, {}, float>(float*)"


@pytest.mark.parametrize(("us", "told"), [(200, True), (140, False)])
def test_instances_of_one_kernel_are_one(tmp_path: Path, us: int, told: bool) -> None:
    """A bar of 30 %: two of 20 pass it together, and two of 14 do not."""
    events: list[Json] = []
    for at in range(20):
        start = 1_000 * at
        events += [
            kernel(SORTS.format("false"), start, us),
            kernel(SORTS.format("true"), start + us, us if told else 100),
            kernel(GEMM, start + 2 * us, 1_000 - 2 * us),
        ]
    note = found(tmp_path, events, **A100)["TRC030"].harmless or ""
    said = "alone takes 40 % of the time in which the GPU computes, in 40 runs"
    assert (said in note) is told
    assert ("alone" in note) is told


@pytest.mark.parametrize(
    ("around", "gap", "told"),
    [
        (1.0, 700.0, False),  # all of the program is in it, and it launches
        (1.0, 1_300.0, True),  # too long for a launch
        (0.4, 700.0, True),  # a part of the program
    ],
)
def test_a_function_around_all_is_no_pause(
    tmp_path: Path, around: float, gap: float, told: bool
) -> None:
    each = gap + 1_000.0
    events = [span("python_function", "train.py(76): main", 0, 40 * each * around)]
    for at in range(40):
        start = each * at
        events.append(op("aten::mm", start + 1, 8))
        events.append(call("cudaLaunchKernel", start + 2, 5, at + 1))
        events.append(ran(GEMM, start + 10, 1_000, at + 1))
    events.sort(key=lambda event: (event["ts"], -event["dur"]))
    assert ("TRC024" in found(tmp_path, events, **A100)) is told
