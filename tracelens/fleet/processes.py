"""The work is shared by processes of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from types import TracebackType
from typing import Self, TypeVar, cast

from tracelens.workers import shared

__all__ = ["Processes"]

T = TypeVar("T")
R = TypeVar("R")


class Processes:
    """Starts interpreters for each round of work, and leaves none behind."""

    here = False
    least = 2

    def __init__(self, count: int) -> None:
        self.shares = max(1, count)
        self.remarks: list[str] = []

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End."""

    @contextmanager
    def map(
        self, work: Callable[[T], R], tasks: Sequence[T], *, seconds: float
    ) -> Iterator[Iterator[R]]:
        """Return what ``work`` returns for each of ``tasks``, from ``shares`` processes."""
        results = shared(work, tasks, count=self.shares, seconds=seconds)
        with closing(cast("_Closable[R]", results)):
            yield results


class _Closable(Iterator[R]):
    """A generator, which ends its workers when it is closed."""

    def close(self) -> None:
        """End it."""
