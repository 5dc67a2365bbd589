"""Copies of a program on the CPU, and what shapes tell of its operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.traces.test_bounds import found
from tests.traces.writing import Json, op


def shaped(name: str, us: float, dims: list[list[int]], types: list[str], **more: Any) -> Json:
    """Return an operator with the shapes and types of its inputs."""
    args = {"Input Dims": dims, "Input type": types, **more}
    return op(name, 0.0, us) | {"args": args}


def in_turn(events: list[Json]) -> list[Json]:
    """Return the events one after the other."""
    starts = [sum(event["dur"] for event in events[:at]) for at in range(len(events))]
    return [
        event | {"ts": start, "args": {**event.get("args", {}), "External id": at}}
        for at, (event, start) in enumerate(zip(events, starts, strict=True), 1)
    ]


@pytest.mark.parametrize(
    ("target", "trains", "advice"),
    [
        ("c10::BFloat16", False, ["halves", "once"]),
        ("c10::BFloat16", True, ["compile", "once"]),  # weights change in each step
        ("float", False, ["compile", "once"]),
    ],
)
def test_weights_that_autocast_converts_are_told_with_their_shape(
    tmp_path: Path, target: str, trains: bool, advice: list[str]
) -> None:
    one = shaped("aten::copy_", 500.0, [[64, 32], [64, 32]], [target, "float"])
    events = [one, op("aten::_to_copy", 0.0, 5.0), op("aten::mm", 0.0, 400.0)] * 10
    if trains:
        events.append(op("autograd::engine::evaluate_function: MmBackward0", 0.0, 9.0))
    finding = found(tmp_path, in_turn(events), record_shapes=1)["TRC014"]
    half = "(from float32 to 16 bits, or back), " if target != "float" else ""
    assert finding.count == 10  # conversions, and not names of operators
    assert f"Most of it is of 64x32{' ' if half else ', '}{half}10 times, 5 ms" in finding.message
    assert [each.id for each in finding.advice] == advice


@pytest.mark.parametrize(("copied", "told"), [(10, False), (11, False), (20, True)])
def test_the_bias_of_a_product_is_no_copy_of_the_programs(
    tmp_path: Path, copied: int, told: bool
) -> None:
    """Of ten products each copies its bias first; more copies are the program's, as their share."""
    events = [op("aten::copy_", 0.0, 500.0)] * copied + [op("aten::addmm", 0.0, 400.0)] * 10
    finding = found(tmp_path, in_turn(events)).get("TRC014")
    assert (finding and finding.count) == (copied - 10 if told else None)


@pytest.mark.parametrize(("unfolds", "first"), [(True, "conv2d"), (False, "compile")])
def test_patches_that_are_written_out_belong_in_a_convolution(
    tmp_path: Path, unfolds: bool, first: str
) -> None:
    events = [op("aten::im2col", 0.0, 300.0)] if unfolds else []
    events += [op("aten::clone", 0.0, 9.0), op("aten::copy_", 0.0, 500.0), op("aten::bmm", 0, 900)]
    finding = found(tmp_path, in_turn(events * 10))["TRC014"]
    assert finding.advice[0].id == first


@pytest.mark.parametrize(
    ("channels", "weights", "us", "told"),
    [
        (48, [48, 1, 7, 7], 300.0, True),
        (48, [48, 1, 7, 7], 190.0, False),  # 19 %
        (48, [48, 48, 7, 7], 300.0, False),
        (1, [1, 1, 7, 7], 300.0, False),  # one filter
        (1, [48, 1, 7, 7], 300.0, False),  # a gray image: it is in either layout
    ],
)
def test_convolutions_of_one_channel_each_are_told(
    tmp_path: Path, channels: int, weights: list[int], us: float, told: bool
) -> None:
    values = ["", "", "", "[3, 3]", "[1, 1]", "[1, 1]", "48"]
    image = [4, channels, 32, 32]
    one = shaped(
        "aten::mkldnn_convolution", us, [image, weights, []], ["float", "float", ""],
        **{"Concrete Inputs": values},
    )  # fmt: skip
    rest = op("aten::mm", 0.0, 1_000.0 - us)
    note = found(tmp_path, in_turn([one, rest] * 5), record_shapes=1)["TRC030"].harmless or ""
    assert ("convolutions with one channel for each filter take" in note) is told


@pytest.mark.parametrize("biased", [True, False])
def test_what_is_joined_counts_beside_biases(tmp_path: Path, biased: bool) -> None:
    bias = [op("aten::copy_", 0.0, 40.0)] if biased else []
    finding = found(
        tmp_path, in_turn([op("aten::cat", 0.0, 500.0), *bias, op("aten::addmm", 0.0, 400.0)] * 10)
    )["TRC014"]
    assert finding.data["ms"] == pytest.approx(5.0)
    assert [each.id for each in finding.advice] == ["preallocate"]
