"""Messages that torch's compile stack and Triton raise, known by the words that they begin with.

``messages.txt`` holds checksums of those words by the stage that raises them, of those that torch
only warns with, of those that it does both with, and of the names of Dynamo's graph breaks; it is
made by ``benchmarks/messages.py`` from the sources of torch 2.3 to 2.13 and Triton. A message that
too many programs could print (less than four words that say something, or words that other
packages raise, too) is not among them.
"""

from __future__ import annotations

import re
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tracelens.late import late

if TYPE_CHECKING:
    from tracelens.failures.record import Stage

__all__ = [
    "BOTH",
    "BREAK",
    "MAX_WORDS",
    "WARNED",
    "WORD",
    "beginning",
    "checksum",
    "is_break",
    "is_warned",
    "raised_by",
    "whole",
]

#: Words that say something which a message must have, and words in all which are looked at.
TELLING, MAX_WORDS = 4, 12
#: Characters of the name of a graph break, the parts of one that is a single word, and where those
#: names stand in the index, what torch only warns of, and what it warns of in one place and raises
#: in another.
MAX_NAME = 200
PARTS = 3
BREAK, WARNED, BOTH = "break", "warned", "both"
WORD = re.compile(r"(?<![\w\0])[A-Za-z_]\w*(?![\w\0])")
_NAME = late(r"[\w.:<>]{1,120}")
_SAY_LITTLE = (
    "a all an and any are argument arguments as at be but by can cannot could did do does error"
    " expect expected expects for found from get given got had has have if in input inputs instead"
    " into invalid is it its more must name no none not number of on one only or please same should"
    " so some str supported than that the them then there these they this to two type types"
    " unexpected unsupported use used using value values was we were when which with you your"
)
_SILENT = frozenset(_SAY_LITTLE.split())


def beginning(text: str) -> str:
    """Return the words that ``text`` begins with, up to those that say enough; empty without them.

    Numbers and signs are left out; a NUL stands for a value, and ends it.
    """
    head, value, _ = text.lstrip()[: 20 * MAX_WORDS].partition("\0")
    words: list[str] = []
    telling = 0
    for word in WORD.findall((head + value).lower())[:MAX_WORDS]:
        words.append(word)
        telling += word not in _SILENT
        if telling == TELLING:
            return " ".join(words)
    return ""


def checksum(words: str) -> int:
    """Return what the index holds of a beginning."""
    return zlib.crc32(words.encode())


def whole(text: str) -> str:
    """Return the words of an error that names a graph break; empty where they are too few.

    A name such as ``missing_mp_subscript`` is told by its parts.
    """
    words = WORD.findall(text.lower()) if len(text) < MAX_NAME else []
    parts = words[0].strip("_").split("_") if len(words) == 1 else words
    enough = len(parts) > (1 if len(words) > 1 else PARTS - 1)
    return " ".join(("unsupported", *words)) if enough else ""


@cache
def _sections() -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    stage = "unknown"
    text = Path(__file__).with_name("messages.txt").read_text(encoding="ascii")
    for line in text.splitlines():
        if line.startswith(" "):
            found.setdefault(stage, set()).update(int(one, 16) for one in line.split())
        else:
            stage = line
    return {name: frozenset(sums) for name, sums in found.items()}


@cache
def _index() -> dict[int, str]:
    return {one: stage for stage, sums in _sections().items() if stage != BOTH for one in sums}


def raised_by(text: str) -> Stage | None:
    """Return the stage that raises the message ``text``; None where none is known to.

    Before it may stand what it is said of: ``aten.mm.default: ...``.
    """
    said = text.lstrip().partition(": ")
    for part in (text, said[2] if _NAME.fullmatch(said[0]) else ""):
        words = beginning(part)
        stage = _index().get(checksum(words)) if words else None
        if stage not in {None, BREAK, WARNED}:
            return stage  # type: ignore[return-value]
    return None


def is_break(text: str) -> bool:
    """Tell whether ``text`` is what Dynamo calls a graph break, and nothing else."""
    words = whole(text)
    return bool(words) and _index().get(checksum(words)) == BREAK


def is_warned(text: str) -> bool:
    """Tell whether torch's compile stack warns with ``text``; it may raise the same elsewhere."""
    words = beginning(text)
    return bool(words) and checksum(words) in _sections()[WARNED] | _sections()[BOTH]
