"""Attention of the CPU that takes its parts one by one though the fused operator is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.writing import Json, kernel, op

MATH = "aten::_scaled_dot_product_attention_math"


def attention(us: float, *, outer: str = MATH, drops: bool = False, n: int = 20) -> list[Json]:
    """Return calls of attention, each with as much else as makes up a millisecond."""
    events = []
    for at in range(n):
        ts = 1_000.0 * at
        events.append(op(outer, ts, us))
        names = ["bmm", "_softmax", *["bernoulli_"][:drops], "bmm"]
        for index, name in enumerate(names):
            events.append(op(f"aten::{name}", ts + 1 + index * us / 5, us / 6))
        events.append(op(f"aten::mm{at % 5}", ts + us, 1_000.0 - us))
    return events


@pytest.mark.parametrize(
    ("us", "drops", "n", "advice"),
    [
        (60.0, True, 20, ["dropout"]),
        (60.0, False, 20, ["backend"]),
        (40.0, True, 20, None),  # a twentieth is the least
        (60.0, True, 3, None),
    ],
)
def test_the_fused_operator_without_a_fused_kernel(
    tmp_path: Path, us: float, n: int, advice: list[str] | None, *, drops: bool
) -> None:
    finding = found(tmp_path, attention(us, drops=drops, n=n)).get("TRC025")
    assert (finding and [each.id for each in finding.advice]) == advice


@pytest.mark.parametrize(
    ("outer", "told"), [("aten::mine", True), ("aten::_native_multi_head_attention", False)]
)
def test_the_inference_of_torchs_own_module_is_fast_enough(
    tmp_path: Path, outer: str, *, told: bool
) -> None:
    """Its parts take as long as the fused operator does: nothing is gained."""
    assert ("TRC025" in found(tmp_path, attention(300.0, outer=outer))) is told


GEMM = "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_tn"
SOFTMAX = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, false, false>()"
LOSS = "void at::native::cunn_SoftMaxForward<8, float, float, LogSoftMaxForwardEpilogue>(int)"


@pytest.mark.parametrize(
    ("products", "times"),
    [
        (("bmm", "bmm"), 20),
        (("baddbmm", "bmm"), 20),
        (("bmm", "mm"), 10),  # two products of batches for each softmax
        (("addmm", "mm"), None),
        ((), 20),  # no operators: a graph may launch them
    ],
)
def test_scores_are_products_of_batches(
    tmp_path: Path, products: tuple[str, ...], times: int | None
) -> None:
    events = [kernel(LOSS, 1e6, 10)]
    for at in range(20):
        for index, name in enumerate([GEMM, SOFTMAX, GEMM, "void index_kernel<4>(int)"]):
            events.append(kernel(name, 1_000.0 * at + 100 * index, 100))
        events += [op(f"aten::{name}", 1_000.0 * at + 20 * n, 9) for n, name in enumerate(products)]
    finding = found(tmp_path, events).get("TRC025")
    assert (finding and finding.count) == times
    quoted = finding.evidence if finding else ()
    assert not any("LogSoftMax" in line.text for line in quoted)
    if finding and finding.cost:
        assert finding.cost.ms == pytest.approx(0.3 * finding.count)


@pytest.mark.parametrize("devices", [1, 2, 4])
def test_what_devices_take_at_a_time_is_no_sum(tmp_path: Path, devices: int) -> None:
    """Each has 20 times 0.3 ms of attention."""
    events = []
    for at in range(20):
        for index, name in enumerate([GEMM, SOFTMAX, GEMM, "void index_kernel<4>(int)"]):
            start = 1_000.0 * at + 100 * index
            events += [kernel(name, start, 100, device=device) for device in range(devices)]
    finding = found(tmp_path, events)["TRC025"]
    assert finding.cost is not None
    assert finding.cost.ms == pytest.approx(6.0)
    assert finding.cost.share == pytest.approx(0.75)
    assert (f"over {devices} devices" in finding.message) is (devices > 1)


def test_what_is_advised_takes_the_fused_kernel() -> None:
    torch = pytest.importorskip("torch")
    activities = [torch.profiler.ProfilerActivity.CPU]
    x = torch.rand(1, 2, 64, 16, requires_grad=True)
    called = {}
    for p in (0.1, 0.0):
        with torch.profiler.profile(activities=activities) as profile:
            torch.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=p)
        called[p] = MATH in {event.key for event in profile.key_averages()}
    assert called == {0.1: True, 0.0: False}
