"""Sequences that are computed anew as they grow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.writing import Json, op


def joined(at: int) -> Json:
    """Return the joining of a new element, between two products."""
    return op("aten::cat", 2_000.0 * at + 1_950.0, 1.0)


def product(at: int, rows: int, us: float, columns: int = 256) -> Json:
    """Return one product of ``rows`` rows with a weight."""
    args = {"Input Dims": [[rows, 64], [64, columns]], "Input type": ["float", "float"]}
    return op("aten::mm", 2_000.0 * at, us) | {"args": args | {"External id": at}}


@pytest.mark.parametrize(
    ("lengths", "told"),
    [
        (range(96, 112, 2), 8),
        (range(96, 110, 2), None),  # seven
        ([96, 98, 100, 102, 105, 106, 108, 110, 112], None),  # one is missing
        ([110, 108, 106, 104, 102, 100, 98, 96], None),  # it shrinks
        ([2] * 16, None),  # a cache
        ([120, 96, 104, 88, 112, 100, 92, 108], None),  # batches of many lengths
    ],
)
def test_a_sequence_grows_by_as_much_each_time(
    tmp_path: Path, lengths: list[int], told: int | None
) -> None:
    events = [product(at, rows, 1_000.0) for at, rows in enumerate(lengths)]
    events += [joined(at) for at in range(len(lengths))]
    events.sort(key=lambda event: event["ts"])
    finding = found(tmp_path, events, record_shapes=1).get("TRC034")
    assert (finding and finding.data["lengths"]) == told


@pytest.mark.parametrize(
    ("name", "times", "told"),
    [("cat", 8, True), ("argmax", 8, True), ("cat", 7, False), ("gelu", 8, False)],
)
def test_lengths_that_are_tried_out_are_no_sequence(
    tmp_path: Path, name: str, times: int, *, told: bool
) -> None:
    """A benchmark, and samples in the order of their lengths: nothing is added to any of them."""
    events: list[Json] = []
    for at in range(8):
        events.append(product(at, 64 * (1 + at), 1_000.0))
        if at < times:
            events.append(joined(at) | {"name": f"aten::{name}"})
    assert ("TRC034" in found(tmp_path, events, record_shapes=1)) is told


def test_what_is_reckoned_as_needless_are_the_rows_that_were_known(tmp_path: Path) -> None:
    """Of 10, 11 ... 17 rows all but one each time: 90.0 to 94.1 % of 1 ms, of 15.0 ms in all."""
    events = [each for at in range(8) for each in (product(at, 10 + at, 1_000.0), joined(at))]
    cost = found(tmp_path, events, record_shapes=1)["TRC034"].cost
    assert cost is not None
    assert cost.ms == pytest.approx(sum(1 - 1 / (10 + at) for at in range(8)), rel=0.02)


@pytest.mark.parametrize(
    ("encoded", "again"), [(384, True), (1, False)], ids=["an encoder", "new tokens alone"]
)
def test_what_does_not_grow_and_runs_each_time_is_told_with_it(
    tmp_path: Path, encoded: int, *, again: bool
) -> None:
    """The encoder may have weights of the same shape as the decoder."""
    events: list[Json] = []
    for at in range(8):
        events.append(product(3 * at, 10 + at, 1_000.0))
        events.append(product(3 * at + 1, encoded, 1_000.0))
        events.append(product(3 * at + 2, encoded, 1_000.0))
        events.append(joined(3 * at + 2))
    finding = found(tmp_path, events, record_shapes=1)["TRC034"]
    assert finding.data["constant_ms"] == pytest.approx(16 * 7 / 8 if again else 0.0)
    assert [each.id for each in finding.advice] == ["cache", "once"][: 1 + again]


def test_training_on_growing_lengths_needs_no_cache(tmp_path: Path) -> None:
    events = [each for at in range(8) for each in (product(at, 96 + at, 1_000.0), joined(at))]
    node = "autograd::engine::evaluate_function: MmBackward0"
    events.append(op(node, 30_000.0, 50.0))
    assert "TRC034" not in found(tmp_path, events, record_shapes=1)


@pytest.mark.parametrize(("us", "told"), [(120.0, True), (80.0, False)])
def test_a_small_part_of_the_trace_is_not_told(tmp_path: Path, us: float, *, told: bool) -> None:
    """Of 16.8 ms 0.96 are 5.7 %, but below a millisecond; and 0.64 are 3.9 %."""
    events: list[Json] = []
    for at in range(16):
        events.append(product(at, 96 + at, us))
        events.append(op("aten::exp", 2_000.0 * at + 200, 1_700.0))
        events.append(joined(at))
    assert ("TRC034" in found(tmp_path, events, record_shapes=1)) is told
