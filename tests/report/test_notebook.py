"""A report at a prompt, in a notebook, and as data frames."""

from __future__ import annotations

import importlib.util
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tracelens
from tests.render.conftest import make_report
from tracelens import Finding, Report, Severity, UsageError, analyze, compare

ROOT = Path(__file__).parents[2]
EXAMPLES = Path(__file__).with_name("examples.py")
LOG = ROOT / "fixtures" / "logs" / "samples" / "aarch64-bf16-linear.log"


@pytest.fixture(scope="module")
def report() -> Report:
    return analyze(str(LOG))


def test_a_report_is_one_short_line(report: Report) -> None:
    assert "ONE001" in repr(report)
    assert len(repr(report)) < 200
    assert "\n" not in repr(report)
    assert "nothing to fix" in repr(make_report())


def test_a_notebook_shows_the_summary_and_runs_nothing() -> None:
    bad = Finding(
        id="X-1", code="ONE001", name="x", severity=Severity.ERROR, message="",
        title="<script>alert(1)</script>\x1b[31m",
    )  # fmt: skip
    page = make_report(bad)._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_findings_and_tables_are_frames_of_the_real_library(report: Report, library: str) -> None:
    """Each column has one type, a row for each finding, and what is unknown is missing."""
    module = importlib.import_module(library)
    found = report.to_frame(library=library)
    assert isinstance(found, module.DataFrame)
    assert found.shape[0] == len(report.findings)
    assert list(found["code"]) == [one.code for one in report.findings]
    assert found["cost_ms"].sum() == pytest.approx(
        sum(one.cost.ms for one in report.findings if one.cost and one.cost.ms)
    )
    loud = found[found["to_fix"]] if library == "pandas" else found.filter(found["to_fix"])
    assert set(loud["severity"]) <= {"error", "warning", "info"}
    for name in report.tables:
        rows = report.to_frame(name, library)
        assert rows.shape[0] == len(report.tables[name])
    slowest = report.to_frame("primitives", library)["ms"].max()
    assert slowest == max(row["ms"] for row in report.tables["primitives"])
    mixed = {"t": [{"ms": 1, "n": 2}, {"ms": 1.5}, {"ms": None}]}
    frame = report.model_copy(update={"tables": mixed}).to_frame("t", library)
    assert frame["ms"].sum() == 2.5
    nothing = report.model_copy(update={"findings": ()}).to_frame(library=library)
    assert list(nothing.columns) == list(found.columns)
    assert nothing.shape[0] == 0


class Frames(ModuleType):
    """What stands for a library of data frames: it keeps the columns that it was given."""

    def DataFrame(self, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:  # noqa: N802
        return columns


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_findings_and_tables_become_frames(
    report: Report, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, Frames(library))
    found = report.to_frame(library=library)
    assert found["code"] == [one.code for one in report.findings]
    assert found["to_fix"][0] is True
    assert found["severity"][0] == "error"
    primitives = report.to_frame("primitives", library)
    assert {len(values) for values in primitives.values()} == {len(report.tables["primitives"])}
    nothing = report.model_copy(update={"findings": ()}).to_frame(library=library)
    assert list(nothing) == list(found)
    assert not any(nothing.values())
    mixed = {"t": [{"ms": 1, "n": 2}, {"ms": 1.5}, {"ms": None}]}
    columns = report.model_copy(update={"tables": mixed}).to_frame("t", library)
    assert columns == {"ms": [1.0, 1.5, None], "n": [2, None, None]}
    assert [type(value) for value in columns["ms"]] == [float, float, type(None)]


def test_what_is_not_there_is_named(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError) as wrong:
        report.to_frame("primitivs", "pandas")
    assert "did you mean primitives" in wrong.value.hint
    with pytest.raises(UsageError, match="no data frames of 'arrow'"):
        report.to_frame(library="arrow")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    for name in ("pandas", "polars"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(UsageError, match="not installed"):
        report.to_frame()


def test_everything_public_is_listed(report: Report) -> None:
    assert set(tracelens.__all__) <= set(dir(tracelens))
    assert {"findings", "told", "to_frame", "to_json", "tables"} <= set(dir(report))


def test_the_examples_of_the_page_are_those_that_are_checked_and_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    code = EXAMPLES.read_text(encoding="utf-8").replace("    ", "")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        assert block.replace("    ", "") in code
    for name in ("run.log", "before.log", "after.log"):
        (tmp_path / name).write_bytes(LOG.read_bytes())
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES), run_name="__main__")
    assert "ONE001" in capsys.readouterr().out
    assert (tmp_path / "report.md").is_file()


def test_two_inputs_are_compared_from_python(report: Report) -> None:
    found = compare(str(LOG), report)
    assert found.findings.new == found.findings.fixed == ()
    with pytest.raises(UsageError):
        compare(report)
