"""Tell what a program says from what torch and oneDNN log, while it arrives in pieces.

The terminal shows what it would show without us. The log holds everything, in whole lines.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Pieces", "Splitter"]

#: The most of an unfinished line that is kept back from the log, where it is the program's.
MAX_OPEN = 1 << 16
#: The same for a line that will go to the log alone.
MAX_RECORD = 8 << 20

_RANK = rb"(?:\[(?:rank|default)\d{1,6}\]:)?"
_GLOG = rb"\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ "
_TORCH = rb"[\w./\\-]{0,200}torch[/\\][\w./\\-]{1,200}:\d+\]"
#: What nobody prints without being asked: levels below a warning, artifacts, oneDNN's lines.
#: Warnings and errors of torch are shown, since they would be shown without a recording too.
#: Kineto's come from the profiler that ``--trace`` starts.
_LOGGED = (
    rb"[VID]" + _GLOG + _TORCH
    + rb"|[VIDWEC]" + _GLOG + rb"[^\]\n]{1,400}\](?: \[[!\d-][\d/_!-]*\])? \[__[a-z]\w*\]"
    + rb"|\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?:\[[!\d-][\d/_!-]*\] )?"
    rb"torch[\w.]{0,200}(?:: \[(?:DEBUG|INFO)\]|\.__[a-z]\w*: \[[A-Z]{4,8}\])"
    + rb"|(?:USDT|STAGE|INFO):\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d+:\d+ [\w.]{1,100}:\d+\]"
    + rb"|(?:one)?dnnl?_verbose,(?:v\d|\d|primitive|graph|common|exec|create|info|ukernel|error)"
)  # fmt: skip
#: Such a line, or such an end of a line: a progress bar left no newline before it.
_LINE = re.compile(
    rb"(?:^" + _RANK + rb"(?:" + _LOGGED + rb")"
    rb"|[VID]" + _GLOG + _TORCH + rb" "
    rb"|onednn_verbose,(?:v\d|\d|primitive|graph),"
    rb")[^\n]*\n",
    re.MULTILINE,
)
#: What the beginning of a line must be for the line to wait for its end, however long that takes.
_BEGIN = re.compile(
    _RANK + rb"(?:[VIDWEC]\d{4} \d\d:\d\d:\d\d\.\d{6} |onednn_verbose,|" + _LOGGED + rb")"
)
#: The beginning of a line that may become such a one.
_MAYBE = re.compile(
    rb"\[?(?:r|d|ra|de|ran|def|rank\d{0,6}|defa\w{0,3}\d{0,6})\]?:?$"
    rb"|"
    + _RANK
    + rb"(?:[VIDWEC](?:\d{0,4}$|\d{4} )|\[(?:\d{0,4}$|\d{4}-)|on?$|one|dn?$|dnn)"
    + rb"|(?:U|US|USD|S|ST|STA|STAG|I|IN|INF)$|(?:USDT|STAGE|INFO)(?:$|:)"
)
#: One of these is in every such line.
_SIGNS = (b"torch", b"[__", b"_verbose,", b"USDT:", b"STAGE:", b"INFO:")


class Pieces(NamedTuple):
    """What to do with bytes that have arrived."""

    shown: bytes = b""
    logged: bytes = b""


class Splitter:
    """One stream of one child."""

    def __init__(self) -> None:
        #: The unfinished line, and how much of it has been shown and logged.
        self._rest = b""
        self._shown = 0
        self._logged = 0

    def feed(self, data: bytes) -> Pieces:
        """Take the next bytes; return what to show now, and what to log."""
        held = self._rest + data
        end = held.rfind(b"\n", len(self._rest)) + 1
        shown = logged = b""
        if end:
            shown, logged = self._split(held[:end])
            self._shown = self._logged = 0
        self._rest = held[end:]
        ours = bool(_BEGIN.match(self._rest))
        if not ours and not _MAYBE.match(self._rest):
            shown += self._show()
        if len(self._rest) > (MAX_RECORD if ours else MAX_OPEN):
            shown += b"" if ours else self._show()
            logged += self._give_up()
        return Pieces(shown, logged)

    def pause(self) -> bytes:
        """Return what to show of an unfinished line now that nothing follows it."""
        return b"" if _BEGIN.match(self._rest) else self._show()

    def close(self) -> Pieces:
        """Return what is left when the stream has ended; the log gets its newline."""
        shown = self.pause()
        rest = self._rest[self._logged :]
        self._rest, self._shown, self._logged = b"", 0, 0
        return Pieces(shown, rest + b"\n" if rest else b"")

    def _show(self) -> bytes:
        piece = self._rest[self._shown :]
        self._shown = len(self._rest)
        return piece

    def _give_up(self) -> bytes:
        """Log an unfinished line that has become too long to keep."""
        piece = self._rest[self._logged :]
        self._rest, self._shown, self._logged = b"", 0, 0
        return piece

    def _split(self, lines: bytes) -> Pieces:
        """Split whole lines; the beginning of the first may have been shown already."""
        logged = lines[self._logged :]
        if not any(sign in lines for sign in _SIGNS):
            return Pieces(lines[self._shown :], logged)
        shown: list[bytes] = []
        kept: list[bytes] = []
        at = 0
        for match in _LINE.finditer(lines):
            start = match.start()
            shown.append(lines[max(at, self._shown) : start])
            kept.append(lines[at:start])
            if start and lines[start - 1] != 0x0A:
                kept.append(b"\n")
            kept.append(match.group())
            at = match.end()
        shown.append(lines[max(at, self._shown) :])
        kept.append(lines[at:])
        return Pieces(b"".join(shown), b"".join(kept)[self._logged :])
