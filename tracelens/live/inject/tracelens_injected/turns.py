"""Take turns with other runs of the same work: only one of them makes steps at a time.

Runs that are compared are made under the same conditions this way, whatever else the machine does:
they start together, wait for each other when they are warm, and then each makes steps for a moment,
one after the other. Who has the turn says the parent (``tracelens.live.turns``), over a socket: a
byte to it asks for the next turn, a byte from it gives it. Whoever cannot ask goes on alone.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from typing import Any

from .journal import Journal

__all__ = ["Turns", "current"]

#: Nanoseconds of CPU time that a turn lasts; the step in which it ends is finished.
TURN = 50_000_000
#: What the driver asks, which makes the steps of an entry.
current: list[Turns] = []


class Turns:
    """Asks for turns before steps, and keeps the time that it waits out of the times of steps."""

    def __init__(self, spec: dict[str, Any], journal: Journal) -> None:
        self._address = str(spec["address"])
        self._place = int(spec["place"])
        self._seconds = float(spec["seconds"])
        self._callable = tuple(spec.get("callable") or ())
        self._begins = int(spec.get("begins", 0))
        self._journal = journal
        self._calls = 0
        self._until = 0
        self._socket: socket.socket | None = None
        self._over = False
        self._lock = threading.Lock()
        current.append(self)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._leave)

    def is_of(self, number: int, name: str) -> bool:
        """Return whether the steps are the calls of this callable."""
        return self._callable == (number, name)

    def before(self) -> None:
        """Wait for the next turn, where this one is over; called before each step."""
        self._calls += 1
        if self._over or self._calls <= self._begins:
            return
        if time.process_time_ns() >= self._until and self._lock.acquire(blocking=False):
            try:
                self._wait()
            finally:
                self._lock.release()

    def _wait(self) -> None:
        began, used = time.perf_counter_ns(), time.process_time_ns()
        try:
            if not self._ask():
                self._leave()
        except OSError:
            self._leave()
        now = time.process_time_ns()
        self._until = now + TURN
        self._journal.shift += time.perf_counter_ns() - began
        # What its threads did meanwhile belongs to no step; the parent looks how much it is.
        self._journal.idle += now - used
        self._journal.rows.append(("waited", -1, 0, 0, now - used))

    def _ask(self) -> bool:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.settimeout(self._seconds)
            self._socket.connect(self._address)
            self._socket.sendall(bytes([self._place]))
        else:
            self._socket.sendall(b".")
        return bool(self._socket.recv(1))

    def _leave(self) -> None:
        self._over = True
        if self._socket is not None:
            self._socket.close()
