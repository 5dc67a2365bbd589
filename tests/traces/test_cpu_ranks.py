"""Ranks without a GPU: how often they meet, and why one comes late."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracelens
from tests.traces.test_bounds import found
from tests.traces.test_cpu_programs import LOADER
from tests.traces.writing import Json, op, span, text
from tracelens.rules.trc.exposed_collectives import ExposedCollectives


@pytest.mark.parametrize(
    ("passes", "trained", "synced", "reduced", "told"),
    [
        (4, 4, 4, 4, True),
        (1, 1, 1, 4, False),
        (4, 4, 4, 3, False),
        (4, 4, 1, 8, False),  # all but the last in no_sync(), in buckets
        (4, 1, 1, 8, False),  # all but one evaluate
    ],
)
def test_gradients_that_are_reduced_for_each_of_several_passes(
    tmp_path: Path, *, passes: int, trained: int, synced: int, reduced: int, told: bool
) -> None:
    """With fewer messages than passes, some passes reduce nothing."""
    events: list[Json] = []
    for step in range(5):
        start = 20_000.0 * step
        for at in range(passes):
            name = "DistributedDataParallel.forward"
            events.append(span("user_annotation", name, start + 1_000 * at, 900.0))
        events.append(op("aten::mm", start + 1.0, 8_000.0))
        names = ["NllLossBackward0", *["torch::autograd::AccumulateGrad"] * 12] * trained
        names += ["torch::distributed::reducer::mul_out"] * 12 * synced
        events += [op(each, start + 8_010 + 5 * at, 4.0) for at, each in enumerate(names)]
        for at in range(reduced):
            begin = start + 9_000 + 1_000 * at
            events.append(span("user_annotation", "gloo:all_reduce", begin, 900.0, tid=7))
        events.append(span("user_annotation", "Optimizer.step#SGD.step", start + 19_000, 500.0))
    finding = found(tmp_path, sorted(events, key=lambda event: event["ts"]))["TRC016"]
    assert ("runs 4 times for each step of the optimizer" in finding.message) is told
    assert finding.title.startswith("gradients are reduced 4 times for each step") is told
    # Too many of them are no fault of a rank that comes late.
    assert bool(list(ExposedCollectives().follows(finding))) is not told
    assert [each.id for each in finding.advice] == (
        ["accumulate"] if told else ["buckets", "accumulate"]
    )


@pytest.mark.parametrize(("messages", "small"), [(20, True), (19, False)])
@pytest.mark.parametrize("ranks", [1, 2])
def test_messages_for_each_pass_are_counted(
    tmp_path: Path, messages: int, small: bool, ranks: int
) -> None:
    """Where all ranks were read, nothing is left for their traces to tell."""
    for rank in range(ranks):
        events: list[Json] = []
        for step in range(4):
            at = 30_000.0 * step
            events.append(span("user_annotation", "DistributedDataParallel.forward", at, 900.0))
            events.append(op("aten::mm", at + 1.0, 890.0))
            events += [
                span("user_annotation", "gloo:all_reduce", at + 1_000.0 * number, 900.0, tid=7)
                for number in range(1, messages + 1)
            ]
            events.append(span("user_annotation", "Optimizer.step#SGD.step", at + 29_000, 500.0))
        shared = {"backend": "gloo", "rank": rank, "world_size": 2}
        data = text(events, distributedInfo=shared)
        (tmp_path / f"rank{rank}.json").write_bytes(data)
    (finding,) = [f for f in tracelens.analyze(str(tmp_path)).findings if f.code == "TRC016"]
    assert (f"For each pass there are {messages}: buckets are small" in finding.message) is small
    assert ("the traces of the other ranks tell" in finding.message) is (ranks == 1)


@pytest.mark.parametrize(
    ("name", "us", "why"),
    [
        ("aten::mm", 30_000.0, "its operators take 150 ms longer"),
        ("aten::mm", 1_000.0, None),
        (LOADER, 30_000.0, "it waits for its next batch 150 ms longer"),
        ("", 30_000.0, "it is between operators 150 ms longer: in Python, files or locks"),
    ],
)
def test_why_a_rank_without_a_gpu_comes_late(
    tmp_path: Path, name: str, us: float, why: str | None
) -> None:
    for rank in range(2):
        events: list[Json] = []
        for step in range(5):
            at = 60_000.0 * step
            events.append(op("aten::add", at, 1_000.0))
            if rank and name:
                kind = "user_annotation" if name == LOADER else "cpu_op"
                events.append(span(kind, name, at + 1_000, us))
            begin = at + 1_000 + us * rank
            events.append(span("user_annotation", "gloo:all_reduce", begin, at + 41_000 - begin))
            events.append(op("aten::add", at + 41_000, 1_000.0))
        shared = {"backend": "gloo", "rank": rank, "world_size": 2}
        (tmp_path / f"rank{rank}.json").write_bytes(text(events, distributedInfo=shared))
    found_ = [f for f in tracelens.analyze(str(tmp_path)).findings if f.code == "TRC027"]
    assert bool(found_) is (why is not None)
    assert why is None or f"Against the median of the others, {why}" in found_[0].message


@pytest.mark.parametrize(
    ("alone", "there", "named"),
    [
        (30_000.0, True, "1 rank waits for rank 0"),
        (30_000.0, False, "1 rank waits for rank 0"),
        (2_000.0, True, None),
    ],
)
def test_a_rank_that_computes_while_the_other_is_at_a_barrier(
    tmp_path: Path, alone: float, *, there: bool, named: str | None
) -> None:
    """Messages of gloo that do not end at once on both tell no moments: what each rank did does.

    Of steps of 42 ms rank 0 validates for 30, while rank 1 waits; or for 2, which is little.
    """
    for rank in range(2):
        events: list[Json] = []
        for step in range(5):
            at = 45_000.0 * step
            length = alone if rank == 0 else 10.0
            events.append(op("aten::add", at, 10_000.0))
            if there:
                frame = f"fit.py({7 if rank == 0 else 9}): {('validate', 'train')[rank]}"
                events.append(span("python_function", frame, at + 10_000, length))
            events.append(op("aten::mm", at + 10_001, length - 2))
            barrier = span("user_annotation", "gloo:barrier", at + 10_000 + length, 32_000 - length)
            events.append(barrier | {"tid": 7})
            for number in range(3):
                begun = at + 20.0 + 100 * number + 2_200 * rank * step
                reduced = span("user_annotation", "gloo:all_reduce", begun, 10.0)
                events.append(reduced | {"tid": 8})
        shared = {"backend": "gloo", "rank": rank, "world_size": 2}
        data = text(events, distributedInfo=shared, with_stack=1)
        (tmp_path / f"rank{rank}.json").write_bytes(data)
    late = [f for f in tracelens.analyze(str(tmp_path)).findings if f.code == "TRC027"]
    assert [finding.title.partition(",")[0] for finding in late] == ([named] if named else [])
    for finding in late:
        assert ("`validate`, fit.py, line 7, takes 150 ms there" in finding.message) is there
        assert [each.id for each in finding.advice] == ["share" if there else "late"]
