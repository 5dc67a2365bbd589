"""Notice that a run has made enough steps; the parent then ends it as a Ctrl-C would.

Counted are calls of the one callable whose steps are timed, from where the recorded run had its
longest stretch without a compilation. A run that is half over by then is let go on to its end.
"""

from __future__ import annotations

import os
import signal
from typing import Any

from .journal import Journal

__all__ = ["Enough"]

#: Times longer, by the wall clock, that is enough as well: a program may wait.
PATIENCE = 2


class Enough:
    """Looks at the rows that are about to be written: a call costs nothing more."""

    def __init__(self, spec: dict[str, Any], journal: Journal) -> None:
        self._number, self._name = spec["callable"]
        self._begins = int(spec["begins"])
        self._calls = int(spec["calls"])
        #: Pairs of steps and nanoseconds, each of which is enough.
        self._plenty = [(int(steps), float(seconds) * 1e9) for steps, seconds in spec["plenty"]]
        self._journal = journal
        self._made = 0
        self._steady = 0
        self._since = self._used = 0
        self._known = False
        journal.on_rows = self.look
        # A program that is started in the background by a shell ignores it.
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def named(self, number: int, name: str) -> None:
        """A callable has been compiled."""
        if number == self._number:
            self._known = name == self._name

    def look(self, rows: list[tuple[Any, ...]]) -> None:
        """Count; leave a word for the parent when it is enough."""
        if self._known:
            try:
                self._count(rows)
            except Exception:
                self._known = False

    def _count(self, rows: list[tuple[Any, ...]]) -> None:
        for row in rows:
            if row[0] == "compile":
                self._steady = 0
            elif row[1] == self._number:
                self._made += 1
                if self._made > self._begins:
                    self._steady += 1
                    if self._steady == 1:
                        self._since, self._used = row[2], row[4]
                    self._weigh(row[3] - self._since, row[4] - self._used)

    def _weigh(self, took: int, used: int) -> None:
        """Look whether it is enough, of CPU time: on a busy machine the clock runs on."""
        plenty = any(
            self._steady > steps and (used >= least or took >= PATIENCE * least)
            for steps, least in self._plenty
        )
        if plenty and 2 * self._made <= self._calls:
            self._known = False
            name = os.path.join(self._journal.folder, f"enough-{os.getpid()}")
            with open(name, "w"):
                pass
