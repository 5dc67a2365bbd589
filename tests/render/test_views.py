"""Views: each is found in its file, draws what it is given, and survives what it is not."""

from __future__ import annotations

import gzip
import inspect
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.render import Options
from tracelens.render._bars import GROWN, Bars, Piece
from tracelens.render._svg import Svg, fitted
from tracelens.render.html import Html, _views
from tracelens.render.views import Picture, View, discovered
from tracelens.render.views.kernels import coloured
from tracelens.report import Report

each_view = pytest.mark.parametrize("view", discovered(), ids=lambda view: view.name)
LOGS = Path(__file__).parents[2] / "fixtures" / "logs"
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


def test_autotune_dots_stand_at_the_ratio_to_the_winner(reports: dict[str, Report]) -> None:
    rows = [
        {"op": "mm", "shape": "8x8, 8x8", "candidate": name, "ms": ms, "template": name == "cpp"}
        for name, ms in (("cpp", 1.0), ("mkl", 2.0), ("slow", 40.0))
    ]
    report = reports["one"].model_copy(update={"tables": {"autotune_candidates": rows}})
    (picture,) = view("autotune").pictures(report)
    root = drawn(picture.svg)
    dots = {dot[0].text: float(dot.get("cx", "0")) for dot in root.iter("circle")}
    axis = sorted({float(line.get("x1", "0")) for line in root.iter("line")})
    assert dots["cpp: 1 ms, 1.00 x"] == axis[0]
    assert dots["mkl: 2 ms, 2.00 x"] == axis[1]
    assert dots["slow: 40 ms, 40.00 x"] == axis[-1]  # what is off the scale is at its end


def test_the_time_line_begins_where_compilations_do(reports: dict[str, Report]) -> None:
    rows = [
        {"frame": "0/0", "function": "f", "at_s": 0.0, "compile_s": 2.0},
        {"frame": "0/1", "function": "f", "at_s": 6.0, "compile_s": 4.0},
    ]
    report = reports["one"].model_copy(update={"tables": {"frames": rows}})
    (picture,) = view("timeline").pictures(report)
    first, second = drawn(picture.svg).iter("rect")
    assert (first.get("class"), second.get("class")) == ("c0", "bad")
    start, width = float(first.get("x", "0")), float(first.get("width", "0"))
    assert float(second.get("x", "0")) == pytest.approx(start + 3 * width, abs=0.3)
    assert float(second.get("width", "0")) == pytest.approx(2 * width, abs=0.3)


def test_code_is_coloured_and_stays_what_it_is() -> None:
    code = 'for (long x = 0; x < 8L; x++) { // "all"\n  f("a // b", 1.5);\n}\n'
    spans = coloured(code)
    assert "".join(text for _, text in spans) == code
    assert [text for kind, text in spans if kind == "c"] == ['// "all"']
    assert [text for kind, text in spans if kind == "s"] == ['"a // b"']
    assert {"for", "long"} <= {text for kind, text in spans if kind == "k"}


@pytest.fixture(scope="module")
def recompiled() -> Report:
    return analyze(str(LOGS / "recompiles" / "fn-x-n.log"))


def test_the_value_on_which_an_entry_failed_is_marked(recompiled: Report) -> None:
    rows = recompiled.tables["guard_tree"]
    failed = [(row["frame"], row["text"]) for row in rows if row["failed"]]
    # The log: 0/0 fails on `n == 2` twice, 0/1 on `0 <= n`.
    assert ("0/0", "L['n']") in failed
    assert {text for _, text in failed} == {"L['n']"}
    first = next(iter(view("guards").listings(recompiled)))
    assert ("bad", "L['n']") in first.spans


def test_recompiles_lie_seconds_apart_on_the_time_line(recompiled: Report) -> None:
    starts = [row["at_s"] for row in recompiled.tables["frames"]]
    assert starts[0] == 0
    assert starts == sorted(starts)
    # [0/2] begins 9 seconds after the log does.
    assert 8 < starts[2] < 10


