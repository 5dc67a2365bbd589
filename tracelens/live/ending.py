"""How a run of the laboratory ended, in words."""

from __future__ import annotations

import re
import signal

from tracelens.live.process import Finished, StreamName

__all__ = ["LastWords", "how", "trouble"]

#: Characters of a failed program's last words.
LAST_WORDS = 160
#: The line of a traceback that says what was raised.
_RAISED = re.compile(r"[A-Za-z_][\w.]{0,80}(?:Error|Exception|Exit|Interrupt)\b(?::|$)")
#: Bytes of the end that are looked at: after an error of a compiler come its many lines.
TAIL = 1 << 16


class LastWords:
    """Keeps the end of what a program writes."""

    def __init__(self) -> None:
        self._tail = b""

    def __call__(self, stream: StreamName, data: bytes) -> None:
        """Take what has been written."""
        del stream
        self._tail = (self._tail + data)[-TAIL:] if len(data) < TAIL else data[-TAIL:]

    @property
    def text(self) -> str:
        """The last line that names an error, or else the last one that is not empty."""
        lines = self._tail.decode("utf-8", "replace").splitlines()
        said = [line.strip() for line in lines if line.strip()]
        raised = [line for line in lines if _RAISED.match(line)]
        return (raised or said)[-1][:LAST_WORDS] if said else ""


def how(finished: Finished, *, killed_for_memory: bool = False) -> str:
    """Return how a program ended: ``well``, or what ended it."""
    if killed_for_memory and finished.signal == signal.SIGKILL:
        return "out of memory: the kernel killed it"
    match finished.reason:
        case "time":
            return "its time was up"
        case "interrupted":
            return "it was interrupted"
        case "memory" | "output":
            return f"it used more {finished.reason} than it may"
    if finished.signal is not None:
        return f"{_named(finished.signal)} ended it"
    return f"exit code {finished.code}" if finished.code else "well"


def _named(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def trouble(finished: Finished, words: str, seconds: float) -> str:
    """Return what is wrong with a run that has ended; empty when nothing is.

    Raises:
        KeyboardInterrupt: Somebody has interrupted it.
    """
    match finished.reason:
        case "interrupted":
            raise KeyboardInterrupt
        case "time":
            return f"it did not end within {seconds:.0f} s"
        case "memory" | "output":
            return f"it used more {finished.reason} than it may"
        case "enough":  # how it ends when it is interrupted is its own affair
            return ""
    said = f": {words}" if words else ""
    if finished.signal is not None:
        return f"signal {finished.signal} ended it{said}"
    return f"it ended with exit code {finished.code}{said}" if finished.code else ""
