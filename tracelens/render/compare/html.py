"""A comparison as a page of its own, in the form of the report's: one file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING

from tracelens.render import Options
from tracelens.render import _words as words
from tracelens.render._contents import Entry
from tracelens.render._strings import elide, one_line, spans
from tracelens.render.compare import _words
from tracelens.render.compare._prepare import prepare
from tracelens.report.compare import Comparison, Counter

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["render"]

#: Findings of one state on the page; all are in the data at its end.
MAX_ENTRIES = 500
#: Characters of a cell.
MAX_CELL = 300
#: Size of the drawing of a trend.
WIDTH, HEIGHT = 80, 16


def render(comparison: Comparison, options: Options) -> str:
    """Return the page, with the data that it was made from at its end."""
    drawn, replaced = prepare(comparison, options)
    templates = files("tracelens.render") / "templates"
    style = (templates / "style.css").read_text(encoding="utf-8")
    script = (templates / "script.js").read_text(encoding="utf-8")
    changed = {(one.name, one.of) for one in _words.moved(drawn.counters, every=False)}
    rows = _words.moved(drawn.counters, every=True)
    tables = (
        ("changed", "What changed", [one for one in rows if (one.name, one.of) in changed]),
        ("others", "Other counters", [one for one in rows if (one.name, one.of) not in changed]),
    )
    text = (
        _environment()
        .get_template("compare.html")
        .render(
            comparison=drawn,
            names=[one.name for one in drawn.runs],
            contents=list(_contents(drawn, tables)),
            tables=tables,
            data=_data(drawn.to_json()),
            replaced=replaced,
            style=style,
            style_hash=_hash(style),
            script=script,
            script_hash=_hash(script),
        )
    )
    # No address is spelled out in the source, so that nothing can be mistaken for a request.
    return text.replace("://", ":&#47;&#47;")


def _contents(
    comparison: Comparison, tables: Iterable[tuple[str, str, list[Counter]]]
) -> Iterator[Entry]:
    yield Entry("inputs", "Inputs", len(comparison.runs))
    if comparison.modes:
        yield Entry("modes", "Eager and compiled")
    found = comparison.findings
    yield Entry("findings", "Findings", sum(len(getattr(found, state)) for state in _words.STATES))
    for anchor, title, rows in tables:
        if rows:
            yield Entry(anchor, title, len(rows))
    if comparison.winners:
        yield Entry("winners", "Other winners", len(comparison.winners))


def _environment() -> Environment:
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
        said=_words, words=words, spans=spans, trend=trend, MAX_ENTRIES=MAX_ENTRIES
    )
    environment.filters["cell"] = lambda text: elide(one_line(text), MAX_CELL)
    return environment


def _hash(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def _data(text: str) -> str:
    """Return JSON with nothing in it that could end a script element."""
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text.replace("://", ":\\/\\/")


def trend(counter: Counter) -> str:
    """Return the points of a line through the known values, from nothing at the bottom."""
    known = [value for value in counter.values if value is not None]
    top, last = max(known, default=0.0), max(len(counter.values) - 1, 1)
    return " ".join(
        f"{1 + number / last * (WIDTH - 2):.1f},"
        f"{HEIGHT - 1 - (value / top if top else 0) * (HEIGHT - 2):.1f}"
        for number, value in enumerate(counter.values)
        if value is not None
    )
