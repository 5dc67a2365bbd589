"""The HTML format in a real browser, opened from disk."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from tracelens.render import Options
from tracelens.render.html import Html
from tracelens.report import Report

pytestmark = pytest.mark.browser

PROBE = """<script>document.documentElement.dataset.over =
document.documentElement.scrollWidth - document.documentElement.clientWidth</script></body>"""


@pytest.fixture(scope="session")
def chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    if os.environ.get("TRACELENS_BROWSER"):
        pytest.fail("no browser on PATH: install the apt package chromium")
    pytest.skip("no browser on PATH, and TRACELENS_BROWSER is not set")


def browse(chromium: str, page: Path, *options: str) -> str:
    """Open ``page`` without a window and return what the browser prints."""
    done = subprocess.run(
        [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--virtual-time-budget=2000",
            f"--user-data-dir={page.parent / 'profile'}",
            *options,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not complaints
    return done.stdout


def test_the_script_runs_and_log_text_does_not(
    chromium: str, tmp_path: Path, reports: dict[str, Report]
) -> None:
    page = tmp_path / "report.html"
    page.write_text(Html.render(reports["hostile"], Options()), encoding="utf-8")
    dom = browse(chromium, page, "--dump-dom")
    assert "<img" not in dom
    tags = re.sub(r">[^<]*<|<script.*?</script>", "", dom, flags=re.DOTALL)
    assert re.findall(r"\bon\w+=", re.sub(r'"[^"]*"', '""', tags)) == []  # values are only text
    button = re.search(r"<button[^>]*data-theme-button[^>]*>", dom)
    assert button is not None
    assert "hidden" not in button[0]


@pytest.mark.parametrize(("scheme", "colour"), [(1, (255, 255, 255)), (0, (16, 20, 24))])
def test_the_page_follows_the_colour_scheme(
    chromium: str,
    tmp_path: Path,
    reports: dict[str, Report],
    scheme: int,
    colour: tuple[int, int, int],
) -> None:
    page, shot = tmp_path / "report.html", tmp_path / "shot.png"
    page.write_text(Html.render(reports["reference"], Options()), encoding="utf-8")
    settings = f"--blink-settings=preferredColorScheme={scheme}"
    browse(chromium, page, settings, "--window-size=800,600", f"--screenshot={shot}")
    assert first_pixel(shot) == colour


def first_pixel(path: Path) -> tuple[int, ...]:
    """The top left pixel of a PNG: no filter of its row can change it, for nothing is before it."""
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG")
    position, packed = 8, b""
    while position < len(data):
        (length,) = struct.unpack(">I", data[position : position + 4])
        if data[position + 4 : position + 8] == b"IDAT":
            packed += data[position + 8 : position + 8 + length]
        position += length + 12
    return tuple(zlib.decompressobj().decompress(packed, 8)[1:4])


@pytest.mark.parametrize("name", ["reference", "recompiles", "autotune", "hostile", "clean"])
@pytest.mark.parametrize("columns", [400, 1280])
def test_nothing_is_wider_than_the_window(
    chromium: str, tmp_path: Path, reports: dict[str, Report], name: str, columns: int
) -> None:
    source = Html.render(reports[name], Options())
    # The probe is a script, which the policy of the page would refuse.
    source = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", source)
    page = tmp_path / "report.html"
    page.write_text(source.replace("</body>", PROBE), encoding="utf-8")
    dom = browse(chromium, page, "--dump-dom", f"--window-size={columns},900")
    assert 'data-over="0"' in dom


UNCUT = """<script>document.documentElement.dataset.cut = [...document.querySelectorAll(".paste pre")]
.filter((one) => one.scrollWidth > one.clientWidth).length + " of " + document.querySelectorAll(".paste pre").length
</script></body>"""  # noqa: E501 -- a script


def test_what_is_to_be_pasted_is_seen_whole(
    chromium: str, tmp_path: Path, reports: dict[str, Report]
) -> None:
    source = Html.render(reports["recompiles"], Options())
    source = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", source)
    page = tmp_path / "report.html"
    page.write_text(source.replace("</body>", UNCUT), encoding="utf-8")
    dom = browse(chromium, page, "--dump-dom", "--window-size=420,900")
    found = re.search(r'data-cut="0 of (\d+)"', dom)
    assert found is not None
    assert int(found[1]) > 3


ZOOMED = """<script>
addEventListener("load", () => setTimeout(() => {
  const canvas = document.querySelector("svg.pane").closest(".canvas");
  const press = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
  const view = () => document.querySelector("svg.pane").getAttribute("viewBox").split(" ").slice(0, 3).join(",");
  const ticks = () => [...document.querySelectorAll("text.tick")].map((one) => one.textContent).join("|");
  const told = ticks();
  const seen = [view()];
  ["+", "+", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "-"].forEach((key) => { press(key); seen.push(view()); });
  const moved = ticks() !== told;
  press("0");
  document.documentElement.dataset.seen = [...seen, view(), moved, ticks() === told].join(" ");
}, 50));
</script></body>"""  # noqa: E501 -- a script


def test_the_time_line_of_a_device_zooms_by_keys(
    chromium: str, tmp_path: Path, reports: dict[str, Report]
) -> None:
    slices = [
        {"run": "run1", "device": "0", "start_ms": at, "ms": 1.0, "compute_ms": 0.5}
        | {"exposed_comm_ms": 0.0, "exposed_copy_ms": 0.0}
        for at in range(8)
    ]
    report = reports["reference"].model_copy(update={"tables": {"activity": slices}})
    source = Html.render(report, Options())
    source = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", source)
    page = tmp_path / "report.html"
    page.write_text(source.replace("</body>", ZOOMED), encoding="utf-8")
    dom = browse(chromium, page, "--dump-dom")
    found = re.search(r'data-seen="([^"]*)"', dom)
    assert found is not None
    views = "0,0,960 240,0,480 360,0,240 420,0,240 480,0,240 540,0,240 600,0,240 480,0,480 0,0,960"
    assert found[1] == f"{views} true true"
