"""Which ranks waited for which collective is said beside the timeout."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, analyze

AT = "[E419 10:42:28.858931807 ProcessGroupNCCL.cpp:616]"


def waited(rank: int, seq: int, before: str = "") -> str:
    return (
        f"[rank{rank}]:{AT} {before}[Rank {rank}] Watchdog caught collective operation timeout: "
        f"WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, NumelIn=64, NumelOut=64, Timeout(ms)=600000) "
        "ran for 600054 milliseconds before timing out.\n"
    )


def told(path: Path, text: str) -> Finding:
    path.write_text(text)
    report = analyze(path)
    assert report.coverage.unread == ()
    (finding,) = [one for one in report.findings if one.code == "ERR029"]
    return finding


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ({3: 7, 4: 7}, "Ranks 3 and 4 waited for ALLREDUCE number 7: unless these are all ranks"),
        ({3: 7}, "Rank 3 waited for ALLREDUCE number 7: unless these are all ranks"),
        (
            {0: 9117, 4: 7, 5: 7},
            "4 and 5 waited for ALLREDUCE number 7 and rank 0 waited for ALLREDUCE number 9,117",
        ),
        (dict.fromkeys(range(10), 7), "7 and 2 more waited for ALLREDUCE number 7"),
    ],
)
def test_ranks_and_what_they_waited_for(ranks: dict[int, int], said: str, tmp_path: Path) -> None:
    text = "".join(waited(rank, seq) for rank, seq in ranks.items())
    assert said in told(tmp_path / "run.log", text).message


def test_the_first_that_a_rank_waited_for_counts(tmp_path: Path) -> None:
    text = waited(1, 9) + waited(1, 8) + waited(1, 10)
    assert "Rank 1 waited for ALLREDUCE number 8:" in told(tmp_path / "run.log", text).message


ENDED = "[PG 0 (default_pg) Rank 1] Process group watchdog thread terminated with exception: "
RAISED = (
    "Exception raised from checkTimeout at ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:609 "
    "(most recent call first):\n"
)


def test_the_end_of_the_process_is_the_same_finding(tmp_path: Path) -> None:
    finding = told(tmp_path / "run.log", waited(1, 456, ENDED) + RAISED)
    assert finding.title == "a collective timed out: not every rank reached it"
    assert "Rank 1 waited for ALLREDUCE number 456" in finding.message


def test_the_end_alone_names_no_ranks(tmp_path: Path) -> None:
    finding = told(tmp_path / "run.log", f"[rank1]:{AT} {ENDED}CUDA error\n" + RAISED)
    assert "waited for ALLREDUCE" not in finding.message
