"""Ranks of one job: clocks from collectives, who comes last, one finding for all."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracelens
from tests.traces.writing import Json, kernel, span, text
from tracelens.report import Report
from tracelens.traces.clocks import Lane, align, clocks
from tracelens.traces.measured import TraceHeader
from tracelens.traces.ranks import missing

RANKS = Path(__file__).parents[2] / "fixtures" / "logs" / "chrome_trace" / "ranks"


def lanes(came: list[list[float]], offsets: list[float], us: float = 50.0) -> dict[int, Lane]:
    """Return what the ranks record: nobody leaves before all came, each by its own clock."""
    ends = [max(moments) + us for moments in zip(*came, strict=True)]
    names = ["allreduce of 8"] * len(ends)
    return {
        rank: Lane([t + off for t in starts], [t + off for t in ends], names)
        for rank, (starts, off) in enumerate(zip(came, offsets, strict=True))
    }


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=5),
    st.lists(st.floats(0, 400), min_size=1, max_size=12),
)
def test_the_clocks_are_found_again(offsets: list[float], late: list[float]) -> None:
    came = [
        [1000.0 * k + (each if rank == k % len(offsets) else 0) for k, each in enumerate(late)]
        for rank in range(len(offsets))
    ]
    found = clocks({"0": lanes(came, offsets)})
    for rank, offset in enumerate(offsets):
        assert found[rank].offset == pytest.approx(offset - offsets[0], abs=1e-6)
        assert found[rank].spread < 1e-6


def test_clocks_go_from_group_to_group() -> None:
    """Ranks 0 and 3 never meet, but both meet others that do."""
    offsets = [0.0, 5e3, -7e3, 9e9]
    every = lanes([[100.0, 900.0, 2000.0]] * 4, offsets)
    pairs = {"a": (0, 1), "b": (1, 2), "c": (2, 3)}
    groups = {name: {rank: every[rank] for rank in ranks} for name, ranks in pairs.items()}
    assert [round(found.offset) for _, found in sorted(clocks(groups).items())] == offsets


def test_a_rank_that_nobody_meets_has_no_clock() -> None:
    every = lanes([[100.0]] * 4, [0.0] * 4)
    assert set(clocks({"a": {0: every[0], 1: every[1]}, "b": {2: every[2], 3: every[3]}})) == {0, 1}


@pytest.mark.parametrize(
    ("group", "apart", "meet"),
    [
        ("", 100.0, True),  # what a ring needs to end
        ("", 500.0, False),  # two groups that go on by themselves, in step on the whole
        ("tp", 500.0, False),
        ("tp [0, 1]", 500.0, True),  # the traces say that they meet
    ],
)
def test_ranks_whose_collectives_end_apart_do_not_meet(
    group: str, apart: float, meet: bool
) -> None:
    starts = [1000.0 * k for k in range(12)]
    names = ["allreduce of 8"] * len(starts)
    ends = [start + 50 for start in starts]
    signs = [-1.0, 1.6, 0.9, -1.3, 0.2, -1.8, 1.1, -0.8, 1.4, -0.1, -1.1, 0.7]
    jitter = [end + apart * sign for end, sign in zip(ends, signs, strict=True)]
    groups = {group: {0: Lane(starts, ends, names), 1: Lane(starts, jitter, names)}}
    assert set(clocks(groups)) == ({0, 1} if meet else {0})


def test_a_recording_that_began_later_is_moved() -> None:
    times = [100.0, 1300, 1700, 4000, 4100, 6000, 9500, 9900, 12000]
    names = [f"allreduce of {8 + k % 2}" for k in range(len(times))]
    whole = Lane(times, [t + 50 for t in times], names)
    later = Lane(whole.starts[2:], whole.ends[2:], whole.names[2:])
    pair = align(whole, later)
    assert pair is not None
    assert (pair.shift, pair.clock.offset) == (-2, 0.0)


def test_other_collectives_do_not_fit() -> None:
    one = Lane([0.0, 10], [5.0, 15], ["allreduce of 8", "broadcast of 8"])
    assert align(one, one._replace(names=["broadcast of 8", "allreduce of 8"])) is None


def test_what_does_not_wait_for_all_tells_no_clock() -> None:
    one = Lane([0.0], [5.0], ["broadcast of 8"])
    assert align(one, one) is None


def test_a_rank_that_sleeps_is_named() -> None:
    """Rank 2 of a real job slept for 30 ms in each of three steps."""
    report = tracelens.analyze(str(RANKS))
    assert [run.inputs for run in report.runs] == [
        tuple(str(RANKS / f"rank{rank}.json.gz") for rank in range(3))
    ]
    rows = {row["rank"]: row for row in report.tables["ranks"]}
    assert [rows[rank]["last"] for rank in range(3)] == [0, 0, 3]
    assert rows[2]["late_ms"] == pytest.approx(90, abs=6)
    assert rows[0]["waited_ms"] == pytest.approx(90, abs=8)
    assert rows[2]["waited_ms"] < 1
    assert abs(rows[1]["clock_offset_ms"]) < 1  # the processes shared a machine
    assert {row["last_rank"] for row in report.tables["skew"]} == {2}
    (finding,) = [f for f in report.findings if f.code == "TRC027"]
    assert finding.data["late_rank"] == 2
    assert finding.title.startswith("rank 2 comes last to 3 of 3 collectives")
    assert not report.coverage.notes


@pytest.mark.parametrize(
    ("came", "late"),
    [((0, 8_000), 40.0), ((0, 2_000, 8_000), 35.0), ((0, 1_000, 2_000, 8_000), 35.0)],
)
def test_the_last_rank_is_measured_against_the_others(
    tmp_path: Path, came: tuple[int, ...], late: float
) -> None:
    """Five times 8 ms after the median of the others, at 0, 1 and 1 ms: it is not one of them."""
    for rank, after in enumerate(came):
        events: list[Json] = []
        for step in range(5):
            at = 20_000.0 * step
            events.append(span("cpu_op", "aten::mm", at, 500.0 + after))
            events.append(
                span("user_annotation", "gloo:all_reduce", at + 500 + after, 9_500.0 - after)
            )
        shared = {"backend": "gloo", "rank": rank, "world_size": len(came)}
        (tmp_path / f"rank{rank}.json").write_bytes(text(events, distributedInfo=shared))
    row = tracelens.analyze(str(tmp_path)).tables["ranks"][-1]
    assert (row["last"], row["late_ms"]) == (5, pytest.approx(late, abs=0.01))


def test_missing_ranks_are_stated(tmp_path: Path) -> None:
    for rank in (0, 2):
        (tmp_path / f"rank{rank}.json.gz").write_bytes((RANKS / f"rank{rank}.json.gz").read_bytes())
    report = tracelens.analyze(str(tmp_path))
    assert "traces: 2 of 3 ranks were read: 0, 2" in report.coverage.notes
    (finding,) = [f for f in report.findings if f.code == "TRC027"]
    assert finding.confidence == "medium"


def test_ranks_that_are_all_there_are_no_note() -> None:
    every = [TraceHeader(rank=rank, world_size=2) for rank in range(2)]
    assert missing(every) == ""
    assert missing(every[:1]) == "1 of 2 ranks was read: 0"
    assert missing([TraceHeader()]) == ""


# Findings on several ranks.


def job(path: Path, late: list[float]) -> Report:
    """Write the traces of ranks whose devices wait for the host, and analyze them."""
    for rank, extra in enumerate(late):
        events: list[Json] = []
        at = 0.0
        for k in range(40):
            at += 300.0 + extra
            launched = span(
                "cuda_runtime", "cudaLaunchKernel", at - 5, 4, args={"correlation": k + 1}
            )
            ran = kernel("gemm", at, 5)
            ran["args"] = {"correlation": k + 1}
            events += [launched, ran]
        header = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": len(late)}}
        text = json.dumps({"schemaVersion": 1, **header, "traceEvents": events})
        (path / f"rank{rank}.json.gz").write_bytes(gzip.compress(text.encode()))
    return tracelens.analyze(str(path))


def test_what_is_on_all_ranks_is_told_once_and_of_the_worst(tmp_path: Path) -> None:
    report = job(tmp_path, [0.0, 200.0, 0.0])
    (idle,) = [f for f in report.findings if f.code == "TRC001"]
    assert idle.title.endswith("(all 3 ranks)")
    assert "This is rank 1." in idle.message
    assert {Path(line.input).name for line in idle.evidence} == {
        f"rank{rank}.json.gz" for rank in range(3)
    }
    assert len({f.id for f in report.findings}) == len(report.findings)


def test_what_is_on_one_rank_is_of_that_rank(tmp_path: Path) -> None:
    report = job(tmp_path, [-294.0, 0.0, -294.0])
    (idle,) = [f for f in report.findings if f.code == "TRC001"]
    assert "ranks" not in idle.title
    assert {Path(line.input).name for line in idle.evidence} == {"rank1.json.gz"}


def reduced(at: float, us: float, elements: int, name: str, ranks: list[int]) -> Json:
    event = kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", at, us)
    event["args"] = {
        "Collective name": "allreduce",
        "In msg nelems": elements,
        "Out msg nelems": elements,
        "Group size": len(ranks),
        "dtype": "Float",
        "Process Group Name": name,
        "Process Group Ranks": str(ranks),
    }
    return event


def two_groups(path: Path, late: int, slow: int) -> Report:
    """Two groups of four ranks, met once by all: one waits for a rank; a link of one is slow."""
    for rank in range(8):
        first = rank // 4 * 4
        group = list(range(first, first + 4))
        events = [reduced(at, 200.0, 8, "world", list(range(8))) for at in (-3e3, -2e3, -1e3)]
        for at in range(0, 300_000, 10_000):
            begins = 8_000.0 if rank == late else 2_000.0
            ends = 8_500.0 if first in {late // 4 * 4, slow} else 2_400.0
            events.append(kernel("gemm", at + 10, begins - 20))
            events.append(reduced(at + begins, ends - begins, 4_000_000, str(first), group))
        header: Json = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 8}}
        header["deviceProperties"] = [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]
        text = json.dumps({"schemaVersion": 1, **header, "traceEvents": events})
        (path / f"rank{rank}.json.gz").write_bytes(gzip.compress(text.encode()))
    return tracelens.analyze(str(path))


def test_slow_collectives_follow_from_the_rank_that_their_group_waits_for(tmp_path: Path) -> None:
    """Whichever ranks those are: the late one is of the second group."""
    report = two_groups(tmp_path, late=6, slow=-1)
    told = {f.title: f for f in report.findings if f.code in {"TRC016", "TRC027"}}
    (cause,) = [f for f in told.values() if f.data.get("late_rank") == 6]
    assert len(told) == 3
    assert all(f is cause or f.explained_by == cause.id for f in told.values())


def test_a_slow_link_of_ranks_that_wait_for_nobody_is_told(tmp_path: Path) -> None:
    report = two_groups(tmp_path, late=6, slow=0)
    (cause,) = [f for f in report.findings if f.data.get("late_rank") == 6]
    assert {Path(line.input).name for line in cause.evidence} == {
        f"rank{rank}.json.gz" for rank in (4, 5, 6, 7)
    }
