"""The documentation: links lead somewhere, pages are in the site, commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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
