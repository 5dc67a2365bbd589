"""Standard output and standard error: results on one, one-line remarks on the other."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tracelens.errors import SourceError

__all__ = [
    "Passing",
    "Progress",
    "Terminal",
    "aside",
    "emit",
    "flush",
    "say",
    "supports_color",
    "width",
]


@dataclass(frozen=True)
class Terminal:
    """What standard output can show."""

    color: bool = False
    links: bool = False

    @classmethod
    def now(cls, *, color: bool) -> Terminal:
        """Return what it can show, with or without colour."""
        from tracelens.cli._links import supports_links

        return cls(color=color, links=supports_links())


def supports_color() -> bool:
    """Return whether standard output wants colour: NO_COLOR, FORCE_COLOR, then the terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Return the characters per line of standard output; 80 where that has no meaning."""
    return min(shutil.get_terminal_size().columns, 120) if sys.stdout.isatty() else 80


def emit(text: str) -> None:
    """Write a result to standard output. A reader that has gone away is no error."""
    data = text.encode("utf-8", "backslashreplace")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _hush()
    except OSError as error:
        _hush()
        raise SourceError(f"standard output: cannot be written: {error.strerror}") from error


def flush() -> bool:
    """Write out what is still held back for standard output; tell whether there was room for it."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _hush()
    except OSError as error:
        _hush()
        say(f"standard output: cannot be written: {error.strerror}")
        return False
    return True


def _hush() -> None:
    # The interpreter flushes standard output once more on its way out, and would complain.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def say(message: str, *, hint: str = "") -> None:
    """Write one line about the run to standard error, without control characters."""
    said = message.rstrip(". ")
    line = f"tracelens: {said}" if said.endswith("?") else f"tracelens: {said}."
    if hint:
        line += f" Hint: {hint}"
    printable = "".join(char if char.isprintable() else " " for char in line)
    print(" ".join(printable.split()), file=sys.stderr)


class Progress:
    """Counts bytes on standard error, on a terminal, once reading takes longer than a second."""

    #: Seconds before the first sign, and between two.
    PATIENCE = 1.0
    PERIOD = 0.1

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._began = time.monotonic()
        self._next = self._began + self.PATIENCE
        self._visible = False

    def __call__(self, count: int) -> None:
        """Add ``count`` bytes read."""
        self._done += count
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self.PERIOD
        self._visible = True
        print(f"\r\x1b[K{self._line(now)}", end="", file=sys.stderr, flush=True)

    def _line(self, now: float) -> str:
        """Return how much was read, how fast, and how long the rest takes at that rate."""
        of = f" of {self._total / 1e6:,.0f}" if self._total else ""
        text = f"read {self._done / 1e6:,.0f}{of} MB"
        rate = self._done / max(now - self._began, 1e-3)
        text += f", {rate / 1e6:,.0f} MB/s"
        left = (self._total - self._done) / rate if rate else 0.0
        return f"{text}, {_duration(left)} left" if left >= 1 else text

    def clear(self) -> None:
        """Take the line off the terminal."""
        if self._visible:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    @classmethod
    def on_terminal(cls, paths: list[str]) -> Progress | None:
        """Return a progress line for reading ``paths``; None when nobody would see it."""
        if not sys.stderr.isatty():
            return None
        return cls(sum(Path(path).stat().st_size for path in paths if Path(path).is_file()))


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


class Passing:
    """Passes a program's output on as it arrives, each stream to its own."""

    def __init__(self) -> None:
        self._gone: set[str] = set()
        self._open = False

    def __call__(self, stream: str, data: bytes) -> None:
        """Write what a program wrote to ``stdout`` or ``stderr``; a reader may have gone away."""
        if stream in self._gone:
            return
        if stream == "stdout":
            self._open = not data.endswith(b"\n")
        file = sys.stdout if stream == "stdout" else sys.stderr
        try:
            file.flush()
            file.buffer.write(data)
            file.buffer.flush()
        except OSError as error:  # the program goes on, and so does what is recorded of it
            self._gone.add(stream)
            if stream == "stdout":
                _hush()
            if not isinstance(error, BrokenPipeError):
                say(f"{stream}: cannot be written: {error.strerror}")

    def close(self) -> None:
        """On a terminal, end the last line; to a file or a pipe, nothing is added."""
        if self._open and sys.stdout.isatty():
            self("stdout", b"\n")


def aside(text: str) -> None:
    """Write a result to standard error, where standard output belongs to a program."""
    with contextlib.suppress(BrokenPipeError):
        sys.stderr.write(text)
        sys.stderr.flush()
