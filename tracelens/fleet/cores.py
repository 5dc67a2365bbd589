"""How many processes are worth starting."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cores", "free", "jobs_for"]

#: Bytes of input from which on another process is worth its start.
WORTH = 32 << 20
#: Most processes that nobody has asked for.
MAX_JOBS = 8
#: What a container may use: microseconds of all cores, in so many.
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def jobs_for(size: int, *, asked: bool = False) -> int:
    """Return how many processes are to share ``size`` bytes, where the user has not said.

    Args:
        size: Bytes of all inputs.
        asked: Whether the user wants several.
    """
    if asked:
        return max(2, cores())
    return 1 if size < WORTH else max(1, min(MAX_JOBS, free(), size // (WORTH // 2)))


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text(encoding="ascii").split()
        return max(1, min(count, int(quota) // int(period)))
    except (OSError, ValueError):  # no container, or no limit
        return count


def free() -> int:
    """Return how many cores have nothing to do, this process's own among them."""
    try:
        busy = os.getloadavg()[0]
    except (AttributeError, OSError):
        busy = 0.0
    return max(1, round(cores() - busy))
