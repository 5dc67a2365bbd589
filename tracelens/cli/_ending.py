"""Being told to end while a file is written."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

__all__ = ["told_to_end"]

#: What ends a program at once, with nothing tidied up; an interrupt is an exception already.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextlib.contextmanager
def told_to_end() -> Iterator[None]:
    """Make of such a signal an exception meanwhile, so that what is begun is tidied up first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.getsignal(one) for one in SIGNALS}
    mine = [one for one, handler in before.items() if handler is signal.SIG_DFL]
    for one in mine:
        signal.signal(one, _end)
    try:
        yield
    finally:
        for one in mine:
            signal.signal(one, signal.SIG_DFL)


def _end(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
