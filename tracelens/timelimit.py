"""How long the code of a pack may take, wherever it is called.

On the main thread a timer of the operating system interrupts whatever runs, sleeping included.
Elsewhere, and on Windows, Python looks at its next step whether it is over, which code that waits
inside a call of C never comes to.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["TooSlow", "limited"]

#: Seconds after which code is told again that its time is up: it may have caught the first time.
AGAIN = 0.5
#: Least seconds to wait for: a timer of none never ends.
LEAST = 1e-4


class TooSlow(BaseException):
    """The time of a pack is up. No ``except Exception`` of the pack takes it for its own."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Let the block take at most ``seconds``.

    Raises:
        TooSlow: It has taken longer, in the middle of the block.
    """
    here = threading.current_thread() is threading.main_thread()
    with (_by_signal if here and hasattr(signal, "setitimer") else _by_thread)(seconds):
        yield


@contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    def over(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise TooSlow(_said(seconds))

    began = time.monotonic()
    theirs = signal.signal(signal.SIGALRM, over)
    left, every = signal.setitimer(signal.ITIMER_REAL, max(seconds, LEAST), AGAIN)
    try:
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        finally:  # it may have rung on the way there
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, theirs if theirs is not None else signal.SIG_DFL)
            if left:  # somebody else had set the timer
                passed = time.monotonic() - began
                signal.setitimer(signal.ITIMER_REAL, max(left - passed, LEAST), every)


@contextmanager
def _by_thread(seconds: float) -> Iterator[None]:
    import ctypes  # noqa: PLC0415 -- seldom needed

    done = threading.Event()
    caller = ctypes.c_ulong(threading.get_ident())
    raised = ctypes.pythonapi.PyThreadState_SetAsyncExc

    def watch() -> None:
        wait = max(seconds, LEAST)
        while not done.wait(wait):
            raised(caller, ctypes.py_object(TooSlow))
            wait = AGAIN

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except TooSlow:
        raise TooSlow(_said(seconds)) from None
    finally:
        done.set()
        watcher.join(AGAIN)
        raised(caller, None)  # what has not arrived yet


def _said(seconds: float) -> str:
    return f"it took longer than {max(seconds, LEAST):.3g} s, and was ended"
