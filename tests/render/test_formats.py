"""Formats for other tools: SARIF, JUnit, GitHub, GitLab, CSV."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.corpus import cases, log_of, needs_corpus
from tests.render.valid import github_problems, gitlab_problems, junit_problems, sarif_problems
from tracelens.cli import main
from tracelens.engine import analyze
from tracelens.render import Options
from tracelens.render.csv import HEADS, Csv
from tracelens.render.github import Github
from tracelens.render.gitlab import Gitlab
from tracelens.render.junit import Junit
from tracelens.render.sarif import GithubSarif, Sarif
from tracelens.report import Finding, Report, Severity, Where

ROOT = Path(__file__).parents[2]
BREAKS = ROOT / "fixtures" / "logs" / "graph_breaks" / "many-breaks.log.gz"


@pytest.mark.parametrize("format_", [Sarif, GithubSarif])
def test_sarif_is_what_its_schema_and_code_scanning_ask_for(
    format_: type[Sarif], report: Report
) -> None:
    assert sarif_problems(json.loads(format_.render(report, Options()))) == []


#: They fail before torch logs anything, and have no report.
NOTHING = {"torch_logs_help", "autotune_linear_relu_float32_int8"}
SAMPLE = [case for case in cases("2.13.0/*") if "art_" not in case.name][3::30]


@needs_corpus
@pytest.mark.parametrize(
    "case", [case for case in SAMPLE if case.name not in NOTHING], ids=lambda case: case.name
)
def test_a_sample_of_the_corpus_is_valid_in_the_formats_of_ci(case: Path) -> None:
    """All of it is checked by ``benchmarks/formats.py``."""
    report = analyze(log_of(case))
    assert sarif_problems(json.loads(Sarif.render(report, Options()))) == []
    assert junit_problems(ET.fromstring(Junit.render(report, Options()))) == []  # noqa: S314
    assert gitlab_problems(json.loads(Gitlab.render(report, Options()))) == []
    assert github_problems(Github.render(report, Options())) == []


def test_what_is_wrong_is_seen(reports: dict[str, Report]) -> None:
    report = reports["reference"]
    log = json.loads(Sarif.render(report, Options()))
    log["runs"][0]["results"][0] |= {"level": "bad", "ruleIndex": 1}
    assert len(sarif_problems(log)) >= 2
    tree = ET.fromstring(Junit.render(report, Options()))  # noqa: S314 -- our own
    next(tree.iter("testcase")).set("colour", "red")
    tree.set("tests", "0")
    assert junit_problems(tree) == ["testsuites: tests=0", "testcase: colour"]
    entries = json.loads(Gitlab.render(report, Options()))
    assert len(gitlab_problems([*entries, *entries])) == len(entries)
    assert github_problems("::error file=a.py::x\n") == ["::error file=a.py::x"]


def test_sarif_tells_what_became_of_every_rule(reports: dict[str, Report]) -> None:
    log = json.loads(Sarif.render(reports["reference"], Options()))
    kinds = {(r["ruleId"], r["kind"], r["level"]) for r in log["runs"][0]["results"]}
    assert kinds == {
        ("ONE001", "fail", "error"),
        ("ONE009", "fail", "warning"),
        ("ONE003", "fail", "warning"),
        ("GRD001", "fail", "note"),
        ("ONE019", "informational", "none"),
        ("ONE006", "pass", "none"),
        ("RCP001", "open", "none"),
        ("RCP004", "open", "none"),
        ("GBR001", "open", "none"),
        ("TRC001", "open", "none"),
        ("IND018", "review", "none"),
    }
    (silenced,) = [r for r in log["runs"][0]["results"] if "suppressions" in r]
    assert silenced["ruleId"] == "ONE003"
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is False
    # Code scanning takes every result for an alert, whatever its kind.
    told = json.loads(GithubSarif.render(reports["reference"], Options()))["runs"][0]["results"]
    assert [result["ruleId"] for result in told] == ["ONE001", "ONE009", "GRD001"]


def test_sarif_carries_the_page_of_a_rule(reports: dict[str, Report]) -> None:
    options = Options(page=lambda code: f"About {code}.\n\n## Why it matters\n`x`")
    driver = json.loads(Sarif.render(reports["reference"], options))["runs"][0]["tool"]["driver"]
    for rule in driver["rules"]:
        assert rule["help"]["markdown"].startswith(f"About {rule['id']}.\n\n## Why")
        assert rule["shortDescription"]["text"] == f"About {rule['id']}."


def at(*files: str) -> list[Finding]:
    return [
        Finding(
            id=f"GBR003-{number:06}",
            code="GBR003",
            name="print-or-builtin",
            severity=Severity.WARNING,
            title="`print` breaks the graph",
            message="",
            where=Where(file=file, line=number + 1, function="f"),
        )
        for number, file in enumerate(files)
    ]


def uris(report: Report, root: str = "") -> list[str]:
    log = json.loads(Sarif.render(report, Options(root=root)))
    return [
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in log["runs"][0]["results"]
    ]


def test_paths_are_relative_to_the_root_or_to_the_users_code(reports: dict[str, Report]) -> None:
    files = (
        "/home/ana/proj/src/model.py",
        "/home/ana/proj/train.py",
        "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py",
        "relative/net work.py",
    )
    report = reports["one"].model_copy(update={"findings": tuple(at(*files))})
    library = "torch/nn/modules/linear.py"
    assert uris(report) == ["src/model.py", "train.py", library, "relative/net%20work.py"]
    root = uris(report, "/home/ana")
    assert root == ["proj/src/model.py", "proj/train.py", library, "relative/net%20work.py"]
    up = report.model_copy(update={"findings": tuple(at("../../etc/x.py", "C:\\Users\\ana\\m.py"))})
    assert uris(up) == ["etc/x.py", "m.py"]


def test_junit_has_a_case_for_every_rule(report: Report) -> None:
    tree = ET.fromstring(Junit.render(report, Options()))  # noqa: S314 -- our own
    assert junit_problems(tree) == []
    failing = [finding for finding in report.told if finding.severity is not Severity.INFO]
    assert len(list(tree.iter("failure"))) == len(failing)


def test_junit_fails_warnings_and_skips_what_had_no_evidence(reports: dict[str, Report]) -> None:
    tree = ET.fromstring(Junit.render(reports["reference"], Options()))  # noqa: S314 -- our own
    became = {
        str(case.get("classname")).removeprefix("tracelens."): [child.tag for child in case]
        for case in tree.iter("testcase")
    }
    assert became["ONE001"] == became["ONE009"] == ["failure"]
    assert became["GRD001"] == became["ONE003"] == ["system-out"]
    assert became["ONE006"] == []
    assert became["RCP001"] == ["skipped"]
    assert became["IND018"] == ["error"]


def test_annotations_are_one_line_each_and_ten_at_most() -> None:
    report = analyze(str(BREAKS))
    lines = Github.render(report, Options()).splitlines()
    commands = [line for line in lines if line.startswith("::")]
    assert len(commands) == 10
    assert len(lines) == 11
    assert github_problems("\n".join(lines)) == []
    assert [f.code in line for f, line in zip(report.told, commands, strict=False)] == [True] * 10


def test_an_annotation_cannot_smuggle_a_command(reports: dict[str, Report]) -> None:
    (evil,) = at("a,b:c\n::stop.py")
    evil = evil.model_copy(update={"title": "x\n::add-mask::y %0A::error::z"})
    report = reports["one"].model_copy(update={"findings": (evil,)})
    first, last = Github.render(report, Options()).splitlines()
    assert first.startswith("::warning file=a%2Cb%3Ac%0A%3A%3Astop.py,line=1,")
    assert "x ::add-mask::y %250A" in first
    assert not last.startswith("::")


def test_gitlab_entries_have_what_gitlab_asks_for(report: Report) -> None:
    entries = json.loads(Gitlab.render(report, Options()))
    assert len(entries) == len(report.told)
    assert gitlab_problems(entries) == []


def test_csv_has_a_row_for_every_finding_and_no_formula(report: Report) -> None:
    head, *rows = csv.reader(io.StringIO(Csv.render(report, Options())))
    assert tuple(head) == HEADS
    assert [row[1] for row in rows] == [finding.id for finding in report.findings]
    assert not [cell for row in rows for cell in row if cell[:1] in {"=", "+", "-", "@"}]
    assert [row[6] == "shown" for row in rows].count(True) == len(report.shown)


def test_several_formats_of_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["r.json", "r.md", "r.html", "r.sarif", "r.github.sarif", "r.xml", "r.csv", "r.txt"]
    names.append("gl-code-quality-report.json")
    options = [word for name in names for word in ("-o", str(tmp_path / name))]
    assert main(["analyze", str(BREAKS), *options, "-f", "github"]) == 0
    assert capsys.readouterr().out.startswith("::error file=")
    assert all((tmp_path / name).stat().st_size > 100 for name in names)
    results = [
        len(json.loads((tmp_path / name).read_text())["runs"][0]["results"])
        for name in ("r.sarif", "r.github.sarif")
    ]
    assert results[0] > 200 > results[1]
    assert isinstance(json.loads((tmp_path / "gl-code-quality-report.json").read_text()), list)
    for name in names:
        text = (tmp_path / name).read_text()
        text = text.partition('"invocations"')[2] or text  # the pages of rules quote logs
        assert ("/home/ana" in text) is (name == "r.json")


def test_the_summary_of_a_step_is_added_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    main(["analyze", str(BREAKS), "-f", "github"])
    text = summary.read_text()
    assert text.startswith("before\n## tracelens: ")
    assert "<details>" in text
    summary.write_text("x" * 999_000)
    main(["analyze", str(BREAKS), "-f", "github"])
    assert summary.stat().st_size <= 1_000_000
    main(["analyze", str(BREAKS), "-f", "markdown"])
    assert summary.stat().st_size == 999_000
    capsys.readouterr()


def test_a_folder_of_csv_holds_every_table_with_all_digits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = str(ROOT / "fixtures" / "logs" / "chrome_trace" / "mlp-train.json.gz")
    folder = tmp_path / "tables"
    assert main(["analyze", trace, "-f", "csv", "-o", f"{folder}/"]) == 0
    assert not capsys.readouterr().out
    tables = analyze(trace).tables
    assert {file.name for file in folder.iterdir()} == {
        "findings.csv",
        *(f"{name}.csv" for name in tables),
    }
    for name, rows in tables.items():
        head, *cells = csv.reader(io.StringIO((folder / f"{name}.csv").read_text()))
        assert len(cells) == len(rows)
        for row, values in zip(rows, cells, strict=True):
            for key, value in zip(head, values, strict=True):
                if isinstance(row.get(key), float):
                    assert float(value) == row[key]
                elif row.get(key) is None:
                    assert not value


def test_a_folder_takes_a_format_of_several_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", str(BREAKS), "-f", "json", "-o", str(tmp_path)]) == 2
    assert "-f csv" in capsys.readouterr().err
    assert main(["analyze", str(BREAKS), "-f", "csv", "-o", f"{tmp_path}/no/such/"]) == 2


def test_a_place_without_a_line_has_none_in_an_annotation() -> None:
    report = analyze(str(BREAKS))
    found = next(one for one in report.findings if one.where and one.where.line)
    assert found.where is not None
    bare = found.model_copy(update={"where": found.where.model_copy(update={"line": None})})
    for one, expected in ((found, True), (bare, False)):
        alone = report.model_copy(update={"findings": (one,)})
        assert (",line=" in Github.render(alone, Options()).split("::")[1]) == expected
