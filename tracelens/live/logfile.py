"""A log that is written through while it grows, and keeps its head and its tail when it is long."""

from __future__ import annotations

import shutil
import tempfile
import time
import zlib
from collections import deque
from pathlib import Path
from typing import IO

__all__ = ["LogFile"]

#: Bytes of text kept from the beginning, and from the end.
HEAD = 256 << 20
TAIL = 256 << 20
#: The tail is kept in this many pieces; the oldest goes when a new one is due.
PIECES = 8
#: Seconds that what was logged may wait before it is in the file; at the beginning less, each time
#: twice as long as before: a run may be killed in its first second.
WAIT = 1.0
FIRST_WAIT = 0.02
#: Bytes compressed at a time.
CHUNK = 1 << 20


class LogFile:
    """``log.txt.gz``: whole lines in, of which a bounded number of bytes stays.

    A long log keeps its head, where torch compiles, and its tail, where the program ends; one line
    between them says how much was left out (log kind ``recording``). A killed recorder leaves the
    head, in a file that ends where it was cut, which is read as such.
    """

    def __init__(self, path: Path, *, head: int = HEAD, tail: int = TAIL) -> None:
        self.path = path
        self._room = head
        self._piece_size = max(1, tail // PIECES)
        self._file = path.open("w+b", buffering=0)
        self._packer = zlib.compressobj(1, zlib.DEFLATED, 31)
        self._flushed = time.monotonic()
        self._wait = 0.0
        self._waiting = False
        self._tail: deque[_Piece] = deque()
        #: What was left out.
        self.left_out_lines = 0
        self.left_out_bytes = 0

    def write(self, lines: bytes) -> None:
        """Add whole lines."""
        if not lines:
            return
        if len(lines) <= self._room:
            self._room -= len(lines)
            self._pack(lines)
            self.tick()
            return
        self._room = 0
        if not self._tail or self._tail[-1].bytes >= self._piece_size:
            self._next_piece()
        self._tail[-1].write(lines)

    def tick(self) -> None:
        """Have in the file what has waited long enough."""
        if self._waiting and time.monotonic() - self._flushed >= min(self._wait, WAIT):
            self._file.write(self._packer.flush(zlib.Z_SYNC_FLUSH))
            self._flushed = time.monotonic()
            self._wait = max(FIRST_WAIT, min(2 * self._wait, WAIT))
            self._waiting = False

    def close(self, last: bytes = b"") -> None:
        """Finish the file; ``last`` are lines to end with."""
        if self.left_out_lines:
            self._pack(
                f"# tracelens: {self.left_out_lines} lines ({self.left_out_bytes} bytes) "
                "were left out here\n".encode()
            )
        for piece in self._tail:
            piece.file.seek(0)
            while data := piece.file.read(CHUNK):
                self._pack(data)
            piece.file.close()
        self._pack(last)
        self._file.write(self._packer.flush(zlib.Z_FINISH))
        self._rescue()
        self._file.close()

    def _pack(self, data: bytes) -> None:
        self._file.write(self._packer.compress(data))
        self._waiting = True

    def _next_piece(self) -> None:
        if len(self._tail) == PIECES:
            oldest = self._tail.popleft()
            self.left_out_lines += oldest.lines
            self.left_out_bytes += oldest.bytes
            oldest.file.close()
        self._tail.append(_Piece(self.path.parent))

    def _rescue(self) -> None:
        """Write the file again where the program has removed it, or the whole folder."""
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file.seek(0)
            with self.path.open("wb") as again:
                shutil.copyfileobj(self._file, again)


class _Piece:
    """A part of the tail, in a file without a name: a killed recorder leaves nothing behind."""

    def __init__(self, folder: Path) -> None:
        self.lines = 0
        self.bytes = 0
        self.file: IO[bytes] = tempfile.TemporaryFile(  # noqa: SIM115 -- closed with the log
            dir=folder if folder.is_dir() else None
        )

    def write(self, lines: bytes) -> None:
        self.lines += lines.count(b"\n")
        self.bytes += len(lines)
        self.file.write(lines)
