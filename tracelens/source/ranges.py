"""Read one file in several processes: line-aligned byte ranges, joined exactly.

The first range is read here; while others hand over what they have read, what is needed later is
imported here, and the digest of the whole is the last one's to compute. Each reads its range as a
:class:`Segmenter` that does not know what stands before it; the parts are joined in order, which
gives what one pass gives (``tests/source`` proves it).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO

from tracelens.evidence import Evidence
from tracelens.evidence.limits import MAX_WRITERS
from tracelens.plugins import manifest
from tracelens.source import files
from tracelens.source.envelopes import may_be_structured
from tracelens.source.excerpts import prepare
from tracelens.source.files import SNIFF, Stream
from tracelens.source.kinds import Kinds
from tracelens.source.opened import Inseparable
from tracelens.source.places import real
from tracelens.source.prefixes import TORCH, undressed
from tracelens.source.texts import TextSegmenter
from tracelens.source.watch import MAX_HOT
from tracelens.traces.reader import may_be_trace
from tracelens.workers import shared

__all__ = ["MIN_RANGE", "plan", "read_ranges"]

#: Smallest range worth a process of its own, in bytes.
MIN_RANGE = 16 << 20
#: How much larger the first range is, in ranges.
MORE = 0.1
#: Bytes that are digested at a time.
BLOCK = 1 << 20
#: Seconds after which a process that reads a part is given up: for starting, and by its bytes.
STARTING = 120.0
SLOWEST = 50_000.0
#: Bytes before a cut that are looked at, the lines of them, and how many places are tried.
WINDOW = 1 << 16
MAX_MIXED = 200
#: Bytes after a cut in which a record must begin.
AFTER = 1 << 13
MAX_EDGES = 64
_STORED = (b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")
_ENCODED = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Part:
    """Bytes ``start`` to ``end`` of a file; both stand at the beginning of a line."""

    path: str
    start: int
    end: int
    #: Where it really lies: a member of an archive does not lie where its name says.
    file: str
    #: Whether it may be of a structured log.
    structured: bool
    #: Whether whoever reads it is to digest the whole file, too.
    digests: bool = False


@dataclass(frozen=True)
class Read:
    """What became of one part."""

    segmenter: TextSegmenter
    lines: int
    tail: bytes
    notes: list[str]
    #: What the whole file begins with, its size and its digest, for the part that was to tell.
    whole: tuple[bytes, int, str] | None = None


def plan(path: str, jobs: int, kinds: Kinds) -> list[Part]:
    """Cut ``path`` in at most ``jobs`` parts; none when it must be read in one pass."""
    if jobs < 2 or path == "-" or not real(path).is_file():
        return []
    size = real(path).stat().st_size
    count = min(jobs, size // MIN_RANGE)
    with real(path).open("rb") as file:
        head = file.read(SNIFF)
        if count < 2 or _in_one_pass(head, kinds):
            return []
        share = size / (count + MORE)
        wanted = [round(share * (number + MORE)) for number in range(1, count)]
        cuts = [_cut(file, place, size, kinds) for place in wanted]
    edges = [0, *sorted({*cuts}), size]
    name = str(real(path))
    structured = may_be_structured(head)
    found = [(start, end) for start, end in pairwise(edges) if end > start]
    parts = [Part(path, start, end, name, structured, end == size) for start, end in found]
    return parts if len(parts) > 1 else []


def _in_one_pass(head: bytes, kinds: Kinds) -> bool:
    """Tell whether what a text begins with says how all of it is to be read."""
    stored = head.startswith((*_STORED, *_ENCODED)) or may_be_trace(head)
    return stored or bool(kinds.wrapped_at(head) or kinds.indented_by(head))


def _cut(file: IO[bytes], wanted: int, size: int, kinds: Kinds) -> int:
    """Return where to cut near ``wanted``: where one pass hands over lines, and none is in hand.

    Lines that are handed over together are looked at together, so that parts see what one pass
    sees. What follows must tell soon that nothing goes on.
    """
    first = max(1, wanted // files.CHUNK) * files.CHUNK
    for edge in range(first, min(size, first + MAX_EDGES * files.CHUNK), files.CHUNK):
        start = max(0, edge - WINDOW)
        file.seek(start)
        text = file.read(edge - start)
        end = text.rfind(b"\n") + 1
        if not end or _goes_on(text[:end], kinds):
            continue
        if _has_records(text[end:] + file.read(AFTER), kinds):
            return start + end
    return size


def _has_records(text: bytes, kinds: Kinds) -> bool:
    """Tell whether a record begins in ``text``.

    Bare lines before the first one may be of what began before the cut: they are all kept, and
    where a program prints for long, that takes more than reading them does.
    """
    lines = (undressed(line)[0] for line in text.split(b"\n"))
    return any(line.startswith(kinds.counted_marks) or TORCH.match(line) for line in lines)


def _goes_on(text: bytes, kinds: Kinds) -> bool:
    """Tell whether a container runtime cut the last line of a writer in two."""
    held: set[str] = set()
    for line in text.split(b"\n")[:-1][-MAX_MIXED:] if b" P " in text else ():
        if line.startswith(kinds.counted_marks):  # they are looked at by themselves
            continue
        _, rank, partial = undressed(line)
        (held.add if partial else held.discard)(rank)
    return bool(held)


def read_ranges(
    stream: Stream,
    parts: list[Part],
    progress: Callable[[int], None] | None = None,
    ahead: Callable[[Evidence], None] | None = None,
) -> TextSegmenter:
    """Read ``parts`` of the file of ``stream``, the first one here, and join them.

    Fills in the bytes, lines, digest, head and tail of ``stream``.

    Args:
        stream: The file.
        parts: All of it, in order.
        progress: Called with the number of bytes read since the last call.
        ahead: Called with what the first part says, while others may still read theirs.

    Raises:
        Inseparable: The file must be read in one pass.
    """
    seconds = STARTING + max(part.end - part.start for part in parts) / SLOWEST
    results: list[Read] = []

    def begin() -> None:
        results.append(_read(parts[0], _scaled(progress, parts)))
        if ahead is not None:
            ahead(results[0].segmenter.evidence)
        prepare(results[0].segmenter.watch)

    results += shared(_read, parts[1:], count=len(parts) - 1, seconds=seconds, meanwhile=begin)
    kinds = Kinds(manifest.current().logs)
    whole = results[0].segmenter
    whole.adopt(kinds)
    for result in results[1:]:
        if _is_full(result.segmenter):
            raise Inseparable
        result.segmenter.adopt(kinds)
        whole.extend(result.segmenter)
        if result.whole is not None:
            stream.account_for(*result.whole)
    stream.lines = sum(result.lines for result in results)
    stream.tail = results[-1].tail
    stream.notes += [note for result in results for note in result.notes]
    return whole


def _is_full(part: TextSegmenter) -> bool:
    """Tell whether something was left out of a part that a pass from the start may keep."""
    many = len(part.writers) >= MAX_WRITERS or len(part.watch.hot) >= MAX_HOT
    return many or part.evidence.is_full


def _scaled(
    progress: Callable[[int], None] | None, parts: list[Part]
) -> Callable[[int], None] | None:
    """Return what tells of as much of the whole file as is read of the first of its parts."""
    if progress is None:
        return None
    of, size = parts[0].end - parts[0].start, parts[-1].end
    return lambda count: progress(count * size // of)


def _read(part: Part, progress: Callable[[int], None] | None = None) -> Read:
    """Read one part, here or in another process."""
    whole = _digested(part) if part.digests else None
    segmenter = TextSegmenter(Kinds(manifest.current().logs), part.path, from_start=part.start == 0)
    stream = Stream(part.path)
    with Path(part.file).open("rb", buffering=0) as file:
        file.seek(part.start)
        reader = _Aligned(file.read, part, progress)
        segmenter.read(stream, reader, structured=part.structured)
    segmenter.fold()
    return Read(segmenter, stream.lines, stream.tail, stream.notes, whole)


def _digested(part: Part) -> tuple[bytes, int, str]:
    """Return what the file of ``part`` begins with, its size, and its digest."""
    head, size, digest = b"", 0, hashlib.sha256()
    with Path(part.file).open("rb", buffering=0) as file:
        while data := file.read(BLOCK):
            head, size = head or data[:SNIFF], size + len(data)
            digest.update(data)
    return head, size, digest.hexdigest()


class _Aligned:
    """A reader of one part, that stops wherever one pass over the file would."""

    def __init__(
        self,
        read: Callable[[int], bytes],
        part: Part,
        progress: Callable[[int], None] | None,
    ) -> None:
        self._read = read
        self._progress = progress
        self._at = part.start
        self._end = part.end

    def read(self, size: int, /) -> bytes:
        edge = self._at // size * size + size
        if self._at < SNIFF < edge:
            edge = SNIFF
        data = self._read(min(edge, self._end) - self._at)
        self._at += len(data)
        if self._progress is not None:
            self._progress(len(data))
        return data
