"""Cut out of logs the lines that each finding quotes, dress them as people paste them, ask again.

    python benchmarks/excerpts.py FOLDER... [--each 2] [--seed 1] [--rules ONE,RCP] [-o cells.json]

For every finding of every log below the folders the quoted lines are cut with 0, 2, 6 and 15 lines
around them, in each of the dresses below. The answer to an excerpt is one of

    same    the finding's rule is the first to answer
    shown   its rule answers, not first
    named   only LOG001 answers, or another finding about the log: it says what the lines are
    other   another rule is first, which the whole log has fire, too
    false   another rule is first, which the whole log does not have fire
    harmless  nothing but what is harmless is told
    nothing no finding
    exit 2  no report

and is counted by rule, by lines around and by dress. Not every excerpt proves its finding: a table
of a class that fails is read by a person, who decides what the lines alone prove.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tracelens import Finding, Report, Severity, TracelensError, analyze

AROUND = (0, 2, 6, 15)
#: A longer log is not cut: its pieces are like those of shorter ones.
MAX_BYTES = 1_500_000
#: Lines of one excerpt.
MOST = 120
_GLOG = re.compile(
    r"^(?:\[\w+\d*\]:)*[VIWEC]\d{4} [\d:.]+ +\d+ \S+:\d+\] (?:\[[\d/_!-]+\] )?(?:\[__\w+\] ?)?"
    r"|^\[\d{4}-\d\d-\d\d [\d:,]+\] (?:\[[\d/_]+\] )?torch\.\S+: \[\w+\] "
)
_ONEDNN = re.compile(r"^(?:\w*dnn\w*_verbose)")


def bare(lines: list[str]) -> list[str]:
    """Take torch's prefix off."""
    return [_GLOG.sub("", line) for line in lines]


def quoted(lines: list[str]) -> list[str]:
    """As in an answer to an e-mail."""
    return [f"> {line}" for line in lines]


def fenced(lines: list[str]) -> list[str]:
    """As in an issue."""
    prose = "Hi, I compile my model and it is slower than I thought. This is what I see:"
    end = "Is this expected? I am on Ubuntu 22.04 and do not know where to look next."
    return [prose, "", "```", *lines, "```", "", end]


def wrapped(lines: list[str]) -> list[str]:
    """As copied out of a terminal of 80 columns."""
    return [line[at : at + 80] for line in lines for at in range(0, max(1, len(line)), 80)]


def flush(lines: list[str]) -> list[str]:
    """Without indentation."""
    return [line.lstrip() for line in lines]


def ranked(lines: list[str]) -> list[str]:
    """As a launcher for many ranks writes them."""
    return [f"[rank0]:{line}" for line in lines]


def contained(lines: list[str]) -> list[str]:
    """As a container's log has them."""
    return [f"2026-06-12T10:11:12.{at:06}Z {line}" for at, line in enumerate(lines)]


