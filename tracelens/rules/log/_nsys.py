"""What a table of Nsight Systems, or of nvprof, tells by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracelens.words import length

if TYPE_CHECKING:
    from tracelens.evidence import Seen
    from tracelens.logs import Record

__all__ = ["told"]

#: Calls that only queue work, and milliseconds of one from which on the queue was full.
_QUEUED = ("cudaLaunchKernel", "cuLaunchKernel", "cudaMemsetAsync", "hipLaunchKernel")
#: The first calls load modules: a few prove nothing.
LONG_TO_QUEUE, MANY_CALLS = 0.1, 100
#: Calls in which threads of every process sleep.
_WAITS = frozenset(
    {
        "sem_wait",
        "sem_timedwait",
        "sem_clockwait",
        "poll",
        "ppoll",
        "epoll_wait",
        "select",
        "nanosleep",
        "clock_nanosleep",
        "futex",
        "pthread_cond_wait",
        "pthread_cond_timedwait",
        "pthread_cond_clockwait",
        "pthread_join",
        "waitpid",
    }
)


def told(rows: list[Seen[Record]]) -> str:
    """Return what took most of it, and what that means."""
    from tracelens.logs.nsys_stats import NsysTable  # noqa: PLC0415 -- of few logs

    tables = [row.record for row in rows if isinstance(row.record, NsysTable)]
    sizes = [one for table in tables for one in table.copies()]
    if sizes:
        told = ", ".join(f"`{name}` {much} in {n:,} copies" for name, n, much in sizes[:3])
        return (
            f"They are sizes, without times: {told}. Small copies cost by their number, not size."
        )
    named = sorted((one for table in tables for one in table.typed()), key=lambda one: -one.ms)
    if not named:
        return ""
    first = named[0]
    if (
        first.name.startswith(_QUEUED)
        and first.calls >= MANY_CALLS
        and first.ms >= LONG_TO_QUEUE * first.calls
    ):
        return (
            f"Most of the host's time is `{first.name}`, {length(first.ms / first.calls)} a call. "
            "A call that only queues work takes some microseconds: this one waits for room in the "
            "queue, so the device is the limit. Which kernels it is busy with is in the table of "
            "kernels."
        )
    waits = first.name in _WAITS
    why = ": a thread that waits, which costs nothing" if waits else ""
    whole = all(table.header for table in tables)
    most = "Most of its time is" if whole else "Of the rows shown the longest is"
    return f"{most} `{first.name}`, {length(first.ms)} in {first.calls:,} calls{why}."
