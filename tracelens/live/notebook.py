"""Record a part of a running program: a notebook's cell, a test, a loop.

This is the one place where torch is imported into the process of whoever uses tracelens, which has
it already.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import IO, Any, TextIO, cast

from tracelens.errors import TracelensError, UsageError
from tracelens.live import environment
from tracelens.live.facts import write_environment
from tracelens.live.inject.tracelens_injected import about
from tracelens.live.logfile import LogFile
from tracelens.live.recording import MORE, Artifacts, prepare
from tracelens.live.splitting import Pieces, Splitter
from tracelens.live.steps import Process
from tracelens.report import Report

__all__ = ["InProcess", "recording"]

#: Seconds between two looks at what C code has written.
PERIOD = 0.1
#: Seconds that the last look may take.
PATIENCE = 60.0
_VARIABLE = "TORCH_LOGS"
_active = threading.Lock()


class InProcess:
    """What :func:`recording` gives: the bundle, and its report once the block has ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._report: Report | None = None
        self._error: TracelensError | None = None

    @property
    def report(self) -> Report:
        """The analysis.

        Raises:
            UsageError: The block has not ended yet.
            SourceError: Torch and oneDNN said nothing in it.
        """
        if self._error is not None:
            raise self._error
        if self._report is None:
            raise UsageError("the recording goes on", hint="look at .report after the with block")
        return self._report

    def analyze(self) -> None:
        """Analyze the bundle, and write ``report.json`` and ``report.html``."""
        from tracelens import engine  # noqa: PLC0415 -- a recording that fails needs none of it
        from tracelens.plugins.registry import discover  # noqa: PLC0415
        from tracelens.render import Options, Renderer  # noqa: PLC0415

        try:
            self._report = engine.analyze(str(self.folder))
        except TracelensError as error:
            self._error = error
            return
        for renderer in discover("renderers", Renderer):
            if renderer.name in {"json", "html"}:
                text = renderer.render(self._report, Options())
                (self.folder / f"report.{renderer.name}").write_text(text, encoding="utf-8")


@contextlib.contextmanager
def recording(
    folder: str | os.PathLike[str], *, artifacts: Artifacts = "full"
) -> Iterator[InProcess]:
    """Record what torch and oneDNN log inside a ``with`` block, and analyze it at its end.

    What was compiled before the block is not compiled again in it: ``torch._dynamo.reset()`` at
    its beginning has everything compiled anew. Output of the block goes where it would go; logs go
    into the recording only. All settings are afterwards as they were.

    Args:
        folder: Where the bundle goes; an earlier recording there is replaced.
        artifacts: ``full``, or ``lean`` for what costs little.

    Raises:
        UsageError: The folder holds something else, or another recording is going on.
        ImportError: There is no torch in this process.
    """
    torch = importlib.import_module("torch")
    if not _active.acquire(blocking=False):
        raise UsageError("another recording is going on in this process")
    try:
        held = InProcess(prepare(Path(folder)))
        with contextlib.ExitStack() as stack:
            stack.callback(held.analyze)
            log = _Sink(LogFile(held.folder / "log.txt.gz"))
            switches: dict[str, str] = {}
            stack.push(partial(_finish, held.folder, log, torch, switches))
            stack.enter_context(_standard_error(log))
            stack.enter_context(_c_output(log))
            switches[_VARIABLE] = stack.enter_context(_torch_logs(artifacts))
            stack.enter_context(_caches_off())
            switches |= stack.enter_context(_onednn(torch, artifacts))
            yield held
    finally:
        _active.release()


class _Sink:
    """The log, shared by the streams that write to it."""

    def __init__(self, file: LogFile) -> None:
        self.file = file
        self._lock = threading.Lock()

    def write(self, lines: bytes) -> None:
        with self._lock:
            self.file.write(lines)


class _Tee:
    """Standard error during a recording: logs into the log, the rest also where it went before."""

    def __init__(self, shown: TextIO, log: _Sink) -> None:
        self._process = os.getpid()
        self._shown = shown
        self._log = log
        self._splitter = Splitter()
        self._lock = threading.RLock()

    def write(self, text: str) -> int:
        """Take some text."""
        if os.getpid() != self._process:
            # A fork has our log, and locks that nobody there may ever give back.
            return self._shown.write(text)
        with self._lock:
            pieces = self._splitter.feed(text.encode("utf-8", "backslashreplace"))
            self._pass_on(Pieces(pieces.shown + self._splitter.pause(), pieces.logged))
        return len(text)

    def close_log(self) -> None:
        """Write what is left."""
        with self._lock:
            self._pass_on(self._splitter.close())

    def _pass_on(self, pieces: Pieces) -> None:
        if pieces.shown:
            self._shown.write(pieces.shown.decode("utf-8", "replace"))
        self._log.write(pieces.logged)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shown, name)


