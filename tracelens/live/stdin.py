"""A program's standard input: passed on as it is, and a copy kept, so that it can be run again.

What is read from a pipe is gone, and a program that does not read its input must leave it to
whoever reads next. So nothing is read for a program: bytes are duplicated within the kernel
(``tee``), and taken out of the pipe once the program has taken them. Where that is not possible,
the program gets its input directly, and no copy is kept.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gzip
import os
import stat
import struct
import termios
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Self

__all__ = ["NAME", "Copied", "kept"]

#: The copy in a bundle.
NAME = "stdin.gz"
#: Bytes that are kept; of longer input there is no copy.
MOST = 64 << 20
#: Bytes duplicated at a time, and seconds between two looks at whether they were taken.
CHUNK = 1 << 16
TICK = 0.002


class Copied:
    """What to give a child as standard input; leaves a copy of what it has read in a folder."""

    def __init__(self, given: IO[bytes] | int, folder: Path) -> None:
        self.given = given if isinstance(given, int) else given.fileno()
        self._path = folder / NAME
        self._inner: tuple[int, int] | None = None
        self._data = bytearray()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        mode = os.fstat(self.given).st_mode if self.given >= 0 else 0
        if stat.S_ISREG(mode):
            self._copy_file()
        elif stat.S_ISFIFO(mode) and _tee() is not None:
            self._inner = os.pipe()

    def __enter__(self) -> Self:
        if self._inner is not None:
            inner = self._inner
            self._thread = threading.Thread(target=self._pass_on, args=inner, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join(1.0)
        if self._inner is not None:
            if self._thread is None or not self._thread.is_alive():  # its number is used again
                os.close(self._inner[0])
            self._keep(bytes(self._data))

    @property
    def file(self) -> int:
        """The descriptor for the child."""
        return self._inner[0] if self._inner is not None else self.given

    def _copy_file(self) -> None:
        start = os.lseek(self.given, 0, os.SEEK_CUR)
        size = os.fstat(self.given).st_size - start
        if 0 < size <= MOST:
            self._keep(os.pread(self.given, size, start))

    def _keep(self, data: bytes) -> None:
        if data and len(data) <= MOST:
            with contextlib.suppress(OSError):
                self._path.write_bytes(gzip.compress(data, 5, mtime=0))

    def _pass_on(self, reading: int, writing: int) -> None:
        """Duplicate what is there; once it was taken, take it out of the pipe as well."""
        tee, ahead = _tee(), 0
        try:
            while not self._over.is_set():
                left = _waiting(reading)
                if ahead and left < ahead:
                    self._take(ahead - left)
                    ahead = left
                if not ahead:
                    ahead = tee(self.given, writing) if tee is not None else 0
                    if not ahead and self._ended():
                        break
                self._over.wait(TICK)
        except OSError:
            pass
        finally:
            os.close(writing)
            with contextlib.suppress(OSError):
                self._settle(reading, ahead)

    def _take(self, count: int) -> None:
        """Take what the program has read out of the pipe; who else reads it may have been first."""
        if there := min(count, _waiting(self.given)):
            self._data += os.read(self.given, there)

    def _ended(self) -> bool:
        """Tell whether nobody will write any more."""
        import select  # noqa: PLC0415 -- where there are pipes, there is this

        poll = select.poll()
        poll.register(self.given, select.POLLIN)
        events = [event for _, event in poll.poll(0)]
        return any(event & select.POLLHUP and not event & select.POLLIN for event in events)

    def _settle(self, reading: int, ahead: int) -> None:
        """Wait until the program has taken the rest or is over; leave what it did not take."""
        while ahead:
            over = self._over.is_set()
            taken = ahead - _waiting(reading)
            if taken:
                self._take(taken)
                ahead -= taken
            if over:
                return
            self._over.wait(TICK)


def _waiting(file: int) -> int:
    """Return how many bytes wait in a pipe."""
    found = fcntl.ioctl(file, termios.FIONREAD, struct.pack("i", 0))
    return int(struct.unpack("i", found)[0])


def _tee() -> Callable[[int, int], int] | None:
    """Return the call that duplicates what is in a pipe, or None where there is none."""
    try:
        call = ctypes.CDLL(None, use_errno=True).tee
    except (OSError, AttributeError):
        return None

    def tee(source: int, target: int) -> int:
        """Return how many bytes were duplicated; 0 where nothing is there at the moment."""
        return max(int(call(source, target, ctypes.c_size_t(CHUNK), ctypes.c_uint(2))), 0)

    return tee


def kept(folder: Path) -> bytes | None:
    """Return the input that was kept in a bundle; None where there is none."""
    try:
        return gzip.decompress((folder / NAME).read_bytes())
    except (OSError, EOFError, ValueError):
        return None
