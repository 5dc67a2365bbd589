"""What this process has to tell, written line by line: a kill loses what is younger than a moment.

The file is ``process-PID.jsonl``: each line is a JSON object with one key, or a list:

    {"process": {"pid": 42, "parent": 1, "argv": [...], "python": "3.11.2", "began": ns}}
    {"callable": [0, "Model", "torch.compile(Model)", "train.py:12"]}   number and name of a
                                            compiled callable, how and where it was asked for
    {"sizes": [0, [8, 4, 8]]}               how the first dimension of its first tensor changed
    ["call", 0, start, end, cpu]            an outermost call of it; CPU time used before it
    ["compile", start, end]                 a compilation
    ["waited", -1, 0, 0, cpu]               waited for its turn; CPU time of other threads meanwhile
    {"set": ["torch._inductor.config.freezing", false, true]}   a setting, before and after
    {"force": [name, true, "value"]}        a setting or variable as it was where it was compiled
    {"note": "..."}                         something that could not be done
    {"about": {...}}                        facts about torch and the machine
    {"peak": bytes}                         the most memory that was resident
    {"ended": ns}

Times are nanoseconds of the monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

__all__ = ["MANY", "Journal"]

#: Nanoseconds that a record may wait.
WAIT = 250_000_000
#: Records that may wait.
MANY = 1000


class Journal:
    """Appends to the file of this process. Nothing is written before torch is imported."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.began = time.perf_counter_ns()
        #: Calls and compilations that are not written yet: (kind, ...) of C-level tuples.
        self.rows: list[tuple[Any, ...]] = []
        #: When to write the next time.
        self.due = self.began + WAIT
        #: Nanoseconds that were spent waiting for a turn: no part of any step.
        self.shift = 0
        #: ... and the CPU time of other threads meanwhile.
        self.idle = 0
        #: Compilations so far.
        self.compiles = 0
        #: Told what is about to be written.
        self.on_rows: Callable[[list[tuple[Any, ...]]], None] | None = None
        #: What to do before the last line.
        self.at_end: list[Callable[[], None]] = []
        self._lines: list[str] = []
        self._open = False
        atexit.register(self._end)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def open(self) -> None:
        """Begin: torch is here."""
        if not self._open:
            self._open = True
            process = {
                "pid": os.getpid(),
                "parent": os.getppid(),
                "argv": list(getattr(sys, "argv", [])) or list(getattr(sys, "orig_argv", [])),
                "python": sys.version.split()[0],
                "executable": sys.executable,
                "began": self.began,
                "rank": os.environ.get("RANK"),
            }
            self._lines.insert(0, json.dumps({"process": process}))
            self.flush()

    def tell(self, **what: Any) -> None:
        """Add a line that is an object."""
        self._lines.append(json.dumps(what, default=repr))
        if self._open:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting."""
        self.due = time.perf_counter_ns() + WAIT
        count = len(self.rows)
        rows = self.rows[:count]
        del self.rows[:count]
        lines, self._lines = self._lines, []
        lines += [json.dumps(row) for row in rows]
        if not lines:
            return
        name = os.path.join(self.folder, f"process-{os.getpid()}.jsonl")
        try:
            file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                os.write(file, ("\n".join(lines) + "\n").encode("utf-8", "replace"))
            finally:
                os.close(file)
            if self.on_rows is not None:
                self.on_rows(rows)
        except OSError:
            pass

    def _forked(self) -> None:
        """Start a book of one's own after a fork; what waited is the parent's."""
        was, self._open = self._open, False
        del self.rows[:]
        self._lines = []
        self.began = time.perf_counter_ns()
        if was:
            self._lines.append(json.dumps({"forked": True}))

    def _end(self) -> None:
        if not self._open:
            return
        now = time.perf_counter_ns()
        for action in self.at_end:
            try:
                action()
            except Exception:
                pass
        self._tell_peak()
        self.tell(ended=now - self.shift)

    def _tell_peak(self) -> None:
        try:
            import resource

            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        except (ImportError, OSError):
            return
        self.tell(peak=peak if sys.platform == "darwin" else peak * 1024)
