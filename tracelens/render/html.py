"""The HTML format: one file that needs no network, and is refused any by its own policy."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Container, Iterator
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from tracelens.render import Options, Renderer, _first, _live, _spent, _words, markdown
from tracelens.render._absent import missing
from tracelens.render._again import again
from tracelens.render._contents import choices, contents
from tracelens.render._prepare import prepare
from tracelens.render._rule_pages import pages
from tracelens.render._strings import elide, one_line, one_row, spans
from tracelens.render._table_words import About, about
from tracelens.render._tables import Layout, layout
from tracelens.render.views import Listing, Picture, View, discovered
from tracelens.render.views.explore import fastest
from tracelens.report import Cost, Coverage, EvidenceLine, Finding, Outcome, Report

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["Html"]

#: Characters of a log line, and of a cell; all of it is in the data at the end of the file.
MAX_LINE, MAX_CELL = 2_000, 300
#: Evidence lines per finding, and rows per table.
MAX_EVIDENCE, MAX_ROWS = 40, 200
#: Findings that are told in full; of those beyond, the page has a line each and the data.
MAX_ARTICLES, MAX_NOTES = 150, 500
#: Characters of the data beyond which it is packed.
MAX_PLAIN = 1_000_000


class Html(Renderer):
    """A page to read, filter, print and attach; it works without JavaScript."""

    name = "html"
    suffixes = (".html", ".htm")
    redacts = True

    @classmethod
    def render(cls, report: Report, options: Options) -> str:
        """Render the page and put the data that it was made from at its end."""
        stored, drawn, replaced = prepare(report, options, cls)
        data, packed = _data(stored)
        views = list(_views(drawn))
        tables = list(_tables(drawn, {name for view in views for name in view.view.tables}))
        explained = pages(drawn)
        environment = _environment({id(finding) for finding in drawn.told[:MAX_ARTICLES]})
        templates = files("tracelens.render") / "templates"
        style = (templates / "style.css").read_text(encoding="utf-8")
        script = (templates / "script.js").read_text(encoding="utf-8")
        page = environment.get_template("report.html").render(
            report=drawn,
            data=data,
            packed=packed,
            markdown=_script(json.dumps(_markdown(drawn), ensure_ascii=False)),
            contents=list(
                contents(drawn, [view.view for view in views], len(tables), len(explained))
            ),
            choices=choices(drawn),
            pages=explained,
            explained={page.code for page in explained},
            replaced=replaced,
            style=style,
            script=script,
            style_hash=_hash(style),
            script_hash=_hash(script),
            missing=missing(drawn),
            again=again(drawn),
            fastest=fastest(drawn),
            spent=_spent.by_run(drawn),
            views=views,
            tables=tables,
            crashed=[v for v in drawn.verdicts if v.verdict is Outcome.CRASHED],
            slowest=_slowest(drawn),
            symptoms=drawn.symptoms,
        )
        # No address is spelled out in the source, so that nothing can be mistaken for a request.
        return page.replace("://", ":&#47;&#47;")


class Table(NamedTuple):
    """A table of the report with what is known about it."""

    about: About
    rows: int
    grid: Layout


class Drawn(NamedTuple):
    """A view with what it draws of this report."""

    view: type[View]
    pictures: list[Picture]
    listings: list[Listing]
    sheets: list[Table]


class Part(NamedTuple):
    """A part of the input's lines, for the bar of the coverage."""

    name: str
    kind: str
    lines: int
    start: float
    share: float


def _environment(in_detail: Container[int]) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("tracelens.render", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(
        words=_words,
        first=_first,
        live=_live,
        quotes=quotes,
        parts=parts,
        spans=spans,
        drawn_share=drawn_share,
    )
    environment.globals.update(
        MAX_EVIDENCE=MAX_EVIDENCE, MAX_ARTICLES=MAX_ARTICLES, MAX_NOTES=MAX_NOTES
    )
    environment.tests["in_detail"] = lambda finding: id(finding) in in_detail
    environment.filters.update(
        line=lambda text: elide(one_row(text), MAX_LINE),
        cell=lambda text: elide(one_line(text), MAX_CELL),
        paragraph=lambda text: elide(one_line(text), MAX_LINE),
    )
    return environment


def _hash(source: str) -> str:
    """Return the digest by which a policy allows one inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def _data(report: Report) -> tuple[str, bool]:
    """Return the report's JSON, and whether it is packed: a long one is, in base 64."""
    text = report.to_json()
    if len(text) <= MAX_PLAIN:
        return _script(text), False
    squeezed = zlib.compress(report.model_dump_json().encode(), 9, wbits=31)
    return base64.b64encode(squeezed).decode(), True


def _script(text: str) -> str:
    """Return JSON with nothing in it that could end a script element."""
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text.replace("://", ":\\/\\/")


def _markdown(report: Report) -> dict[str, str]:
    """Return the findings that are told in full as Markdown, by identity; and the first lines."""
    out = {"": markdown.headline(report) + "\n\n" + markdown.about(report, 0)}
    for finding in report.told[:MAX_ARTICLES]:
        name = _words.identity(finding, report)
        unknown = _first.unknown_cost(finding, report)
        after = markdown.symptoms(finding, report)
        out[name] = markdown.full(finding, name, after, unknown)
    return out


def _views(report: Report) -> Iterator[Drawn]:
    for view in discovered():
        if view.applies(report):
            sheets = [
                Table(About(sheet.title, sheet.says), len(sheet.rows), layout(sheet.rows, MAX_ROWS))
                for sheet in view.sheets(report)
            ]
            yield Drawn(view, list(view.pictures(report)), list(view.listings(report)), sheets)


def _tables(report: Report, drawn: Container[str]) -> Iterator[Table]:
    for name, rows in report.tables.items():
        if rows and name not in drawn:
            yield Table(about(name), len(rows), layout(rows, MAX_ROWS))


def _slowest(report: Report) -> float:
    """Return the largest cost, to which the others are compared; 0 where some are shares.

    What was measured live is of one step, the others are of the whole input.
    """
    found = [f.cost for f in report.shown if f.cost and f.cost.basis != "confirmed"]
    costs = [cost.ms for cost in found if cost.ms]
    return max(costs) if len(costs) > 1 and not any(cost.share for cost in found) else 0.0


def drawn_share(cost: Cost, slowest: float) -> float:
    """Return how long the bar beside a cost is: as long as the share that stands there."""
    if cost.basis == "confirmed":
        return 0.0
    return min(cost.share or (cost.ms / slowest if cost.ms and slowest else 0.0), 1.0)


def quotes(finding: Finding) -> list[tuple[str, list[EvidenceLine]]]:
    """Return the evidence of ``finding`` by input, in its own order."""
    shown = finding.evidence[:MAX_EVIDENCE]
    return [(path, list(lines)) for path, lines in groupby(shown, key=lambda line: line.input)]


def parts(coverage: Coverage) -> list[Part]:
    """Return what the lines of the input are, as consecutive parts of a whole."""
    counts = (
        ("understood", "understood", coverage.understood_lines),
        ("no grammar yet", "known", coverage.known_lines),
        ("refused by a grammar", "unread", coverage.unread_lines),
        ("from the program itself", "program", coverage.program_lines),
    )
    total = sum(count for _, _, count in counts)
    out: list[Part] = []
    for name, kind, count in counts:
        if count:
            start = out[-1].start + out[-1].share if out else 0.0
            out.append(Part(name, kind, count, start, count / total))
    return out
