"""A terminal as a drawing: the text of a report with its colours, for the README."""

from __future__ import annotations

import re
from html import escape

__all__ = ["terminal"]

#: Codes of colours: their fills on dark.
_FILLS = {
    "1;31": "#ff9a90", "1;33": "#ecb862", "1;36": "#78b7ff", "1;32": "#72cf98",
    "1": "#ffffff", "2": "#8a95a3", "34": "#78b7ff",
}  # fmt: skip
_SGR = re.compile(r"\x1b\[([\d;]*)m")
#: Links, of which the text stays.
_OSC = re.compile(r"\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\\\)")
LINES, WIDTH, LINE = 34, 720, 18


def terminal(text: str, command: str) -> str:
    """Return the first lines of ``text`` as they look in a terminal, below its command."""
    lines = [f"\x1b[2m$\x1b[0m \x1b[1m{command}\x1b[0m", *_OSC.sub("", text).splitlines()[:LINES]]
    height = LINE * len(lines) + 28
    body = "".join(
        f'<text x="16" y="{30 + LINE * at}" xml:space="preserve">{_spans(line)}</text>\n'
        for at, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}">\n'
        f"<title>{escape(command)}</title>\n"
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#101418"/>\n'
        "<g font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" "
        f'font-size="13" fill="#e6eaef">\n{body}</g>\n</svg>\n'
    )


def _spans(line: str) -> str:
    out, fill, at = "", "", 0
    for found in _SGR.finditer(line):
        out += _span(line[at : found.start()], fill)
        fill, at = _FILLS.get(found[1], ""), found.end()
    return out + _span(line[at:], fill)


def _span(text: str, fill: str) -> str:
    shown = escape(text)
    return f'<tspan fill="{fill}">{shown}</tspan>' if fill and text else shown
