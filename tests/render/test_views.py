"""Views: each is found in its file, draws what it is given, and survives what it is not."""

from __future__ import annotations

import inspect
import math
import re
import xml.etree.ElementTree as ET

import pytest

from tracelens.render import Options
from tracelens.render._svg import Svg, fitted
from tracelens.render.html import Html, _views
from tracelens.render.views import View, discovered
from tracelens.report import Report

each_view = pytest.mark.parametrize("view", discovered(), ids=lambda view: view.name)
NUMBERS = re.compile(r"^-?\d+(\.\d+)?$")


@each_view
def test_a_view_has_a_name_and_says_what_it_shows(view: type[View]) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9-]*", view.name)
    assert view.title
    assert view.says.endswith(".")
    assert view.__module__ == f"tracelens.render.views.{view.name.replace('-', '_')}"


def test_the_names_are_distinct() -> None:
    names = [view.name for view in discovered()]
    assert len(names) == len(set(names))


@each_view
def test_a_view_is_not_shown_of_nothing(view: type[View], reports: dict[str, Report]) -> None:
    assert not view.applies(reports["empty"])


@each_view
@pytest.mark.parametrize(
    "value", [None, 1, 2.5, math.nan, math.inf, True, [1], "<script>alert(1)</script>", "", -3]
)
def test_a_view_survives_rows_that_it_does_not_expect(
    view: type[View], value: object, reports: dict[str, Report]
) -> None:
    columns = set(re.findall(r"\"(\w+)\"", _source(view)))
    rows = [{}, dict.fromkeys(columns, value)]
    report = reports["one"].model_copy(update={"tables": dict.fromkeys(view.tables, rows)})
    if view.applies(report):
        assert list(_views(report))
        for picture in view.pictures(report):
            drawn(picture.svg)


def _source(view: type[View]) -> str:
    return inspect.getsource(inspect.getmodule(view))  # type: ignore[arg-type]


def drawn(svg: Svg) -> ET.Element:
    """Return the drawing as XML: well-formed, no inline styles, numbers that are finite."""
    root = ET.fromstring(svg.__html__())  # noqa: S314 -- it is ours
    assert root[0].tag == "title"
    assert root[0].text
    for element in root.iter():
        assert "style" not in element.attrib
        for name in ("x", "y", "width", "height", "cx", "cy", "r", "x1", "x2", "y1", "y2"):
            assert NUMBERS.match(element.get(name, "0")), (element.tag, element.attrib)
    return root


def test_text_in_a_drawing_is_text() -> None:
    svg = Svg(100, 20, "a <b> & c")
    svg.rect(0, 0, 10, 10, "c0", "<script>alert(1)</script>")
    svg.text(0, 0, "</svg><script>")
    root = drawn(svg)
    assert root[0].text == "a <b> & c"
    assert [text.text for text in root.iter("text")] == ["</svg><script>"]


@pytest.mark.parametrize(("room", "expected"), [(1000, "matmul bf16"), (50, "matmu.."), (20, "")])
def test_a_label_takes_no_more_room_than_there_is(room: float, expected: str) -> None:
    assert fitted("matmul bf16", room) == expected


def test_oednn_bars_are_as_long_as_their_times(reports: dict[str, Report]) -> None:
    (picture,) = view("onednn").pictures(reports["reference"])
    bars = [float(rect.get("width", "0")) for rect in drawn(picture.svg).iter("rect")]
    times = [row["ms"] for row in reports["reference"].tables["primitives"]]
    assert bars[1] / bars[0] == pytest.approx(times[1] / times[0], rel=0.01)
    assert len(bars) == len(times)


def test_the_icicle_adds_up(reports: dict[str, Report]) -> None:
    rows = [
        {"frame": "0/0", "function": "f", "compile_s": 3.0},
        {"frame": "0/1", "function": "f", "compile_s": 1.0, "breaks": 2},
        {"frame": "1/0", "function": "g", "compile_s": 3.5},
    ]
    report = reports["one"].model_copy(update={"tables": {"frames": rows}})
    (picture,) = view("frames").pictures(report)
    boxes = [
        (rect.get("class"), rect[0].text) for rect in drawn(picture.svg).iter("rect") if len(rect)
    ]
    assert [text for _, text in boxes] == [
        "f: 4 s in 2 compilations", "0/0: 3 s", "0/1: 1 s, 2 graph breaks",
        "g: 3.5 s in 1 compilation", "1/0: 3.5 s",
    ]  # fmt: skip
    assert [kind for kind, text in boxes if "breaks" in (text or "")] == ["bad"]
    widths = [
        float(rect.get("width", "0")) for rect in drawn(picture.svg).iter("rect") if len(rect)
    ]
    assert widths[1] + 1 == pytest.approx(3 * (widths[2] + 1), rel=0.01)


def view(name: str) -> type[View]:
    return next(cls for cls in discovered() if cls.name == name)


def test_a_table_in_a_view_is_not_listed_again(reports: dict[str, Report]) -> None:
    source = Html.render(reports["reference"], Options())
    assert source.count("oneDNN primitives <span") == 1
