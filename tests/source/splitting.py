"""A file read in one pass and in parts: all that was read of it, to be compared."""

from __future__ import annotations

import json
import pickle
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tracelens.evidence import Evidence, Times
from tracelens.plugins import manifest
from tracelens.source import _cut, _find_gaps, files, ranges
from tracelens.source.files import Stream
from tracelens.source.kinds import Kinds
from tracelens.source.opened import Inseparable
from tracelens.source.segment import Segmenter
from tracelens.source.texts import TextSegmenter

__all__ = ["differences", "mutant", "rows_of"]

KINDS = Kinds(manifest.current().logs)
_PLAIN = [
    "kinds",
    "understood_lines",
    "unread_lines",
    "known",
    "examples",
    "spans",
    "structured",
    "switched",
    "numbers",
    "ticks",
    "gaps",
    "faults",
]


def differences(path: Path, chunk: int, jobs: int) -> list[str] | None:
    """Return what differs between one pass and ``jobs`` parts; None where one pass is needed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "CHUNK", chunk)
        patch.setattr(ranges, "MIN_RANGE", 64)
        patch.setattr(ranges, "shared", _here)
        parts = ranges.plan(str(path), jobs, KINDS)
        if len(parts) < 2:
            return None
        stream = Stream(str(path))
        try:
            segmenter = ranges.read_ranges(stream, parts)
        except Inseparable:
            return None
        several = _told(stream, segmenter, segmenter.finish())
        stream = Stream(str(path))
        segmenter = TextSegmenter(KINDS, str(path))
        with stream.open() as reader:
            one = _told(stream, segmenter, _cut(stream, reader, segmenter))
    return [f"{key}: {one[key]!r} or {several[key]!r}" for key in one if one[key] != several[key]]


def _here(
    work: Callable[[Any], Any], tasks: Sequence[Any], *, meanwhile: Callable[[], None], **_: object
) -> Iterator[Any]:
    """Do in this process what workers do, with what pipes do to it."""
    meanwhile()
    for task in tasks:
        asked = pickle.loads(pickle.dumps(task))  # noqa: S301 -- our own
        yield pickle.loads(pickle.dumps(work(asked)))  # noqa: S301


def _told(stream: Stream, segmenter: Segmenter, evidence: Evidence) -> dict[str, Any]:
    evidence.notes.update(dict.fromkeys(stream.notes))
    _find_gaps(stream, evidence)
    told = {name: getattr(evidence, name) for name in _PLAIN}
    told |= {"notes": [*evidence.notes], "sites": [*evidence.known], "unread": _unread(evidence)}
    told |= {"lines": stream.lines, "bytes": stream.bytes, "sha256": stream.sha256}
    told |= {"writers": sorted(segmenter.writers), "truncated": stream.truncated or evidence.cut}
    rows = sorted(rows_of(evidence), key=lambda row: row[3][0].line)
    return told | {"rows": rows}


def _unread(evidence: Evidence) -> list[Any]:
    return [
        (u.kind, u.text, u.count, u.lines, u.first_line, u.reason, u.others)
        for u in evidence.unread
    ]


def rows_of(evidence: Evidence) -> Iterator[tuple[Any, ...]]:
    for held in evidence._texts.values():
        for seen in held if isinstance(held, tuple) else ():
            if seen.count:
                parts = {
                    k: (p.place, p.count, _sums(p.times)) for k, p in (seen.parts or {}).items()
                }
                places = sorted(seen.places, key=lambda place: place.line)
                yield seen.record, seen.text, seen.count, places, _sums(seen.times), parts


def _sums(times: Times | None) -> Any:
    """Return all that is known of times; in which order their buckets were met says nothing."""
    return None if times is None else {name: getattr(times, name) for name in Times.__slots__}


def mutant(lines: list[bytes], others: list[bytes], drawn: random.Random) -> bytes:
    """Return a text made from some lines as transports, programs and accidents change them."""
    for _ in range(drawn.choice([1, 1, 2, 3])):
        lines = drawn.choice(_CHANGES)(lines, others, drawn)
    return b"\n".join(lines) + (b"" if drawn.random() < 0.3 else b"\n")


_Change = Callable[[list[bytes], list[bytes], random.Random], list[bytes]]
_STAMP = b"2026-11-20T10:00:00.123456789Z stdout "
_ONEDNN = (
    b"onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:ab::f0 "
    b"dst_f32::blocked:ba::f0,,,4x4,0.%d"
)
_TORCH = re.compile(
    rb"^[VIWE]\d{4} (\d\d:\d\d:\d\d)\.(\d{3})\d* \d+ torch/([\w/]+)\.py:\d+\](?: \[[\d/]+\])?"
    rb"(?: \[__\w+\])?"
)


def _wrapped(lines: list[bytes], _: list[bytes], drawn: random.Random) -> list[bytes]:
    width = drawn.choice([80, 100, 120])
    return [line[at : at + width] for line in lines for at in range(0, len(line) or 1, width)]


def _cut_short(lines: list[bytes], _: list[bytes], drawn: random.Random) -> list[bytes]:
    return [*lines[:-1], lines[-1][: drawn.randrange(len(lines[-1]) + 1)]] if lines else lines


def _thinned(lines: list[bytes], _: list[bytes], drawn: random.Random) -> list[bytes]:
    share = drawn.random() * 0.3
    return [line for line in lines if drawn.random() > share]


def _ranked(lines: list[bytes], _: list[bytes], drawn: random.Random) -> list[bytes]:
    return [b"[rank%d]:" % drawn.randrange(2) + line for line in lines]


def _mixed(lines: list[bytes], others: list[bytes], drawn: random.Random) -> list[bytes]:
    left, right, out = lines[:], others[:60], []
    while left or right:
        some = left if not right or (left and drawn.random() < 0.6) else right
        count = drawn.choice([1, 1, 3, 9])
        out += some[:count]
        del some[:count]
    return out


def _contained(lines: list[bytes], _: list[bytes], drawn: random.Random) -> list[bytes]:
    return [_STAMP + (b"P " if drawn.random() < 0.1 else b"F ") + line for line in lines]


def _in_json(lines: list[bytes], _: list[bytes], __: random.Random) -> list[bytes]:
    return [json.dumps({"log": f"{line.decode('utf-8', 'replace')}\n"}).encode() for line in lines]


def _with(lines: list[bytes], share: float, line: Callable[[], bytes], r: random.Random) -> Any:
    return [one for held in lines for one in ((held, line()) if r.random() < share else (held,))]


def _swapped(lines: list[bytes], _: list[bytes], drawn: random.Random) -> list[bytes]:
    lines = lines[:]
    for _number in range(5 if len(lines) > 1 else 0):
        at = drawn.randrange(len(lines) - 1)
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return lines


def _of_2_0(lines: list[bytes], _: list[bytes], drawn: random.Random) -> list[bytes]:
    def old(match: re.Match[bytes]) -> bytes:
        module = match[3].replace(b"/", b".")
        head = b"[2023-03-04 %s,%s] torch.%s: [DEBUG]" % (match[1], match[2], module)
        return head if drawn.random() < 0.3 else b""

    return [_TORCH.sub(old, line) for line in lines]


_CHANGES: tuple[_Change, ...] = (
    _wrapped,
    _cut_short,
    _thinned,
    _ranked,
    _mixed,
    _contained,
    _in_json,
    _swapped,
    _of_2_0,
    lambda lines, _, __: [line + b"\r" for line in lines],
    lambda lines, _, __: lines + lines,
    lambda lines, _, __: [b"worker_1  | " + line for line in lines],
    lambda lines, _, r: _with(lines, 0.15, bytes, r),
    lambda lines, _, r: _with(lines, 0.2, lambda: b"step %d: loss 0.5" % r.randrange(99), r),
    lambda lines, _, r: _with(lines, 0.2, lambda: _ONEDNN % r.randrange(9), r),
)
