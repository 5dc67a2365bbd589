"""What workers are asked to do in tests: functions that another process can import."""

from __future__ import annotations

import os
import signal
import threading
import time

#: The process that this is imported in by the tests' own run; a worker has another one.
HELD = threading.Lock()


def square(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def die(task: tuple[int, int]) -> int:
    """Be killed in the middle, but for where the work is done in the end."""
    home, number = task
    if os.getpid() != home and number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def hang(task: tuple[int, int]) -> int:
    home, number = task
    if os.getpid() != home and number == 1:
        time.sleep(600)
    return number


def chatter(number: int) -> int:
    os.write(1, b"not an answer")
    return number


def is_free(_: int) -> bool:
    """Tell whether a lock is free that a thread of the first process holds."""
    return HELD.acquire(timeout=0.1)


def refuse(number: int) -> int:
    if number == 2:
        raise ValueError(number)
    return number


def large(size: int) -> bytes:
    return b"x" * size
