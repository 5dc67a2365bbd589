"""Any few lines of a log are judged on what they show: never by exit 2, never by "Nothing to fix".

The samples are drawn with fixed seeds: 15 pieces of 5 to 30 lines of each log.
"""

from __future__ import annotations

import gzip
import random
import re
from pathlib import Path

from tests.corpus import ROOT, needs_corpus
from tracelens import Report, TracelensError, analyze
from tracelens.judging.alone import SUMMARIES

FIXTURES = Path(__file__).parents[1] / "fixtures"
PIECES = 15
#: A line that only torch or oneDNN writes, and that means something.
KNOWN = re.compile(
    r"[VIWE]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ (?:\S*/)?torch/(?!utils/_pytree)\S+:\d+\] \S"
    r"|\[\d{4}-\d\d-\d\d [\d:,]+\] (?:\[[\d/]+\] )?torch\.\S+: \[\w+\] \S"
    r"|(?:onednn|dnnl|mkldnn)_verbose,\w"
)
#: A longer log is not cut: its pieces are like those of shorter ones.
MAX_BYTES = 2_000_000


def fixtures() -> list[Path]:
    return sorted((FIXTURES / "rules").glob("*/fires-*.log"))[::43]


def corpus() -> list[Path]:
    found = sorted(ROOT.glob("corpus/*/*/log.txt*")) if ROOT else []
    return [path for path in found if path.parts[-3] != "threads"][::31]


def answer(path: Path) -> str:
    """Return what a user reads first of the log."""
    try:
        report = analyze(str(path))
    except TracelensError:
        return "exit 2"
    told = [one for one in report.findings if one.code not in SUMMARIES or one in report.told]
    return told[0].code if told else "Nothing to fix"


def is_within(whole: Report, first: int, end: int) -> bool:
    """Tell whether all rows of some finding of the whole log are in these lines.

    An error of the program's own is none of ours without torch's lines beside it.
    """
    return any(
        found.evidence
        and not found.data.get("ended_program")
        and (found.count or 0) <= len(found.evidence)
        and all(first < (row.line or 0) <= end for row in found.evidence)
        for found in whole.told
    )


def unanswered(path: Path, folder: Path) -> list[tuple[str, str, int, int]]:
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    if len(data) > MAX_BYTES or data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return []
    try:
        whole = analyze(str(path))
    except TracelensError:
        return []
    lines = data.decode("utf-8", "replace").split("\n")
    draw = random.Random(f"pieces of {path.parent.name}/{path.name}")
    piece, left = folder / "piece.txt", []
    for _ in range(PIECES):
        first = draw.randrange(max(1, len(lines) - 5))
        end = first + draw.randint(5, 30)
        part = lines[first:end]
        if not (any(map(KNOWN.search, part)) or is_within(whole, first, end)):
            continue
        piece.write_text("\n".join(part) + "\n", encoding="utf-8")
        if (said := answer(piece)) in {"exit 2", "Nothing to fix"}:
            left.append((said, str(path), first, end))
    return left


def test_pieces_of_our_logs(tmp_path: Path) -> None:
    left = [one for path in fixtures() for one in unanswered(path, tmp_path)]
    assert not left, left[:5]


@needs_corpus
def test_pieces_of_the_corpus(tmp_path: Path) -> None:
    paths = corpus()
    assert len(paths) > 8
    left = [one for path in paths for one in unanswered(path, tmp_path)]
    assert not left, left[:5]
