"""Copies to the GPU within a graph, and the parts that a CUDA graph is recorded in for them."""

from pathlib import Path

from tracelens import analyze
from tracelens.report import Report

LOG = Path(__file__).parents[2] / (
    "fixtures/rules/IND012-device-copy-in-graph/fires-h200-schedule.log"
)


def test_the_parts_belong_to_the_copies() -> None:
    """One cause: a schedule on the CPU, copied at two lines."""
    report = analyze(str(LOG))
    copies, *parts = report.findings
    assert copies.code == "IND012"
    assert copies.where is not None
    assert copies.where.line == 46
    assert "made at ddim/app.py:46, ddim/app.py:58." in copies.message
    parts = [one for one in parts if one.code == "CGR001"]
    assert len(parts) == 3
    assert all(one.explained_by == copies.id for one in parts)


def test_without_the_code_a_part_stands_alone(tmp_path: Path) -> None:
    lines = LOG.read_text().splitlines(keepends=True)
    assert _kinds("".join(one for one in lines if "[__cudagraphs]" in one), tmp_path) == {"CGR001"}
    assert _kinds("".join(one for one in lines if "[__output_code]" in one), tmp_path) == {"IND012"}


def test_a_stack_over_which_the_clock_goes_on_is_one(tmp_path: Path) -> None:
    """Torch prints its lines one by one, and each has a time."""
    text = LOG.read_text()
    assert _places(analyze(str(LOG))) == {("app.py", 46), ("app.py", 58), ("", 0)}
    log = tmp_path / "run.log"
    log.write_text(text.replace("19:03:01.608000", "19:03:01.607000"))
    assert _places(analyze(str(log))) == _places(analyze(str(LOG)))


def _kinds(text: str, folder: Path) -> set[str]:
    log = folder / "run.log"
    log.write_text(text)
    return {one.code for one in analyze(str(log)).findings if one.code in {"IND012", "CGR001"}}


def _places(report: Report) -> set[tuple[str, int]]:
    found = (one.where for one in report.findings if one.code == "CGR001")
    return {(one.file.rpartition("/")[2], one.line or 0) if one else ("", 0) for one in found}