def test_the_candidates_of_a_log_are_its_lines() -> None:
    report = analyze(str(LOGS / "autotune" / "mlp3-float32.log.gz"))
    found = {(row["candidate"], row["ms"]) for row in report.tables["autotune_candidates"]}
    text = gzip.decompress((LOGS / "autotune" / "mlp3-float32.log.gz").read_bytes()).decode()
    printed = re.findall(r"^ +(\S+) (\d+\.\d+) ms \d", text, re.MULTILINE)
    assert found == {(name, float(ms)) for name, ms in printed}
    code = [row["code"] for row in report.tables["kernel_code"]]
    assert len(code) == 3
    assert all(part in text for row in code for part in row.splitlines()[:3])


def test_the_what_if_table_names_what_is_fastest_and_claims_nothing_else(
    reports: dict[str, Report],
) -> None:
    rows = [
        {"setting": "unchanged", "step_ms": 10.0, "p90_ms": 12.0, "speedup": 1.0},
        {"setting": "freezing", "step_ms": 5.0, "speedup": 2.0, "verdict": "faster",
         "interval": "1.90 to 2.10", "compile_s": 3.0, "peak_mb": 300},
        {"setting": "eager", "step_ms": 2.0, "speedup": 5.0, "verdict": "unclear"},
        {"setting": "late", "step_ms": None, "note": "not timed"},
    ]  # fmt: skip
    report = reports["one"].model_copy(update={"tables": {"explore": rows}})
    (picture,) = view("explore").pictures(report)
    bars = {bar[0].text: bar for bar in drawn(picture.svg).iter("rect") if len(bar)}
    assert "freezing: 5 ms, 2.00 x (1.90 to 2.10), 3 s to compile, 300 MB" in bars
    assert [bar.get("class") for bar in bars.values()] == ["c7", "good", "c7"]
    widths = [float(bar.get("width", "0")) for bar in bars.values()]
    assert widths == pytest.approx([widths[0], widths[0] / 2, widths[0] / 5], abs=0.3)
    assert picture.caption == "Without a time: late (not timed)."
    source = Html.render(report, Options())
    assert "What if: fastest is freezing, 2.00 times as fast." in source


@pytest.mark.parametrize(("high", "widest"), [(2.9, 616 / 2.9), (300.0, 616 / 3)])
def test_one_long_spread_leaves_the_other_settings_a_picture(
    reports: dict[str, Report], high: float, widest: float
) -> None:
    rows = [
        {"setting": "unchanged", "step_ms": 1.0, "p90_ms": 1.1},
        {"setting": "eager", "step_ms": 0.5, "p90_ms": high},
    ]
    report = reports["one"].model_copy(update={"tables": {"explore": rows}})
    (picture,) = view("explore").pictures(report)
    widths = [width for _, width, _ in bars(picture)]
    assert max(widths) == pytest.approx(widest, abs=0.2)


def bars(picture: Picture) -> list[tuple[str | None, float, str]]:
    return [
        (rect.get("class"), float(rect.get("width", "0")), rect[0].text or "")
        for rect in drawn(picture.svg).iter("rect")
        if len(rect)
    ]


def test_the_parts_of_a_step_add_up_to_its_bar(reports: dict[str, Report]) -> None:
    rows = [
        {"device": "0", "phase": "window", "window_ms": 40.0, "busy_ms": 10.0}
        | {"compute_ms": 10.0, "idle_data_ms": 25.0, "idle_blocked_ms": 5.0},
        {"device": "0", "phase": "ProfilerStep#1", "window_ms": 20.0, "compute_ms": 20.0},
    ]
    report = reports["one"].model_copy(update={"tables": {"time": rows}})
    (picture,) = view("device-time").pictures(report)
    found = bars(picture)
    window, step = found[:3], found[3:]
    assert sum(width for _, width, _ in window) == pytest.approx(2 * step[0][1], rel=0.01)
    assert [text for _, _, text in window] == [
        "computes: 10 ms, 25 %", "idle: the host waits or copies: 5 ms, 12.5 %",
        "idle: the host waits for data: 25 ms, 62.5 %",
    ]  # fmt: skip
    assert len(picture.legend) == 3


