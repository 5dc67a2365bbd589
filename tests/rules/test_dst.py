"""Ranks whose logs are files of their own."""

from __future__ import annotations

from pathlib import Path

from tracelens.engine import analyze
from tracelens.report import Outcome

LOG = (
    Path(__file__).parents[2]
    / "fixtures/rules/DST001-rank-divergent-compilation/fires-one-rank.log"
)


def test_files_named_after_ranks_are_ranks(tmp_path: Path) -> None:
    for rank in ("rank0", "rank1"):
        lines = LOG.read_text().splitlines(keepends=True)
        own = [line.removeprefix(f"[{rank}]:") for line in lines if line.startswith(f"[{rank}]")]
        (tmp_path / f"{rank}.log").write_text("".join(own))
    report = analyze(str(tmp_path), select=["DST001"])
    (finding,) = report.findings
    assert finding.title == "`forward` is compiled again on rank1.log and not on rank0.log"


def test_other_files_are_not(tmp_path: Path) -> None:
    for rank in ("rank0", "rank1"):
        lines = LOG.read_text().splitlines(keepends=True)
        own = [line.removeprefix(f"[{rank}]:") for line in lines if line.startswith(f"[{rank}]")]
        (tmp_path / f"run-{rank[-1]}.log").write_text("".join(own))
    report = analyze(str(tmp_path), select=["DST001"])
    assert [verdict.verdict for verdict in report.verdicts] == [Outcome.QUIET]
