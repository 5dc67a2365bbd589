"""Many inputs: who reads them, and how what comes back is put together.

One protocol, :class:`Executor`, and three who follow it: this process, processes of this machine,
and a Dask cluster. What is asked of them is the same (``tasks``), and so is what is made of their
answers (``gathering``), so that the report is the same, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeVar

from tracelens.errors import UsageError

__all__ = ["ENGINES", "Engine", "Executor", "executor"]

T = TypeVar("T")
R = TypeVar("R")

Engine = Literal["serial", "process", "dask"]
#: The names of engines, and what else they are called.
ENGINES: dict[str, Engine] = {
    "serial": "serial",
    "process": "process",
    "processes": "process",
    "dask": "dask",
}


class Executor(Protocol):
    """Who does some work, here or elsewhere."""

    #: Whether the work is done in this process.
    here: bool
    #: Processes of this machine that may share one large input.
    shares: int
    #: Fewer tasks than these are done here.
    least: int
    #: What the user should know of how it went, besides the results.
    remarks: list[str]

    def map(
        self, work: Callable[[T], R], tasks: Sequence[T], *, seconds: float
    ) -> AbstractContextManager[Iterator[R]]:
        """Return what ``work`` returns for each of ``tasks``, in their order.

        What cannot be done elsewhere is done here, so that the results depend on nobody. What is
        still under way when the block ends is given up.

        Args:
            work: A function of a module; it and what it takes and returns can be pickled.
            tasks: What it is called with.
            seconds: How long one task may take somebody else.
        """


def executor(
    engine: str | None = None, jobs: int = 1, scheduler: str | None = None
) -> AbstractContextManager[Executor]:
    """Return who is to do the work, to be used in a ``with`` block.

    Args:
        engine: One of :data:`ENGINES`; without one, processes where there is more than one job.
        jobs: Processes on this machine.
        scheduler: The address of a Dask scheduler, as ``tcp://10.0.0.1:8786``.

    Raises:
        UsageError: There is no such engine, it is not installed, or the cluster cannot be used.
    """
    name = engine or ("dask" if scheduler else "process" if jobs > 1 else "serial")
    if name not in ENGINES:
        raise UsageError(f"no engine {name!r}", hint=f"one of {', '.join(ENGINES)}")
    chosen = ENGINES[name]
    if scheduler and chosen != "dask":
        raise UsageError(f"a scheduler, and the engine {name}", hint="--engine dask")
    if chosen == "serial":
        from tracelens.fleet.serial import Serial  # noqa: PLC0415 -- one of three

        return Serial()
    if chosen == "process":
        from tracelens.fleet.processes import Processes  # noqa: PLC0415 -- one of three

        return Processes(jobs)
    from tracelens.fleet.cluster import Cluster  # noqa: PLC0415 -- one of three

    return Cluster(scheduler, jobs)