@contextlib.contextmanager
def _standard_error(log: _Sink) -> Iterator[None]:
    """Have a share of standard error: torch's handlers and AUTOTUNE tables write to it."""
    before = sys.stderr
    tee = _Tee(before, log)
    sys.stderr = cast("TextIO", tee)
    try:
        yield
    finally:
        sys.stderr = before
        tee.close_log()


@contextlib.contextmanager
def _c_output(log: _Sink) -> Iterator[None]:
    """Take what C code writes to file descriptor 1, and pass on what is not oneDNN's.

    A file stands between, not a pipe: code that writes while it holds Python's lock would wait for
    ever for a reader that needs the lock.
    """
    _flush()
    with tempfile.TemporaryFile(buffering=0) as between, os.fdopen(os.dup(1), "wb", 0) as shown:
        reader = _Reader(between, shown, log)
        os.dup2(between.fileno(), 1)
        try:
            reader.start()
            yield
        finally:
            _flush()
            os.dup2(shown.fileno(), 1)
            reader.finish()


class _Reader(threading.Thread):
    """Reads a file that grows."""

    def __init__(self, between: IO[bytes], shown: IO[bytes], log: _Sink) -> None:
        super().__init__(daemon=True)
        self._between = between
        self._shown = shown
        self._log = log
        self._splitter = Splitter()
        self._at = 0
        self._over = threading.Event()

    def run(self) -> None:
        """Read until told to stop."""
        while not self._over.wait(PERIOD):
            self._read()

    def finish(self) -> None:
        """Read the rest."""
        self._over.set()
        self.join(PATIENCE)
        if self.is_alive():  # whoever shows the output does not take it
            return
        self._read()
        self._pass_on(self._splitter.close())

    def _read(self) -> None:
        until = os.fstat(self._between.fileno()).st_size  # a fork may write on for ever
        while self._at < until and (data := os.pread(self._between.fileno(), 1 << 20, self._at)):
            self._at += len(data)
            self._pass_on(self._splitter.feed(data))
        self._pass_on(Pieces(shown=self._splitter.pause()))

    def _pass_on(self, pieces: Pieces) -> None:
        if pieces.shown:
            self._shown.write(pieces.shown)
        self._log.write(pieces.logged)


def _flush() -> None:
    """Have Python and C write what they hold back."""
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).fflush(None)


@contextlib.contextmanager
def _torch_logs(artifacts: Artifacts) -> Iterator[str]:
    """Switch torch's logs on, as far as this torch knows them, beside those that are on.

    Yields what is on.
    """
    internal = importlib.import_module("torch._logging._internal")
    registry = internal.log_registry
    known = [
        name for name in MORE[artifacts] if registry.is_log(name) or registry.is_artifact(name)
    ]
    state, variable = internal._get_log_state(), os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = ",".join(filter(None, [variable, *known]))
    try:
        internal._init_logs()
        yield os.environ[_VARIABLE]
    finally:
        _put_back(_VARIABLE, variable)
        internal._set_log_state(state)
        internal._init_logs()


def _put_back(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


@contextlib.contextmanager
def _caches_off() -> Iterator[None]:
    """Have graphs lowered and tuned anew: what comes out of a cache is not logged."""
    with contextlib.ExitStack() as stack:
        for module, name in (
            ("torch._inductor.config", "fx_graph_cache"),
            ("torch._inductor.config", "autotune_local_cache"),
            ("torch._functorch.config", "enable_autograd_cache"),
        ):
            with contextlib.suppress(ImportError, AttributeError):
                config: Any = importlib.import_module(module)
                before = getattr(config, name)
                setattr(config, name, False)
                stack.callback(setattr, config, name, before)
        yield


@contextlib.contextmanager
def _onednn(torch: ModuleType, artifacts: Artifacts) -> Iterator[dict[str, str]]:
    """Switch oneDNN's lines on; afterwards to what the environment says, since nobody can ask.

    Yields the variable that does the same.
    """
    level = os.environ.get("ONEDNN_VERBOSE") or os.environ.get("DNNL_VERBOSE") or "0"
    switch = getattr(getattr(torch._C, "_verbose", None), "mkldnn_set_verbose", None)
    if switch is None:
        yield {}
        return
    wanted = 2 if artifacts == "full" else 1
    switch(wanted)
    try:
        yield {"ONEDNN_VERBOSE": str(wanted)}
    finally:
        switch(int(level) if level in {"0", "1", "2"} else 2)


def _finish(
    folder: Path,
    log: _Sink,
    torch: ModuleType,
    switches: Mapping[str, str],
    error: type[BaseException] | None,
    *_: object,
) -> None:
    """Close the log, and write ``environment.json``; a block that failed did not show it all."""
    facts = about.first(torch) | about.last(torch)
    told = Process(about=facts, process={"pid": os.getpid(), "argv": sys.argv})
    log.file.close(environment.log_lines([told], switches={} if error else switches))
    write_environment(
        folder,
        {
            "command": None,
            "machine": environment.machine(os.environ),
            "processes": [environment.told(told)],
        },
    )
