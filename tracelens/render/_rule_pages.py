"""The pages of the rules that fired, which a page without network carries along.

A rule's docstring is its page, and its file is where its code and name say: it is read, not
imported, so that drawing a report runs no rule.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib.resources import files
from textwrap import dedent
from typing import NamedTuple

from tracelens.late import late
from tracelens.report import Finding, Report

__all__ = ["Block", "Page", "pages"]

_CODE = late(r"[A-Z]{3}\d{3}")
_NAME = late(r"[a-z0-9]+([-.][a-z0-9]+)*")
#: Pages of a report at most; the command line has all.
MAX_PAGES = 60


class Block(NamedTuple):
    """A paragraph, a heading, an item of a list, or an excerpt of a log."""

    kind: str
    text: str


class Page(NamedTuple):
    """What a rule is about."""

    code: str
    name: str
    summary: str
    blocks: tuple[Block, ...]


def pages(report: Report) -> list[Page]:
    """Return the pages of our rules that have findings to act on, in the order of these."""
    shown: dict[tuple[str, str], Finding] = {}
    for finding in report.shown:
        shown.setdefault((finding.code, finding.name), finding)
    found = (_page(code, name) for code, name in list(shown)[:MAX_PAGES])
    return [page for page in found if page is not None]


@cache
def _page(code: str, name: str) -> Page | None:
    doc = _docstring(code, name)
    if not doc:
        return None
    summary, _, rest = doc.partition("\n")
    return Page(code, name, _ticks(summary.strip()), tuple(_blocks(rest)))


def _docstring(code: str, name: str) -> str:
    if not _CODE.fullmatch(code) or not _NAME.fullmatch(name):
        return ""
    module = re.sub("[-.]", "_", name)
    path = files("tracelens") / "rules" / code[:3].lower() / f"{module}.py"
    if not path.is_file():
        return ""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == module.title().replace("_", ""):
            # The home directory of the examples is nobody's, but looks like somebody's.
            return (ast.get_docstring(node) or "").replace("/home/ana/", "~/")
    return ""


def _blocks(text: str) -> list[Block]:
    """Split a docstring as it is written in this project: headings, excerpts, lists, paragraphs."""
    out: list[Block] = []
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        if part.startswith("## "):
            heading, _, part = part.partition("\n")  # noqa: PLW2901 -- what follows the heading
            out.append(Block("heading", heading.removeprefix("## ")))
        if part.startswith("    "):
            last = out[-1] if out else None
            if last is not None and last.kind == "excerpt":
                out[-1] = Block("excerpt", f"{last.text}\n\n{dedent(part)}")
            else:
                out.append(Block("excerpt", dedent(part)))
        elif part.startswith("- "):
            items = re.split(r"\n(?=- )", part)
            out += [Block("item", _ticks(" ".join(item[2:].split()))) for item in items]
        elif part.strip():
            out.append(Block("paragraph", _ticks(" ".join(part.split()))))
    return out


def _ticks(text: str) -> str:
    return text.replace("``", "`")
