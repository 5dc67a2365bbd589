"""How busy the processors are with other programs' work."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Usage", "busy_elsewhere", "killed_for_memory", "processors"]

#: Seconds over which the processors are watched while nothing of ours runs.
GLANCE = 0.25
_STAT = Path("/proc/stat")


def processors() -> int:
    """Return the number of processors that a program started from here may use."""
    return len(_mine())


def busy_elsewhere(seconds: float = GLANCE) -> float:
    """Return how many of those processors other programs keep busy; waits for ``seconds``.

    Where the kernel does not say, the load average of the last minute stands in.
    """
    before = _busy()
    if before is None:
        return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    time.sleep(seconds)
    after = _busy() or before
    total = after[1] - before[1]
    return (after[0] - before[0]) / total * processors() if total > 0 else 0.0


def _mine() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _busy() -> tuple[int, int] | None:
    """Return the ticks spent working, and all ticks, of the processors that are ours to use."""
    try:
        lines = _STAT.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    mine = {f"cpu{number}" for number in _mine()}
    rows = [[int(word) for word in line.split()[1:9]] for line in lines if line.split()[0] in mine]
    idle = sum(row[3] + row[4] for row in rows)
    total = sum(map(sum, rows))
    return total - idle, total


def killed_for_memory() -> int:
    """Return how often the kernel has killed a process for memory; 0 where it does not say."""
    for path, key in (("/sys/fs/cgroup/memory.events", "oom_kill"), ("/proc/vmstat", "oom_kill")):
        try:
            lines = Path(path).read_text(encoding="ascii").splitlines()
        except (OSError, ValueError):
            continue
        found = [line.split()[1] for line in lines if line.split()[:1] == [key]]
        if found:
            return int(found[0])
    return 0


@dataclass(frozen=True)
class Usage:
    """What the children that have ended so far used, summed."""

    cpu_seconds: float
    #: Times that the scheduler took the processor from one of them.
    preemptions: int

    @classmethod
    def now(cls) -> Usage:
        """Return the sums up to now."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(used.ru_utime + used.ru_stime, used.ru_nivcsw)

    def since(self, before: Usage) -> Usage:
        """Return what was used after ``before``."""
        return Usage(self.cpu_seconds - before.cpu_seconds, self.preemptions - before.preemptions)

    def shared(self, count: int) -> Usage:
        """Return the part of one of so many that ran at once."""
        return Usage(self.cpu_seconds / count, round(self.preemptions / count))
