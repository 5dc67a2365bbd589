"""Work shared with other processes, which are told over pipes what to call.

Each is a copy of this one where one can be made (:mod:`tracelens.copies`), else an interpreter of
its own, which begins from nothing. A worker that is killed, that hangs or cannot be started costs
nothing but time: what it was asked is done here, so that the results depend on no worker.
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any, TypeVar

from tracelens import context
from tracelens.copies import Copy, may_copy, packed, unpacked

__all__ = ["serve", "shared"]

T = TypeVar("T")
R = TypeVar("R")

#: What a worker runs. Nothing is imported before the path is ours: the working directory may be a
#: stranger's.
_PROGRAM = "import sys; sys.path[:] = {path!r}; from tracelens.workers import serve; serve()"
#: Bytes that say how long a message is.
_SIZE = 8
#: Longest request: a pipe takes it whether or not the worker reads.
MAX_REQUEST = 60_000
#: Results that wait for an earlier one, for each worker.
AHEAD = 2
#: Seconds in which a worker that is killed must have ended.
GONE = 10.0


_Process = subprocess.Popen[bytes] | Copy


@dataclass(eq=False)
class _Worker:
    """One other process, and what it is doing."""

    process: _Process
    #: Which task it has; None when it has none.
    task: int | None = None
    until: float = 0.0
    answer: bytearray = field(default_factory=bytearray)

    @property
    def is_whole(self) -> bool:
        """Whether all of the answer is there."""
        size = int.from_bytes(self.answer[:_SIZE], "big")
        return len(self.answer) >= _SIZE and len(self.answer) - _SIZE >= size


def shared(
    work: Callable[[T], R],
    tasks: Sequence[T],
    *,
    count: int,
    seconds: float,
    meanwhile: Callable[[], None] | None = None,
) -> Iterator[R]:
    """Yield what ``work`` returns for each of ``tasks``, in their order.

    Args:
        work: A function of a module; it and what it takes and returns can be pickled.
        tasks: What it is called with.
        count: Most processes at a time.
        seconds: How long one task may take a worker; after that it is done here.
        meanwhile: Called once, when the workers have begun.
    """
    team = _Team(work, tasks, seconds)
    try:
        team.begin(min(count, len(tasks)))
        if meanwhile is not None:
            meanwhile()
        for number, task in enumerate(tasks):
            found = team.result(number)
            yield work(task) if found is None else found[0]
    finally:
        team.end()


class _Team:
    """The workers that share some tasks."""

    def __init__(self, work: Callable[[T], R], tasks: Sequence[T], seconds: float) -> None:
        self._work = work
        self._tasks = tasks
        self._seconds = seconds
        self._left = deque(range(len(tasks)))
        self._done: dict[int, Any] = {}
        self._lost: set[int] = set()
        self._next = 0
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()

    def begin(self, count: int) -> None:
        """Start ``count`` workers, or as many as can be."""
        if sys.platform == "win32":  # where nobody can wait for one of several pipes
            return
        with suppress(OSError, ValueError, TypeError):  # without an interpreter all is done here
            for _ in range(count):
                worker = _Worker(_started([one.process for one in self._workers]))
                self._workers.append(worker)
                assert worker.process.stdout is not None  # noqa: S101 -- it is a pipe
                self._selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
        self._assign()

    def result(self, number: int) -> tuple[Any] | None:
        """Wait for the result of a task; None when it must be done here."""
        self._next = number
        self._assign()
        while number not in self._done:
            busy = [worker for worker in self._workers if worker.task is not None]
            if number in self._lost or not busy:
                return None
            left = min(worker.until for worker in busy) - time.monotonic()
            for key, _ in self._selector.select(max(0.0, left)):
                self._hear(key.data)
            for worker in busy:
                if worker.task is not None and worker.until <= time.monotonic():
                    self._lose(worker)
            self._assign()
        return (self._done.pop(number),)

    def _assign(self) -> None:
        """Give idle workers the next tasks, not too far ahead of the one that is waited for."""
        for worker in [one for one in self._workers if one.task is None]:
            while self._left and self._left[0] < self._next:  # done here by now
                self._left.popleft()
            if not self._left or self._left[0] >= self._next + (AHEAD + 1) * len(self._workers):
                return
            worker.task = self._left.popleft()
            worker.until = time.monotonic() + self._seconds
            request = pickle.dumps((context.current(), self._work, self._tasks[worker.task]))
            try:
                if len(request) > MAX_REQUEST:
                    raise ValueError(len(request))
                _send(worker.process.stdin, request)
            except (OSError, ValueError):
                self._lose(worker)

    def _hear(self, worker: _Worker) -> None:
        assert worker.process.stdout is not None  # noqa: S101 -- it is a pipe
        data = os.read(worker.process.stdout.fileno(), 1 << 20)
        worker.answer += data
        if not data:
            self._lose(worker)
        elif worker.is_whole and worker.task is not None:
            told, result = unpacked(memoryview(worker.answer)[_SIZE:])
            if told:
                self._done[worker.task] = result
            else:
                self._lost.add(worker.task)
            worker.task, worker.answer = None, bytearray()

    def _lose(self, worker: _Worker) -> None:
        """Do without a worker; what it had to do is done here."""
        if worker.task is not None:
            self._lost.add(worker.task)
            worker.task = None
        self._workers.remove(worker)
        self._selector.unregister(worker.process.stdout)  # type: ignore[arg-type]
        _stopped(worker.process)

    def end(self) -> None:
        """Leave no worker behind."""
        for worker in self._workers[:]:
            self._lose(worker)
        self._selector.close()


def _started(others: Sequence[_Process]) -> _Process:
    if may_copy():
        return Copy(_serve, [one for one in others if isinstance(one, Copy)])
    program = _PROGRAM.format(path=sys.path)
    return subprocess.Popen(  # noqa: S603 -- this interpreter, and a program of ours
        [sys.executable, "-P", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _stopped(process: _Process) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):  # what was not yet written to a worker that is gone
            assert pipe is not None  # noqa: S101 -- both are pipes
            pipe.close()
    with suppress(subprocess.TimeoutExpired):  # in the kernel's hands
        process.wait(GONE)


def _send(pipe: Any, message: bytes) -> None:
    pipe.write(len(message).to_bytes(_SIZE, "big") + message)
    pipe.flush()


def serve() -> None:
    """Do what is asked on standard input until it ends (in a worker)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this one ends it
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a pack prints is no answer
    _serve(sys.stdin.buffer, answers)


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    while head := requests.read(_SIZE):
        request = requests.read(int.from_bytes(head, "big"))
        try:
            holds, work, task = pickle.loads(request)  # noqa: S301 -- from who started this
            context.adopt(holds)
            answer = packed((True, work(task)))
        except Exception:
            answer = packed((False, None))
        _send(answers, answer)
