"""The HTML format: safe with any log, readable by everybody, and made of nothing but the report."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

import tracelens.render
from tracelens.render import Options
from tracelens.render._redact import redact
from tracelens.render._strings import clean
from tracelens.render.html import Html
from tracelens.report import Report

TEMPLATES = Path(tracelens.render.__file__).parent / "templates"
VOID = {"meta", "path", "use", "circle", "rect", "line", "polyline", "input", "br", "link", "img"}


class Page(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.raw: dict[str, str] = {}
        self.open: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in {"script", "style"}:
            kind = dict(self.elements[-1][1]).get("id") or self.open[-1]
            self.raw[kind] = self.raw.get(kind, "") + data
        else:
            self.text.append(data)


@pytest.fixture
def source(report: Report) -> str:
    return Html.render(report, Options())


def test_the_elements_are_ours_alone(source: str) -> None:
    page = Page(source)
    assert page.open == []
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"img", "iframe", "object", "embed", "form", "link", "base", "a:href"}
    assert sum(tag == "script" for tag, _ in page.elements) == 3
    for _, attributes in page.elements:
        assert not {name for name in attributes if name.startswith("on")}
        assert "style" not in attributes
        assert (attributes.get("href") or "#").startswith("#")


def test_the_policy_forbids_the_network_and_allows_our_own(source: str) -> None:
    page = Page(source)
    policy = next(
        attributes["content"] or ""
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.raw[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_no_address_outside_links(source: str) -> None:
    assert not re.search(r"https?://", re.sub(r'<a [^>]*href="[^"]*"', "", source))


def test_log_text_is_shown_as_text(
    reports: dict[str, Report], hostile_texts: tuple[str, ...]
) -> None:
    page = Page(Html.render(reports["hostile"], Options()))
    shown = "".join(page.text)
    for text in hostile_texts:
        if len(text) < 1_000 and "`" not in text and "\n" not in text:
            assert clean(text) in shown
    assert "xxx...xxx" in shown


def test_the_data_is_the_report(report: Report) -> None:
    page = Page(Html.render(report, Options()))
    data = json.loads(page.raw["data"])
    assert data == json.loads(redact(report)[0].to_json())


def test_headings_are_in_order_and_ids_are_unique(source: str) -> None:
    page = Page(source)
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        for name in ("aria-labelledby", "href"):
            if attributes.get(name):
                assert (attributes[name] or "").removeprefix("#") in ids


def test_tables_and_pictures_have_names(source: str) -> None:
    page = Page(source)
    assert page.elements[0] == ("html", {"lang": "en"})
    for number, (tag, attributes) in enumerate(page.elements):
        if tag == "th":
            assert attributes["scope"] in {"row", "col"}
        if tag == "svg" and "aria-hidden" not in attributes:
            assert attributes["role"] == "img"
            assert page.elements[number + 1][0] == "title"
        if tag == "button":
            assert attributes["type"] == "button"
            assert {"data-script", "data-save"} & set(attributes)
            assert "aria-label" not in attributes


def test_every_finding_has_an_anchor_and_a_word(reports: dict[str, Report]) -> None:
    report = reports["reference"]
    source = Html.render(report, Options())
    for finding in report.shown:
        assert f'id="{finding.id}"' in source
        first = finding is report.told[0]
        assert source.count(f'href="#{finding.id}"') == 2 + first
        assert f"</svg>{finding.severity.value}</span>" in source
    assert "2 mentions of names, paths or secrets replaced" in source
    assert "<title>oneDNN" not in source
    assert html.escape("~/proj/seed.py:14 in forward") in source


def test_a_table_of_any_name_is_drawn(reports: dict[str, Report]) -> None:
    source = Html.render(reports["autotune"], Options())
    assert "Something new <span" in source
    assert '<th scope="col" class="number">best ms</th>' in source
    assert source.count('<svg class="bar" role="img"') == 2
    assert "<title>ms: 39,329</title>" in source


PAIRS = [
    *[(text, back) for text in ("text", "muted", "accent") for back in ("page", "panel")],
    ("text", "well"),
    ("muted", "well"),
    *[(name, f"{name}-soft") for name in ("error", "warning", "info", "none", "good")],
    ("text", "good-soft"),
    *[("page", f"c{number}") for number in range(8)],
    ("page", "error"),
    *[(name, "panel") for name in ("good", "warning", "error")],
]
SHAPES = [("fill", "well"), ("accent", "page"), ("muted", "page"), ("fill", "page")]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_contrast(theme: int) -> None:
    style = (TEMPLATES / "style.css").read_text()
    colours = {
        name: (light, dark)[theme]
        for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", style)
    }
    assert len(colours) == style.count("light-dark(#")
    for least, pairs in ((4.5, PAIRS), (3.0, SHAPES)):
        for first, second in pairs:
            assert contrast(colours[first], colours[second]) >= least, (first, second)


def contrast(first: str, second: str) -> float:
    """WCAG 2.2: (lighter + 0.05) / (darker + 0.05) of the relative luminances."""
    low, high = sorted(map(luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_what_is_not_shown_is_counted(reports: dict[str, Report]) -> None:
    finding = reports["reference"].findings[0]
    finding = finding.model_copy(update={"evidence": finding.evidence * 10})
    rows = [{"shape": n} for n in range(230)]
    update = {"findings": (finding,), "tables": {"primitives": rows}}
    source = Html.render(reports["reference"].model_copy(update=update), Options())
    assert "10 more lines in the data of this file" in source
    assert "30 more rows in the data of this file" in source
