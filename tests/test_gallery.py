"""What is generated is up to date: the reports in reports/, the rules' pages in docs/rules/.

After a change that is meant, ``pytest tests/test_gallery.py --update-gallery`` writes both anew.
"""

import os
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.pictures import terminal
from tests.render.test_browser import browse, chromium
from tracelens.cli import main
from tracelens.engine import analyze
from tracelens.plugins.registry import discover
from tracelens.render import Options, Renderer, _first, _words
from tracelens.render._spent import by_run
from tracelens.render.html import Html
from tracelens.render.text import Text
from tracelens.report import Report
from tracelens.rules import Rule

__all__ = ["chromium"]

ROOT = Path(__file__).parents[1]
LOGS = Path("fixtures/logs")
REPORTS = ROOT / "reports"

RULE_LOGS = Path("fixtures/rules")
#: Name of the report: the inputs that it is made of, one of each kind that there is.
GALLERY: dict[str, tuple[str, ...]] = {
    "aarch64-bf16-linear": (f"{LOGS}/samples/aarch64-bf16-linear.log",),
    "clean-trace": (f"{LOGS}/chrome_trace/encoder-compiled-stack.json.gz",),
    "crashed": (f"{RULE_LOGS}/ERR001-no-c-compiler/fires-no-cxx.log",),
    "fn-x-n": (f"{LOGS}/recompiles/fn-x-n.log",),
    "many-breaks": (f"{LOGS}/graph_breaks/many-breaks.log.gz",),
    "many-runs": (f"{RULE_LOGS}/RCP00[1-3]*/fires-*",),
    "max-autotune": (f"{LOGS}/autotune/mlp3-float32.log.gz",),
    "nothing-compiled": (f"{LOGS}/mkl_verbose/*",),
    "ranks": (f"{LOGS}/chrome_trace/ranks/*",),
    "what-if": ("fixtures/reports/what-if.json",),
}
#: A report that is only there as a page: it is about what a page can hold.
HUGE = {"huge": (f"{RULE_LOGS}/GBR*/fires-*",)}
#: Comparisons: before and after.
_RESNET = RULE_LOGS / "IND004-cpu-inference-not-frozen"
COMPARED = {"compare": (f"{_RESNET}/fires-resnet.log.gz", f"{_RESNET}/quiet-frozen-resnet.log.gz")}
PICTURES = ("report.png", "terminal.svg")
#: The page that the README shows.
PICTURED = "many-breaks.html"
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


def made(name: str) -> Report:
    """Return a report of the gallery by name. Its paths are relative to the project."""
    patterns = {**GALLERY, **HUGE}[name]
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        paths = [str(path) for pattern in patterns for path in sorted(Path().glob(pattern))]
        if paths[0].startswith("fixtures/reports"):
            return Report.model_validate_json(Path(paths[0]).read_bytes())
        return analyze(*paths)
    finally:
        os.chdir(here)


@pytest.fixture(scope="module", params=GALLERY)
def case(request: pytest.FixtureRequest) -> tuple[str, Report]:
    """Return each report of the gallery with its name."""
    return request.param, made(request.param)


@pytest.mark.parametrize("suffix", SHOWN)
def test_the_gallery_is_up_to_date(
    case: tuple[str, Report], suffix: str, pytestconfig: pytest.Config
) -> None:
    name, report = case
    renderer = next(cls for cls in RENDERERS if suffix in cls.suffixes)
    text = renderer.render(report, Options(max_chars=60_000))
    check(REPORTS / f"{name}{suffix}", text, pytestconfig)


def test_the_huge_report_is_a_page_that_can_be_opened(pytestconfig: pytest.Config) -> None:
    report = made("huge")
    assert len(report.runs) > 50
    text = Html.render(report, Options())
    assert len(text.encode()) < 5_000_000
    check(REPORTS / "huge.html", text, pytestconfig)


@pytest.mark.parametrize("suffix", SHOWN)
def test_the_comparison_is_up_to_date(
    suffix: str, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["compare", *COMPARED["compare"], "-q", "-o", str(tmp_path / f"a{suffix}")]) == 0
    made_now = (tmp_path / f"a{suffix}").read_text(encoding="utf-8")
    check(REPORTS / f"compare{suffix}", made_now, pytestconfig)


def test_the_terminal_has_its_picture(pytestconfig: pytest.Config) -> None:
    text = Text.render(made("aarch64-bf16-linear"), Options(color=True))
    check(REPORTS / "terminal.svg", terminal(text, "tracelens analyze run.log"), pytestconfig)


def test_the_page_has_its_picture() -> None:
    picture = (REPORTS / "report.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 250_000


@pytest.mark.browser
def test_the_picture_of_the_page_can_be_taken(
    chromium: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """Fonts differ from machine to machine, so that the picture is taken when that is asked."""
    shot = tmp_path / "report.png"
    page = tmp_path / PICTURED
    page.write_bytes((REPORTS / PICTURED).read_bytes())
    browse(chromium, page, "--window-size=1200,860", "--hide-scrollbars", f"--screenshot={shot}")
    if pytestconfig.getoption("update_gallery"):
        (REPORTS / "report.png").write_bytes(shot.read_bytes())
    assert 10_000 < shot.stat().st_size < 250_000


def test_the_gallery_holds_nothing_else() -> None:
    wanted = {f"{name}{suffix}" for name in (*GALLERY, *COMPARED) for suffix in SHOWN}
    pages = {f"{name}.html" for name in HUGE}
    assert {path.name for path in REPORTS.iterdir()} == wanted | pages | {*PICTURES}


@pytest.mark.parametrize("renderer", RENDERERS, ids=lambda renderer: renderer.name)
def test_every_format_is_a_function_of_the_saved_report(
    case: tuple[str, Report], renderer: type[Renderer]
) -> None:
    _, report = case
    options = Options(max_chars=60_000)
    saved = Report.model_validate_json(report.to_json())
    assert renderer.render(saved, options) == renderer.render(report, options)


def test_the_formats_say_the_same_numbers(case: tuple[str, Report]) -> None:
    """The sentence, the costs and the times are one text each, wherever they are told."""
    _, report = case
    words = [_first.verdict(report)] if len(report.told) > 1 else []
    words += [cost for one in report.told if (cost := _words.costs(one))]
    words += [_words.milliseconds(part.ms) for bar in by_run(report).bars for part in bar.parts]
    whole = Options(max_chars=10_000_000, verbose=True)
    told = {cls.name: plain(cls.render(report, whole)) for cls in RENDERERS if cls.name in PROSE}
    assert len(told) == 3
    for name, text in told.items():
        missing = [word for word in words if plain(word) not in text]
        assert missing == [], name


#: Formats that are read by people.
PROSE = {"text", "markdown", "html"}


def plain(text: str) -> str:
    """Return the characters that are read: no tags, marks, escapes or space."""
    shown = unescape(
        re.sub(r"<(style|script)\b.*?</\1>|</?[a-z][^<>]*>", "", text, flags=re.DOTALL)
    )
    return re.sub(r"[\s`\\*\u200b]", "", shown)


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
