"""All of the work in this process, task after task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TypeVar

__all__ = ["Serial"]

T = TypeVar("T")
R = TypeVar("R")


class Serial:
    """Does everything itself."""

    here = True
    shares = 1
    least = 1

    def __init__(self) -> None:
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
        """Return what ``work`` returns for each of ``tasks``."""
        del seconds
        yield map(work, tasks)
