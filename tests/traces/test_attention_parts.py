"""Attention of the CPU that takes its parts one by one though the fused operator is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.writing import Json, op

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
