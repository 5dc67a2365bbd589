"""Text that may hold anything: made safe to show, measured in terminal cells, fitted to a width."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

from tracelens.late import late

__all__ = [
    "clean",
    "elide",
    "gather",
    "map_strings",
    "one_line",
    "one_row",
    "spans",
    "width",
    "wrap",
]

# CSI and OSC sequences as a terminal reads them; what is left of a broken one falls to _CONTROL.
_ESCAPE = late(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
# C0 without tab and newline, DEL, C1, line and paragraph separators, and what reorders a line.
_CONTROL = late(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
)
_CODE = late(r"(?<!`)`([^`\n]+)`(?!`)")
_DOTS = "..."


def clean(text: str) -> str:
    """Return ``text`` without escape sequences, control characters and direction overrides."""
    if text.isascii() and text.isprintable():
        return text
    text = _ESCAPE.sub("", text.replace("\r\n", "\n").replace("\t", "    "))
    return _CONTROL.sub("", text)


def one_line(text: str) -> str:
    """Return ``text`` with every run of white space as one blank."""
    return " ".join(text.split())


def one_row(text: str) -> str:
    """Return a log line without line breaks, its blanks kept."""
    return text.replace("\n", " ").rstrip()


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Return the JSON value with every string in it, keys too, replaced by ``change(string)``."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [change(item) if type(item) is str else map_strings(item, change) for item in value]
    if isinstance(value, dict):
        return {
            change(key): change(item) if type(item) is str else map_strings(item, change)
            for key, item in value.items()
        }
    return value


def gather(value: Any, held: dict[str, str]) -> None:
    """Add every string in the JSON value to ``held``, keys too, in order."""
    if isinstance(value, str):
        held[value] = value
    elif isinstance(value, list):
        for item in value:
            gather(item, held)
    elif isinstance(value, dict):
        for key, item in value.items():
            held[key] = key
            if type(item) is str:
                held[item] = item
            else:
                gather(item, held)


def spans(text: str) -> list[tuple[bool, str]]:
    """Split ``text`` at its back-ticked parts: (is it code?, the text without the ticks)."""
    parts = _CODE.split(text)
    return [(bool(number % 2), part) for number, part in enumerate(parts) if part]


def width(text: str) -> int:
    """How many cells of a terminal ``text`` takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def _cells(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in {"Cf", "Me", "Mn"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def elide(text: str, cells: int, tail: int = 0) -> str:
    """Return ``text`` in at most ``cells`` cells: the middle goes, both ends stay.

    ``tail`` says how many cells the end may have; a third when it is 0.
    """
    if width(text) <= cells:
        return text
    room = max(cells - len(_DOTS), 0)
    head = _head(text, room - min(tail or room, room // 3))
    end = _head(text[::-1], room - width(head))[::-1]
    return (head.rstrip() + _DOTS + end.lstrip()) if room else _DOTS[:cells]


def _head(text: str, cells: int) -> str:
    if text.isascii():
        return text[: max(cells, 0)]
    taken = 0
    for position, char in enumerate(text):
        taken += _cells(char)
        if taken > cells:
            return text[:position]
    return text


def wrap(text: str, cells: int) -> list[str]:
    """Break every paragraph of ``text`` into lines of at most ``cells`` cells, words kept whole."""
    return [line for paragraph in text.split("\n") for line in _wrapped(paragraph, max(cells, 8))]


def _wrapped(paragraph: str, cells: int) -> list[str]:
    lines: list[str] = []
    line = ""
    for word in paragraph.split():
        rest = word
        if line and width(line) + 1 + width(rest) > cells:
            lines.append(line)
            line = ""
        while width(rest) > cells:
            head = _head(rest, cells) or rest[0]
            lines.append(head)
            rest = rest[len(head) :]
        line = f"{line} {rest}" if line else rest
    return [*lines, line]
