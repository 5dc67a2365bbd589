"""Everything that one child started, found again: by session, by descent, and by a mark.

Linux only; elsewhere a tree is the process group that the child leads.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

__all__ = ["ProcessTree"]

_PROC = Path("/proc")
#: How often those that are to be killed are looked for: one that starts others as fast wins.
ROUNDS = 50


class _Stat(NamedTuple):
    """What ``/proc/PID/stat`` says."""

    pid: int
    state: str
    parent: int
    group: int
    session: int
    started: int


class ProcessTree:
    """The processes of one child that leads a session.

    A process belongs to it when it is in the child's session or process group, when its parent
    does, when it did once (a process keeps its membership when its parent dies), or when its
    environment holds the mark.
    """

    def __init__(
        self,
        leader: int,
        mark: bytes,
        *,
        known: Iterable[tuple[int, int]] = (),
        on_new: Callable[[int, int], None] | None = None,
    ) -> None:
        self.leader = leader
        self._mark = mark
        # (pid, start time): numbers are used again.
        self._known: set[tuple[int, int]] = set(known)
        self._on_new = on_new

    def members(self, *, thorough: bool = False) -> set[int]:
        """Return the living processes of the tree, with or without its leader alive.

        Args:
            thorough: Look for the mark in every environment too, which costs more.
        """
        found = [stat for stat in _processes() if stat.pid != os.getpid()]
        ours = {stat.pid for stat in found if self._is_ours(stat, thorough=thorough)}
        grown = -1
        while grown != len(ours):
            grown = len(ours)
            ours |= {stat.pid for stat in found if stat.parent in ours}
        alive = [stat for stat in found if stat.pid in ours and stat.state not in "ZX"]
        new = {(stat.pid, stat.started) for stat in alive} - self._known
        self._known |= new
        if self._on_new is not None:
            for pid, started in new:
                self._on_new(pid, started)
        return {stat.pid for stat in alive}

    def _is_ours(self, stat: _Stat, *, thorough: bool) -> bool:
        if self.leader in (stat.pid, stat.group, stat.session):
            return True
        if (stat.pid, stat.started) in self._known:
            return True
        return thorough and self._mark in _environment(stat.pid)

    def memory(self) -> int:
        """Return the resident memory of all members, in bytes; 0 where it cannot be known."""
        return sum(map(_resident, self.members()))

    def send(self, number: signal.Signals, *, group_only: bool = False) -> None:
        """Send a signal to the child's process group and, unless told not to, to all members."""
        # Who they are is asked first: when the child is dead, nobody's parent leads to it.
        members = set() if group_only else self._held(number)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.leader, number)
        for pid in members:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if os.getpgid(pid) != self.leader:
                    os.kill(pid, number)

    def _held(self, number: signal.Signals) -> set[int]:
        """Return the members; those that are to be killed are stopped, so that none starts more."""
        members = self.members(thorough=True)
        stopped: set[int] = set()
        for _ in range(ROUNDS if number is signal.SIGKILL else 0):
            if not (new := members - stopped):
                break
            for pid in new:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGSTOP)
            stopped |= new
            members |= self.members(thorough=True)
        return members


def _processes() -> list[_Stat]:
    try:
        names = os.listdir(_PROC)  # noqa: PTH208 -- a Path per process costs more than the rest
    except OSError:
        return []
    return [stat for name in names if name.isdigit() and (stat := _stat(name)) is not None]


def _stat(pid: str) -> _Stat | None:
    """Read one process; None when it has gone. The name may hold blanks and brackets."""
    text = _read(f"/proc/{pid}/stat")
    words = text[text.rfind(b")") + 1 :].split()
    if len(words) < 20:
        return None
    parent, group, session = map(int, words[1:4])
    return _Stat(int(pid), words[0].decode("ascii"), parent, group, session, int(words[19]))


def _environment(pid: int) -> tuple[bytes, ...]:
    return tuple(_read(f"/proc/{pid}/environ").split(b"\0"))


def _resident(pid: int) -> int:
    words = _read(f"/proc/{pid}/statm").split()
    return int(words[1]) * os.sysconf("SC_PAGE_SIZE") if len(words) > 1 else 0


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 -- as above
            return file.read()
    except OSError:
        return b""
