"""What the lines below a break do with the name that it assigns, where the record prints them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite
from tracelens.dynamo.needed_numbers import DECIDES

if TYPE_CHECKING:
    from tracelens.logs._stack import StackFrame
    from tracelens.rules.gbr._break_data import BreakData, Line

__all__ = ["Reads", "branches_on", "lines_that_read", "reads_later"]

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


#: Lines that read numbers, by the place of their function: where that is called, and the line.
Reads = dict[tuple[str, str], list[tuple[tuple[str, int], int]]]


def lines_that_read(found: Iterable[BreakSite]) -> Reads:
    """Return the lines with a break that read numbers, by file and function."""
    lines: Reads = {}
    for site in found:
        line = site.line
        if _READS.search(line.code):
            at = _called_at(site.stack, line.file, line.function)
            lines.setdefault((line.file, line.function), []).append((at, line.line))
    return lines


def reads_later(data: BreakData, reads: Reads) -> bool:
    """Whether a later line of the same function breaks the graph to read numbers.

    Classes of one file have methods of one name: where each is called tells them apart, if known.
    """
    at = _called_at(data.stack, data.file, data.function)
    lines = reads.get((data.file, data.function), ())
    later = [called for called, line in lines if line > data.line]
    return any(called == at or not (called[0] and at[0]) for called in later)


def _called_at(stack: Sequence[StackFrame | Line], file: str, function: str) -> tuple[str, int]:
    """Return the line that calls the function, as far as the stack tells."""
    own = [n for n, one in enumerate(stack) if (one.file, one.function) == (file, function)]
    outer = stack[: own[-1]] if own else ()
    near = (one for one in reversed(outer) if user_code.distance(one.file, one.function) < 2)
    return next(((one.file, one.line) for one in near), ("", 0))


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
