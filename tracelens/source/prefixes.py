"""What stands before a line's own text: torch's log prefix, and what transports put in front of it.

Only patterns, no state. All of them are linear: no quantifier repeats over another one.
"""

from __future__ import annotations

import re
from datetime import date

import msgspec

__all__ = ["BEGUN", "GLUED", "TORCH", "TORN", "clock", "peel", "plain", "rank_of", "unwrap_json"]

_ID = rb"\[[!\d-][\d/_!-]*\]"
_ARTIFACT = rb"\[__[a-z]\w*\]"

#: A torch log prefix. ``clock`` and ``writer`` are volatile and split off; ``site`` goes to the
#: grammar ``torch_log``. Three forms: glog (torch 2.2 on), Python logging (2.1), and trimmed by
#: hand.
TORCH = re.compile(
    rb"(?:"
    rb"[VIWECF](?P<clock>\d{4} \d\d:\d\d:\d\d\.\d{6}) +(?P<writer>\d+) (?P<site>[^\]\n]{1,400}\]"
    rb"(?: " + _ID + rb")?(?: " + _ARTIFACT + rb")?)"
    rb"|\[(?P<clock21>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] "
    rb"(?P<site21>(?:" + _ID + rb" )?torch[\w.]{0,200}: \[[A-Z]{4,8}\])"
    rb"|(?P<bare>(?:torch[\w./\\-]{1,200}:\d+\] )?(?:" + _ID + rb" )?" + _ARTIFACT + rb")"
    rb")"
)

#: A glog prefix of torch in the middle of a line: a progress bar left no newline before it.
GLUED = re.compile(
    rb"(?<![\s\"'`(=])[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ "
    rb"[\w./\\-]{0,200}torch[/\\][\w./\\-]{1,200}:\d+\] "
)

#: The rest of a torch prefix whose beginning was lost.
TORN = re.compile(rb"[^\]\n]{0,200}\] ?(?:" + _ID + rb" ?)?(?:" + _ARTIFACT + rb" ?)?")
#: The beginning of a line of torch or oneDNN, however short.
BEGUN = re.compile(rb"[VIWECF]\d{4} \d\d:|onednn_verbose,")

#: One layer of transport: container, orchestrator, journal, CI, launcher, quotation, line number.
_TRANSPORT = re.compile(
    rb"(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,\d]{0,12}(?:Z|[+-]\d\d:?\d\d))"
    rb"(?: (?:stdout|stderr) (?P<part>[FP]))? ?"
    # torchrun writes no blank after it, the exceptions of a rank do. Indents are even: an odd
    # number of blanks holds one that is not part of the line.
    rb"|\[(?P<rank>(?:rank|default)\d{1,6})\]:(?: (?=(?:  )*(?! )))?"
    rb"|\[pod/[^\]\n]{1,300}\] "
    rb"|\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d{3,6}\] (?=[VIWECF]\d{4} )"
    rb"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,100} [\w.@/-]{1,100}(?:\[\d{1,10}\])?: "
    rb"|\((?:\w{1,60} )?pid=\d{1,10}(?:, ip=[\d.]{7,15})?\) ?"
    rb"|(?:> ?)(?=[^ ]|$)"
)
_ANSI = re.compile(
    rb"\x1b(?:\[[0-?]{0,16}[ -/]{0,4}[@-~]"
    rb"|\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)|[()][\w])"
)

_RANKED = re.compile(r"torch_trace_rank_(\d{1,6})(?!\d)[^/\\]*$")


def peel(line: bytes) -> tuple[bytes, str, bool]:
    """Take the transport layers off ``line``.

    Returns:
        The text beneath, the rank that a launcher named (``rank0``; empty when none did), and
        whether the container runtime cut the line here and goes on in its next one.
    """
    rank, partial = "", False
    line = plain(line)
    for _ in range(4):
        match = _TRANSPORT.match(line)
        if match is None or match.end() == 0:
            break
        line = line[match.end() :]
        if match["rank"]:
            rank = "rank" + match["rank"].lstrip(b"rankdefult").decode()
        partial = partial or match["part"] == b"P"
    return line, rank, partial


def rank_of(path: str) -> str:
    """Return the rank that torch put into the name of a structured log; empty for none."""
    match = _RANKED.search(path)
    return f"rank{match[1]}" if match is not None else ""


def plain(text: bytes) -> bytes:
    """Return ``text`` without colours and other terminal codes."""
    return _ANSI.sub(b"", text) if b"\x1b" in text else text


def unwrap_json(line: bytes) -> bytes | None:
    """Return the text inside one line of a container runtime's JSON log; None for other lines."""
    try:
        text = msgspec.json.decode(line, type=_JsonLine).log
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
        return None
    return text.rstrip("\n").encode("utf-8", "surrogatepass")


class _JsonLine(msgspec.Struct):
    log: str


def clock(text: bytes) -> float | None:
    """Return a prefix's time in seconds since the start of its year; None for an impossible date.

    ``1120 10:45:41.174000`` (no year: a leap year is assumed, so differences within one log hold)
    or ``2026-11-20 11:29:34,659``.
    """
    try:
        if text[4:5] == b"-":
            day = date(2000, int(text[5:7]), int(text[8:10])).timetuple().tm_yday
            fraction = int(text[20:23]) / 1e3
            rest = text[11:19]
        else:
            day = date(2000, int(text[0:2]), int(text[2:4])).timetuple().tm_yday
            fraction = int(text[14:20]) / 1e6
            rest = text[5:13]
        hours, minutes, seconds = int(rest[0:2]), int(rest[3:5]), int(rest[6:8])
    except ValueError:
        return None
    return ((day * 24 + hours) * 60 + minutes) * 60 + seconds + fraction
