"""Lines of code that a report quotes: found where torch quotes them, or by their form."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from tracelens.late import late

__all__ = ["after_place", "codes", "is_code", "told"]

#: What torch writes around a line of the user's code.
_QUOTED = (
    re.compile(r"(?<=, code: )(?P<code>[^\n]{4,2000}?)(?=\s*$)", re.MULTILINE),
    re.compile(r"(?<=  # )(?P<code>[^\n#]{4,2000}?)(?=  # \S{1,400}:\d{1,7} in )"),
    re.compile(r"line \d{1,7}, in [^\n]{1,200}\n\s{1,40}(?P<code>[^\n]{4,2000})"),
)
#: What our own words quote.
_TICKED = late(r"`(?P<code>[^`\n]{4,2000})`")
_SETTING = late(r"torch\.|[A-Z][A-Z_0-9]{2,99}=|(?:import|from) ")
_PLACED = late(r"\S{1,400}\.py:\d{1,7} (?!in )(?P<code>[^\n]{4,2000})")
#: Characters of a line that are parsed at most.
MOST = 2000
#: What a plain line of a log parses as, too.
_PLAIN = (ast.Name, ast.Constant, ast.Tuple, ast.UnaryOp, ast.Compare, ast.List, ast.Dict)


def codes(text: str) -> Iterator[str]:
    """Yield the lines of code that torch quotes in a text."""
    for pattern in _QUOTED:
        for match in pattern.finditer(text):
            yield match["code"].strip()


def told(text: str) -> Iterator[str]:
    """Yield the user's statements among what our words quote; settings are ours."""
    for match in _TICKED.finditer(text):
        is_setting = _SETTING.match(match["code"])
        if not is_setting and any(not isinstance(one, ast.Expr) for one in _parsed(match["code"])):
            yield match["code"]


def after_place(text: str) -> Iterator[str]:
    """Yield the code of a text that is a place and its line."""
    if match := _PLACED.fullmatch(text):
        yield match["code"]


def is_code(text: str) -> bool:
    """Tell whether a whole line is a statement of Python."""
    line = text.strip()
    if not line or len(line) > MOST:
        return False
    if line.startswith(("def ", "class ", "@", "async ")):
        return True
    body = _parsed(line)
    return not all(isinstance(one, ast.Expr) and isinstance(one.value, _PLAIN) for one in body)


def _parsed(line: str) -> list[ast.stmt]:
    """Return the statements that a line is, or begins; none where it is no Python."""
    for tried in (line, f"{line} pass", f"if 1: pass\n{line} pass"):
        try:
            with warnings.catch_warnings(action="ignore"):
                return ast.parse(tried[:MOST]).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return []