def torn(lines: list[str]) -> list[str]:
    """Cut in the middle of the first line and of the last one."""
    if len(lines) < 3:
        return lines
    return [lines[0][len(lines[0]) // 2 :], *lines[1:-1], lines[-1][: len(lines[-1]) // 2]]


DRESSES: dict[str, Callable[[list[str]], list[str]]] = {
    "plain": list,
    "bare": bare,
    "quoted": quoted,
    "fenced": fenced,
    "wrapped": wrapped,
    "flush": flush,
    "ranked": ranked,
    "contained": contained,
    "torn": torn,
    "bare fenced": lambda lines: fenced(bare(lines)),
    "bare flush": lambda lines: flush(bare(lines)),
}


class Asked(NamedTuple):
    """An excerpt, and what the whole log says."""

    log: str
    finding: Finding
    around: int
    dress: str
    lines: list[str]
    whole: frozenset[str]


def text_of(path: Path) -> str | None:
    """Return a log's text; nothing for what is no text, or too long."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    elif data[:4] == b"\xfd7zX":
        data = lzma.decompress(data)
    if len(data) > MAX_BYTES or (data[:1] in (b"{", b"[") and data[1:2] in (b"\n", b'"', b" ")):
        return None
    return None if data[:2] in (b"\xff\xfe", b"\xfe\xff") else data.decode("utf-8", "replace")


def logs(folders: list[str]) -> Iterator[Path]:
    """Yield the logs below some folders."""
    for path in sorted(path for folder in folders for path in Path(folder).rglob("*")):
        name = path.name.removesuffix(".gz").removesuffix(".xz")
        if name.endswith((".log", ".txt")) and path.is_file() and "threads" not in path.parts:
            yield path


def loud(report: Report) -> list[Finding]:
    """Return what a report tells that is not harmless."""
    return [one for one in report.told if one.severity is not Severity.NONE]


def excerpts(path: Path, folder: Path) -> Iterator[Asked]:
    """Yield every excerpt of a log."""
    text = text_of(path)
    if text is None:
        return
    copy = folder / "whole.log"
    copy.write_text(text, encoding="utf-8")
    try:
        report = analyze(str(copy))
    except TracelensError:
        return
    lines = text.split("\n")
    whole = frozenset(one.code for one in report.findings)
    for finding in loud(report):
        at = sorted({row.line for row in finding.evidence if row.line})
        if not at or finding.code.startswith("LOG"):
            continue
        for around in AROUND:
            kept = sorted({k for n in at for k in range(n - 1 - around, n + around)})
            cut = [lines[k] for k in kept if 0 <= k < len(lines)][:MOST]
            for dress, dressed in DRESSES.items():
                yield Asked(str(path), finding, around, dress, dressed(cut), whole)


def answer(asked: Asked, path: Path) -> str:
    """Return what a reader gets for an excerpt."""
    path.write_text("\n".join(asked.lines) + "\n", encoding="utf-8")
    try:
        report = analyze(str(path))
    except TracelensError:
        return "exit 2"
    told = loud(report)
    codes = [one.code for one in told]
    if not codes:
        return "harmless" if report.findings else "nothing"
    if asked.finding.code == codes[0]:
        return "same"
    if codes[0].startswith("LOG"):
        return "named"
    if codes[0] not in asked.whole:
        return f"false {codes[0]}"
    return "shown" if asked.finding.code in codes else f"other {codes[0]}"


def main() -> int:
    """Ask about a sample of the excerpts and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--each", type=int, default=2, help="excerpts of one cell")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rules", default="", help="prefixes of codes, with commas")
    parser.add_argument("-o", dest="out", help="every answer, with its text")
    given = parser.parse_args()
    prefixes = tuple(given.rules.split(",")) if given.rules else ("",)
    found = list(logs(given.folders))
    random.Random(given.seed).shuffle(found)
    asked: Counter[tuple[str, int, str]] = Counter()
    cells: dict[tuple[str, int, str], Counter[str]] = defaultdict(Counter)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in found:
            for one in excerpts(path, folder):
                cell = (one.finding.code, one.around, one.dress)
                if asked[cell] >= given.each or not one.finding.code.startswith(prefixes):
                    continue
                asked[cell] += 1
                said = answer(one, folder / "pasted.txt")
                cells[cell][said] += 1
                rows.append([one.log, *cell, said, "\n".join(one.lines)])
    show(cells)
    if given.out:
        Path(given.out).write_text(json.dumps(rows, indent=0), encoding="utf-8")
    return 0


KINDS = ("same", "shown", "named", "other", "false", "harmless", "nothing", "exit 2")


def show(cells: dict[tuple[str, int, str], Counter[str]]) -> None:
    """Print the counts by dress, by lines around, and by rule."""
    for at, head in ((2, "dress"), (1, "lines around"), (0, "rule")):
        by: dict[str | int, Counter[str]] = defaultdict(Counter)
        for cell, said in cells.items():
            for what, count in said.items():
                by[cell[at]][what if what == "exit 2" else what.split(" ")[0]] += count
        print(f"\n{head:14}", *(f"{kind:>8}" for kind in KINDS))
        for key, counts in sorted(by.items(), key=lambda one: str(one[0]).rjust(9)):
            print(f"{key!s:14}", *(f"{counts[kind] or '.':>8}" for kind in KINDS))


if __name__ == "__main__":
    sys.exit(main())
