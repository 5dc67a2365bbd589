"""Operators of the CPU that follow each other, and what is computed in float64."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.writing import Json, kernel, op


def row(parts: list[tuple[str, float, float]], times: int = 1) -> list[Json]:
    """Return operators: name, microseconds, and the pause before each; so often."""
    events: list[Json] = []
    at = 0.0
    for name, us, pause in parts * times:
        at += pause
        events.append(op(f"aten::{name}", at, us))
        at += us
    return events


CHAIN = [("mul", 900.0, 10.0), ("add", 900.0, 10.0), ("gelu", 900.0, 10.0)]


@pytest.mark.parametrize(
    ("parts", "times", "sequences"),
    [
        (CHAIN, 10, 10),
        (CHAIN[:2], 1, None),  # two are no sequence
        ([("mul", 900.0, 10.0)] * 3, 10, None),  # one operator on many tensors
        ([(name, 15.0, 10.0) for name, _, _ in CHAIN], 200, None),  # calling them is the price
        ([(name, us, 400.0) for name, us, _ in CHAIN], 10, None),  # something runs between them
        ([*CHAIN, ("mm", 12_000.0, 10.0)], 10, None),  # 18 % of the trace
        ([*CHAIN, ("mm", 9_000.0, 10.0)], 10, 10),  # 23 % of it
        ([*CHAIN, ("native_layer_norm", 300.0, 10.0)], 10, 10),
        ([*CHAIN[:2], ("sum", 900.0, 10.0)], 10, 10),  # over what they have computed
        ([*CHAIN[:1], ("sum", 900.0, 10.0), *CHAIN[:1]], 1, None),  # it ends the sequence
        ([("sum", 900.0, 10.0), *CHAIN[:2]], 1, None),  # of something else
        ([("add", 900.0, 10.0), ("log", 900.0, 10.0), ("mul", 900.0, 10.0)], 10, 10),
    ],
)
def test_elementwise_operators_in_a_row_are_told_where_they_take_a_fifth(
    tmp_path: Path,
    parts: list[tuple[str, float, float]],
    times: int,
    sequences: int | None,
) -> None:
    finding = found(tmp_path, row(parts, times)).get("TRC010")
    assert (finding.data["sequences"] if finding else None) == sequences
    if finding is not None:
        assert finding.cost is not None
        # Of three that are made one, two are saved at most.
        assert finding.cost.ms == pytest.approx(1.8 * times, rel=0.01)


@pytest.mark.parametrize(
    ("name", "us", "advice"),
    [
        ("normal_", 130.0, "compile"),  # 4.6 % of the trace
        ("normal_", 160.0, "compile-drawing"),
        ("normal_", 900.0, "compile-drawing"),
        ("bernoulli_", 280.0, "compile"),  # 9 %
        ("bernoulli_", 330.0, "compile-without"),
        ("bernoulli_", 900.0, "compile-without"),
        ("cos", 900.0, "compile"),
    ],
)
def test_what_draws_random_numbers_is_not_compiled_with_inductors(
    tmp_path: Path, name: str, us: float, advice: str
) -> None:
    """On the CPU its own draw normal numbers ten times as slowly."""
    finding = found(tmp_path, row([*CHAIN, (name, us, 10.0), ("mm", 10.0, 0.0)], 10))["TRC010"]
    assert [one.id for one in finding.advice] == [advice]


def test_what_an_optimizer_does_is_not_counted(tmp_path: Path) -> None:
    events = row(CHAIN, 10)
    end = events[-1]["ts"] + events[-1]["dur"]
    around = {"ph": "X", "cat": "user_annotation", "pid": 1, "tid": 1, "ts": 0.0, "dur": end + 1}
    inside = [around | {"name": "Optimizer.step#Adam.step"}, *events]
    assert "TRC010" not in found(tmp_path, inside)
    assert "TRC010" in found(tmp_path, [around | {"name": "evaluate"}, *events])


ATTENTION = [("bmm", 500.0, 10.0), ("div", 90.0, 10.0), ("_softmax", 400.0, 10.0)]


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([*ATTENTION, ("bmm", 500.0, 10.0)], True),
        ([*ATTENTION, ("mm", 500.0, 10.0)], False),  # a classifier's softmax
        ([("mm", 500.0, 10.0), *ATTENTION[1:], ("bmm", 500.0, 10.0)], False),
        ([*ATTENTION[:2], ("bmm", 500.0, 10.0)], False),
        ([ATTENTION[0], *[("add", 90.0, 10.0)] * 7, *ATTENTION[2:], ("bmm", 500.0, 1.0)], True),
        ([ATTENTION[0], *[("add", 90.0, 10.0)] * 8, *ATTENTION[2:], ("bmm", 500.0, 1.0)], False),
        # A causal mask made anew: its operators are not known, and the time they take is a pause.
        ([*ATTENTION[:2], ("_softmax", 400.0, 290.0), ("bmm", 500.0, 10.0)], True),
        ([*ATTENTION[:2], ("_softmax", 400.0, 310.0), ("bmm", 500.0, 10.0)], False),
    ],
)
def test_product_softmax_product_is_attention(
    tmp_path: Path, parts: list[tuple[str, float, float]], told: bool
) -> None:
    events = row([*parts, ("mm", 10.0, 900.0)], 5)
    assert ("TRC025" in found(tmp_path, events)) is told


BLOCK = [("convolution", 400.0, 10.0), ("native_batch_norm", 90.0, 10.0), ("relu", 90.0, 10.0)]


@pytest.mark.parametrize(
    ("parts", "times", "fires"),
    [
        (BLOCK, 12, True),  # 180 of 610 us may be saved
        (BLOCK, 9, False),
        ([BLOCK[0], ("native_batch_norm", 20.0, 9.0), ("relu", 20.0, 9.0)], 12, False),  # 9 %
        ([BLOCK[0], ("native_batch_norm", 25.0, 9.0), ("relu", 25.0, 9.0)], 12, True),  # 10.5 %
        ([BLOCK[0], BLOCK[2], ("add", 90.0, 10.0)], 12, False),  # no normalization to be folded
        (BLOCK[:2], 12, False),
        ([("mm", 400.0, 10.0), *BLOCK[1:]], 12, False),
        ([*BLOCK[:1], ("native_batch_norm", 90.0, 300.0), BLOCK[2]], 12, False),  # not behind it
    ],
)
def test_normalization_and_activation_behind_convolutions(
    tmp_path: Path, parts: list[tuple[str, float, float]], times: int, fires: bool
) -> None:
    finding = found(tmp_path, row(parts, times)).get("TRC010")
    assert (finding is not None) == fires
    if finding is not None:
        assert finding.cost is not None
        assert finding.cost.ms == pytest.approx(
            times * sum(us for _, us, _ in parts[1:]) / 1e3, 0.03
        )
        assert [each.id for each in finding.advice] == ["freeze", "compile"]


def test_weights_that_are_trained_are_not_frozen(tmp_path: Path) -> None:
    node = op("autograd::engine::evaluate_function: ConvolutionBackward0", 9_000.0, 10.0)
    finding = found(tmp_path, [*row(BLOCK, 12), node])["TRC010"]
    assert [each.id for each in finding.advice] == ["compile"]
    assert finding.cost is not None
    assert finding.cost.ms == pytest.approx(1.08, rel=0.03)  # without the longer of the two


def contiguous(n: int, fields: dict[str, str], *, casts: int = 0) -> list[Json]:
    """Return ``n`` convolutions of 400 us behind copies of 200 us, as eager code nests them."""
    events: list[Json] = []
    for at in range(n):
        start = 700.0 * at
        events.append(op(f"aten::{fields['outer']}", start, 203.0))
        events.append(op("aten::clone", start + 1, 202.0))
        events.append(op("aten::copy_", start + 2, 200.0))
        events.append(op("aten::convolution", start + 220, 400.0))
        events.append(op(f"aten::{fields['inner']}", start + 221, 398.0))
    events += [op("aten::_to_copy", 700.0 * n + 10 * at, 5.0) for at in range(casts)]
    return events


@pytest.mark.parametrize(
    ("outer", "inner", "casts", "told"),
    [
        ("contiguous", "mkldnn_convolution", 0, True),
        ("contiguous", "mkldnn_convolution", 4, False),  # they may be conversions
        ("constant_pad_nd", "mkldnn_convolution", 0, False),
        ("contiguous", "_slow_conv2d_forward", 0, False),  # copies by itself what is not
    ],
)
def test_tensors_made_contiguous_before_convolutions(
    tmp_path: Path, outer: str, inner: str, casts: int, told: bool
) -> None:
    events = contiguous(12, {"outer": outer, "inner": inner}, casts=casts)
    finding = found(tmp_path, events)["TRC014"]
    assert ("keep-view" in [each.id for each in finding.advice]) is told
    assert ("right before convolutions" in finding.message) is told
    assert finding.data["before_ms"] == (pytest.approx(2.4) if told else 0.0)


def products(kind: str, us: float, *, launches: bool = False) -> list[Json]:
    """Return ten products that take ``us``, in a trace of 20 ms."""
    args = {"Input Dims": [[64, 64], [64, 64]], "Input type": [kind, kind]}
    events = [
        op("aten::mm", 2_000 * at, us) | {"args": args | {"External id": at}} for at in range(10)
    ]
    if launches:
        events.append(op("aten::mm", 100, 1) | {"cat": "cuda_runtime", "name": "cudaLaunchKernel"})
    return [*events, op("aten::other", 19_990, 10)]


@pytest.mark.parametrize(
    ("kind", "us", "launches", "told"),
    [
        ("double", 250, False, True),
        ("double", 150, False, False),  # 7.5 % of the trace
        ("float", 250, False, False),
        ("double", 250, True, False),  # they only launch the work
    ],
)
def test_products_in_float64_on_the_cpu(
    tmp_path: Path, kind: str, us: float, launches: bool, told: bool
) -> None:
    assert ("TRC033" in found(tmp_path, products(kind, us, launches=launches))) is told


def beside(events: list[Json], threads: int = 4) -> list[Json]:
    """Return the same on several threads at a time."""
    return [event | {"tid": tid} for tid in range(1, threads + 1) for event in events]


@pytest.mark.parametrize(
    ("code", "events"),
    [
        ("TRC010", row(CHAIN, 10)),
        ("TRC025", row([*ATTENTION, ("bmm", 500.0, 10.0)], 10)),
        ("TRC033", products("double", 1_900)),
    ],
)
def test_threads_together_take_no_more_than_the_trace(
    tmp_path: Path, code: str, events: list[Json]
) -> None:
    finding = found(tmp_path, beside(events))[code]
    assert finding.cost is not None
    assert (finding.cost.share or 0.0) <= 1.0
    shown = re.findall(r"(\d+) %", finding.title + finding.message)
    assert all(int(number) <= 100 for number in shown)


@pytest.mark.parametrize(("kind", "words"), [("cpu", "at most"), ("gpu", "TF32 is off")])
def test_what_float32_would_save_is_said_as_the_device_computes(
    tmp_path: Path, kind: str, words: str
) -> None:
    """Tensor cores of A100 and H100 compute float64 at the rate of float32 outside of them."""
    gemm = "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize64x64x16_cublas"
    kernels = [kernel(gemm, 2_000 * at, 900) for at in range(10)]
    events = kernels if kind == "gpu" else products("double", 900)
    assert words in found(tmp_path, events)["TRC033"].message


@pytest.mark.parametrize(
    ("device", "share"),
    [
        ("NVIDIA A10G", 1 - 1 / 64),
        ("Tesla T4", 1 - 1 / 32),
        ("NVIDIA GeForce RTX 2080 Ti", 1 - 1 / 32),
        ("NVIDIA RTX A6000", 1 - 1 / 64),
        ("NVIDIA GeForce RTX 4060 Laptop GPU", 1 - 1 / 64),
        ("NVIDIA L4", 1 - 1 / 64),
        ("NVIDIA A100-SXM4-80GB", 0.5),
        ("NVIDIA A30", 0.5),
        ("Tesla V100-SXM2-16GB", 0.5),
        ("NVIDIA H100 80GB HBM3", 0.5),
        ("AMD Instinct MI300X", 0.5),
    ],
)
def test_what_float32_would_save_follows_the_device(
    tmp_path: Path, device: str, share: float
) -> None:
    gemm = "void cutlass_80_tensorop_d884gemm_64x64"
    kernels = [kernel(gemm, 2_000 * at, 900) for at in range(9)]
    finding = found(tmp_path, kernels, deviceProperties=[{"id": 0, "name": device}])["TRC033"]
    assert finding.cost is not None
    assert finding.cost.share == pytest.approx(share, abs=0.01)
    assert ("TF32 is off" in finding.message) is (share == 0.5)
    assert (device in finding.message) is (share > 0.5)


@pytest.mark.parametrize(
    ("parts", "advice"),
    [
        (["sub", "pow", "sum"], ["distances", "compile"]),
        (["sub", "pow", "mean"], ["compile"]),  # an error
        (["add", "pow", "sum"], ["compile"]),
    ],
)
def test_distances_of_all_pairs(tmp_path: Path, parts: list[str], advice: list[str]) -> None:
    events = row([(part, 900.0, 10.0) for part in [*parts, "mm"]], 10)
    assert [each.id for each in found(tmp_path, events)["TRC010"].advice] == advice
