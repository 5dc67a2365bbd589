"""The documentation: links lead somewhere, pages are in the site, commands exist."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
from pathlib import Path

import pytest

from tracelens.cli import main
from tracelens.cli._app import command

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
#: Pages about how the project is made, for those who read the sources.
UNLISTED: set[str] = set()


def text(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def links(page: Path) -> list[str]:
    found = re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text(page)))
    return [link for link in found if not link.startswith(("http://", "https://", "mailto:"))]


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", text(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    dead = []
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        there = target.exists() or target == DOCS / "rules"
        if not there or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_the_site_has_every_page() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r": (\S+\.md)$", site, re.MULTILINE))
    assert {page.name for page in DOCS.glob("*.md")} - UNLISTED <= listed
    assert [name for name in listed if not (DOCS / name).exists()] == []


def test_every_command_of_the_pages_exists() -> None:
    known = set(command().commands) | {"diff"}
    for page in PAGES:
        said = page.read_text(encoding="utf-8")
        blocks = re.findall(r"```\w*\n(.*?)```", said, re.DOTALL)
        shown = "\n".join([*blocks, *re.findall(r"^ {4}(tracelens .*)$", said, re.MULTILINE)])
        used = re.findall(r"^tracelens ([a-z][a-z-]+)(?= |$)", shown, re.MULTILINE)
        used += re.findall(r"`tracelens ([a-z][a-z-]+)[^`]*`", said)
        assert set(used) - known == set(), page.name


def test_every_option_of_the_pages_exists() -> None:
    commands = {**command().commands, "diff": command().commands["compare"]}
    unknown, seen = [], 0
    for page in PAGES:
        said = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for name, rest in re.findall(r"\btracelens ([a-z][a-z-]+) ([^`\n]*)", said):
            if name not in commands:
                continue
            params = commands[name].params
            known = {option for one in params for option in (*one.opts, *one.secondary_opts)}
            ours = re.split(r" (?:--|[|>;#&]+)(?: |$)", f" {rest} ")[0]
            options = re.findall(r"(?<= )--[a-z][a-z-]+", ours)
            seen += len(options)
            unknown += [(page.name, name, one) for one in options if one not in known | {"--help"}]
    assert unknown == []
    assert seen > 40


LOGS = ROOT / "fixtures"
RESNET = LOGS / "rules" / "IND004-cpu-inference-not-frozen"


def test_the_code_of_the_page_about_python_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(LOGS / "logs" / "samples" / "aarch64-bf16-linear.log", "run.log")
    shutil.copy(LOGS / "logs" / "recompiles" / "fn-x-n.log", "before.log")
    shutil.copy(LOGS / "logs" / "samples" / "aarch64-bf16-linear.log", "after.log")
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "python.md", "exec"), {})  # noqa: S102 -- the page is ours
    assert "ONE001 inner_product" in printed.getvalue()
    assert "1 errors cost 250 ms" in printed.getvalue()
    assert Path("report.md").read_text(encoding="utf-8").startswith("## tracelens: 1 error")


def test_the_tutorial_shows_what_compare_prints(capsys: pytest.CaptureFixture[str]) -> None:
    logs = (RESNET / "fires-resnet.log.gz", RESNET / "quiet-frozen-resnet.log.gz")
    assert main(["compare", *map(str, logs)]) == 0
    first = capsys.readouterr().out.partition("\n\n")[0]
    assert f"```\n{first}\n```" in (DOCS / "tutorial.md").read_text(encoding="utf-8")