def test_the_critical_path_of_a_step_adds_up_to_its_bar(reports: dict[str, Report]) -> None:
    rows = [
        {"device": "0", "phase": "ProfilerStep#1", "ms": 30.0, "host_ms": 18.0, "compute_ms": 9.0}
        | {"pause_ms": 3.0},
        {"device": "0", "phase": "ProfilerStep#2", "ms": 15.0, "compute_ms": 15.0},
    ]
    report = reports["one"].model_copy(update={"tables": {"critical": rows}})
    (picture,) = view("critical-path").pictures(report)
    found = bars(picture)
    assert sum(width for _, width, _ in found[:3]) == pytest.approx(2 * found[3][1], rel=0.01)
    assert [text for _, _, text in found[:2]] == [
        "the host works, and the device waits: 18 ms, 60 %", "computes: 9 ms, 30 %"
    ]  # fmt: skip
    assert "ProfilerStep#1, 60 % the host works" in str(picture.svg.__html__())
    assert not view("critical-path").applies(report.model_copy(update={"tables": {}}))


def test_each_rank_has_a_line_on_one_scale(reports: dict[str, Report]) -> None:
    rows = [
        {"rank": rank, "compute_ms": ms, "late_ms": rank * 3.0} for rank, ms in ((0, 8), (1, 4))
    ]
    report = reports["one"].model_copy(update={"tables": {"ranks": rows}})
    (picture,) = view("ranks").pictures(report)
    zero, one, late = bars(picture)
    assert (zero[2], one[2], late[2]) == (
        "rank 0 computes: 8 ms", "rank 1 computes: 4 ms", "rank 1 comes late: 3 ms"
    )  # fmt: skip
    assert zero[1] == pytest.approx(2 * one[1], rel=0.01)
    assert late[0] == "bad"


def test_a_dot_of_the_roofline_stands_at_its_rate(reports: dict[str, Report]) -> None:
    rows = [
        {"name": "mm", "tflops": 50.0, "tbs": 0.5, "bound": "compute", "share_of_bound": 0.5},
        {"name": "add", "tflops": 0.5, "tbs": 0.5, "bound": "memory", "share_of_bound": 0.25},
    ]
    report = reports["one"].model_copy(update={"tables": {"ops": rows}})
    (picture,) = view("roofline").pictures(report)
    first, second = drawn(picture.svg).iter("circle")
    assert float(first.get("cx", "0")) > float(second.get("cx", "0"))
    assert float(first.get("cy", "0")) < float(second.get("cy", "0"))
    assert "50 % of the compute bound" in (first[0].text or "")
    assert (first.get("class"), second.get("class")) == ("warn", "warn")
    (roof,) = drawn(picture.svg).iter("polyline")
    assert len(roof.get("points", "").split()) == 3  # the ridge, at 50 operations per byte


def test_kernels_of_a_trace_are_bars_and_generated_ones_are_not(reports: dict[str, Report]) -> None:
    traced = [{"name": f"k{n}", "class": "gemm", "n": 1, "sum_ms": float(n)} for n in range(1, 31)]
    report = reports["one"].model_copy(update={"tables": {"kernels": traced}})
    (picture,) = view("device-kernels").pictures(report)
    assert [text for _, _, text in bars(picture)][:2] == [
        "k30: 30 ms in 1 run",
        "k29: 29 ms in 1 run",
    ]
    assert picture.caption == "10 more kernels in the table."
    generated = [{"kernel": "triton_poi_0", "calls": 1}]
    assert not view("device-kernels").applies(
        report.model_copy(update={"tables": {"kernels": generated}})
    )


