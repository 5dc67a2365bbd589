"""A log that is written through while it grows, and keeps its head and its tail when it is long."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import IO

from isal import isal_zlib

__all__ = ["LogFile"]

#: Bytes of text kept from the beginning, and from the end.
HEAD = 256 << 20
TAIL = 256 << 20
#: The tail is kept in this many pieces; the oldest goes when a new one is due.
PIECES = 8
#: Seconds that what was logged may wait before it is in the file.
WAIT = 1.0


class _Member:
    """One gzip member in a file: several of them in a row are one gzip file."""

    def __init__(self, file: IO[bytes]) -> None:
        self.lines = 0
        self.bytes = 0
        self._file = file
        self._packer = isal_zlib.compressobj(1, isal_zlib.DEFLATED, 31)
        self._flush_at = 0.0
        self._waiting = False

    def write(self, data: bytes) -> None:
        self.lines += data.count(b"\n")
        self.bytes += len(data)
        self._file.write(self._packer.compress(data))
        self._waiting = True
        self.flush_when_due()

    def flush_when_due(self) -> None:
        if self._waiting and time.monotonic() >= self._flush_at:
            self._file.write(self._packer.flush(isal_zlib.Z_SYNC_FLUSH))
            self._flush_at = time.monotonic() + WAIT
            self._waiting = False

    def close(self) -> None:
        self._file.write(self._packer.flush(isal_zlib.Z_FINISH))


class LogFile:
    """``log.txt.gz``: whole lines in, of which a bounded number of bytes stays.

    A long log keeps its head, where torch compiles, and its tail, where the program ends; one line
    between them says how much was left out (log kind ``recording``). A killed recorder leaves a
    file that ends where it was cut, which is read as such.
    """

    def __init__(self, path: Path, *, head: int = HEAD, tail: int = TAIL) -> None:
        self.path = path
        self._head_size = head
        self._piece_size = max(1, tail // PIECES)
        self._file = path.open("w+b", buffering=0)
        self._head: _Member | None = _Member(self._file)
        self._tail: deque[tuple[_Member, IO[bytes]]] = deque()
        #: What was left out.
        self.left_out_lines = 0
        self.left_out_bytes = 0

    def write(self, lines: bytes) -> None:
        """Add whole lines."""
        if not lines:
            return
        if self._head is not None and self._head.bytes + len(lines) <= self._head_size:
            self._head.write(lines)
            return
        if self._head is not None:
            self._head.close()
            self._head = None
        if not self._tail or self._tail[-1][0].bytes >= self._piece_size:
            self._next_piece()
        self._tail[-1][0].write(lines)

    def tick(self) -> None:
        """Have in the file what has waited long enough: nothing more arrives for the moment."""
        member = self._head or self._tail[-1][0]
        member.flush_when_due()

    def close(self, last: bytes = b"") -> None:
        """Finish the file; ``last`` are lines to end with."""
        if self._head is not None:
            self._head.close()
        if self.left_out_lines:
            _write(
                self._file,
                f"# tracelens: {self.left_out_lines} lines ({self.left_out_bytes} bytes) "
                "were left out here\n".encode(),
            )
        for member, file in self._tail:
            member.close()
            file.seek(0)
            shutil.copyfileobj(file, self._file)
            file.close()
        if last:
            _write(self._file, last)
        self._rescue()
        self._file.close()

    def _next_piece(self) -> None:
        if self._tail:
            self._tail[-1][0].close()
        if len(self._tail) == PIECES:
            member, file = self._tail.popleft()
            self.left_out_lines += member.lines
            self.left_out_bytes += member.bytes
            file.close()
        folder = self.path.parent
        file = tempfile.TemporaryFile(  # noqa: SIM115 -- it lives as long as its piece
            dir=folder if folder.is_dir() else None, buffering=0
        )
        self._tail.append((_Member(file), file))

    def _rescue(self) -> None:
        """Write the file again where the program has removed it, or the whole folder."""
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file.seek(0)
            with self.path.open("wb") as again:
                shutil.copyfileobj(self._file, again)


def _write(file: IO[bytes], data: bytes) -> None:
    member = _Member(file)
    member.write(data)
    member.close()
