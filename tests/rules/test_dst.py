"""Ranks whose logs are files of their own."""

from __future__ import annotations

import gzip
import re
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


LATER = LOG.parent / "fires-last-batches.log.gz"


def test_what_one_change_compiles_again_is_one_finding_at_what_takes_longest() -> None:
    (finding,) = analyze(str(LATER), select=["DST001"]).findings
    assert finding.title.startswith("`forward` is compiled again at another time on each of")
    assert finding.where is not None
    assert finding.where.file == "/home/ana/proj/app.py"
    assert "and 1 other function for the same change" in finding.message


def test_ranks_that_compile_at_the_same_time_do_not_wait(tmp_path: Path) -> None:
    text = gzip.decompress(LATER.read_bytes()).decode()
    together = re.sub(r"^(\[rank1\]:V1126 22:35:)5[45]", r"\g<1>43", text, flags=re.MULTILINE)
    assert together != text
    log = tmp_path / "run.log"
    log.write_text(together)
    assert not analyze(str(log), select=["DST001"]).findings
