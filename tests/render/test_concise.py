"""One line for each finding, links of a terminal, and long lists that end by cause."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from tests.render.conftest import make_report
from tracelens.cli import main
from tracelens.cli._links import target
from tracelens.render import Options
from tracelens.render.concise import Concise
from tracelens.render.text import Text
from tracelens.report import Advice, Cost, EvidenceLine, Finding, Report, Run, Severity, Where

LINK = re.compile(r"\x1b\]8;;([^\x1b]*)\x1b\\(.*?)\x1b\]8;;\x1b\\")


def finding(number: int, code: str = "GBR006", **more: object) -> Finding:
    given: dict[str, object] = {"id": f"{code}-{number:06}", "code": code, "name": "print"}
    given |= {"severity": Severity.WARNING, "title": f"thing {number}\nbroke", "message": ""}
    return Finding.model_validate(given | more)


def widest(lines: list[str]) -> int:
    """Return how long the longest line is but for a command, which is pasted as one."""
    return max(len(line) for line in lines if "python your_program.py" not in line)


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
    assert widest(page.splitlines()) <= 80
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
    told = Text.render(few, Options())
    assert told.index("run30: 1 error in run30.log") < told.index("run1: 1 warning in run1.log")
    in_turn = Text.render(few, Options(verbose=True))
    assert in_turn.index("run1: 1 warning") < in_turn.index("run30: 1 error")


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


def test_a_line_of_many_keeps_its_place_or_its_cost_whole() -> None:
    long = "`update` is compiled again for every value of the very long name of an attribute"
    where = Where(file="/home/ana/proj/deep/down/model.py", line=1234)
    cost = Cost(ms=1234.0, basis="upper_bound")
    few = [finding(i, severity=Severity.ERROR) for i in range(12)]
    placed = finding(20, title=long, where=where)
    told = finding(21, title=f"{long} at model.py:1234", where=where)
    priced = finding(22, title=long, cost=cost)
    lines = Text.render(make_report(*few, placed, told, priced), Options()).splitlines()
    ends = [line for line in lines if line.startswith("  warning[GBR006] `update`")]
    assert [line.endswith(" --> model.py:1234") for line in ends].count(True) == 1
    assert [line.count("model.py:1234") for line in ends].count(1) == 2
    assert [line.endswith(" (at most 1.2 s)") for line in ends].count(True) == 1
    assert widest(lines) <= 80


def test_what_is_harmless_says_why_once() -> None:
    same = [
        finding(i, severity=Severity.NONE, harmless="by design", title="same") for i in range(3)
    ]
    other = finding(7, severity=Severity.NONE, harmless="by design", title="other")
    odd = finding(8, "RCP003", severity=Severity.NONE, harmless="once", title="odd")
    page = Text.render(make_report(*same, other, odd), Options())
    said = "5 notes, nothing to do:\n  GBR006 same (3 times)\n  GBR006 other\n"
    assert f"{said}         harmless here: by design\n  RCP003 odd\n" in page


def test_the_first_fix_is_on_the_first_screen_and_on_the_last() -> None:
    """Of 200 findings: a terminal shows the end of what was printed, an editor its beginning."""
    fix = Advice(id="a", text="Set it to 8.", setting="torch.x = 8", basis="source")
    worst = finding(1, severity=Severity.ERROR, advice=(fix,), title="the worst of all")
    rest = [finding(i, message="Words. " * 40) for i in range(2, 201)]
    lines = Text.render(make_report(worst, *rest), Options()).splitlines()
    for screen in (lines[:40], lines[-40:]):
        assert any("the worst of all" in line for line in screen)
        assert "  fix: Set it to 8." in screen
        assert "         torch.x = 8" in screen
    assert widest(lines) <= 80
    few = Text.render(make_report(worst, *rest[:1]), Options())
    assert few.count("Set it to 8.") == 1


def test_what_ended_the_program_has_no_cost_in_time() -> None:
    ended = finding(1, "TUN005", severity=Severity.ERROR, data={"ended_program": True})
    assert "cost: none in time: it is a failure" in Text.render(make_report(ended), Options())


def test_what_would_show_the_cost_of_a_function_that_runs_eagerly_is_a_trace() -> None:
    """Nothing is compiled after such a break: a log of compiling shows nothing of it."""
    some = finding(1, data={"records": 3, "skipped": 1})
    each = finding(2, data={"records": 3, "skipped": 3})
    page = Text.render(make_report(some, each), Options())
    assert page.count("cost: unknown: needs TORCH_TRACE=trace_dir") == 1
    assert page.count("cost: unknown: needs a profiler trace") == 1


@pytest.mark.parametrize("form", ["text", "concise", "json"])
def test_files_below_where_one_stands_are_named_from_there(
    form: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As its reader opens them; what a program reads names them in full, as does another folder."""
    rules = Path(__file__).parents[2] / "fixtures" / "rules"
    log = rules / "RCP001-recompile-limit-hit" / "fires-little-of-compiling.log.gz"
    there = tmp_path / "proj"
    there.mkdir()
    text = gzip.decompress(log.read_bytes()).decode().replace("/home/ana/proj", str(there))
    (there / "run.log").write_text(text, encoding="utf-8")
    whole = f"{there}/mixer/app.py"
    for folder, named in ((there, "mixer/app.py"), (tmp_path, "proj/mixer/app.py"), (rules, whole)):
        monkeypatch.chdir(folder)
        main(["analyze", str(there / "run.log"), "-f", form, "--no-redact"])
        words = re.split(r'[\s":]+', capsys.readouterr().out)
        assert (whole if form == "json" else named) in words
