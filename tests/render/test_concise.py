"""One line for each finding, links of a terminal, and long lists that end by cause."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.render.conftest import make_report
from tracelens.cli import main
from tracelens.cli._links import target
from tracelens.render import Options
from tracelens.render.concise import Concise
from tracelens.render.text import Text
from tracelens.report import EvidenceLine, Finding, Report, Run, Severity, Where

LINK = re.compile(r"\x1b\]8;;([^\x1b]*)\x1b\\(.*?)\x1b\]8;;\x1b\\")


def finding(number: int, code: str = "GBR006", **more: object) -> Finding:
    given: dict[str, object] = {"id": f"{code}-{number:06}", "code": code, "name": "print"}
    given |= {"severity": Severity.WARNING, "title": f"thing {number}\nbroke", "message": ""}
    return Finding.model_validate(given | more)


def test_each_finding_is_one_line_with_its_place() -> None:
    seen = EvidenceLine(input="run.log", line=7, text="x")
    there = finding(1, where=Where(file="a.py", line=3, function="f"))
    logged = finding(2, "RCP002", evidence=(seen,))
    lines = Concise.render(make_report(there, logged), Options()).splitlines()
    assert lines == [
        "a.py:3: GBR006 warning: thing 1 broke",
        "run.log:7: RCP002 warning: thing 2 broke",
    ]
    assert Concise.render(make_report(), Options()) == ""


def test_a_long_list_ends_by_cause() -> None:
    many = [finding(i) for i in range(50)] + [finding(i, "RCP002", name="r") for i in range(3)]
    page = Text.render(make_report(*many), Options())
    assert "21 more, by cause: 18 GBR006 print, 3 RCP002 r" in " ".join(page.split())
    assert max(map(len, page.splitlines())) <= 80
    assert "more, by cause" not in Text.render(make_report(*many), Options(verbose=True))
    assert "more, by cause" not in Text.render(make_report(*many[:32]), Options())


def test_many_findings_of_many_runs_begin_with_the_worst() -> None:
    names = [f"run{number}" for number in range(1, 31)]
    runs = tuple(Run(name=name, inputs=(f"{name}.log",)) for name in names)
    found = [finding(i, run=name) for i, name in enumerate(names)]
    worst = finding(99, "GBR002", name="b", severity=Severity.ERROR, run="run30")
    report = make_report(worst, *found).model_copy(update={"runs": runs})
    page = Text.render(report, Options())
    assert page.index("error[run30/GBR002") < page.index("warning[run1/GBR006")
    assert len(page.splitlines()) < 150
    assert page.index("The worst of 30 runs (-v goes run by run):") < page.index("error[run30")
    by_run = Text.render(report, Options(verbose=True))
    assert by_run.index("warning[run1/GBR006") < by_run.index("error[run30/GBR002")
    few = make_report(worst, *found[:5]).model_copy(update={"runs": runs})
    assert "run30: 1 error in run30.log" in Text.render(few, Options())


def test_a_terminal_links_files_that_are_there_and_nothing_else(
    tmp_path: Path, reports: dict[str, Report]
) -> None:
    there = tmp_path / "model.py"
    there.write_text("")
    page = Text.render(
        make_report(
            finding(1, where=Where(file=str(there), line=3)),
            finding(2, where=Where(file="/nowhere/x.py", line=3)),
        ),
        Options(link=target, redact=False),
    )
    links = dict(LINK.findall(page))
    assert [name for name in links if name.endswith("model.py")]
    assert not [name for name in links if "nowhere" in name]
    assert all(name.startswith("file://") for name in links)
    assert "\x1b]8" not in Text.render(reports["reference"], Options())


def test_links_are_made_where_the_user_forces_them(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for value, there in (("1", True), ("0", False)):
        monkeypatch.setenv("FORCE_HYPERLINK", value)
        assert main(["analyze", "--sample"]) == 0
        assert ("ONE001.md\x1b\\" in capfd.readouterr().out) is there
