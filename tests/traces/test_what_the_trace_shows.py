"""Advice follows what the trace shows: guards that failed, the optimizer, what was counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.writing import Json, op, span


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
