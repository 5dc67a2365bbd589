"""Bytes in: files and standard input, cut into lines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import IO

from tracelens.errors import SourceError
from tracelens.source.decoding import CHUNK, Pushback, decoded
from tracelens.source.digest import Digest
from tracelens.source.places import opened
from tracelens.traces.readers import Reader

__all__ = ["CHUNK", "MAX_LINE", "Pushback", "Reader", "Stream"]

#: Bytes of text kept from the beginning, to tell what an unknown input looks like.
SNIFF = 4096
#: Longest line kept; the rest of a longer one is dropped and noted.
MAX_LINE = 8 << 20


class Stream:
    """One input, read once: its lines, and after that its size, digest and state."""

    def __init__(self, path: str, progress: Callable[[int], None] | None = None) -> None:
        self.path = path
        self.bytes = 0
        self.lines = 0
        self.truncated = False
        self.head = b""
        #: The last line, when no newline ends it.
        self.tail = b""
        self.notes: list[str] = []
        self._digest = Digest()
        self._told: str | None = None
        self._progress = progress
        self._file: IO[bytes] | None = None

    @property
    def sha256(self) -> str:
        """Hex digest of the bytes as they are stored."""
        return self._digest.hexdigest() if self._told is None else self._told

    def read(self, size: int, /) -> bytes:
        """Read stored bytes, and account for them."""
        assert self._file is not None  # noqa: S101 -- only called while blocks() runs
        try:
            data = self._file.read(size)
        except OSError as error:
            raise SourceError(f"{self.path}: {error.strerror or error}") from error
        self._digest.update(data)
        self.bytes += len(data)
        if self._progress is not None:
            self._progress(len(data))
        return data

    def account_for(self, head: bytes, size: int, sha256: str) -> None:
        """Take what is known of stored bytes that somebody else has read."""
        self.head, self.bytes, self._told = head, size, sha256

    @contextmanager
    def open(self) -> Iterator[Reader]:
        """Open the input: a reader of its text, decompressed and in UTF-8, with ``head`` peeked at.

        Raises:
            SourceError: The input cannot be opened or read.
        """
        try:
            file = sys.stdin.buffer if self.path == "-" else opened(self.path)
        except OSError as error:
            raise SourceError(f"{self.path}: {error.strerror}") from error
        self._file = file
        try:
            reader = decoded(self)
            while len(self.head) < SNIFF and (more := reader.read(SNIFF - len(self.head))):
                self.head += more
            yield Pushback(reader, self.head)
        finally:
            if self.path != "-":
                file.close()

    def blocks(self, reader: Reader) -> Iterator[list[bytes]]:
        """Yield the lines of ``reader``, each with a newline at its end, some thousands at a time.

        The last one has it even where the input does not: ``tail`` says so.
        """
        buffer = BytesIO()  # kept, since fresh memory is dear
        for parts in self._parts(reader):
            buffer.seek(0)
            buffer.writelines(parts)
            buffer.truncate()
            buffer.seek(0)
            lines = buffer.readlines()  # finds newlines several times as fast as ``split`` does
            self.lines += len(lines)
            yield lines

    def texts(self, reader: Reader) -> Iterator[bytes]:
        """Yield what :meth:`blocks` yields, uncut; whoever takes it tells ``lines``."""
        yield from map(b"".join, self._parts(reader))

    def _parts(self, reader: Reader) -> Iterator[list[bytes | memoryview]]:
        """Yield whole lines, together, in parts."""
        tail: list[bytes | memoryview] = []
        held = dropped = 0
        while chunk := reader.read(CHUNK):
            end = chunk.rfind(b"\n") + 1
            if not end:
                room = max(0, MAX_LINE - held)
                tail.append(chunk[:room])
                held += min(room, len(chunk))
                dropped += max(0, len(chunk) - room)
                continue
            if dropped:
                self.notes.append(f"line {self.lines + 1}: cut after {MAX_LINE >> 20} MiB")
            whole = [*tail, memoryview(chunk)[:end]]
            tail, held, dropped = [chunk[end:]], len(chunk) - end, 0
            yield whole
        last = b"".join(tail)
        if dropped:
            self.notes.append(f"line {self.lines + 1}: cut after {MAX_LINE >> 20} MiB")
        if last:
            self.tail = last
            yield [last, b"\n"]
