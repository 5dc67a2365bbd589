"""Text as GitHub-flavoured Markdown in which nothing that a log says is live."""

from __future__ import annotations

import re

from tracelens.late import late
from tracelens.render._strings import elide, one_line, spans

__all__ = ["MAX_TEXT", "MAX_TITLE", "code", "details", "fence", "grid", "paragraphs", "text"]

#: Characters of a title, and of running text.
MAX_TITLE, MAX_TEXT = 200, 4_000

_BREAK = "\u200b"
# What GitHub turns into a mention, a reference, a link or an emoji. An address is broken before its
# slashes: whatever stands behind them, a back-tick for instance, may end what is looked for.
_LIVE = late(
    r"@(?=\w)|#(?=\d)|(?<=\bGH)-(?=\d)|:(?=//)|(?<=\bwww)\.(?=\w)|:(?=[\w+-]{1,40}:)",
    re.IGNORECASE,
)
#: A place that somebody may want to copy: nothing is put into it, so it is written as code.
_PLACE = late(r"(?<![\w/.~<>+-])[\w~.<>/+-]{1,200}\.[A-Za-z]{1,4}:\d{1,7}(?!\w)")
#: What means something in HTML.
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
_SPECIAL = late(r"[\\`*\[\]<>~&$]|(?<!\w)_|_(?!\w)|^[#+=-]")
_NUMBERED = late(r"^(\d{1,9})([.)])(?=\s|$)")


def text(value: str, most: int = MAX_TITLE) -> str:
    """Return ``value`` as running text on one line; its back-ticked parts become code."""
    return "".join(
        code(part) if ticked else _plain(part)
        for ticked, part in spans(elide(one_line(value), most))
    )


def _plain(part: str) -> str:
    """Escape running text, but for the places in it."""
    out, end = [], 0
    for match in _PLACE.finditer(part):
        # A back-tick beside a code span would become part of it.
        if "`" in part[match.start() - 1 : match.start()] + part[match.end() : match.end() + 1]:
            continue
        out += [escaped(part[end : match.start()]), code(match[0])]
        end = match.end()
    return "".join([*out, escaped(part[end:])])


def paragraphs(value: str) -> str:
    """Return running text with its paragraphs."""
    return "\n\n".join(text(part, MAX_TEXT) for part in value.split("\n") if part.strip())


def escaped(part: str) -> str:
    """Escape Markdown, and break what GitHub would turn into a mention or a reference."""
    live = _LIVE.sub(lambda match: match[0] + _BREAK, part)
    # An entity, for a backslash does not keep a pipe from ending a table's cell everywhere.
    marked = _SPECIAL.sub(r"\\\g<0>", live).replace("|", "&#124;")
    return _NUMBERED.sub(r"\1\\\2", marked)


def code(value: str) -> str:
    """Return ``value`` as a code span, in which nothing is live."""
    value = elide(one_line(value), MAX_TITLE)
    ticks = "`" * (_longest_run(value) + 1)
    pad = " " if value.startswith("`") or value.endswith("`") or not value else ""
    return f"{ticks}{pad}{value}{pad}{ticks}"


def fence(body: str, language: str) -> str:
    """Return ``body`` as a block that it cannot end."""
    ticks = "`" * max(3, _longest_run(body) + 1)
    return f"{ticks}{language}\n{body.rstrip()}\n{ticks}"


def _longest_run(value: str) -> int:
    return max((len(run) for run in re.findall("`+", value)), default=0)


def grid(heads: list[str], rows: list[list[str]], numeric: list[bool] | None = None) -> str:
    """Return a table of cells that :func:`text` and :func:`code` made."""
    rule = ["---:" if right else "---" for right in numeric or [False] * len(heads)]
    lines = [" | ".join(map(_cell, cells)) for cells in (heads, rule, *rows)]
    return "\n".join(f"| {line} |" for line in lines) + "\n"


def _cell(value: str) -> str:
    # A pipe that is still there stands in code, where the backslash before it is not shown.
    return value.replace("\\|", "|").replace("|", "\\|")


def details(title: str, body: str) -> str:
    """Return ``body`` folded away under ``title``, which may hold anything."""
    summary = _LIVE.sub(lambda match: match[0] + _BREAK, one_line(title).translate(_ESCAPES))
    return f"<details>\n<summary>{summary}</summary>\n\n{body.strip()}\n\n</details>\n"
