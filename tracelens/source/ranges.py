"""Read one file in several processes: line-aligned byte ranges, joined exactly.

Each process reads its range as a :class:`Segmenter` that does not know what stands before it; the
parts are joined in order, which gives what one pass gives (``tests/source`` proves it).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tracelens.plugins import manifest
from tracelens.source.files import CHUNK, SNIFF, Stream, real
from tracelens.source.kinds import Kinds
from tracelens.source.prefixes import peel
from tracelens.source.segment import Segmenter
from tracelens.traces.reader import may_be_trace
from tracelens.workers import shared

__all__ = ["MIN_RANGE", "plan", "read_ranges"]

#: Smallest range worth a process of its own, in bytes.
MIN_RANGE = 16 << 20
#: Seconds after which a process that reads a part is given up: for starting, and by its bytes.
STARTING = 120.0
SLOWEST = 50_000.0
_PLAIN_HEADS = (b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Part:
    """Bytes ``start`` to ``end`` of a file; both stand at the beginning of a line."""

    path: str
    start: int
    end: int
    #: Where it really lies: a member of an archive does not lie where its name says.
    file: str


@dataclass(frozen=True)
class Read:
    """What became of one part."""

    segmenter: Segmenter
    lines: int
    tail: bytes
    notes: list[str]


def plan(path: str, jobs: int) -> list[Part]:
    """Cut ``path`` in at most ``jobs`` parts; none when it must be read in one pass."""
    if jobs < 2 or path == "-" or not real(path).is_file():
        return []
    size = real(path).stat().st_size
    count = min(jobs, size // MIN_RANGE)
    with real(path).open("rb") as file:
        if count < 2 or _in_one_pass(file.read(SNIFF)):
            return []
        cuts = [0]
        for number in range(1, count):
            file.seek(size * number // count - 1)
            file.readline()
            while peel(line := file.readline())[2]:  # a line that its container runtime cut in two
                pass
            cuts.append(max(cuts[-1], file.tell() if line else size))
    edges = [*dict.fromkeys(cuts), size]
    file_name = str(real(path))
    return [Part(path, start, end, file_name) for start, end in pairwise(edges) if end > start]


def _in_one_pass(head: bytes) -> bool:
    return head.startswith(_PLAIN_HEADS) or may_be_trace(head)


def read_ranges(stream: Stream, parts: list[Part]) -> Segmenter:
    """Read ``parts`` of the file of ``stream``, each in a process, and join them.

    Fills in the bytes, lines, digest, head and tail of ``stream``.
    """
    seconds = STARTING + max(part.end - part.start for part in parts) / SLOWEST
    results = list(
        shared(
            _read,
            parts,
            count=len(parts),
            seconds=seconds,
            meanwhile=lambda: stream.account_for(_digest(stream.path)),
        )
    )
    kinds = Kinds(manifest.current().logs)
    whole = results[0].segmenter
    whole.adopt(kinds)
    for result in results[1:]:
        result.segmenter.adopt(kinds)
        whole.extend(result.segmenter)
    stream.lines = sum(result.lines for result in results)
    stream.tail = results[-1].tail
    stream.notes += [note for result in results for note in result.notes]
    return whole


def _read(part: Part) -> Read:
    """Read one part (in its own process)."""
    segmenter = Segmenter(Kinds(manifest.current().logs), part.path, from_start=part.start == 0)
    stream = Stream(part.path)
    with Path(part.file).open("rb", buffering=0) as file:
        file.seek(part.start)
        for lines in stream.blocks(_Limited(file.read, part.end - part.start)):
            segmenter.feed(lines)
    return Read(segmenter, stream.lines, stream.tail, stream.notes)


def _digest(path: str) -> Iterator[bytes]:
    with real(path).open("rb", buffering=0) as file:
        while data := file.read(CHUNK):
            yield data


class _Limited:
    """A reader of the next ``left`` bytes."""

    def __init__(self, read: Callable[[int], bytes], left: int) -> None:
        self._read = read
        self._left = left

    def read(self, size: int, /) -> bytes:
        data = self._read(min(size, self._left))
        self._left -= len(data)
        return data
