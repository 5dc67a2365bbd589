"""``tracelens issue``: complete, without names, to the right project, and opened by nobody."""

from __future__ import annotations

import re
import webbrowser
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.render.conftest import make_report
from tracelens import Finding, Severity, Where, analyze
from tracelens.cli import main
from tracelens.render._issue import Issue, address, named, repository, search

ROOT = Path(__file__).parents[1]
LOG = ROOT / "fixtures" / "logs" / "samples" / "aarch64-bf16-linear.log"


def finding(code: str = "GBR004", file: str = "a.py", **more: object) -> Finding:
    given: dict[str, object] = {"id": f"{code}-1", "code": code, "name": "x", "message": ""}
    given |= {"severity": Severity.WARNING, "title": "`print` breaks the graph"}
    return Finding.model_validate(given | {"where": Where(file=file, line=1)} | more)


def test_an_issue_has_all_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda *_: pytest.fail("opened"))
    (tmp_path / "report.json").write_text(analyze(str(LOG)).to_json())
    assert main(["issue", "report.json"]) == 0
    said = capsys.readouterr().out
    text = (tmp_path / "tracelens-issue" / "issue.md").read_text()
    for part in ("# inner_product", "### What happens", "### What the log says", "### Environment"):
        assert part in text
    assert "ref:any" in text
    script = (tmp_path / "tracelens-issue" / "repro.py").read_text()
    compile(script, "repro.py", "exec")
    assert script.strip() in text
    url = next(line.strip() for line in said.splitlines() if "/issues/new" in line)
    asked = parse_qs(urlsplit(url).query)
    assert urlsplit(url).path == "/uxlfoundation/oneDNN/issues/new"
    assert asked["title"] == [text.partition("\n")[0].removeprefix("# ")]
    assert len(url) <= 7_000
    assert "search first for: " in said


def test_headings_stand_alone_where_the_log_names_no_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (log,) = sorted(LOG.parents[2].glob("rules/GBR003-*/fires-*"))[:1]
    monkeypatch.chdir(tmp_path)
    assert main(["issue", str(log)]) == 0
    text = (tmp_path / "tracelens-issue" / "issue.md").read_text().partition("```python")[0]
    assert "The log does not say." in text
    assert not re.search(r"[^\n]\n#", text)


@pytest.mark.parametrize(
    ("one", "wanted"),
    [
        (finding("ONE001"), "uxlfoundation/oneDNN"),
        (finding(data={"package": "transformers"}), "huggingface/transformers"),
        (finding(file="/v/site-packages/diffusers/x.py"), "huggingface/diffusers"),
        (finding(file="<site-packages>/peft/x.py"), "huggingface/peft"),
        (finding(file="/v/site-packages/unheard_of/x.py"), "pytorch/pytorch"),
        (finding(), "pytorch/pytorch"),
    ],
)
def test_it_goes_to_the_library_that_it_is_in(one: Finding, wanted: str) -> None:
    assert repository(one) == wanted


def test_what_is_of_the_users_own_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    report = make_report(finding(file="/home/ana/secret_project/model.py"))
    (tmp_path / "report.json").write_text(report.to_json())
    assert main(["issue", "report.json", "GBR004"]) == 0
    said = capsys.readouterr().out
    assert "~/secret_project/model.py:1" in said
    assert "ana" not in (tmp_path / "tracelens-issue" / "issue.md").read_text()
    assert main(["issue", "report.json", "NOPE"]) == 2


def test_a_long_text_leaves_the_address_short() -> None:
    issue = Issue("a/b", "title", "x" * 20_000)
    url = address(issue, issue.body, "paste it")
    assert len(url) < 200
    assert url.endswith("body=paste%20it")


def test_the_words_to_search_are_the_rare_ones() -> None:
    one = finding(title="`aten.nonzero.default` breaks the graph in this model")
    assert search(one)[0] == "aten.nonzero.default"
    assert "breaks" not in search(one)


def test_the_lines_of_a_program_are_no_words_to_search() -> None:
    lines = ["Graph break in user code at ~/proj/infer.py:9", "Failed to trace builtin operator"]
    one = finding(
        title="`print` breaks the graph at proj/infer.py:9",
        message='proj/infer.py:9: `print("shape", x.shape)`. The function is cut in two.',
        evidence=[{"input": "run.log", "line": n, "text": t} for n, t in enumerate(lines, 1)],
    )
    assert search(one) == ["print", "Failed", "trace", "builtin", "operator"]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("pytorch", "pytorch/pytorch"),
        ("oneDNN", "uxlfoundation/oneDNN"),
        ("ana/model.x", "ana/model.x"),
        ("hugging", ""),
        ("a/b/c", ""),
        ("a/b?x=1", ""),
    ],
)
def test_a_project_is_named_in_full_or_as_people_call_it(said: str, meant: str) -> None:
    assert named(said) == meant


def test_a_project_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.json").write_text(make_report(finding()).to_json())
    assert main(["issue", "report.json", "--to", "transformer"]) == 2
    said = capsys.readouterr().err
    assert "--to transformer: not a project on GitHub" in said
    assert "did you mean transformers" in said
    assert not (tmp_path / "tracelens-issue").exists()