def test_bars_fit_a_narrow_page_and_long_names_have_a_short_form_there() -> None:
    drawn = Bars("two bars", 2, 8.0)
    drawn.add("short", "8 ms", [Piece(2.0, "c0", "a"), Piece(6.0, "bad", "b")])
    drawn.add("k" * 200, "4 ms, 33 %", [Piece(4.0, "c1", "c")])
    markup = drawn.svg.__html__()
    assert 'class="draw fits"' in markup
    rects = [
        {key: float(value) for key, value in re.findall(r' (x|width)="([\d.]+)"', tag)}
        for tag in re.findall(r"<rect[^>]*", markup)
    ]
    assert [one["x"] for one in rects] == [0, 155, 0]
    assert [one["width"] for one in rects] == [155, 465, 310]
    texts = dict(re.findall(r'<text class="([^"]*)"[^>]*>(k+)', markup))
    assert len(texts["label tight"]) < len(texts["label roomy"])
    for texts_of, grown in (("label roomy", 1.0), ("label tight", GROWN)):
        assert len(texts[texts_of]) * 6.6 * grown < drawn.svg.width


def test_the_bars_of_onednn_and_of_a_trace_are_whole_on_a_narrow_page(
    reports: dict[str, Report],
) -> None:
    step = {"phase": "step 1", "window_ms": 2.0, "compute_ms": 1.5, "idle_unknown_ms": 0.5}
    path = {"phase": "step 1", "ms": 2.0, "host_ms": 1.0, "compute_ms": 1.0}
    kernel = {"name": "gemm", "class": "gemm", "sum_ms": 2.0, "n": 3}
    primitive = {"primitive": "matmul", "impl": "jit", "class": "optimised", "ms": 2.0, "count": 1}
    tables = {"time": [step], "critical": [path], "kernels": [kernel], "primitives": [primitive]}
    report = reports["one"].model_copy(update={"tables": tables})
    for name in ("device-time", "critical-path", "device-kernels", "onednn"):
        (picture,) = view(name).pictures(report)
        assert picture.svg.fits, name
        bars = re.findall(r"<rect[^>]* width=\"([\d.]+)\"", picture.svg.__html__())
        assert sum(map(float, bars)) == pytest.approx(picture.svg.width), name


def test_kernels_of_a_trace_are_not_called_generated(reports: dict[str, Report]) -> None:
    timed = {"name": "gemm", "class": "gemm", "sum_ms": 2.0, "n": 3}
    written = {"frame": "0/0", "kernel": "cpp_fused_add_0", "language": "cpp", "calls": 1}
    report = reports["one"].model_copy(update={"tables": {"kernels": [timed]}})
    assert not view("kernels").applies(report)
    assert [one.title for one in view("device-kernels").sheets(report)] == ["Kernels on the device"]
    assert "Generated kernels" not in Html.render(report, Options())
    report = reports["one"].model_copy(update={"tables": {"kernels": [timed, written]}})
    assert view("kernels").applies(report)
    (sheet,) = view("device-kernels").sheets(report)
    assert sheet.rows == [timed]
    (sheet,) = view("kernels").sheets(report)
    assert sheet.rows == [written]


def test_one_compilation_is_no_picture(reports: dict[str, Report]) -> None:
    one, more = (
        {"frame": f"0/{n}", "function": "f", "compile_s": 3.0, "run": "run1"} for n in (0, 1)
    )
    report = reports["one"].model_copy(update={"tables": {"frames": [one]}})
    assert list(view("frames").pictures(report)) == []
    assert view("frames").says not in Html.render(report, Options())
    report = reports["one"].model_copy(update={"tables": {"frames": [one, more]}})
    assert len(list(view("frames").pictures(report))) == 1
    assert view("frames").says in Html.render(report, Options())
