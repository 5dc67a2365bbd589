"""What the HTML page does in a real browser: filter, sort, keys, print, and for whom it works."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.render.test_browser import browse, chromium
from tracelens import analyze
from tracelens.render import Options
from tracelens.render.html import MAX_ARTICLES, Html
from tracelens.report import Cost, Finding, Report, Severity, Where

__all__ = ["chromium"]

SAMPLE = Path(__file__).parents[2] / "fixtures" / "logs" / "samples" / "aarch64-bf16-linear.log"
#: Of the accessibility rules, in a major version that its authors keep compatible.
AXE = "axe-core@4"
CODES = ("GBR001", "ONE001", "RCP001", "IND002")


def many(report: Report, count: int) -> Report:
    """Return a report with so many findings, and frames twice as many."""
    like = report.findings[0]
    findings = tuple(
        like.model_copy(
            update={
                "id": f"{CODES[n % 4]}-{n:06x}",
                "code": CODES[n % 4],
                "severity": list(Severity)[n % 3],
                "title": f"finding number {n} of all",
                "where": Where(file=f"/home/ana/proj/part{n % 37}.py", line=n, function="f"),
                "cost": Cost(ms=float(n % 997), basis="measured"),
                "count": n % 13 + 1,
            }
        )
        for n in range(count)
    )
    frames = [
        {"frame": f"{n // 4}/{n % 4}", "function": f"f{n // 4}", "compile_s": 0.1 + n % 7}
        for n in range(2 * count)
    ]
    ordered = tuple(sorted(findings, key=lambda one: one.order))
    return report.model_copy(update={"findings": ordered, "tables": {"frames": frames}})


def test_a_long_page_is_small_and_has_few_elements(reports: dict[str, Report]) -> None:
    source = Html.render(many(reports["reference"], 5000), Options())
    assert len(source.encode()) <= 5_000_000
    assert len(re.findall(r"<[a-z]", source)) <= 120_000
    assert source.count("<article") == MAX_ARTICLES
    assert source.count('<li class="row"') == 5000


def probe(tmp_path: Path, report: Report, script: str) -> Path:
    """Write the page with ``script`` at its end, which the policy of the page would refuse."""
    source = Html.render(report, Options())
    source = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", source)
    page = tmp_path / "report.html"
    page.write_text(source.replace("</body>", f"<script>{script}</script></body>"), "utf-8")
    return page


def answer(dom: str) -> object:
    """Return what a probe has left."""
    found = re.search(r'data-answer="([^"]*)"', dom)
    assert found is not None, "the probe has not finished"
    return json.loads(html.unescape(found[1]))


STEPS = """
addEventListener("load", async () => {
  const shown = () => [...document.querySelectorAll(".row")].filter((row) => !row.hidden);
  const ids = () => shown().slice(0, 3).map((row) => row.dataset.id);
  const set = (element, value, kind) => {
    element.value = value;
    element.dispatchEvent(new Event(kind, { bubbles: true }));
  };
  const press = (key) =>
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const out = { drawn: shown().length };
  const more = document.querySelector("[data-more]");
  out.others = more.hidden ? "" : more.textContent;
  more.click();
  out.all = shown().length;
  out.focus = document.activeElement === shown()[300].querySelector("a");
  const search = document.querySelector("[type=search]");
  set(search, "Number 17 ", "input");
  out.words = ids();
  out.articles = [...document.querySelectorAll("article")].filter((one) => !one.hidden).length;
  set(search, "", "input");
  out.again = shown().length;
  set(document.querySelector("select[data-key=family]"), "ONE", "input");
  out.family = shown().every((row) => row.dataset.code === "ONE001");
  set(document.querySelector("select[data-key=file]"), shown()[0].dataset.file, "input");
  out.file = new Set(shown().map((row) => row.dataset.file)).size;
  set(document.querySelector("select[data-key=file]"), "", "input");
  set(document.querySelector("select[data-key=family]"), "", "input");
  document.querySelector("input[value=error]").click();
  out.severity = shown().some((row) => row.dataset.severity === "error");
  document.querySelector("input[value=error]").click();
  set(document.querySelector("[data-sort]"), "cost", "change");
  const costs = shown().map((row) => Number(row.dataset.cost));
  out.sorted = costs.every((cost, at) => !at || cost <= costs[at - 1]);
  set(document.querySelector("[data-sort]"), "", "change");
  press("j"); await new Promise((done) => setTimeout(done, 20));
  out.first = document.activeElement.id === shown()[0].dataset.id;
  press("j"); await new Promise((done) => setTimeout(done, 20));
  out.second = document.activeElement.id === shown()[1].dataset.id;
  press("k"); await new Promise((done) => setTimeout(done, 20));
  out.back = document.activeElement.id === shown()[0].dataset.id;
  press("/");
  out.search = document.activeElement === search;
  const last = shown().at(-1);
  last.querySelector("a").click();
  await new Promise((done) => setTimeout(done, 300));
  const article = document.getElementById(last.dataset.id);
  out.unfolded = Boolean(article) && article.textContent.includes("Leave this model unfrozen");
  document.documentElement.dataset.answer = JSON.stringify(out);
});
"""


@pytest.mark.browser
def test_the_findings_are_filtered_sorted_and_walked_through(
    chromium: str, tmp_path: Path, reports: dict[str, Report]
) -> None:
    page = probe(tmp_path, many(reports["reference"], 400), STEPS)
    said = answer(browse(chromium, page, "--dump-dom"))
    assert isinstance(said, dict)
    words, articles = said.pop("words"), said.pop("articles")
    assert len(words) == 1
    assert articles <= 1
    assert said == {
        "drawn": 300, "others": "Show the other 100", "all": 400, "focus": True, "again": 300,
        "family": True, "file": 1, "severity": False, "sorted": True, "first": True,
        "second": True, "back": True, "search": True, "unfolded": True,
    }  # fmt: skip


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core, from the package registry."""
    npm = shutil.which("npm")
    folder = tmp_path_factory.mktemp("axe")
    if npm is not None:
        command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", AXE]
        subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
    found = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not found.is_file():
        if os.environ.get("TRACELENS_BROWSER"):
            pytest.fail(f"{AXE} cannot be had from the registry of npm")
        pytest.skip("axe-core cannot be had, and TRACELENS_BROWSER is not set")
    return found.read_text(encoding="utf-8").replace("</script", "<\\/script")


