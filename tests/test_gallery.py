"""What is generated is up to date: the reports in reports/, the rules' pages in docs/rules/.

After a change that is meant, ``pytest tests/test_gallery.py --update-gallery`` writes both anew.
"""

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tracelens.cli import main
from tracelens.engine import analyze
from tracelens.plugins.registry import discover
from tracelens.render import Options, Renderer
from tracelens.report import Report
from tracelens.rules import Rule

ROOT = Path(__file__).parents[1]
LOGS = Path("fixtures/logs")
REPORTS = ROOT / "reports"

#: Name of the report: the log that it is made of.
GALLERY = {
    "aarch64-bf16-linear": LOGS / "samples" / "aarch64-bf16-linear.log",
    "fn-x-n": LOGS / "recompiles" / "fn-x-n.log",
    "many-breaks": LOGS / "graph_breaks" / "many-breaks.log.gz",
    "max-autotune": LOGS / "autotune" / "mlp3-float32.log.gz",
}
SHOWN = (".txt", ".md", ".html")
RENDERERS = discover("renderers", Renderer)
PAGES = ROOT / "docs" / "rules"
INDEX = """# Rules

*Severity* is where a rule starts; each finding has its own. *Reads* names log kinds, of which some
may be missing; *needs* is what a rule cannot do without: nothing where torch prints it unasked.
*Tested live by* is the one thing that `tracelens confirm` changes, or why it has nothing to change.
*Since* is a version of tracelens.

"""
RULES = [rule for rule in discover("rules", Rule) if rule.__module__.startswith("tracelens.")]


@pytest.fixture(scope="module", params=GALLERY)
def case(request: pytest.FixtureRequest) -> tuple[str, Report]:
    """Return a report of the gallery by name. Its paths are relative to the project."""
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        return request.param, analyze(GALLERY[request.param].as_posix())
    finally:
        os.chdir(here)


@pytest.mark.parametrize("suffix", SHOWN)
def test_the_gallery_is_up_to_date(
    case: tuple[str, Report], suffix: str, pytestconfig: pytest.Config
) -> None:
    name, report = case
    renderer = next(cls for cls in RENDERERS if suffix in cls.suffixes)
    text = renderer.render(report, Options(max_chars=60_000))
    check(REPORTS / f"{name}{suffix}", text, pytestconfig)


def test_the_gallery_holds_nothing_else() -> None:
    wanted = {f"{name}{suffix}" for name in GALLERY for suffix in SHOWN}
    assert {path.name for path in REPORTS.iterdir()} == wanted


@pytest.mark.parametrize("renderer", RENDERERS, ids=lambda renderer: renderer.name)
def test_every_format_is_a_function_of_the_saved_report(
    case: tuple[str, Report], renderer: type[Renderer]
) -> None:
    _, report = case
    options = Options(max_chars=60_000)
    saved = Report.model_validate_json(report.to_json())
    assert renderer.render(saved, options) == renderer.render(report, options)


def test_a_page_asks_the_network_for_nothing(case: tuple[str, Report]) -> None:
    name, _ = case
    finder = Outside()
    finder.feed((REPORTS / f"{name}.html").read_text(encoding="utf-8"))
    assert finder.found == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_page_of_a_rule_is_up_to_date(
    rule: type[Rule], capsys: pytest.CaptureFixture[str], pytestconfig: pytest.Config
) -> None:
    assert main(["explain", rule.code, "-f", "markdown"]) == 0
    check(PAGES / f"{rule.code}.md", capsys.readouterr().out, pytestconfig)


def test_the_readme_shows_what_the_first_command_prints(
    capsys: pytest.CaptureFixture[str], pytestconfig: pytest.Config
) -> None:
    assert main(["analyze", "--sample"]) == 0
    shown = capsys.readouterr().out
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    prompt = "```console\n$ tracelens analyze --sample\n"
    before, _, after = page.partition(prompt)
    check(
        ROOT / "README.md", f"{before}{prompt}{shown}```{after.partition('```')[2]}", pytestconfig
    )


def test_the_index_lists_every_rule(
    capsys: pytest.CaptureFixture[str], pytestconfig: pytest.Config
) -> None:
    assert main(["rules", "-f", "markdown"]) == 0
    table = capsys.readouterr().out
    linked = re.sub(r"^\| ([A-Z]{3}\d{3}) ", r"| [\1](\1.md) ", table, flags=re.MULTILINE)
    assert linked.count(".md)") == len(RULES)
    check(PAGES / "index.md", INDEX + linked, pytestconfig)


def test_every_page_belongs_to_a_rule() -> None:
    assert {path.stem for path in PAGES.iterdir()} - {"index"} == {rule.code for rule in RULES}


def check(path: Path, text: str, config: pytest.Config) -> None:
    """Compare a generated file with what it should hold; write it first when that is asked."""
    if config.getoption("update_gallery"):
        path.write_text(text, encoding="utf-8", newline="\n")
    assert path.is_file(), "--update-gallery writes it"
    assert path.read_text(encoding="utf-8") == text, "--update-gallery writes it anew"


class Outside(HTMLParser):
    """Collects the addresses in a page that a browser would fetch: all but plain links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if "://" in (value or "") and (tag, name) != ("a", "href"):
                self.found.append(f"<{tag} {name}={value!r}>")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "style":
            self.found += re.findall(r"url\(.{0,40}|@import.{0,40}", data)
