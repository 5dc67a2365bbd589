"""A child in its own process group: its output pumped, its limits kept, nothing left behind."""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Literal, cast

from tracelens.errors import UsageError
from tracelens.live.process_tree import ProcessTree
from tracelens.live.watchdog import Watchdog

__all__ = ["Enough", "Finished", "Limits", "OnOutput", "Reason", "StreamName", "run"]

StreamName = Literal["stdout", "stderr"]
#: Why a child ended: by itself, because a limit was passed, because it had shown enough, or because
#: somebody stopped it.
Reason = Literal["", "time", "memory", "output", "enough", "interrupted"]
OnOutput = Callable[[StreamName, bytes], None]

#: Bytes taken from a pipe at a time.
CHUNK = 1 << 18
#: Bytes that a pipe holds, so that a child seldom waits for its reader (Linux).
PIPE = 1 << 20
#: Seconds between two looks at clocks and signals.
TICK = 0.05
#: Seconds between two looks at the process tree's memory: with a limit on it, and without.
LOOK = 0.25
GLANCE = 1.0
#: Seconds that a killed process may take to vanish; one that hangs in the kernel never does.
GONE = 5.0
#: Seconds after which a child that was killed and has not ended is given up.
HOPELESS = 60.0
#: The environment variable that marks everything a child starts.
MARK = "TRACELENS_CHILD"

_ESCALATION = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


@dataclass(frozen=True)
class Limits:
    """What a child may use; None is no limit."""

    #: Seconds from its start to its end.
    seconds: float | None = None
    #: Bytes of resident memory, summed over all its processes (shared pages count for each).
    memory: int | None = None
    #: Bytes that it may write to both pipes.
    output: int | None = None
    #: Seconds from SIGINT to SIGTERM, and from there to SIGKILL.
    patience: float = 10.0
    #: The same where its time is up: somebody waits for the end that was asked for.
    grace: float = 3.0
    #: Seconds that what it leaves behind may run on after its end.
    linger: float = 2.0


@dataclass(frozen=True)
class Enough:
    """When a child need not go on: it then gets what a Ctrl-C sends, and time to end by itself."""

    #: Asked often, so it must be quick.
    reached: Callable[[], bool]
    #: Seconds that it may take to end, until it is ended like any other.
    patience: float


@dataclass(frozen=True)
class Finished:
    """What became of a child."""

    #: Its exit code; None where a signal ended it, or where it could not be ended.
    code: int | None
    signal: int | None
    seconds: float
    reason: Reason = ""
    #: Bytes of resident memory over all its processes at the worst moment that was seen.
    peak_memory: int = 0
    #: Bytes that it wrote.
    output: int = 0
    #: Processes that outlived it and were ended.
    left_behind: int = 0

    @property
    def exit_code(self) -> int:
        """The exit code as a shell shows it: 128 and the signal, where a signal ended it."""
        if self.code is not None:
            return self.code
        return 128 + (self.signal or signal.SIGKILL)


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    limits: Limits | None = None,
    enough: Enough | None = None,
    stopped: Callable[[], bool] | None = None,
    on_output: OnOutput | None = None,
    on_pause: Callable[[], None] | None = None,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
) -> Finished:
    """Run a command to its end, and return what became of it.

    Signals that reach this process meanwhile (Ctrl-C, a termination, a closed terminal) are passed
    on, and followed by stronger ones as long as the child does not end; that needs the main thread.

    Args:
        argv: The command and its arguments; no shell is involved.
        env: Its whole environment.
        cwd: Where it runs.
        limits: What it may use.
        enough: When it has shown what it is run for; None lets it run to its end.
        stopped: Asked often: whether to end it now, as a signal to this process would.
        on_output: Called with what it writes, as it arrives; with nothing at a stream's end.
        on_pause: Called when nothing has arrived for :data:`TICK` seconds.
        stdin: Its standard input; empty by default.

    Raises:
        UsageError: The command cannot be started.
    """
    child = _Child(argv, env, cwd, stdin, limits or Limits(), enough=enough, stopped=stopped)
    try:
        with child.listening():
            child.pump(on_output or _nowhere, on_pause)
    finally:
        child.end()
    return child.finished()


def _nowhere(stream: StreamName, data: bytes) -> None:
    del stream, data


def _never() -> bool:
    return False


