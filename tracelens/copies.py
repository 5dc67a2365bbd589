"""Copies of this process: each begins with all that is read and imported here, within milliseconds.

A process that has threads is never copied: what a thread held at that moment would be held for ever
in the copy. Whether there are any, Python's or not, only Linux tells. A copy hands its answer over
through a pipe; one that is killed, that hangs or raises costs nothing but time, since whoever made
it does the work then.
"""

from __future__ import annotations

import gc
import os
import pickle
import selectors
import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

__all__ = ["Beside", "Copy", "may_copy", "packed", "unpacked"]

R = TypeVar("R")

#: Where Linux lists the threads of this process.
_THREADS = Path("/proc/self/task")


def may_copy() -> bool:
    """Tell whether this process can be copied: it has one thread, for certain."""
    try:
        return sys.platform == "linux" and len([*_THREADS.iterdir()]) == 1
    except OSError:
        return False


class Copy:
    """A copy of this process, that does one thing and ends, and the pipes to and from it."""

    def __init__(
        self, work: Callable[[IO[bytes], IO[bytes]], None], others: Iterable[Copy] = ()
    ) -> None:
        """Begin ``work`` in a copy, with its ends of the pipes: what is asked, and its answers.

        Args:
            work: What the copy does.
            others: Those that were made before: their pipes are not its own.

        Raises:
            OSError: There is no room for another process.
        """
        asked, self._asking = os.pipe()
        self._hearing, answers = os.pipe()
        try:
            self.pid = os.fork()
        except OSError:
            for end in (asked, answers, *self.ends):
                os.close(end)
            raise
        if self.pid == 0:
            try:
                _let_go([self._asking, self._hearing, *(end for one in others for end in one.ends)])
                work(os.fdopen(asked, "rb"), os.fdopen(answers, "wb"))
            finally:
                os._exit(0)
        os.close(asked)
        os.close(answers)
        self.stdin = os.fdopen(self._asking, "wb")
        self.stdout = os.fdopen(self._hearing, "rb", buffering=0)

    @property
    def ends(self) -> tuple[int, int]:
        """The first process's ends of the pipes."""
        return self._asking, self._hearing

    def kill(self) -> None:
        """End it at once."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it has ended; not for ever, where the kernel holds it."""
        end = time.monotonic() + (timeout or 0.0)
        with suppress(ChildProcessError):
            while os.waitpid(self.pid, os.WNOHANG) == (0, 0) and time.monotonic() < end:
                time.sleep(0.001)


class Beside(Generic[R]):
    """Work that a copy of this process does beside it, where one can be made."""

    def __init__(self, work: Callable[[], R]) -> None:
        """Begin."""

        def answer(_: IO[bytes], answers: IO[bytes]) -> None:
            answers.write(packed(work()))
            answers.flush()

        self._copy: Copy | None = None
        if may_copy():
            with suppress(OSError):
                self._copy = Copy(answer)

    def result(self, seconds: float) -> tuple[R] | None:
        """Return what the work has returned; None where it must be done here.

        Args:
            seconds: How long to wait for it.
        """
        data, end = bytearray(), time.monotonic() + seconds
        if self._copy is None:
            return None
        with selectors.DefaultSelector() as selector:
            selector.register(self._copy.stdout, selectors.EVENT_READ)
            while selector.select(max(0.0, end - time.monotonic())):
                if not (more := os.read(self._copy.stdout.fileno(), 1 << 20)):
                    break
                data += more
        self.end()
        try:
            return (unpacked(data),)
        except (EOFError, pickle.UnpicklingError):
            return None

    def end(self) -> None:
        """Leave no copy behind."""
        if self._copy is not None:
            self._copy.kill()
            self._copy.stdin.close()
            self._copy.stdout.close()
            self._copy.wait(10.0)
            self._copy = None


def packed(answer: object) -> bytes:
    """Return an answer as bytes; garbage is not looked for meanwhile, since none is made."""
    with _Undisturbed():
        return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)


def unpacked(data: bytes | bytearray | memoryview) -> Any:
    """Return the answer that a process of ours has sent."""
    with _Undisturbed():
        return pickle.loads(data)  # noqa: S301 -- our own


class _Undisturbed:
    """A block in which garbage is not looked for."""

    def __enter__(self) -> None:
        self._was = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was:
            gc.enable()


def _let_go(ends: Iterable[int]) -> None:
    """Let nothing of the first process be held open, interrupted or written to by this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever made this one ends it
    for number in (signal.SIGTERM, signal.SIGALRM):  # they end it at once
        signal.signal(number, signal.SIG_DFL)
    for end in ends:
        os.close(end)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nowhere, standard)
