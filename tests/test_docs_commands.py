"""Every command that the pages show runs, in a clean folder, or its reason not to stands here."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tracelens.cli import main

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "fixtures" / "logs"
SAMPLE = LOGS / "samples" / "aarch64-bf16-linear.log"
FROZEN = ROOT / "fixtures" / "rules" / "IND004-cpu-inference-not-frozen"
BREAKS = ROOT / "fixtures" / "rules" / "GBR003-print-or-builtin" / "fires-print-2.1.log"
JOINED = LOGS / "chrome_trace" / "joined"
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
#: Programs of the pages print a log as torch does, and need no torch.
PROGRAM = f"print(open({str(SAMPLE)!r}).read())\n"
#: Commands that are not run here, by how they begin, and why.
NOT_RUN = {
    "tracelens confirm": "runs a model again, for minutes: tests/live/test_confirm_*.py",
    "tracelens analyze run7/ --engine dask": "starts a cluster: tests/fleet/test_engines.py",
    "tracelens analyze run7/ --scheduler": "needs a cluster: tests/fleet/test_engines.py",
    "tracelens analyze s3://": "needs an object store: tests/fleet/test_stores.py",
    "tracelens analyze 's3://": "needs an object store: tests/fleet/test_stores.py",
    "tracelens run --trace": "torchrun starts processes of torch: tests/live/test_run_torch.py",
}
#: What stands in the pages for the kernel that is in the log here.
KERNEL = ("triton_poi_fused_add_relu_3", "cpp_fused_mul_relu_sigmoid_0")
#: The id of the pages, for that of the finding that is there.
PLACEHOLDER = re.compile(r"ONE001-3fa9c2")


def commands(page: Path) -> list[str]:
    """Return the commands that begin with the tool's name, in the order of the page."""
    said = page.read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = re.findall(r"^```(?:sh|bash|console|)\n(.*?)^```", said, re.MULTILINE | re.DOTALL)
    lines = "\n".join(blocks).splitlines()
    lines += re.findall(r"^ {4}(\$? ?tracelens .*)$", said, re.MULTILINE)
    shown = [re.split(r"\s+#\s|\s&&\s|\s>\s", line)[0].strip() for line in lines]
    found = [line.removeprefix("$ ") for line in shown]
    return [line for line in found if re.match(r"tracelens [a-z-]+( |$)", line)]


def listed() -> dict[str, list[str]]:
    """Return by page what it shows and no page before it does."""
    seen: set[str] = set()
    out: dict[str, list[str]] = {}
    for page in PAGES:
        for line in dict.fromkeys(commands(page)):
            if line not in seen and not line.startswith(tuple(NOT_RUN)):
                out.setdefault(page.name, []).append(line)
        seen.update(commands(page))
    return out


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lay out what the pages take for granted: logs, traces, recordings, reports, a program."""
    here = tmp_path_factory.mktemp("clean")
    small = LOGS / "recompiles" / "fn-x-n.log"
    trace = LOGS / "chrome_trace" / "encoder-compiled-stack.json.gz"
    copies = {
        SAMPLE: (
            "run.log",
            "tracelens-run/log.txt",
            "aarch64.log",
            "what-was-printed.txt",
            "after.log",
        ),
        small: (
            *("before.log", "logs/a.log", "rank0.log.gz", "train.log"),
            *("run7/rank0.log", "run7/rank1.log"),
        ),
        trace: ("trace.json.gz", "eager.trace.json.gz", "compiled.trace.json.gz"),
        JOINED / "trace.json": ("joined/trace.json",),
        JOINED / "run.log.xz": ("joined/run.log",),
        min(FROZEN.glob("fires-*.gz")): ("before/log.txt.gz",),
    }
    for source, names in copies.items():
        for name in names:
            (here / name).parent.mkdir(exist_ok=True)
            shutil.copy(source, here / name)
    # Breaks and seconds of compiling: both have a limit in the pages.
    (here / "new.log").write_bytes(small.read_bytes() + BREAKS.read_bytes())
    for name in ("infer.py", "train.py", "train_fixed.py", "classify.py"):
        (here / name).write_text(PROGRAM)
    with contextlib.chdir(here):
        for log, to in (("run.log", "report"), ("new.log", "base"), ("before", "before/report")):
            assert main(["analyze", log, "-q", "-o", f"{to}.json"]) == 0
    for name in ("mon.json", "tue.json", "wed.json", "tracelens-run/report.json"):
        (here / name).parent.mkdir(exist_ok=True)
        shutil.copy(here / "report.json", here / name)
    (here / "base").mkdir()
    shutil.copy(here / "base.json", here / "base" / "report.json")
    return here


def test_what_is_not_run_is_still_shown() -> None:
    shown = [line for page in PAGES for line in commands(page)]
    assert len(shown) > 60
    assert [begin for begin in NOT_RUN if not any(one.startswith(begin) for one in shown)] == []


@pytest.mark.parametrize("page", listed())
def test_the_commands_of_a_page_run(
    page: str,
    laid_out: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    here = tmp_path / "clean"
    shutil.copytree(laid_out / "joined" if page == "traces.md" else laid_out, here)
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    report = (laid_out / "report.json").read_text(encoding="utf-8")
    known = re.search(r'"(ONE001-[0-9a-f]+)"', report)
    assert known is not None
    wrong = []
    for line in listed()[page]:
        words = shlex.split(PLACEHOLDER.sub(known[1], line).replace(*KERNEL))[1:]
        capfd.readouterr()
        code = main(words)
        said = capfd.readouterr()
        has_bar = re.search(r"--(fail-on|baseline|require|at-most)\b", line)
        if code not in ((0, 1) if has_bar else (0,)):
            wrong.append((line, code, said.err[-300:]))
        if words[0] == "new-pack":
            monkeypatch.chdir(here / words[1])
    assert wrong == []