def _start(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path | None, stdin: IO[bytes] | int
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv,
            env=env,
            cwd=cwd,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        name = getattr(error, "filename", None) or argv[0]
        what = getattr(error, "strerror", None) or error
        hint = ""
        if argv[0].endswith(".py"):
            hint = f"python {argv[0]}"
        raise UsageError(f"{name}: cannot be run: {what}", hint=hint) from error


class _Child:
    """One running command."""

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path | None,
        stdin: IO[bytes] | int,
        limits: Limits,
        *,
        enough: Enough | None,
        stopped: Callable[[], bool] | None = None,
    ) -> None:
        mark = uuid.uuid4().hex
        self._limits = limits
        self._enough = enough
        self._stopped = stopped or _never
        self._began = time.monotonic()
        self._popen = _start(argv, {**env, MARK: mark}, cwd, stdin)
        pipes = [pipe.fileno() for pipe in (self._popen.stdout, self._popen.stderr) if pipe]
        self._watchdog = Watchdog(self._popen.pid, f"{MARK}={mark}", holds=pipes)
        self._tree = ProcessTree(
            self._popen.pid, f"{MARK}={mark}".encode(), on_new=self._watchdog.tell
        )
        self._selector = selectors.DefaultSelector()
        self._received: list[signal.Signals] = []
        self._reason: Reason = ""
        self._next = list(_ESCALATION)
        self._urge_at = 0.0
        self._killed_at = math.inf
        self._look_at = 0.0
        self._peak = 0
        self._ended: float | None = None
        self._output = 0
        self._left: set[int] = set()
        for name in ("stdout", "stderr"):
            pipe = cast("IO[bytes]", getattr(self._popen, name))
            _widen(pipe)
            self._selector.register(pipe, selectors.EVENT_READ, name)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals that would end this process, and give them back afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def receive(number: int, frame: FrameType | None) -> None:
            del frame
            self._received.append(signal.Signals(number))

        wanted = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup has it
            wanted.append(signal.SIGHUP)
        before = {number: signal.signal(number, receive) for number in wanted}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def pump(self, on_output: OnOutput, on_pause: Callable[[], None] | None) -> None:
        """Pass on what the child writes until it and all that it started have ended."""
        while not self._is_over():
            ready = self._selector.select(TICK) if self._selector.get_map() else []
            if not ready:
                if not self._selector.get_map():
                    time.sleep(TICK)
                if on_pause is not None:
                    on_pause()
            for key, _ in ready:
                data = os.read(key.fd, CHUNK)
                if not data:
                    self._selector.unregister(key.fileobj)
                self._output += len(data)
                on_output(key.data, data)
            self._watch()

    def _is_over(self) -> bool:
        """Tell whether nothing is left to wait for; urge on what outlives the child."""
        now = time.monotonic()
        if self._ended is None:
            if not _has_ended(self._popen.pid):
                return now > self._killed_at + HOPELESS
            self._ended = now
            self._next = [signal.SIGTERM, signal.SIGKILL]
            by_itself = self._reason in {"", "enough"}
            self._urge_at = now + (self._limits.linger if by_itself else 0.0)
        left = self._tree.members(thorough=True) - {self._popen.pid}
        if not left:
            # Nobody of ours holds a pipe that is still open; what is in it has been read.
            return not self._selector.get_map() or not self._selector.select(0)
        if now >= self._urge_at:
            self._left |= left
            self._urge(now, min(1.0, self._limits.patience))
        return now > self._urge_at + GONE and not self._next

    def _watch(self) -> None:
        """Pass signals on, and keep the limits."""
        now = time.monotonic()
        if self._reason != "interrupted" and self._stopped():
            self._interrupt(signal.SIGINT, now)
        for number in self._received:
            self._interrupt(number, now)
        self._received.clear()
        if self._ended is not None:
            return
        if self._reason:
            if now >= self._urge_at:
                self._urge(now, self._patience())
            return
        if self._enough is not None and self._enough.reached():
            self._reason = "enough"
            self._urge(now, self._enough.patience)
            return
        limits = self._limits
        if limits.seconds is not None and now - self._began > limits.seconds:
            self._stop("time", now)
        elif limits.output is not None and self._output > limits.output:
            self._stop("output", now)
        elif now >= self._look_at:
            self._look_at = now + (GLANCE if limits.memory is None else LOOK)
            used = self._tree.memory()
            self._peak = max(self._peak, used)
            if limits.memory is not None and used > limits.memory:
                # Waiting for it to tidy up is what the machine cannot afford.
                self._next = [signal.SIGKILL]
                self._stop("memory", now)

    def _interrupt(self, number: signal.Signals, now: float) -> None:
        """Somebody wants an end: the first time as asked for, then a step further each time."""
        if self._reason != "interrupted":
            rest = [n for n in self._next if n is not signal.SIGINT]
            self._next = [number, *(n for n in rest if n is not number)]
        self._stop("interrupted", now)

    def _stop(self, reason: Reason, now: float) -> None:
        self._reason = reason
        self._urge(now, self._patience())

    def _patience(self) -> float:
        """How long to wait for what was sent; SIGTERM comes second, to who had time already."""
        limits = self._limits
        if self._reason != "time":
            return limits.patience
        is_first = signal.SIGINT in self._next
        return min(limits.patience, limits.grace if is_first else 1.0)

    def _urge(self, now: float, patience: float) -> None:
        """Send the next stronger signal, and wait before the one after it."""
        self._urge_at = now + patience
        number = self._next.pop(0) if len(self._next) > 1 else signal.SIGKILL
        if number is signal.SIGKILL:
            self._next = []
            self._killed_at = min(self._killed_at, time.monotonic())
        # A terminal's Ctrl-C goes to the group, and programs count on that.
        self._tree.send(number, group_only=number is signal.SIGINT)

    def end(self) -> None:
        """Leave nothing running and nothing open, however this was left."""
        if self._ended is None or self._tree.members(thorough=True):
            self._tree.send(signal.SIGKILL)
        self._watchdog.dismiss()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(GONE)
        for pipe in (self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                pipe.close()
        self._selector.close()

    def finished(self) -> Finished:
        """Say what became of it."""
        status = self._popen.returncode
        return Finished(
            code=status if status is not None and status >= 0 else None,
            signal=-status if status is not None and status < 0 else None,
            seconds=(self._ended or time.monotonic()) - self._began,
            reason=self._reason,
            peak_memory=self._peak,
            output=self._output,
            left_behind=len(self._left),
        )


def _has_ended(pid: int) -> bool:
    """Tell whether a child has ended, and leave its number taken: its group may live on."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _widen(pipe: IO[bytes]) -> None:
    try:
        import fcntl  # noqa: PLC0415 -- not on every system

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE)
    except (ImportError, AttributeError, OSError):
        return