CHECK = """
addEventListener("load", async () => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  const said = await axe.run(document, { resultTypes: ["violations"] });
  const wrong = said.violations.filter((one) => ["serious", "critical"].includes(one.impact));
  document.documentElement.dataset.answer = JSON.stringify(
    wrong.map((one) => [one.id, one.nodes.length, one.nodes[0].html.slice(0, 200)]));
});
"""


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "scheme", "columns"),
    [("reference", 1, 1280), ("recompiles", 0, 420), ("clean", 0, 1280)],
    ids=["light", "dark-420", "clean-dark"],
)
def test_everybody_can_read_the_page(  # noqa: PLR0917 -- fixtures
    chromium: str,
    axe: str,
    tmp_path: Path,
    reports: dict[str, Report],
    name: str,
    scheme: int,
    columns: int,
) -> None:
    report = reports[name]
    frames = [{"frame": "0/0", "function": "f", "compile_s": 3.0, "breaks": 1}]
    report = report.model_copy(update={"tables": {**report.tables, "frames": frames}})
    page = probe(tmp_path, report, axe + CHECK)
    settings = f"--blink-settings=preferredColorScheme={scheme}"
    dom = browse(chromium, page, "--dump-dom", settings, f"--window-size={columns},900")
    assert answer(dom) == []


@pytest.mark.browser
@pytest.mark.parametrize("name", ["compare", "max-autotune", "ranks", "what-if"])
def test_everybody_can_read_the_gallery(chromium: str, axe: str, tmp_path: Path, name: str) -> None:
    """Those with the most drawings, in the dark and on a narrow window, where contrast fails."""
    source = (Path(__file__).parents[2] / "reports" / f"{name}.html").read_text(encoding="utf-8")
    source = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", source)
    page = tmp_path / "report.html"
    page.write_text(source.replace("</body>", f"<script>{axe}{CHECK}</script></body>"), "utf-8")
    settings = "--blink-settings=preferredColorScheme=0"
    wait = "--virtual-time-budget=60000"
    dom = browse(chromium, page, "--dump-dom", settings, wait, "--window-size=420,900")
    assert answer(dom) == []


@pytest.mark.browser
def test_two_findings_are_printed_on_two_pages(
    chromium: str, tmp_path: Path, reports: dict[str, Report]
) -> None:
    report = reports["reference"]
    two: tuple[Finding, ...] = report.told[:2]
    page, paper = tmp_path / "report.html", tmp_path / "report.pdf"
    page.write_text(Html.render(report.model_copy(update={"findings": two}), Options()), "utf-8")
    browse(chromium, page, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    assert len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes())) <= 2


def test_lines_that_were_not_understood_are_shown(tmp_path: Path) -> None:
    line = "V0101 00:00:01.000000 123 torch/_newthing/brand_new.py:12] [0/0] [__new_thing] <b>plan"
    log = tmp_path / "run.log"
    log.write_text(f"{SAMPLE.read_text('utf-8')}{line} 1\n{line} 2\n", "utf-8")
    report = analyze(str(log))
    (site,) = report.coverage.known
    assert (site.count, site.text) == (2, "<b>plan 1")
    source = Html.render(report, Options())
    assert "&lt;b&gt;plan 1" in source
    assert "<b>plan" not in re.sub(r"<script.*?</script>", "", source, flags=re.DOTALL)
