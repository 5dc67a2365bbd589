"""Profile some steady steps: skip until nothing was compiled for a while, then a few, then stop."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from .journal import Journal

__all__ = ["Tracing"]


class Tracing:
    """Starts torch's profiler at the start of a step, and stops it at the start of a later one.

    A step is a call of one compiled callable: of the first that was called often enough since the
    last compilation.
    """

    def __init__(self, spec: dict[str, Any], journal: Journal) -> None:
        #: Whether there is anything left to do.
        self.active = True
        self._skip = int(spec.get("skip", 10))
        self._steps = int(spec.get("steps", 3))
        self._seconds = float(spec.get("seconds", 30.0))
        self._journal = journal
        self._calls: dict[int, int] = {}
        self._compiles = -1
        self._marker: int | None = None
        self._profiler: Any = None
        self._taken = 0
        self._began = 0.0
        journal.at_end.append(self._at_end)

    def step(self, number: int) -> None:
        """A compiled callable is about to be called."""
        try:
            self._step(number)
        except Exception as error:
            self.active = False
            self._journal.tell(note=f"no trace: {error}")

    def _step(self, number: int) -> None:
        if self._profiler is None:
            if self._compiles != self._journal.compiles:
                self._compiles = self._journal.compiles
                self._calls.clear()
            count = self._calls[number] = self._calls.get(number, 0) + 1
            if count > self._skip:
                self._marker = number
                self._start()
        elif number == self._marker:
            self._taken += 1
            late = time.monotonic() - self._began > self._seconds
            if self._taken > self._steps or late:
                self._finish()
            else:
                self._profiler.step()

    def _start(self) -> None:
        torch = sys.modules["torch"]
        profiler = torch.profiler
        if getattr(torch.autograd, "_profiler_enabled", bool)():
            self.active = False
            self._journal.tell(note="no trace: the program has a profiler of its own running")
            return
        self._profiler = profiler.profile(
            schedule=profiler.schedule(wait=0, warmup=1, active=self._steps, repeat=1),
            record_shapes=True,
        )
        self._began = time.monotonic()
        self._profiler.start()

    def _finish(self) -> None:
        self.active = False
        self._profiler.stop()
        if self._taken < 2:
            self._journal.tell(note="no trace: the program ended before a whole step was traced")
            return
        name = f"trace-{os.getpid()}.json.gz"
        self._profiler.export_chrome_trace(os.path.join(self._journal.folder, name))
        self._journal.tell(trace=[name, self._taken - 1])

    def _at_end(self) -> None:
        if not self.active:
            return
        if self._profiler is None:
            made, needed = max(self._calls.values(), default=0), self._skip + self._steps + 2
            self._journal.tell(
                note=f"no trace: it takes {needed} calls of a compiled function after the last "
                f"compilation, and the program made {made}"
            )
        else:
            self._finish()
