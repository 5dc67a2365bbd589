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
from pathlib import Path

__all__ = ["Watchdog"]

#: What the watchdog runs: one byte is "all is well", the end of the pipe is not.
_CODE = """
import os, sys
if not os.read(0, 1):
    sys.path.insert(0, sys.argv[1])
    from signal import SIGKILL
    from tracelens.live.process_tree import ProcessTree
    tree = ProcessTree(int(sys.argv[2]), os.fsencode(sys.argv[3]))
    for _ in range(10):
        tree.send(SIGKILL)
        if not tree.members(thorough=True):
            break
"""
_ROOT = Path(__file__).parents[2]


class Watchdog:
    """Watches over one child from its start to its end."""

    def __init__(self, leader: int, mark: str) -> None:
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
                start_new_session=True,
            )

    def dismiss(self) -> None:
        """Say that the child has ended, before its number can be given to another process."""
        if self._popen is None or self._popen.stdin is None:
            return
        with contextlib.suppress(OSError):
            os.write(self._popen.stdin.fileno(), b".")
        with contextlib.suppress(OSError):
            self._popen.stdin.close()
        self._popen.wait()
