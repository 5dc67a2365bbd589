"""Recorded runs side by side: what is counted does not feel the others.

Two even where no processor is idle: a program alone waits most of the time for others, and two of
them get nearly twice as much done.

Only structure is asked this way; what is timed runs alone. A run that fails beside another says
nothing, since two at once may want the same port or file: it is made again alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tracelens.live import load
from tracelens.live.runs import Recorded, RunFailed
from tracelens.live.sides import OutOfTime
from tracelens.live.workload import Side

__all__ = ["MOST", "at_once", "available", "room"]

#: Runs that are made at once, at most, and where no processor is idle.
MOST, LEAST = 4, 2
#: Share of an idle processor that counts as one: the look at them takes a part itself.
WHOLE = 0.7
#: Share of the memory that is available which all runs at once may take.
MEMORY_SHARE = 0.5

Record = Callable[[Side, Callable[[], bool]], Recorded]


def room(memory: int = 0) -> int:
    """Return how many runs the machine has room for now: one where it has one processor.

    Args:
        memory: Bytes that one run takes, as far as is known; 0 where it is not.
    """
    idle = load.processors() - load.busy_elsewhere()
    count = min(MOST, max(int(idle + 1 - WHOLE), min(LEAST, load.processors())))
    free = available()
    if memory and free:
        count = min(count, int(free * MEMORY_SHARE / memory))
    return max(count, 1)


def at_once(sides: Sequence[Side], record: Record) -> list[Recorded | None]:
    """Record sides side by side; None for each that has no answer.

    An interruption ends all of them.

    Args:
        sides: What to run.
        record: Runs one, until its second argument says that it is to end.
    """
    stop = threading.Event()

    def one(side: Side) -> Recorded | None:
        try:
            return record(side, stop.is_set)
        except (RunFailed, OutOfTime):
            return None

    with ThreadPoolExecutor(len(sides)) as pool:
        try:
            return list(pool.map(one, sides))
        except BaseException:
            stop.set()
            raise


def available() -> int:
    """Return the bytes of memory that nobody uses; 0 where the kernel does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return 0
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else 0
