"""Numbers in words: counts, shares, times and sizes, said in one way wherever they are said.

A figure in a sentence has two or three digits, one in a table has one decimal: more than a log can
tell would only make two figures of one thing look different.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeVar

__all__ = [
    "and_more",
    "exact_percent",
    "few",
    "first_line",
    "is_whole",
    "joined",
    "length",
    "listed",
    "number",
    "percent",
    "plain_names",
    "plural",
    "share_of",
    "size",
]

T = TypeVar("T")

#: How Dynamo calls a module that it imports for a guard: ``__import_torch_dot_nn``, a global.
_IMPORTED = re.compile(r"(G\[['\"])?\b__import_(\w{1,300})(?(1)['\"]\])")

#: Digits of a number that anything is counted with; Python itself refuses to read some thousands.
DIGITS = 18

#: Lines of one sort that a finding quotes.
MAX_QUOTED = 3
#: Characters of a message's first line that a title or a sentence holds.
MAX_LINE = 160
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def is_whole(text: str) -> bool:
    """Tell whether a text is a whole number that can have been counted."""
    return len(text) <= DIGITS and text.isdecimal()


def number(value: float) -> str:
    """Return a count with thousands separated, or a measurement with three digits."""
    if not math.isfinite(value):
        return "?"
    if isinstance(value, int) or (value.is_integer() and abs(value) >= 1000):
        return f"{value:,.0f}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def plural(count: int, noun: str, many: str = "") -> str:
    """Return ``1 line`` or ``12,431 lines``."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def percent(share: float) -> str:
    """Return a share with two digits, for sentences; less than all is never 100 %."""
    value = 100 * share
    if not math.isfinite(value):
        return "?"
    if 0 < abs(value) < 0.1:
        return "less than 0.1 %"
    if abs(value) < 9.95:
        return f"{value:.2g} %"
    return "99 %" if 99 < value < 100 else f"{value:.0f} %"


def exact_percent(share: float) -> str:
    """Return a share with one decimal, for tables; less than all is never 100 %, some never 0 %."""
    value = share * 100
    if 0 < value < 1:
        return f"{value:.2g} %" if value >= 0.01 else "< 0.01 %"
    if 99.9 < value < 100:
        return "99.9 %"
    return f"{value:.1f} %".replace(".0 %", " %")


def length(ms: float) -> str:
    """Return milliseconds in the unit that a reader would choose: ``4.09 ms``, ``52.7 s``."""
    if not math.isfinite(ms):
        return "?"
    if abs(ms) >= 7_200_000:
        return f"{number(ms / 3_600_000)} h"
    if abs(ms) >= 120_000:
        return f"{number(ms / 60_000)} min"
    if abs(ms) >= 1000:
        return f"{number(ms / 1000)} s"
    if abs(ms) >= 0.1 or not ms:
        return f"{number(ms)} ms"
    return f"{number(ms * 1000)} us"


def size(count: float) -> str:
    """Return a number of bytes with its unit: ``96 bytes``, ``1.5 MiB``."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if count >= unit:
            return f"{number(count / unit)} {name}"
    return plural(int(count), "byte")


def joined(parts: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def listed(names: Sequence[str], most: int = 4) -> str:
    """Return the first names for a sentence, and how many more there are."""
    told = ", ".join(f"`{name}`" for name in names[:most])
    return told if len(names) <= most else f"{told} and {len(names) - most} more"


def and_more(count: int, told: int) -> str:
    """Return `` and 3 more`` behind the first ``told`` of ``count`` things, or nothing."""
    return f" and {count - told:,} more" if count > told else ""


def few(things: Iterable[T]) -> list[T]:
    """Return the first few things: as many lines of one sort as a finding quotes."""
    return list(islice(things, MAX_QUOTED))


def first_line(text: str) -> str:
    """Return the first line of a message, as many words of it as a title can hold."""
    line = text.partition("\n")[0]
    if len(line) <= MAX_LINE:
        return line
    cut = line[: MAX_LINE - len(" ...")]
    words = cut.rpartition(" ")[0]
    return (words if len(words) > MAX_LINE // 2 else cut) + " ..."


def share_of(part: float, whole: float) -> float:
    """Return which share of the whole a part is; of nothing it is none."""
    return part / whole if whole > 0 else 0.0


def plain_names(text: str) -> str:
    """Return a text with modules by their names: ``torch.nn``, not ``__import_torch_dot_nn``."""
    if "__import_" not in text:
        return text
    return _IMPORTED.sub(lambda found: found[2].replace("_dot_", "."), text)
