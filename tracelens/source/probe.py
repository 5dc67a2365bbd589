"""A look at the beginning of an input: of which processes it tells, and when it begins."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Literal

import msgspec

from tracelens.errors import SourceError
from tracelens.late import late
from tracelens.source.files import Stream
from tracelens.source.prefixes import clock

__all__ = ["Probe", "probe"]

#: Bytes of text that are looked at; the processes of a job all write early.
MAX_LOOK = 1 << 20
#: What begins a record of a structured log, after torch's prefix.
_STRUCTURED = b"torch/_logging/structured.py"
_WRITER = late(
    rb"(?:^|[ :\]\"m])[VIWECF](?P<clock>\d{4}(?:-\d\d-\d\d[T ]| )\d\d:\d\d:\d\d[.,]\d{3,6}) +"
    rb"(?P<pid>\d{1,10}) [\w./\\-]{1,200}:\d+\]",
    re.MULTILINE,
)
_HOST = late(
    rb'"cat": ?"(?:cpu_op|user_annotation|cpu_instant_event|python_function|Operator)"'
    rb'[^{}]{0,2000}?"pid": ?"?(?P<pid>\d{1,10})"?[^{}]{0,200}?"ts": ?(?P<us>\d{1,17})'
)
_BASE = late(rb'"baseTimeNanoseconds": ?(\d{1,19})')
_WORLD = late(rb'"world_size": ?(\d{1,9})')
_RANK = late(rb'"distributedInfo": ?\{[^{}\[\]]{0,400}?"rank": ?(\d{1,9})\b')
#: Microseconds since 1970 are more than this, microseconds of a trace's own clock are less.
_EPOCH_US = 1e15


class Probe(msgspec.Struct, frozen=True):
    """What the beginning of one input tells."""

    path: str
    kind: Literal["text", "structured", "trace"] = "text"
    pids: frozenset[str] = frozenset()
    #: Seconds since the start of the year, by the clock of the log or, for a trace, in UTC.
    start: float | None = None
    #: The processes of the job, and which of them this is, where a trace says so.
    world: int | None = None
    rank: int | None = None


def probe(path: str) -> Probe:
    """Look at the beginning of ``path``; what cannot be read tells nothing, here."""
    text = b""
    try:
        with Stream(path).open() as reader:
            while len(text) < MAX_LOOK and (more := reader.read(MAX_LOOK - len(text))):
                text += more
    except (SourceError, OSError):
        return Probe(path)
    if text.lstrip()[:1] in {b"{", b"["}:
        from tracelens.traces.reader import may_be_trace  # noqa: PLC0415 -- costly, seldom needed

        if may_be_trace(text):
            return _trace(path, text)
    pids: dict[str, None] = {}
    start = None
    for match in _WRITER.finditer(text):
        pids[match["pid"].decode()] = None
        start = clock(match["clock"]) if start is None else start
    structured = _STRUCTURED in text[:4096] or Path(path).name.startswith("dedicated_log_")
    return Probe(path, "structured" if structured else "text", frozenset(pids), start)


def _trace(path: str, text: bytes) -> Probe:
    host, base = _HOST.search(text), _BASE.search(text)
    world, rank = _WORLD.search(text), _RANK.search(text)
    pids = frozenset({host["pid"].decode()} if host else ())
    us = float(host["us"]) if host else 0.0
    if base and us < _EPOCH_US:
        us += int(base[1]) / 1e3
    start = _in_year(us / 1e6) if us > _EPOCH_US else None
    return Probe(
        path,
        "trace",
        pids,
        start,
        int(world[1]) if world else None,
        int(rank[1]) if rank else None,
    )


def _in_year(seconds: float) -> float:
    """Return a time since 1970 as the clock of a log has it: since the start of a leap year."""
    when = time.gmtime(seconds)
    stamp = time.strftime("%m%d %H:%M:%S.000", when).encode()
    return (clock(stamp) or 0.0) + seconds % 1
