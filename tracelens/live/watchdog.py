"""Ends a child when tracelens itself is killed: a tiny process that waits for a pipe to close.

SIGKILL gives nobody the chance to tidy up. The watchdog holds the reading end of a pipe whose
writing end only tracelens has; when tracelens is gone, however it went, the pipe closes, and the
watchdog ends everything that the child started. It imports what it needs for that only then.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["Watchdog"]

#: What the watchdog runs. It reads who belongs to the child, "PID STARTED" a line; a dot at the
#: end is "all is well".
_CODE = """
import os, sys
told = b""
while data := os.read(0, 65536):
    told += data
if not told.endswith(b"."):
    sys.path.insert(0, sys.argv[1])
    from signal import SIGKILL
    from tracelens.live.process_tree import ProcessTree
    known = [tuple(map(int, line.split())) for line in told.splitlines(True) if line[-1:] == b"\\n"]
    tree = ProcessTree(int(sys.argv[2]), os.fsencode(sys.argv[3]), known=known)
    for _ in range(10):
        tree.send(SIGKILL)
        if not tree.members(thorough=True):
            break
"""
_ROOT = Path(__file__).parents[2]
#: Seconds that the watchdog may take to end once it is told to; it may still be starting.
GONE = 10.0


class Watchdog:
    """Watches over one child from its start to its end."""

    def __init__(self, leader: int, mark: str, *, holds: Sequence[int] = ()) -> None:
        """Begin to watch.

        Args:
            leader: The child.
            mark: What the environment of everything that it starts holds.
            holds: The pipes that it writes to, kept open: it must not end by a broken one and
                leave its own children without a parent that leads to them.
        """
        self._popen: subprocess.Popen[bytes] | None = None
        argv = [sys.executable, "-I", "-S", "-c", _CODE, str(_ROOT), str(leader), mark]
        with contextlib.suppress(OSError):  # better without it than not at all
            self._popen = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                pass_fds=holds,
                start_new_session=True,
            )
            # Whoever tells it something never waits for it.
            os.set_blocking(self._popen.stdin.fileno(), False)  # type: ignore[union-attr]

    def tell(self, pid: int, started: int) -> None:
        """Say who belongs to the child: one that leaves it and its mark is found by this alone."""
        if self._popen is not None and self._popen.stdin is not None:
            with contextlib.suppress(OSError):
                os.write(self._popen.stdin.fileno(), f"{pid} {started}\n".encode())

    def dismiss(self) -> None:
        """Say that the child has ended, before its number can be given to another process."""
        if self._popen is None or self._popen.stdin is None:
            return
        try:
            os.write(self._popen.stdin.fileno(), b".")
        except OSError:  # it must not take the closed pipe for our end
            self._popen.kill()
        with contextlib.suppress(OSError):
            self._popen.stdin.close()
        try:
            self._popen.wait(GONE)
        except subprocess.TimeoutExpired:  # another process of ours holds the pipe open
            self._popen.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(GONE)
