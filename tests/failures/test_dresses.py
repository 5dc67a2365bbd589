"""One failure in every dress that people paste it in: it stays the same failure."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tracelens.failures import Failure
from tracelens.source import read

ROOT = Path(__file__).parents[2]
LOGS = sorted((ROOT / "fixtures" / "rules").glob("ERR*/fires-*.log"))
Dress = Callable[[list[str]], list[str]]


def boxed(lines: list[str]) -> list[str]:
    """As rich shows it: in a box, wrapped at 70 columns, the exception below it."""
    width = 70
    inside = [part for line in lines[:-1] for part in (textwrap.wrap(line, width) or [""])]
    top = "╭" + "─ Traceback (most recent call last) ".ljust(width + 2, "─") + "╮"
    rest = textwrap.wrap(lines[-1], 80)
    return [top, *(f"│ {line.ljust(width)} │" for line in inside), "╰" + "─" * 72 + "╯", *rest]


def wrapped(lines: list[str]) -> list[str]:
    """As a terminal of 78 columns breaks it, in the middle of words."""
    return [line[at : at + 78] for line in lines for at in range(0, max(1, len(line)), 78)]


def before(prefix: str) -> Dress:
    return lambda lines: [prefix + line for line in lines]


WINDOWS = "C:\\Users\\ana\\proj\\"
STAMP = "2026-03-02T10:11:12.3456789Z "
DRESSES: dict[str, Dress] = {
    "plain": list,
    "colours": lambda lines: [f"\x1b[31m{line}\x1b[0m" for line in lines],
    "rank": before("[rank3]: "),
    "quoted": before("> "),
    "commented": before("# "),
    "ci": before(STAMP),
    "vllm": before("(EngineCore_0 pid=771) "),
    "vllm-logger": before("ERROR 06-15 10:12:31 [core.py:515] "),
    "ray": before("(MapWorker(Batch) pid=12390, ip=10.0.118.90) "),
    "loguru": before("2026-03-02 10:11:12.345 | ERROR    | app.main:run:88 - "),
    "structlog": before("2026-03-02 10:11:12 [error    ] "),
    "pytest": lambda lines: [f"E   {line}" for line in lines],
    "list": lambda lines: [line.strip() for line in lines],
    "indented": lambda lines: [" " * 9 + line.ljust(110) for line in lines],
    "spaced": lambda lines: [part for line in lines for part in (line, "")],
    "crlf": lambda lines: [line + "\r" for line in lines],
    "windows": lambda lines: [line.replace("/home/ana/proj/", WINDOWS) for line in lines],
    "boxed": boxed,
    "wrapped": wrapped,
    "headless": lambda lines: lines[len(lines) // 3 :] if len(lines) > 40 else lines,
    "chatter": lambda lines: ["loading weights", *lines, "INFO: worker 3 stopped"],
}


def causes(path: Path) -> set[str]:
    evidence, _ = read([str(path)])
    assert [unread.reason for unread in evidence.unread if unread.kind == "failures"] == []
    return {seen.record.cause for seen in evidence.table(Failure)}


def is_own(path: Path) -> bool:
    evidence, _ = read([str(path)])
    return any(seen.record.own for seen in evidence.table(Failure))


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name[:6]}-{path.stem}")
def test_a_failure_is_the_same_in_every_dress(log: Path, tmp_path: Path) -> None:
    lines = log.read_text(encoding="utf-8").rstrip("\n").split("\n")
    expected = causes(log)
    # Lines that a launcher has marked are broken behind its mark; what no phrase tells of is known
    # by its frames.
    broken = {"boxed", "wrapped"} if "[rank" in lines[0] or expected == {"unknown"} else set()
    # Only known as a compiled program's by what stands around it, which has another dress then.
    if log.stem == "fires-end-of-a-recording" or is_own(log):
        broken = DRESSES.keys() - {"plain", "rank", "crlf", "colours", "ci"}
    lost = {}
    for name, dress in DRESSES.items():
        if name in broken:
            continue
        path = tmp_path / f"{name}.log"
        path.write_text("\n".join(dress(lines)) + "\n", encoding="utf-8", newline="")
        if not expected <= (found := causes(path)):
            lost[name] = found
    assert lost == {}
