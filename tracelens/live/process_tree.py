"""Everything that one child started, found again: by session, by descent, and by a mark.

Linux only; elsewhere a tree is the process group that the child leads.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import NamedTuple

__all__ = ["ProcessTree"]

_PROC = Path("/proc")


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

    def __init__(self, leader: int, mark: bytes) -> None:
        self.leader = leader
        self._mark = mark
        # (pid, start time): numbers are used again.
        self._known: set[tuple[int, int]] = set()

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
        self._known |= {(stat.pid, stat.started) for stat in alive}
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
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.leader, number)
        if group_only:
            return
        for pid in self.members(thorough=True):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if os.getpgid(pid) != self.leader:
                    os.kill(pid, number)


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
