"""What the lines below a break do with the name that it assigns, where the record prints them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracelens.dynamo.breaks import BreakSite
from tracelens.dynamo.needed_numbers import DECIDES

__all__ = ["branches_on", "last_reads"]

#: A line that reads numbers: of a tensor whose size is unknown, Inductor raised.
_READS = re.compile(r"\.(?:item|tolist)\(|\bpack_padded_sequence\(")

#: The names on the left of an assignment.
_NAMES = re.compile(r"([A-Za-z_]\w{0,60}(?:, ?[A-Za-z_]\w{0,60}){0,8}) ?= ?[^=]")


def branches_on(site: BreakSite) -> bool:
    """Whether a later line decides by a name that the line assigns.

    Where a loop is given up, the record has the lines of the loop.
    """
    code = site.line.code
    found = _NAMES.match(code)
    if found is None:
        return False
    names = re.compile(rf"\b(?:{found[1].replace(' ', '').replace(',', '|')})\b")
    return any(_decides(seen.text, code, names) for _, seen in site.events)


def last_reads(found: Iterable[BreakSite]) -> dict[tuple[str, str], int]:
    """Return, by file and function, the last line with a break that reads numbers."""
    last: dict[tuple[str, str], int] = {}
    for site in found:
        line = site.line
        if _READS.search(line.code):
            about = line.file, line.function
            last[about] = max(line.line, last.get(about, 0))
    return last


def _decides(text: str, code: str, names: re.Pattern[str]) -> bool:
    """Whether a line behind the one with ``code``, of the same block of source, decides."""
    lines = [line.strip() for line in text.split("\n")]
    if code not in lines or "Stack variable source attribution:" not in lines:
        return False
    start = lines.index("Stack variable source attribution:")
    try:
        own = lines.index(code, start)
    except ValueError:
        return False
    for line in lines[own + 1 :]:
        if line.startswith("File "):
            break
        if DECIDES.search(line) and names.search(line):
            return True
    return False
